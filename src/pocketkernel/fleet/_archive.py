"""Evicted models, in SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from pocketkernel.fleet._keys import Key, column_of
from pocketkernel.fleet.records import FleetStoreError

WAITING = 2**22
"""Bytes of states after which they are written, without waiting for a snapshot."""

_DIGEST = 16


class SqliteArchive:
    """Evicted models, by key and by when they were evicted.

    A replay of the log evicts and revives the same models again, so a state is kept with the moment of its eviction: it
    is found by a replay that has come past this moment, and states that came later are not. So a state may be written
    at any time after its eviction; until that succeeds it is kept in memory, since SQLite forgets a transaction that
    does not fit on the disk.
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
        self._waiting: dict[bytes, dict[int, bytes]] = {}  # what is not yet in the file: key, clock, state
        self._bytes = 0  # of those states

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
        try:
            found = self._base.execute(
                "SELECT clock, state FROM models WHERE key = ? AND clock < ? ORDER BY clock DESC LIMIT 1", (blob, clock)
            ).fetchone()
        except sqlite3.DatabaseError as error:
            raise FleetStoreError(f"{self._path} cannot be read: {error}.") from error
        return None if found is None else self._checked(blob, *found) or None

    def _checked(self, blob: bytes, clock: int, data: bytes) -> bytes:
        state = data[_DIGEST:]
        if data[:_DIGEST] != _digest(blob, clock, state):
            raise FleetStoreError(f"{self._path} cannot be read: the model evicted at row {clock} is damaged.")
        return state

    def commit(self) -> None:
        """Make what was kept outlast a crash; if that fails, the next commit tries again."""
        if not self._waiting:
            return
        rows = [
            (blob, clock, _digest(blob, clock, state) + state)
            for blob, states in self._waiting.items()
            for clock, state in states.items()
        ]
        try:
            self._base.execute("BEGIN")
            self._base.executemany("INSERT OR REPLACE INTO models VALUES (?, ?, ?)", rows)
            self._base.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if self._base.in_transaction:
                self._base.execute("ROLLBACK")
            raise OSError(f"{self._path}: {error}") from error
        self._waiting.clear()
        self._bytes = 0

    def prune(self) -> None:
        """Remove states that a later one of the same key replaces, after a snapshot."""
        self._change("DELETE FROM models WHERE clock < (SELECT max(clock) FROM models AS m WHERE m.key = models.key)")

    def forget_after(self, clock: int) -> None:
        """Remove states that were kept at that moment or later, of rows that never came into the log."""
        for states in self._waiting.values():
            for late in [at for at in states if at >= clock]:
                del states[late]
        self._change("DELETE FROM models WHERE clock >= ?", clock)

    def _change(self, statement: str, *given: int) -> None:
        try:
            self._base.execute(statement, given)
        except sqlite3.OperationalError as error:
            raise OSError(f"{self._path}: {error}") from error

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self.commit()
        self._base.close()


def _blob(key: Key) -> bytes:
    one = column_of([key])
    return one.kind[:1].encode() + one.encoded(1)


def _digest(blob: bytes, clock: int, state: bytes) -> bytes:
    return blake2b(blob + clock.to_bytes(8, "little") + state, digest_size=_DIGEST).digest()


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
