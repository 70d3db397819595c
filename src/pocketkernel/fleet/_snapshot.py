"""Snapshots of a fleet: one file with all keys and states, checked as a whole.

4 bytes     magic
4 bytes     length of the head
head        canonical JSON: version, kind of the keys, their number, bytes of a slot, and what the fleet adds
8 bytes     length of the keys
keys        see `KeyColumn.encoded`
used        for each key, the number of its last event, 8 bytes
states      slot 0, then the slots of the keys in order
32 bytes    BLAKE2b of everything before
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pocketkernel._json import canonical, parse
from pocketkernel.fleet.errors import FleetStoreError

MAGIC = b"PKFS"
VERSION = 1
_DIGEST = 32
_LONGEST_HEAD = 2**20

States = npt.NDArray[np.uint8]


def write(
    file: BinaryIO, about: dict[str, Any], keys: bytes, used: npt.NDArray[np.uint64], states: Iterable[States]
) -> None:
    """Write a snapshot; `about` has `kind`, `keys` and `slot_bytes`."""
    digest = blake2b(digest_size=_DIGEST)

    def put(data: bytes | memoryview) -> None:
        digest.update(data)
        file.write(data)

    head = canonical(about | {"version": VERSION}).encode()
    put(MAGIC + len(head).to_bytes(4, "little") + head)
    put(len(keys).to_bytes(8, "little"))
    put(keys)
    put(used.astype("<u8").tobytes())
    for block in states:
        put(block.data)
    file.write(digest.digest())


class Reader:
    """A snapshot that is being read: first `about`, `keys` and `used`, then the states in blocks, then `finish`."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size - _DIGEST
        self._digest = blake2b(digest_size=_DIGEST)
        if self._take(4) != MAGIC:
            raise FleetStoreError("it is not a snapshot of a fleet")
        length = int.from_bytes(self._take(4), "little")
        if length > _LONGEST_HEAD:
            raise FleetStoreError("it has an invalid head")
        head = self._take(length)
        try:
            self.about: dict[str, Any] = parse(head.decode("ascii"))
            version = self.about["version"]
        except (KeyError, TypeError, ValueError):
            raise FleetStoreError("it has an invalid head") from None
        if version != VERSION:
            raise FleetStoreError(f"it has version {version!r}; this version of pocketkernel reads {VERSION}")
        self.count, self.slot_bytes = self.about.get("keys"), self.about.get("slot_bytes")
        if not all(type(count) is int and count >= 0 for count in (self.count, self.slot_bytes)):
            raise FleetStoreError("it has an invalid head")
        self.keys = self._take(int.from_bytes(self._take(8), "little"))
        self.used = np.frombuffer(self._take(8 * self.count), dtype="<u8").astype(np.uint64)
        if self._left != (1 + self.count) * self.slot_bytes:
            raise FleetStoreError("its size does not match its head")

    def _take(self, count: int) -> bytes:
        if count > self._left:
            raise FleetStoreError("it is truncated")
        data = self._file.read(count)
        if len(data) != count:
            raise FleetStoreError("it is truncated")
        self._left -= count
        self._digest.update(data)
        return data

    def states(self, at_once: int) -> Iterator[tuple[int, States]]:
        """Blocks of states, each with the position of its first one."""
        for first in range(0, 1 + self.count, at_once):
            some = min(at_once, 1 + self.count - first)
            data = self._take(some * self.slot_bytes)
            yield first, np.frombuffer(data, dtype=np.uint8).reshape(some, self.slot_bytes)

    def finish(self) -> None:
        """Raise FleetStoreError unless everything that was read is what was written."""
        if self._file.read(_DIGEST) != self._digest.digest():
            raise FleetStoreError("its checksum does not match its contents: it is damaged")
