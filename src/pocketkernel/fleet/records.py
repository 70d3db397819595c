"""A fleet as bytes: whole, as a snapshot, and what happens to it, as pieces of a log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pocketkernel._core import KeyColumn
from pocketkernel._json import canonical, parse
from pocketkernel.fleet import _snapshot
from pocketkernel.fleet._keys import KINDS
from pocketkernel.fleet._models import Rows
from pocketkernel.fleet._places import BASE
from pocketkernel.fleet.errors import FleetStoreError

_DTYPES = ("<f4", "<f8", "<i4", "<i8", "|b1", "|i1")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into an error that names it."""
    try:
        yield
    except FleetStoreError as error:
        raise FleetStoreError(f"{path} cannot be read: {error}.") from error


# ---- snapshots ------------------------------------------------------------------------------------------------------


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

    _snapshot.write(file, about, models.of.column().encoded(len(models.of)), models.used(), states())


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
    if not models.place(keys, reader.used):
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


# ---- pieces of a record ---------------------------------------------------------------------------------------------


def piece_of(head: dict[str, Any], *blobs: bytes) -> bytes:
    """Something that happened: a head in JSON, and bytes."""
    text = canonical(head | {"blobs": [len(blob) for blob in blobs]}).encode()
    return b"".join((len(text).to_bytes(4, "little"), text, *blobs))


def pieces(payload: bytes) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """The pieces of a record."""
    at = 0
    try:
        while at < len(payload):
            size = int.from_bytes(payload[at : at + 4], "little")
            head = parse(payload[at + 4 : at + 4 + size].decode("ascii"))
            at += 4 + size
            blobs = []
            for length in head["blobs"]:
                if not 0 <= length <= len(payload) - at:
                    raise ValueError
                blobs.append(payload[at : at + length])
                at += length
            yield head, blobs
    except (KeyError, TypeError, ValueError, UnicodeDecodeError):
        raise FleetStoreError("it has an invalid record") from None


def lesson_piece(keys: KeyColumn, rows: Rows, y: Any, weights: Any, *, offset: Any) -> bytes:
    """Rows that were learned, as arrays."""
    arrays = [np.ascontiguousarray(array) for array in (*rows, y, *(() if weights is None else (weights,)))]
    head = {
        "do": "learn",
        "kind": keys.kind,
        "rows": len(y),
        "arrays": [[array.dtype.str, list(array.shape)] for array in arrays],
        "sparse": len(rows) == 3,
        "offset": offset,
    }
    return piece_of(head, keys.encoded(len(y)), *(array.tobytes() for array in arrays))


def read_lesson(head: dict[str, Any], blobs: list[bytes]) -> tuple[KeyColumn, Rows, Any, Any]:
    """Keys, rows, labels or targets, and weights or None."""
    try:
        if head["kind"] not in KINDS:
            raise ValueError
        keys = KeyColumn.decoded(blobs[0], head["kind"], head["rows"])
        arrays = []
        for (dtype, shape), blob in zip(head["arrays"], blobs[1:], strict=True):
            if dtype not in _DTYPES:
                raise ValueError
            arrays.append(np.frombuffer(blob, dtype=dtype).reshape(shape))
        count = 3 if head["sparse"] else 1
        if len(arrays) not in (count + 1, count + 2):
            raise ValueError
    except (KeyError, IndexError, TypeError, ValueError):
        raise FleetStoreError("it has an invalid record") from None
    return keys, tuple(arrays[:count]), arrays[count], arrays[count + 1] if len(arrays) == count + 2 else None
