"""A fleet in a folder: a snapshot now and then, and a log of what was learned since.

    fleet.pk          the configuration: a model file of a model that has learned nothing
    snapshot          all keys and states at some moment (`_snapshot`)
    log-N             what happened since the Nth snapshot (`_log`)
    archive.sqlite    evicted models

Learning is deterministic to the bit, so the snapshot and the log give back the same models. A log record is written and
synced for every `sync_every` rows, and by `commit`; rows after the last record are lost in a crash, all others are kept
exactly once. A new snapshot replaces the old one atomically, and then a new log begins.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from pocketkernel._files import replacing, write_atomically
from pocketkernel._json import canonical, parse
from pocketkernel.evaluate.lock import locked
from pocketkernel.fleet import _log, _snapshot
from pocketkernel.fleet._keys import KINDS, Key, decode_keys, encode_keys
from pocketkernel.fleet._models import Rows

CONFIGURATION, SNAPSHOT, ARCHIVE = "fleet.pk", "snapshot", "archive.sqlite"
_DTYPES = ("<f4", "<f8", "<i4", "<i8", "|b1", "|i1")
_LARGEST_CONFIGURATION = 2**27


class FleetStoreError(ValueError):
    """A stored fleet that cannot be read or does not match; the message says why."""


class FolderStore:
    """A folder that keeps a fleet through crashes.

    Parameters
    ----------
    path : path
        The folder; it is created if it does not exist.
    sync_every : int, default=10_000
        Rows after which a log record is written and synced. A crash loses at most this many rows.
    snapshot_bytes : int, default=None
        Size of the log at which the next snapshot is taken; None means the size of a snapshot, but at least 64 MiB, so
        that snapshots and log take about as much time to write.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, sync_every: int = 10_000, snapshot_bytes: int | None = None
    ) -> None:
        if sync_every < 1:
            raise ValueError(f"sync_every={sync_every!r} is too small: use 1 row or more.")
        self.path = Path(path)
        self.sync_every = sync_every
        self.snapshot_bytes = snapshot_bytes
        self.discarded = 0
        """Bytes of an incomplete record that were removed when the folder was opened."""
        self._pieces: list[bytes] = []
        self._rows = 0  # in those pieces
        self._log: _log.Log | None = None
        self._number = 0
        self._held = ExitStack()
        self.archive: SqliteArchive | None = None

    # ---- opening ----------------------------------------------------------------------------------------------------

    def configuration(self) -> bytes | None:
        """The configuration that is stored here; None if the folder is new."""
        path = self.path / CONFIGURATION
        try:
            if path.stat().st_size > _LARGEST_CONFIGURATION:
                raise FleetStoreError(f"{path} is too large to be a configuration.")
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def open(self, fleet: Any, configuration: bytes) -> None:
        """Lock the folder, and bring the fleet to the state that is stored here."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(locked(self.path))
        try:
            if self.configuration() is None:
                write_atomically(self.path / CONFIGURATION, configuration)
            if fleet.max_keys is not None or (self.path / ARCHIVE).exists():
                self.archive = self._held.enter_context(archive_in(self.path / ARCHIVE))
                fleet._models.archive = self.archive
            self._recover(fleet)
        except BaseException:
            self._held.close()
            raise

    def _recover(self, fleet: Any) -> None:
        path = self.path / SNAPSHOT
        if path.exists():
            with naming(path), path.open("rb") as file:
                self._number = int(read_snapshot(fleet, file, path.stat().st_size).get("number", 0))
        log = self._log_path()
        data = log.read_bytes() if log.exists() else b""
        end = 0
        with naming(log):
            for after, payload in _log.records(data):
                for piece in pieces(payload):
                    fleet._replay(piece)
                end = after
        self.discarded = len(data) - end
        self._log = _log.Log(log, end)
        for other in self.path.glob("log-*"):
            if other != log:
                other.unlink()  # of a snapshot that was replaced

    def _log_path(self) -> Path:
        return self.path / f"log-{self._number}"

    # ---- writing ----------------------------------------------------------------------------------------------------

    def append(self, piece: bytes, rows: int) -> None:
        """Add something that happened to the next record."""
        self._pieces.append(piece)
        self._rows += rows

    @property
    def due(self) -> bool:
        """Whether the next record has enough rows to be written."""
        return self._rows >= self.sync_every

    def commit(self, fleet: Any) -> None:
        """Write what has happened to the log, and return when it will outlast a crash.

        If that fails (a full disk, for example) it is kept, and the next commit tries again.
        """
        assert self._log is not None, "a store that is open"
        if self._pieces:
            self._log.append(b"".join(self._pieces))
            self._pieces.clear()
            self._rows = 0
        least = self.snapshot_bytes
        if least is None:
            least = max(2**26, (1 + len(fleet)) * fleet.slot_bytes)
        if self._log.size >= least:
            self.snapshot(fleet)

    def snapshot(self, fleet: Any) -> None:
        """Write a snapshot of a fleet whose log is complete, and begin a new log."""
        assert self._log is not None, "a store that is open"
        if self.archive is not None:
            self.archive.commit()
        with replacing(self.path / SNAPSHOT) as file:
            write_snapshot(fleet, file, {"number": self._number + 1})
        self._log.close()
        old = self._log_path()
        self._number += 1
        self._log = _log.Log(self._log_path(), 0)
        old.unlink(missing_ok=True)
        if self.archive is not None:
            self.archive.prune()

    def close(self) -> None:
        """Release the folder."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self._held.close()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into an error that names it."""
    try:
        yield
    except (_log.LogError, _snapshot.SnapshotError, FleetStoreError) as error:
        raise FleetStoreError(f"{path} cannot be read: {error}.") from error


# ---- snapshots ------------------------------------------------------------------------------------------------------


def write_snapshot(fleet: Any, file: Any, more: dict[str, Any]) -> None:
    """Write all keys and states of a fleet."""
    models = fleet._models
    keys = list(models)
    about = {
        **more,
        "kind": fleet.key_kind or "str",
        "keys": len(keys),
        "slot_bytes": fleet.slot_bytes,
        "clock": models.clock,
        "evicted": models.evicted,
        "offset": fleet.offset,
    }
    slots = np.fromiter((0, *models.of.values()), dtype=np.int64, count=1 + len(keys))
    at_once = max(1, 2**22 // fleet.slot_bytes)

    def states() -> Iterator[_snapshot.States]:
        for first in range(0, len(slots), at_once):
            some = np.ascontiguousarray(slots[first : first + at_once])
            block = np.empty((len(some), fleet.slot_bytes), dtype=np.uint8)
            models.core.read(some, block)
            yield block

    _snapshot.write(file, about, encode_keys(keys, about["kind"]), models.used(), states())


def read_snapshot(fleet: Any, file: Any, size: int) -> dict[str, Any]:
    """Fill a new fleet from a snapshot; returns its head."""
    reader = _snapshot.Reader(file, size)
    about, models = reader.about, fleet._models
    try:
        kind, clock, evicted = about["kind"], int(about["clock"]), int(about["evicted"])
        if kind not in KINDS or clock < 0 or evicted < 0:
            raise ValueError
        keys = decode_keys(reader.keys, kind, reader.count)
    except (KeyError, TypeError, ValueError):
        raise FleetStoreError("it has an impossible head or impossible keys") from None
    if reader.slot_bytes != fleet.slot_bytes:
        raise FleetStoreError(f"it has models of {reader.slot_bytes} bytes, not of {fleet.slot_bytes}")
    if len(set(keys)) != len(keys):
        raise FleetStoreError("it has a key twice")
    models.place(keys, reader.used)
    good = True
    for first, block in reader.states(max(1, 2**22 // fleet.slot_bytes)):
        good &= models.core.write(np.arange(first, first + len(block)), np.ascontiguousarray(block))
    reader.finish()
    if not good:
        raise FleetStoreError("it has impossible states")
    models.clock, models.evicted = clock, evicted
    fleet.offset = about.get("offset")
    fleet.key_kind = kind if keys else None
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
        raise FleetStoreError("it has an impossible record") from None


def lesson_piece(kind: str, keys: list[Key], rows: Rows, y: Any, weights: Any, *, offset: Any) -> bytes:
    """Rows that were learned, as arrays."""
    arrays = [np.ascontiguousarray(array) for array in (*rows, y, *(() if weights is None else (weights,)))]
    head = {
        "do": "learn",
        "kind": kind,
        "rows": len(keys),
        "arrays": [[array.dtype.str, list(array.shape)] for array in arrays],
        "sparse": len(rows) == 3,
        "offset": offset,
    }
    return piece_of(head, encode_keys(keys, kind), *(array.tobytes() for array in arrays))


def read_lesson(head: dict[str, Any], blobs: list[bytes]) -> tuple[list[Key], Rows, Any, Any]:
    """Keys, rows, labels or targets, and weights or None."""
    try:
        if head["kind"] not in KINDS:
            raise ValueError
        keys = decode_keys(blobs[0], head["kind"], head["rows"])
        arrays = []
        for (dtype, shape), blob in zip(head["arrays"], blobs[1:], strict=True):
            if dtype not in _DTYPES:
                raise ValueError
            arrays.append(np.frombuffer(blob, dtype=dtype).reshape(shape))
        count = 3 if head["sparse"] else 1
        if len(arrays) not in (count + 1, count + 2):
            raise ValueError
    except (KeyError, IndexError, TypeError, ValueError):
        raise FleetStoreError("it has an impossible record") from None
    return keys, tuple(arrays[:count]), arrays[count], arrays[count + 1] if len(arrays) == count + 2 else None


# ---- archive --------------------------------------------------------------------------------------------------------


class SqliteArchive:
    """Evicted models, by key and by when they were evicted.

    A replay of the log evicts and revives the same models again, so a state is kept with the moment of its eviction: it
    is found by a replay that has come past this moment, and states that came later are not.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._base = sqlite3.connect(path, isolation_level=None)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=FULL")
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS models (key BLOB, clock INTEGER, state BLOB, PRIMARY KEY (key, clock)) "
            "WITHOUT ROWID"
        )
        self._open = False

    def put(self, key: Key, clock: int, state: bytes) -> None:
        """Keep a state; an empty one says that the key was removed."""
        if not self._open:
            self._base.execute("BEGIN")
            self._open = True
        self._base.execute("INSERT OR REPLACE INTO models VALUES (?, ?, ?)", (_blob(key), clock, state))

    def get(self, key: Key, clock: int) -> bytes | None:
        """The state that was kept last before that moment."""
        found = self._base.execute(
            "SELECT state FROM models WHERE key = ? AND clock < ? ORDER BY clock DESC LIMIT 1", (_blob(key), clock)
        ).fetchone()
        return None if found is None else found[0] or None

    def keys(self) -> int:
        """How many keys there are."""
        return int(self._base.execute("SELECT count(DISTINCT key) FROM models").fetchone()[0])

    def commit(self) -> None:
        """Make what was kept outlast a crash."""
        if self._open:
            try:
                self._base.execute("COMMIT")
            except sqlite3.OperationalError as error:
                raise OSError(f"{self._path}: {error}") from error
            self._open = False

    def prune(self) -> None:
        """Remove states that a later one of the same key replaces, after a snapshot."""
        self._base.execute(
            "DELETE FROM models WHERE clock < (SELECT max(clock) FROM models AS m WHERE m.key = models.key)"
        )

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self.commit()
        self._base.close()


def _blob(key: Key) -> bytes:
    kind = next(name for name, type_ in KINDS.items() if type(key) is type_)
    return kind[0].encode() + encode_keys([key], kind)


@contextmanager
def archive_in(path: Path) -> Iterator[SqliteArchive]:
    """The archive in a file."""
    try:
        archive = SqliteArchive(path)
    except sqlite3.DatabaseError as error:
        raise FleetStoreError(f"{path} cannot be read: {error}.") from error
    try:
        yield archive
    finally:
        archive.close()
