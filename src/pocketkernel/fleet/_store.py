"""A fleet in a folder: one SQLite file (`_database`) with what was learned, and the states of all models at some time.

Learning is deterministic to the bit, so old states and a log of what happened since give back the same models. A commit
adds a record to the log, and with it the states of a few slabs, those that were written longest ago: as many bytes as
the log needs to stay below `log_bytes`. Records that all slabs have seen are removed. So no commit takes long, whatever
the size of the fleet.
"""

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pocketkernel.fleet._changes import Change, Piece, States, piece_of_states, pieces_in, read_states, size_of
from pocketkernel.fleet._database import DIGEST, FILE, Database, Head, digest_of, refuse
from pocketkernel.fleet._keys import key_of_blob
from pocketkernel.fleet._models import Models
from pocketkernel.fleet._places import BASE
from pocketkernel.fleet._replay import Replay
from pocketkernel.fleet.errors import FleetStoreError

SLAB = 2**18
"""Bytes of models that are written together."""

LOG = 2**26
_RECORD = 2**26  # bytes of a record, after which the next begins: SQLite has a limit
_WAITING = 2**26  # bytes after which a commit is due, however few the rows
_UNCHANGED = 64  # slabs that a commit may find unchanged


class Slab(NamedTuple):
    """What is stored of a slab: after which record, how many events, and digests."""

    seq: int
    clock: int
    body: bytes
    digest: bytes  # empty: nothing is stored yet

    @classmethod
    def of(cls, number: int, seq: int, clock: int, body: bytes) -> "Slab":
        return cls(seq, clock, body, digest_of(b"slab", b"%d %d %d" % (number, seq, clock), body))


@dataclass(frozen=True)
class Entry:
    """A change that waits for a commit, and what holds after it."""

    number: int
    change: Change
    bytes: int  # of all so far
    clock: int
    evicted: int
    kind: str | None
    offset: Any


@dataclass(frozen=True)
class Attempt:
    """A commit, until it is known whether it took place."""

    head: Head
    last: Entry
    slabs: dict[int, Slab]
    base: bytes | None
    credit: float


class FolderStore:
    """A folder that keeps a fleet through crashes.

    Parameters
    ----------
    path : path
        The folder; it is created if it does not exist.
    sync_every : int, default=10_000
        Rows after which what was learned is committed: written, and synced. A crash loses at most this many rows.
    log_bytes : int, default=None
        Bytes of rows that are learned again, at most, when the folder is opened; None means as many as all models have,
        but at least 64 MiB. With fewer, opening is quicker, and commits write more.
    """

    def __init__(self, path: str | os.PathLike[str], *, sync_every: int = 10_000, log_bytes: int | None = None) -> None:
        if sync_every < 1:
            raise ValueError(f"sync_every={sync_every!r} is too small: use 1 row or more.")
        if log_bytes is not None and log_bytes < 1:
            raise ValueError(f"log_bytes={log_bytes!r} is too small: use 1 or more.")
        self.path = Path(path)
        self.sync_every = sync_every
        self.log_bytes = log_bytes
        self._begin()

    def _begin(self) -> None:
        self._database = Database(self.path)
        self._waiting: deque[Entry] = deque()
        self._evicted: dict[bytes, tuple[int, bytes]] = {}  # in those changes: by key, the entry and the state
        self._last = Entry(0, Change(kept=False), 0, 0, 0, None, None)  # that was committed
        self._slabs: dict[int, Slab] = {}  # those written longest ago first
        self._base: bytes | None = None  # the shared one after the last commit
        self._credit = 0.0  # bytes of slabs that are to be written, less those written ahead
        self._attempt: Attempt | None = None
        self._models: Models | None = None
        self._per = 1

    # ---- opening ----------------------------------------------------------------------------------------------------

    def lock(self) -> bytes | None:
        """Lock the folder; the configuration that is stored here, None if the folder is new."""
        self._database.lock()
        return self._database.configuration

    def open(self, fleet: Any, configuration: bytes) -> None:
        """Bring a new fleet to the state that is stored here, and write there from now on."""
        models: Models = fleet._models
        if self._database.configuration is None:
            self._database.create(configuration, models.core.slot_bytes)
        recover(self._database, fleet, self._slabs)
        self._begin_writing(models)
        models.archive = self

    def begin_anew(self, models: Models, configuration: bytes) -> None:
        """Write these models here, where there is nothing yet."""
        self._database.create(configuration, models.core.slot_bytes)
        self._begin_writing(models)

    def _begin_writing(self, models: Models) -> None:
        self._models = models
        self._per = slots_of_slab(models)
        self._base = models.state(BASE) if models.shared else None
        self._last = replace(self._last, clock=models.clock)
        self._database.begin()

    # ---- what happens -----------------------------------------------------------------------------------------------

    def append(self, change: Change, models: Models) -> None:
        """Keep a whole change for the next commit, once."""
        if self.has(change):
            return
        before = self._waiting[-1] if self._waiting else self._last
        number = before.number + 1
        size = sum(map(size_of, change.pieces)) + sum(map(len, change.evicted.values()))
        self._evicted.update({key: (number, state) for key, state in change.evicted.items()})
        self._waiting.append(
            Entry(number, change, before.bytes + size, models.clock, models.evicted, change.kind, change.offset)
        )

    def has(self, change: Change) -> bool:
        """Whether this is the last change that waits."""
        return bool(self._waiting) and self._waiting[-1].change is change

    @property
    def due(self) -> bool:
        """Whether so much waits that it is to be committed."""
        if not self._waiting:
            return False
        last = self._waiting[-1]
        return last.clock - self._last.clock >= self.sync_every or last.bytes - self._last.bytes >= _WAITING

    def archived(self, key: bytes) -> bytes | None:
        """The state of an evicted model; None if there is none."""
        if key in self._evicted:
            return self._evicted[key][1] or None
        with self._database.naming():
            found = self._database.base.execute("SELECT digest, state FROM archive WHERE key = ?", (key,)).fetchone()
            if found is None:
                return None
            if not isinstance(found[1], bytes) or digest_of(b"archive", key, found[1]) != found[0]:
                raise FleetStoreError("the digest of an evicted model does not match: it is damaged")
        state: bytes = found[1]
        return state

    @property
    def is_mine(self) -> bool:
        """Whether this process has opened the folder, and not one that it was forked from."""
        return self._database.is_mine

    def check_process(self) -> None:
        """Refuse to go on in a process that was forked."""
        self._database.check_process()

    # ---- commits ----------------------------------------------------------------------------------------------------

    def commit(self, *, whole: bool = True, most: float | None = None) -> None:
        """Write what waits, and return when it will outlast a crash; if that fails, it still waits.

        Without `whole` models, no slab is written. `most`: write so many bytes of slabs in any case.
        """
        self._resolve()
        if not self._waiting and most is None:
            return
        assert self._models is not None, "a store that is open"
        plan = self._plan(self._models, whole, most)
        self._attempt = attempt = next(plan)
        with self._database.transaction() as base:
            for statement, given in plan:
                base.executemany(statement, given)
            self._database.write_head(base, attempt.head)
        self._database.check_files()
        self._adopt(attempt)

    def _resolve(self) -> None:
        """After a commit that was interrupted: whether it took place."""
        self._database.check_process()
        attempt = self._attempt
        if attempt is None:
            return
        self._database.check_files()
        if self._database.stored_head()[0] == attempt.head:
            self._adopt(attempt)
        self._attempt = None

    def _adopt(self, attempt: Attempt) -> None:
        """What is stored now. It may be interrupted, and is done again then."""
        self._database.head = attempt.head
        for number, slab in attempt.slabs.items():
            self._slabs.pop(number, None)
            self._slabs[number] = slab
        self._base = attempt.base
        self._credit = attempt.credit
        self._last = last = attempt.last
        self._evicted = {key: value for key, value in self._evicted.items() if value[0] > last.number}
        while self._waiting and self._waiting[0].number <= last.number:
            self._waiting.popleft()
        self._attempt = None

    def _plan(self, models: Models, whole: bool, most: float | None) -> Iterator[Any]:
        """What a commit is, first, and then its statements; each may be done again."""
        before = self._database.head
        entries = tuple(self._waiting)
        records = list(_records(entries))
        chain, rows, seq, base = bytes.fromhex(before.chain), [], before.seq, self._base
        for record in records:
            seq += 1
            chain = digest_of(chain, b"%d" % seq, base or b"", record)
            rows.append((seq, chain, base, record))
            base = None
        last = entries[-1] if entries else self._last
        total = int(before.sum, 16)
        archive, total = self._archive_rows(last, total)
        slabs: dict[int, Slab] = {}
        bodies: list[tuple[int, bytes]] = []
        credit = self._credit
        if whole:
            for number in range(len(self._slabs), -(-models.slot_count // self._per)):
                self._slabs[number] = Slab(before.seq, 0, b"", b"")
            credit += sum(map(len, records)) * self._share(models)
            budget = credit if most is None else most
            for number, slab, body in self._sweep(models, seq, budget):
                slabs[number] = slab
                credit -= len(body)
                total += int.from_bytes(slab.digest, "big") - int.from_bytes(self._slabs[number].digest, "big")
                if body:
                    bodies.append((number, body))
        oldest = before.start
        if whole:
            oldest = min((slab.seq for number, slab in self._slabs.items() if number not in slabs), default=seq)
        start_chain = before.start_chain
        if oldest == seq:
            start_chain = chain.hex()
        elif oldest > before.start:
            with self._database.naming():
                found = self._database.base.execute("SELECT chain FROM log WHERE seq = ?", (oldest,)).fetchone()
            start_chain = found[0].hex()
        head = replace(
            before,
            seq=seq,
            chain=chain.hex(),
            start=max(oldest, before.start),
            start_chain=start_chain,
            sum=f"{total % 2 ** (8 * DIGEST):032x}",
        )
        if entries:
            head = replace(head, clock=last.clock, evicted=last.evicted, kind=last.kind, offset=last.offset)
        after = models.state(BASE) if whole and models.shared else self._base
        yield Attempt(head, last, slabs, after, credit)
        yield "DELETE FROM log WHERE seq > ? OR seq <= ?", [(before.seq, head.start)]
        yield "INSERT INTO log VALUES (?, ?, ?, ?)", [row for row in rows if row[0] > head.start]
        yield from archive
        yield "INSERT OR REPLACE INTO slab VALUES (?, ?)", bodies
        of_slabs = [(number, slab.seq, slab.clock, slab.body, slab.digest) for number, slab in slabs.items()]
        yield "INSERT OR REPLACE INTO slab_seq VALUES (?, ?, ?, ?, ?)", of_slabs

    def _archive_rows(self, last: Entry, total: int) -> tuple[list[tuple[str, list[Any]]], int]:
        """Statements for models that were evicted or removed, and the sum of the digests after them."""
        put, gone = [], []
        for key, (number, state) in self._evicted.items():
            if number > last.number:
                continue
            with self._database.naming():
                old = self._database.base.execute("SELECT digest FROM archive WHERE key = ?", (key,)).fetchone()
            total -= int.from_bytes(old[0], "big") if old else 0
            if state:
                digest = digest_of(b"archive", key, state)
                put.append((key, digest, state))
                total += int.from_bytes(digest, "big")
            else:
                gone.append((key,))
        return [
            ("INSERT OR REPLACE INTO archive VALUES (?, ?, ?)", put),
            ("DELETE FROM archive WHERE key = ?", gone),
        ], total

    def _share(self, models: Models) -> float:
        """Bytes of slabs to write for each byte of the log, so that all are written once in `log_bytes`."""
        states = models.slot_count * models.core.slot_bytes
        return states / (self.log_bytes or max(LOG, states))

    def _sweep(self, models: Models, seq: int, budget: float) -> Iterator[tuple[int, Slab, bytes]]:
        """The slabs that were written longest ago, and their bodies; empty if nothing has changed there."""
        unchanged = 0
        for number, slab in self._slabs.items():
            if budget <= 0 or unchanged >= _UNCHANGED or slab.seq >= seq:
                return
            first, stop = number * self._per, (number + 1) * self._per
            if (
                slab.digest
                and not (models.used_in(first, stop) >= slab.clock).any()
                and (first > 0 or not models.shared)
            ):
                unchanged += 1
                yield number, Slab.of(number, seq, slab.clock, slab.body), b""
                continue
            body = b"".join(_states(models, first, stop))
            budget -= len(body)
            yield number, Slab.of(number, seq, models.clock, blake2b(body, digest_size=DIGEST).digest()), body

    def write_slabs(self, most: float) -> bool:
        """Write some of the slabs that are behind the log; whether any is left."""
        self.commit(most=most)
        return any(slab.seq < self._database.head.seq for slab in self._slabs.values())

    def copy(self, folder: Path, between: Callable[[], None]) -> None:
        """Copy what is committed into a new folder; `between` is called now and then."""
        self._database.copy_to(folder, between)

    def end(self) -> None:
        """Say in the file that it is closed, after a commit."""
        self._resolve()
        self._database.end()

    def close(self) -> None:
        """Release the folder. The store may be opened again."""
        if self.is_mine:
            self._database.close()
            self._begin()


def slots_of_slab(models: Models) -> int:
    """Slots whose states are stored together."""
    return max(1, SLAB // models.core.slot_bytes)


def _states(models: Models, first: int, stop: int) -> Piece:
    """The models in these slots; that of the base is the first."""
    stop = min(stop, models.slot_count)
    keys = models.of.column(first, stop)
    slots = np.array(([BASE] if first == 0 else []) + models.of.within(first, stop), dtype=np.int64)
    states = np.empty((len(slots), models.core.slot_bytes), dtype=np.uint8)
    models.core.read(slots, states)
    return piece_of_states(slots, keys, models.used_in(first, stop)[slots - first], states)


def _records(entries: tuple[Entry, ...]) -> Iterator[bytes]:
    """The pieces of some changes, in records that are not too large."""
    parts: Piece = []
    size = 0
    for entry in entries:
        for piece in entry.change.pieces:
            if size > 0 and size + size_of(piece) > _RECORD:
                yield b"".join(parts)
                parts, size = [], 0
            parts += piece
            size += size_of(piece)
    if entries:
        yield b"".join(parts)


# ---- reading --------------------------------------------------------------------------------------------------------

Fault = Callable[[str], None]


def recover(database: Database, fleet: Any, slabs: dict[int, Slab], fault: Fault = refuse) -> None:
    """Bring a new fleet to the state that a file keeps, which is checked as a whole; `slabs` are those stored there.

    If `fault` does not raise, what is damaged is left out: slabs, evicted models, and the log from there on.
    """
    models: Models = fleet._models
    head = database.head
    with database.naming():
        if head.slot_bytes != models.core.slot_bytes:
            raise FleetStoreError(f"it has models of {head.slot_bytes} bytes, not of {models.core.slot_bytes}")
        replay = Replay(fleet._template, models, slots_of_slab(models))
        total = 0
        for number, slab in enumerate(_slabs_of(database, head, fault)):
            total += int.from_bytes(slab.digest, "big")
            try:
                replay.states(number, slab.seq, _read_slab(database, number, slab, models.core.slot_bytes))
                slabs[number] = slab
            except (FleetStoreError, sqlite3.DatabaseError) as error:
                fault(f"slab {number} is lost: {error}")
                replay.lose(number)
        for digest in _digests_of_archive(database, fault):
            total += int.from_bytes(digest, "big")
        if total % 2 ** (8 * DIGEST) != int(head.sum, 16):
            fault("the sum of its digests does not match: rows are missing or of another time")
        try:
            for seq, base, record in _records_of(database, head):
                replay.repeat(record, seq, base)
        except (FleetStoreError, sqlite3.DatabaseError) as error:
            fault(str(error))
        replay.finish()
        models.clock, models.evicted = head.clock, head.evicted
        fleet.offset, fleet.key_kind = head.offset, head.kind
    in_order = sorted(slabs.items(), key=lambda item: (item[1].seq, item[0]))
    slabs.clear()
    slabs.update(in_order)


def _slabs_of(database: Database, head: Head, fault: Fault) -> list[Slab]:
    """What is stored of each slab."""
    found: dict[int, Slab] = {}
    for number, seq, clock, of_body, digest in database.base.execute("SELECT * FROM slab_seq ORDER BY id"):
        if not all(type(value) is int for value in (number, seq, clock)) or not isinstance(of_body, bytes):
            fault("it has an invalid row")
            continue
        slab = Slab.of(number, seq, clock, of_body)
        if slab.digest != digest:
            fault(f"the digest of slab {number} does not match: it is damaged")
        elif not head.start <= seq <= head.seq or clock > head.clock:
            fault(f"slab {number} is of another time than its head")
        found[number] = slab
    numbers = range(max(found, default=-1) + 1)
    if len(found) != len(numbers):
        fault("slabs are missing")
        found = dict.fromkeys(range(min(len(numbers), 2**20)), Slab(0, 0, b"", b"")) | found
    return [found[number] for number in sorted(found)]


def _read_slab(database: Database, number: int, slab: Slab, slot_bytes: int) -> States:
    found = database.base.execute("SELECT body FROM slab WHERE id = ?", (number,)).fetchone()
    if found is None or not isinstance(found[0], bytes):
        raise FleetStoreError(f"slab {number} is missing")
    if blake2b(found[0], digest_size=DIGEST).digest() != slab.body:
        raise FleetStoreError(f"the digest of slab {number} does not match: it is damaged")
    pieces = list(pieces_in(found[0]))
    if len(pieces) != 1 or pieces[0].head.get("do") != "states":
        raise FleetStoreError(f"slab {number} is invalid")
    return read_states(pieces[0], slot_bytes)


def _digests_of_archive(database: Database, fault: Fault) -> Iterator[bytes]:
    try:
        for key, digest in database.base.execute("SELECT key, digest FROM archive"):
            if not isinstance(key, bytes) or not isinstance(digest, bytes) or len(digest) != DIGEST:
                raise FleetStoreError("it has an invalid row")
            yield digest
    except (FleetStoreError, sqlite3.DatabaseError) as error:
        fault(str(error))


def archived_models(database: Database, fault: Fault = refuse) -> Iterator[tuple[bytes, bytes]]:
    """All evicted models that are sound, by their keys."""
    try:
        for key, digest, state in database.base.execute("SELECT key, digest, state FROM archive"):
            if not isinstance(key, bytes) or not isinstance(state, bytes):
                fault("an evicted model is lost: its row is invalid")
                continue
            if digest_of(b"archive", key, state) != digest:
                fault(f"the digest of the evicted model of key {key_of_blob(key)!r} does not match: it is lost")
                continue
            yield key, state
    except sqlite3.DatabaseError as error:
        fault(f"evicted models are lost: {error}")


def _records_of(database: Database, head: Head) -> Iterator[tuple[int, bytes | None, bytes]]:
    """The records of the log, in order."""
    seq, chain = head.start, bytes.fromhex(head.start_chain)
    for number, of_all, base, record in database.base.execute("SELECT seq, chain, base, record FROM log ORDER BY seq"):
        seq += 1
        if not isinstance(record, bytes) or not isinstance(base, bytes | None):
            raise FleetStoreError("it has an invalid row")
        chain = digest_of(chain, b"%d" % seq, base or b"", record)
        if number != seq or chain != of_all:
            raise FleetStoreError(f"record {seq} of its log is damaged, missing or of another time")
        yield seq, base, record
    if (seq, chain.hex()) != (head.seq, head.chain):
        raise FleetStoreError(f"record {seq + 1} of its log is missing")


# ---- writing a whole fleet ------------------------------------------------------------------------------------------


def write_new(fleet: Any, configuration: bytes, folder: Path, archived: Iterator[tuple[bytes, bytes]]) -> None:
    """Write a fleet that is in memory, and evicted models, into a new folder."""
    models: Models = fleet._models
    if (folder / FILE).exists():
        raise FileExistsError(f"{folder} has a fleet already: give another folder.")
    store = FolderStore(folder)
    with closing(store):
        store.lock()
        store.begin_anew(models, configuration)
        change = Change(kept=True)
        for key, state in archived:
            change.evicted[key] = state
            if len(change.evicted) * models.core.slot_bytes >= _WAITING:
                store.append(change, models)
                store.commit(most=0)
                change = Change(kept=True)
        change.kind, change.offset = fleet.key_kind, fleet.offset
        store.append(change, models)
        store.commit(most=0)  # an empty record, which no slab has seen
        while store.write_slabs(_WAITING):
            pass
        store.end()
