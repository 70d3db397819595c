"""Evicted models, in SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pocketkernel.fleet._keys import Key, column_of
from pocketkernel.fleet.records import FleetStoreError


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

    def forget_after(self, clock: int) -> None:
        """Remove states that were kept at that moment or later, of rows that never came into the log."""
        self._base.execute("DELETE FROM models WHERE clock >= ?", (clock,))

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self.commit()
        self._base.close()


def _blob(key: Key) -> bytes:
    one = column_of([key])
    return one.kind[:1].encode() + one.encoded(1)


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
