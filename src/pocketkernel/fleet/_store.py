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
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from pocketkernel._files import read_file, replacing, write_atomically
from pocketkernel.evaluate.lock import locked
from pocketkernel.fleet import _log
from pocketkernel.fleet._archive import SqliteArchive
from pocketkernel.fleet.errors import FleetStoreError
from pocketkernel.fleet.records import naming, pieces, read_snapshot, write_snapshot

CONFIGURATION, SNAPSHOT, ARCHIVE = "fleet.pk", "snapshot", "archive.sqlite"
_LARGEST_CONFIGURATION = 2**27


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
        return _contents(self.path / CONFIGURATION, _LARGEST_CONFIGURATION)

    def open(self, fleet: Any, configuration: bytes) -> None:
        """Lock the folder, and bring the fleet to the state that is stored here."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(locked(self.path))
        try:
            if self.configuration() is None:
                write_atomically(self.path / CONFIGURATION, configuration, follow=False)
            if fleet.max_keys is not None or (self.path / ARCHIVE).exists():
                self.archive = self._held.enter_context(closing(SqliteArchive(self.path / ARCHIVE)))
                fleet._models.archive = self.archive
            self._recover(fleet)
        except BaseException:
            self._held.close()
            raise

    def _recover(self, fleet: Any) -> None:
        path = self.path / SNAPSHOT
        if path.exists():
            if not path.is_file():
                raise FleetStoreError(f"{path} cannot be read: this is not a regular file.")
            with naming(path), path.open("rb") as file:
                self._number = read_snapshot(fleet, file, path.stat().st_size).get("number", 0)
        log = self._log_path()
        data = _contents(log) or b""
        end = 0
        with naming(log):
            for after, payload in _log.records(data):
                for piece in pieces(payload):
                    fleet.replay(piece)
                end = after
        if self.archive is not None:
            self.archive.forget_after(fleet.clock)
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
        self.flush()
        least = self.snapshot_bytes
        if least is None:
            least = max(2**26, (1 + len(fleet)) * fleet.slot_bytes)
        assert self._log is not None, "a store that is open"
        if self._log.size >= least:
            self.snapshot(fleet)

    def flush(self) -> None:
        """Write what has happened to the log, and nothing else."""
        assert self._log is not None, "a store that is open"
        if self._pieces:
            self._log.append(b"".join(self._pieces))
            self._pieces.clear()
            self._rows = 0

    def snapshot(self, fleet: Any) -> None:
        """Write a snapshot of a fleet whose log is complete, and begin a new log."""
        assert self._log is not None, "a store that is open"
        if self.archive is not None:
            self.archive.commit()
        with replacing(self.path / SNAPSHOT, follow=False) as file:
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


def _contents(path: Path, most: int = 2**62) -> bytes | None:
    """All of a file of at most so many bytes; None if there is none."""
    try:
        return read_file(path, most)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise FleetStoreError(f"{path} cannot be read: {error}.") from error
