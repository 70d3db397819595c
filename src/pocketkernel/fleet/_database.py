"""The one SQLite file of a stored fleet: who may open it, whether it is whole, and transactions.

    meta (name, value)                       `head`: what holds of the last commit, with a digest; `configuration`
    log (seq, chain, base, record)           what happened, in order; each record's chain is a digest of all before it
    slab (id, body)                          the models of some slots, as they were after some record of the log
    slab_seq (id, seq, clock, body, digest)  after which record, and digests
    archive (key, digest, state)             evicted models

SQLite keeps a write-ahead log beside the file while it is open, and forgets silently what was only there if that is
lost. So the head says since when the file is open: an open file without its log is refused, as is one with a log of
another time. The head has the sum of all digests too, so that no row can be missing, old or exchanged.
"""

import ctypes
import os
import secrets
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pocketkernel._fields import Fields
from pocketkernel._files import settle
from pocketkernel._json import canonical, parse
from pocketkernel.evaluate.lock import locked
from pocketkernel.fleet import _wal
from pocketkernel.fleet.errors import FleetStoreError

FORMAT = 1
FILE = "fleet.sqlite"
DIGEST = 16
PAGE = 2**14
_OLD_FILES = ("fleet.pk", "snapshot", "archive.sqlite")
_CHECKPOINT = 2**22 // PAGE  # pages in the write-ahead log: few, since a commit waits until they are copied
_AT_ONCE = 2**21 // PAGE  # pages of a copy, before others may use the fleet
_TABLES = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "log": "CREATE TABLE log (seq INTEGER PRIMARY KEY, chain BLOB NOT NULL, base BLOB, record BLOB NOT NULL)",
    "slab": "CREATE TABLE slab (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "slab_seq": "CREATE TABLE slab_seq (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, clock INTEGER NOT NULL, "
    "body BLOB NOT NULL, digest BLOB NOT NULL)",
    "archive": "CREATE TABLE archive (key BLOB PRIMARY KEY, digest BLOB NOT NULL, state BLOB NOT NULL) WITHOUT ROWID",
}
_SYSTEM = {  # errors that are not those of the file's contents
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}


@dataclass(frozen=True)
class Head:
    """What holds of the last commit."""

    seq: int = 0  # of the last record
    chain: str = "00" * DIGEST  # of it
    start: int = 0  # of the record before the first one that is still in the log
    start_chain: str = "00" * DIGEST
    sum: str = "00" * DIGEST  # of the digests of slabs and archived models
    session: str | None = None  # of who has the file open
    clock: int = 0
    evicted: int = 0
    slot_bytes: int = 0
    kind: str | None = None
    offset: Any = None

    def encoded(self, configuration: bytes) -> bytes:
        """The head as it is stored; its digest is of the configuration, too."""
        text = canonical({"format": FORMAT} | asdict(self)).encode()
        return digest_of(b"head", configuration, text) + text

    @classmethod
    def decoded(cls, stored: Any, configuration: Any) -> "Head":
        """A head as it was stored; FleetStoreError if it is not."""
        if not isinstance(stored, bytes) or not isinstance(configuration, bytes):
            raise FleetStoreError("it has no head")
        text = stored[DIGEST:]
        if digest_of(b"head", configuration, text) != stored[:DIGEST]:
            raise FleetStoreError("the digest of its head does not match: it is damaged")
        try:
            fields = Fields(parse(text.decode("ascii")), "its head")
            version = fields.take("format", lambda value: type(value) is int)
            if version != FORMAT:
                raise FleetStoreError(f"it has format {version}; this version of pocketkernel reads {FORMAT}")
            of_digest = lambda value: isinstance(value, str) and len(bytes.fromhex(value)) == DIGEST  # noqa: E731
            count = lambda value: type(value) is int and 0 <= value < 2**62  # noqa: E731
            checks = dict.fromkeys(("seq", "start", "clock", "evicted", "slot_bytes"), count)
            checks |= dict.fromkeys(("chain", "start_chain", "sum"), of_digest)
            checks["session"] = lambda value: value is None or isinstance(value, str)
            checks["kind"] = lambda value: value in (None, "int", "str", "bytes")
            checks["offset"] = lambda value: True
            head = cls(**{name: fields.take(name, check) for name, check in checks.items()})
            fields.end()
        except FleetStoreError:
            raise
        except ValueError as error:
            raise FleetStoreError(f"its head is invalid: {error}") from None
        return head


def digest_of(*parts: Any) -> bytes:
    """A digest of some bytes, and of how they are divided."""
    digest = blake2b(b"".join(memoryview(part).nbytes.to_bytes(8, "little") for part in parts), digest_size=DIGEST)
    for part in parts:
        digest.update(part)
    return digest.digest()


def refuse(fault: str) -> None:
    """What is done about a fault when a fleet is opened."""
    raise FleetStoreError(fault)


class Database:
    """The file, opened by one process for as long as it lives; other processes may copy it meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE
        self.head = Head()
        self.configuration: bytes | None = None
        self._process = os.getpid()
        self._held = ExitStack()
        self._release: weakref.finalize[..., Database] | None = None
        self._identity: tuple[Any, ...] = ()
        self._reader: sqlite3.Connection | None = None
        self._base: sqlite3.Connection | None = None  # the reader, until the file is written

    # ---- opening ----------------------------------------------------------------------------------------------------

    def lock(self, fault: Callable[[str], None] = refuse) -> None:
        """Keep other processes out, and read the configuration and the head, if there is a fleet already.

        If `fault` does not raise, the file is only to be read, as far as it can be.
        """
        if self._release is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = os.getpid()
        self._release = weakref.finalize(self, _close_all, self._process, self._held)
        try:
            self._held.enter_context(locked(self.folder))
            self._refuse_what_is_none()
            if self._is_new():
                return
            lost = _wal.fault_in(self._beside()[0])
            if lost is not None:
                fault(f"{self._beside()[0]} cannot be read: {lost}.")
            self._read()
            self._check_session(fault)
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        self._reader = self._base = self._connection("ro")
        self._held.callback(_close, self._process, self._base)
        self.head, self.configuration = self.head_in(self._base)

    def read_only(self) -> None:
        """Read the file while another process writes it."""
        self._refuse_what_is_none()
        self._read()

    def _refuse_what_is_none(self) -> None:
        for path in (self.path, *self._beside()):
            if path.is_symlink():  # it may lead to any file, which SQLite would write to
                raise FleetStoreError(f"{path} cannot be read: it is a link.")
            if path.exists() and not path.is_file():
                raise FleetStoreError(f"{path} cannot be read: this is not a regular file.")
        if self.path.exists():
            return
        left = next((path for path in self._beside() if path.exists()), None)
        if left is not None:
            raise FleetStoreError(f"{self.path} is missing, but {left.name} is there: restore both, or remove it.")
        old = next((name for name in _OLD_FILES if (self.folder / name).exists()), None)
        if old is not None:
            raise FleetStoreError(
                f"{self.folder / old} is of a fleet in files of before 0.1.0, which is not read any more: with the "
                f'version that wrote it, run `python -c "from pocketkernel.fleet import Fleet; '
                f"Fleet.load('{self.folder}').export('fleet.pkf')\"`, which keeps the models in memory, and open "
                "'fleet.pkf' with Fleet.load here."
            )

    def _beside(self) -> list[Path]:
        return [self.path.with_name(f"{FILE}-{end}") for end in ("wal", "shm", "journal")]

    def _is_new(self) -> bool:
        """Whether nothing was ever committed here: the first transaction writes all tables."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            return True
        left = self.path.with_name(f"{FILE}-journal").exists()  # of a creation that was killed: SQLite undoes it
        with closing(self._connection("rw" if left else "ro")) as base, self.naming():
            return not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _check_session(self, fault: Callable[[str], None]) -> None:
        """Refuse a write-ahead log that is missing or of another time than the file."""
        wal = self._beside()[0]
        try:  # the file without its log; a crash may have left it between two states
            with closing(self._connection("immutable")) as alone:
                before, _ = self.head_in(alone)
        except (FleetStoreError, OSError):
            return
        has_log = wal.exists() and wal.stat().st_size > PAGE  # SQLite never leaves less of it
        if before.session is not None and not has_log:
            fault(
                f"{wal} is missing: {self.path} was not closed, and what was committed last is in that file. Restore "
                "it, or see `pocketkernel fleet repair`."
            )
        is_other = before.session is not None and self.head.session not in (None, before.session)
        was_open = before.session is not None or self.head.session is None or before.seq == self.head.seq
        if is_other or not was_open or before.seq > self.head.seq:
            fault(f"{wal} is of another time than {self.path}: restore both as they were together.")

    def _connection(self, mode: str) -> sqlite3.Connection:
        more = {"rw": "mode=rw", "ro": "mode=ro", "immutable": "immutable=1"}[mode]
        with self.naming():
            # Any thread may use it: a fleet lets one at a time.
            base = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?{more}", uri=True, isolation_level=None, check_same_thread=False
            )
            try:
                _connections.append(base)
                base.execute("PRAGMA trusted_schema=OFF")
                base.execute("PRAGMA cell_size_check=ON")
            except BaseException:
                base.close()
                raise
            return base

    def create(self, configuration: bytes, slot_bytes: int) -> None:
        """Write a new file, in one transaction."""
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        os.close(os.open(self.path, flags, 0o600))  # the rows of users; SQLite gives the same rights to its other files
        head = Head(slot_bytes=slot_bytes)
        with closing(self._connection("rw")) as base, self.naming():
            base.execute(f"PRAGMA page_size={PAGE}")
            base.execute("PRAGMA synchronous=FULL")
            with _transaction(base):
                for table in _TABLES.values():
                    base.execute(table)
                rows = [("configuration", configuration), ("head", head.encoded(configuration))]
                base.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self._read()

    def begin(self) -> None:
        """Open the file for writing, after it was read, and say so in it.

        The reader stays: SQLite removes the write-ahead log with the last connection, but not if that only reads. So
        the log is there as long as the file says that it is open.
        """
        self._base = self._connection("rw")
        self._held.callback(_close, self._process, self._base)
        with self.naming():
            self._base.execute("PRAGMA journal_mode=WAL")
            assert self._reader is not None
            self.head_in(self._reader)  # so that it has the log open, too
            for pragma in ("synchronous=FULL", "secure_delete=OFF", f"wal_autocheckpoint={_CHECKPOINT}"):
                self._base.execute(f"PRAGMA {pragma}")
            self._base.execute(f"PRAGMA journal_size_limit={4 * _CHECKPOINT * PAGE}")
        if self.stored_head() != (self.head, self.configuration):
            raise FleetStoreError(f"{self.path} has changed while it was read.")
        if self.head.session is None:
            self._copy_log()
            head = replace(self.head, session=secrets.token_hex(8))
            with self.transaction() as base:
                self.write_head(base, head)
            self.head = head
            self._copy_log()  # before anything is committed that only the log would have
        self._identity = self._files()

    def _copy_log(self, how: str = "FULL") -> None:
        """Copy what is in the write-ahead log into the file."""
        with self.naming():
            if self.base.execute(f"PRAGMA wal_checkpoint({how})").fetchone()[0]:
                raise OSError(f"{self.path} is read by another process, a backup perhaps: try again when it has ended.")

    def _files(self) -> tuple[Any, ...]:
        """Which files these are, and whether they are still in the folder."""
        found = []
        for path in (self.path, self._beside()[0]):
            with suppress(FileNotFoundError):
                about = path.stat()
                found.append((about.st_dev, about.st_ino))
        return tuple(found)

    # ---- reading and writing ----------------------------------------------------------------------------------------

    @property
    def is_mine(self) -> bool:
        """Whether this process has opened the file, and not one that it was forked from."""
        return self._process == os.getpid()

    def check_process(self) -> None:
        """Refuse to go on in a process that was forked."""
        if not self.is_mine:
            raise FleetStoreError(
                f"{self.folder} belongs to process {self._process}, of which this one is a fork: use the fleet there, "
                "or open it here with Fleet.load after it is closed there."
            )

    def check_files(self) -> None:
        """Raise FleetStoreError if the files were taken away or replaced: nobody would find what is written there."""
        if self._files() != self._identity:
            raise FleetStoreError(
                f"{self.path} or its -wal was removed or replaced while this fleet used it: what was learned since is "
                "in memory only. Keep it with export(path)."
            )

    @property
    def base(self) -> sqlite3.Connection:
        """The connection."""
        self.check_process()
        if self._base is None:
            raise FleetStoreError(f"{self.folder} was closed: continue with Fleet.load({str(self.folder)!r})")
        return self._base

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing, whatever is raised."""
        with self.naming(), _transaction(self.base):
            yield self.base

    def write_head(self, base: sqlite3.Connection, head: Head) -> None:
        """The head, as part of a transaction."""
        assert self.configuration is not None
        base.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (head.encoded(self.configuration),))

    def stored_head(self) -> tuple[Head, bytes]:
        """The head and the configuration as they are in the file."""
        return self.head_in(self.base)

    def head_in(self, base: sqlite3.Connection) -> tuple[Head, bytes]:
        """The head and the configuration that a connection finds."""
        with self.naming():
            found = base.execute("SELECT name, type, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
            if sorted(found) != sorted((name, "table", sql) for name, sql in _TABLES.items()):
                raise FleetStoreError("it has other tables than the file of a fleet")
            meta = dict(base.execute("SELECT name, value FROM meta").fetchall())
            if meta.keys() != {"head", "configuration"}:
                raise FleetStoreError("it has no head")
            return Head.decoded(meta["head"], meta["configuration"]), meta["configuration"]

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Give errors the name of the file: OSError for those of the system, FleetStoreError for its contents."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _SYSTEM:
                raise OSError(f"{self.path}: {error}.") from error
            raise FleetStoreError(f"{self.path} cannot be read: {error}.") from error
        except FleetStoreError as error:
            if str(error).startswith(str(self.folder)):
                raise
            raise FleetStoreError(f"{self.path} cannot be read: {error}.") from error

    def copy_to(self, folder: Path, between: Callable[[], None] | None = None) -> None:
        """Copy what is committed into a new folder; `between` is called every few pages. All is copied, or nothing."""
        copy = Database(folder)
        with closing(copy):
            copy.lock()
            if copy.configuration is not None:
                raise FileExistsError(f"{folder} has a fleet already: give another folder.")
            path = folder / f".{FILE}.tmp"
            path.unlink(missing_ok=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            try:
                with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as target:
                    with self.naming():
                        pages = -1 if between is None else _AT_ONCE
                        self.base.backup(target, pages=pages, progress=lambda *_: between and between(), sleep=0)
                    target.execute("PRAGMA synchronous=FULL")
                    head, configuration = self.head_in(target)
                    closed = replace(head, session=None).encoded(configuration)
                    target.execute("UPDATE meta SET value = ? WHERE name = 'head'", (closed,))
                os.replace(path, copy.path)
                settle(folder)
            finally:
                path.unlink(missing_ok=True)

    def end(self) -> None:
        """Say that the file is closed, and leave it alone in the folder."""
        head = replace(self.head, session=None)
        with self.transaction() as base:
            self.write_head(base, head)
        self.head = head
        with suppress(OSError):  # somebody reads the file: the log stays beside it
            self._copy_log("TRUNCATE")
        assert self._reader is not None
        self._reader.close()

    def close(self) -> None:
        """Release the file, unless it is another process's. If that is interrupted, it can be done again."""
        if not self.is_mine:
            return
        for base in (self._base, self._reader):
            if base is not None:
                base.close()
        self._held.close()
        if self._release is not None:
            self._release.detach()
        self._base = None


def _close(process: int, base: sqlite3.Connection) -> None:
    if os.getpid() == process:
        base.close()


def _close_all(process: int, held: ExitStack) -> None:
    """What is done at the latest when the database is no longer used, or the process ends."""
    if os.getpid() == process:
        held.close()


@contextmanager
def _transaction(base: sqlite3.Connection) -> Iterator[None]:
    try:
        base.execute("BEGIN IMMEDIATE")
        yield
        base.execute("COMMIT")
    finally:
        if base.in_transaction:
            base.execute("ROLLBACK")


class _Connections(list[sqlite3.Connection]):
    """Those that are open, and a few that are not any more."""

    def append(self, base: sqlite3.Connection) -> None:
        """Add one, without those that were closed."""
        self[:] = [one for one in self if _is_open(one)]
        super().append(base)


def _is_open(base: sqlite3.Connection) -> bool:
    try:
        base.total_changes  # noqa: B018
    except sqlite3.ProgrammingError:
        return False
    return True


_connections = _Connections()


def _keep_for_ever() -> None:
    """In a forked process: never close what is the parent's, which would remove its write-ahead log."""
    for base in _connections:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(base))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_for_ever)
