"""Evicted models, in SQLite.

A state is stored with a checksum of the key, the moment and itself. Everything that is wrong with the file is a
FleetStoreError that names it; a full or read-only disk is an OSError.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from pocketkernel.fleet._keys import Key, column_of
from pocketkernel.fleet.errors import FleetStoreError

WAITING = 2**22
"""Bytes of states after which they are written, without waiting for a snapshot."""

_DIGEST = 16
_SYSTEM = {  # errors that are not those of the file's contents
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_NOMEM,
}


class SqliteArchive:
    """Evicted models, by key and by when they were evicted.

    A replay of the log evicts and revives the same models again, so a state is kept with the moment of its eviction: it
    is found by a replay that has come past this moment, and states that came later are not. So a state may be written
    at any time after its eviction; until that succeeds it is kept in memory, since SQLite forgets a transaction that
    does not fit on the disk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        for name in (path.name, *(f"{path.name}-{end}" for end in ("wal", "shm", "journal"))):
            if path.with_name(name).is_symlink():  # it may lead to any file, which SQLite would write to
                raise FleetStoreError(f"{path.with_name(name)} cannot be read: it is a link.")
        self._waiting: dict[bytes, dict[int, bytes]] = {}  # what is not yet in the file: key, clock, state
        self._bytes = 0  # of those states
        with self._naming():
            # Any thread may use it: a fleet lets one at a time.
            self._base = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA trusted_schema=OFF")
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS models (key BLOB, clock INTEGER, state BLOB, PRIMARY KEY (key, clock)) "
                "WITHOUT ROWID"
            )

    def put(self, key: Key, clock: int, state: bytes) -> None:
        """Keep a state; an empty one says that the key was removed."""
        self._waiting.setdefault(_blob(key), {})[clock] = state
        self._bytes += len(state)
        if self._bytes >= WAITING:
            self._bytes = 0  # if it fails now, `commit` says so
            with suppress(OSError):
                self.commit()

    def get(self, key: Key, clock: int) -> bytes | None:
        """The state that was kept last before that moment."""
        blob = _blob(key)
        waiting = self._waiting.get(blob, {})
        last = max((at for at in waiting if at < clock), default=-1)
        if last >= 0:
            return waiting[last] or None  # nothing in the file is later
        with self._naming():
            found = self._base.execute(
                "SELECT clock, state FROM models WHERE key = ? AND clock < ? ORDER BY clock DESC LIMIT 1", (blob, clock)
            ).fetchone()
        if found is None:
            return None
        then, kept = found
        if type(then) is not int or not isinstance(kept, bytes):
            raise FleetStoreError(f"{self._path} cannot be read: it has an invalid row.")
        state = kept[_DIGEST:]
        if kept[:_DIGEST] != _checksum(blob, then, state):
            raise FleetStoreError(
                f"{self._path} cannot be read: the checksum of a model does not match, it is damaged."
            )
        return state or None

    def commit(self) -> None:
        """Make what was kept outlast a crash; if that fails, the next commit tries again."""
        if not self._waiting:
            return
        rows = [
            (blob, clock, _checksum(blob, clock, state) + state)
            for blob, states in self._waiting.items()
            for clock, state in states.items()
        ]
        with self._naming():
            try:
                self._base.execute("BEGIN")
                self._base.executemany("INSERT OR REPLACE INTO models VALUES (?, ?, ?)", rows)
                self._base.execute("COMMIT")
            finally:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
        self._waiting.clear()
        self._bytes = 0

    def prune(self) -> None:
        """Remove states that a later one of the same key replaces, after a snapshot."""
        with self._naming():
            self._base.execute(
                "DELETE FROM models WHERE clock < (SELECT max(clock) FROM models AS m WHERE m.key = models.key)"
            )

    def forget_after(self, clock: int) -> None:
        """Remove states that were kept at that moment or later, of rows that never came into the log."""
        for states in self._waiting.values():
            for late in [at for at in states if at >= clock]:
                del states[late]
        with self._naming():
            self._base.execute("DELETE FROM models WHERE clock >= ?", (clock,))

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError, FleetStoreError):
            self.commit()
        self._base.close()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _SYSTEM:
                raise OSError(f"{self._path}: {error}.") from error
            raise FleetStoreError(f"{self._path} cannot be read: {error}.") from error


def _blob(key: Key) -> bytes:
    one = column_of([key])
    return one.kind[:1].encode() + one.encoded(1)


def _checksum(blob: bytes, clock: int, state: bytes) -> bytes:
    whole = blake2b(
        len(blob).to_bytes(8, "little") + blob + clock.to_bytes(8, "little", signed=True), digest_size=_DIGEST
    )
    whole.update(state)
    return whole.digest()
