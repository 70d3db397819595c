"""The event log of a fleet: records with a checksum, each written and synced before the next.

    4 bytes     magic
    4 bytes     version
    8 bytes     length of the payload
    16 bytes    BLAKE2b of the 16 bytes before and of the payload
    payload

All numbers are little-endian. A record counts once it is complete. The last record may be incomplete after a crash,
because it was never acknowledged; it is removed when the log is opened. Anything else that is wrong is damage, and the
log is refused.
"""

import os
import struct
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from pocketkernel._files import named
from pocketkernel.fleet.errors import FleetStoreError

MAGIC = b"PKEV"
VERSION = 1
_HEAD = struct.Struct("<4sIQ")
_DIGEST = 16
_START = _HEAD.size + _DIGEST


def record_of(payload: bytes) -> bytes:
    """The payload with its head."""
    head = _HEAD.pack(MAGIC, VERSION, len(payload))
    return b"".join((head, blake2b(head + payload, digest_size=_DIGEST).digest(), payload))


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The payloads in a log, each with the place where its record ends."""
    at = 0
    while at < len(data):
        payload = _record_at(data, at)
        if payload is None:
            refuse_damage(data, at)
            return
        at += _START + len(payload)
        yield at, payload


def _record_at(data: bytes, at: int) -> bytes | None:
    if len(data) - at < _START:
        return None
    magic, version, length = _HEAD.unpack_from(data, at)
    if magic != MAGIC or length > len(data) - at - _START:
        return None
    payload = data[at + _START : at + _START + length]
    head, digest = data[at : at + _HEAD.size], data[at + _HEAD.size : at + _START]
    if blake2b(head + payload, digest_size=_DIGEST).digest() != digest:
        return None
    if version != VERSION:
        raise FleetStoreError(
            f"its record at byte {at} has version {version}; this version of pocketkernel reads {VERSION}"
        )
    return payload


def refuse_damage(data: bytes, at: int) -> None:
    """Raise FleetStoreError if a complete record follows, so that what is wrong here was once acknowledged."""
    place = data.find(MAGIC, at + 1)
    while place >= 0:
        if _record_at(data, place) is not None:
            raise FleetStoreError(f"it is damaged at byte {at}: a complete record follows at byte {place}")
        place = data.find(MAGIC, place + 1)


class Log:
    """A log that is open for writing, at its end."""

    def __init__(self, path: Path, end: int) -> None:
        self.path = path
        self.size = end
        # In a folder from someone else the file may be a link to any other, which would be cut short here.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._file = os.open(path, flags, 0o666)
        if os.fstat(self._file).st_size != end:
            os.ftruncate(self._file, end)  # what a crash left incomplete
            os.fsync(self._file)

    def append(self, payload: bytes) -> None:
        """Write a record, and return when it will outlast a crash. If that fails, the log is as it was before."""
        record = memoryview(record_of(payload))
        try:
            written = 0
            while written < len(record):
                written += os.pwrite(self._file, record[written : written + 2**30], self.size + written)
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self.size)
            raise named(error, self.path) from error
        self.size += len(record)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
