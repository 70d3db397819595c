"""A fleet as bytes: all its keys and models, as a snapshot, and what happened to it since, in records."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pocketkernel._core import KeyColumn
from pocketkernel.fleet import _snapshot
from pocketkernel.fleet._database import digest_of
from pocketkernel.fleet._keys import KINDS
from pocketkernel.fleet._places import BASE
from pocketkernel.fleet._replay import Replay
from pocketkernel.fleet.errors import FleetStoreError


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into an error that names it."""
    try:
        yield
    except FleetStoreError as error:
        raise FleetStoreError(f"{path} cannot be read: {error}.") from error


def write_snapshot(fleet: Any, file: Any, more: dict[str, Any]) -> None:
    """Write all keys and states of a fleet."""
    models = fleet._models
    slots = np.concatenate([[BASE], models.slots()])
    about = {
        **more,
        "kind": fleet.key_kind or "str",
        "keys": len(models.of),
        "slot_bytes": fleet.slot_bytes,
        "clock": models.clock,
        "evicted": models.evicted,
        "offset": fleet.offset,
    }
    at_once = max(1, 2**22 // fleet.slot_bytes)

    def states() -> Iterator[_snapshot.States]:
        for first in range(0, len(slots), at_once):
            some = np.ascontiguousarray(slots[first : first + at_once])
            block = np.empty((len(some), fleet.slot_bytes), dtype=np.uint8)
            models.core.read(some, block)
            yield block

    _snapshot.write(
        file,
        about,
        models.of.column().encoded(len(models.of)),
        models.used_in(0, models.slot_count)[slots[1:]],
        states(),
    )


def chained(before: bytes, record: bytes) -> bytes:
    """The digest of a record, and of all before it."""
    return digest_of(before, record)


def repeat(fleet: Any, pieces: Iterable[bytes]) -> None:
    """Do again what a fleet's changes say, in one that was brought to the state before them."""
    models = fleet._models
    replay = Replay(fleet._template, models)
    clock = models.clock
    for some in pieces:
        replay.repeat(some)
    replay.finish()
    models.clock = replay.clock_after(clock)
    fleet.key_kind = models.of.column().kind or fleet.key_kind


def read_snapshot(fleet: Any, file: Any, size: int) -> dict[str, Any]:
    """Fill a new fleet from a snapshot; returns its head."""
    reader = _snapshot.Reader(file, size)
    about, models = reader.about, fleet._models
    try:
        kind, clock, evicted = about["kind"], about["clock"], about["evicted"]
        counts = (clock, evicted, about.get("number", 0))
        if kind not in KINDS or not all(type(count) is int and 0 <= count < 2**62 for count in counts):
            raise ValueError
        keys = KeyColumn.decoded(reader.keys, kind, reader.count)
    except (KeyError, TypeError, ValueError):
        raise FleetStoreError("it has an invalid head or invalid keys") from None
    if reader.slot_bytes != fleet.slot_bytes:
        raise FleetStoreError(f"it has models of {reader.slot_bytes} bytes, not of {fleet.slot_bytes}")
    every = np.concatenate([np.zeros(1, dtype=np.uint64), reader.used])
    if not models.place(keys, np.arange(1, 1 + len(keys)), every, 1 + len(keys)):
        raise FleetStoreError("it has a key twice")
    good = True
    for first, block in reader.states(max(1, 2**22 // fleet.slot_bytes)):
        good &= models.core.write(np.arange(first, first + len(block)), np.ascontiguousarray(block))
    reader.finish()
    if not good:
        raise FleetStoreError("it has invalid states")
    models.clock, models.evicted = clock, evicted
    fleet.offset = about.get("offset")
    fleet.key_kind = kind if len(keys) else None
    return about
