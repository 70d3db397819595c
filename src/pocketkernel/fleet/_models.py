"""The models of a fleet in the place of the one compiled learner that an estimator has.

An estimator checks rows, labels and weights, and calls its compiled learner with arrays. Here such a call finds the
slot of each row's key, makes room for new keys, learns every row in its slot, and keeps what was learned for a log.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.fleet._keys import Key
from pocketkernel.fleet._slabs import MappedSlabs
from pocketkernel.fleet.errors import FleetStoreError

Slots = npt.NDArray[np.int64]
Rows = tuple[Any, ...]  # a matrix, or values, columns and starts of a CSR matrix
Lesson = tuple[_core.KeyColumn, Rows, Any, Any]  # keys, rows, labels or targets, weights

BASE = 0
"""The slot of the model that new keys begin with, and that answers for unknown keys."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after some rows of a call."""

    def __init__(self, learned: int) -> None:
        super().__init__()
        self.learned = learned


class Archive(Protocol):
    """Where evicted models are kept."""

    def put(self, key: Key, clock: int, state: bytes) -> None:
        """Keep a state."""

    def get(self, key: Key, clock: int) -> bytes | None:
        """The state that was kept last before that moment."""


class Models:
    """Slots, and which key has which."""

    def __init__(
        self, core: _core.Fleet, *, shared: bool, max_keys: int | None, threads: int, mapped: MappedSlabs | None = None
    ) -> None:
        self.core = core
        self._mapped = mapped
        self.shared = shared
        self.max_keys = max_keys
        self.threads = threads
        self.of = _core.Keys()
        self.evicted = 0
        self.clock = 0  # rows learned, and models set or removed
        self.archive: Archive | None = None
        self.logged = False
        self.lesson: Lesson | None = None  # what the last call has learned, if it is logged
        self.midway = False  # whether a call has learned rows that are not yet known to be its lesson
        self.rows_of = _NO_KEYS  # of the next call
        self._slots = 1  # in use or free
        self._used = np.zeros(1024, dtype=np.uint64)
        self._free: list[int] = []
        self._oldest: deque[tuple[int, int]] = deque()  # (last used, slot) of the slots used least recently
        self._reserve(1)
        core.begin([BASE], -1)

    # ---- what an estimator calls ------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """What is read to score a row."""
        return self.core.slot_bytes

    @property
    def fault(self) -> tuple[int, int]:
        """Row and column that were refused."""
        return self.core.fault

    def set_labels(self, classes: list[float]) -> None:
        """Tell the core the labels."""
        self.core.set_labels(classes)

    def learn_dense(self, x: Any, y: Any, weights: Any, scores: Any, linear: None = None) -> int:
        """Score and learn the rows of a matrix; a fleet does not tell the linear part of the scores."""
        return self._learn((x,), y, weights, scores)

    def learn_sparse(self, *given: Any) -> int:
        """Score and learn the rows of a CSR matrix: values, columns, starts, labels, weights, scores."""
        return self._learn(given[:3], *given[3:6])

    def score_dense(self, x: Any, scores: Any, threads: int) -> int:
        """Score the rows of a matrix."""
        return self._score((x,), scores, threads)

    def score_sparse(self, values: Any, columns: Any, starts: Any, scores: Any, threads: int) -> int:
        """Score the rows of a CSR matrix."""
        return self._score((values, columns, starts), scores, threads)

    def forget_lags(self) -> None:
        """For estimators that are fitted; a fleet is not."""

    @contextmanager
    def rows_with(self, keys: _core.KeyColumn) -> Iterator[None]:
        """Within this, rows that are learned or scored have these keys."""
        self.rows_of = keys
        try:
            yield
        finally:
            self.rows_of = _NO_KEYS

    # ---- learning ---------------------------------------------------------------------------------------------------

    def _learn(self, rows: Rows, y: Any, weights: Any, scores: Any) -> int:
        keys = self._keys_for(rows)
        if self.max_keys is None or len(self.of) + len(keys) <= self.max_keys:
            return self._learn_at_once(keys, rows, y, weights, scores)
        return self._learn_in_segments(keys, rows, y, weights, scores)

    def _keys_for(self, rows: Rows) -> _core.KeyColumn:
        count = _count(rows)
        if count != len(self.rows_of):
            raise ValueError(f"X has {count} rows, but there are {len(self.rows_of)} keys: give one key per row.")
        return self.rows_of

    def _slots_of(self, keys: _core.KeyColumn, unknown: int) -> Slots:
        slots = np.empty(len(keys), dtype=np.int64)
        self.of.find(keys, slots, unknown)
        return slots

    def _call(
        self, rows: Rows, slots: Slots, y: Any, weights: Any, scores: Any, *, born: Any, check: bool = False
    ) -> int:
        teach: Callable[..., int] = self.core.learn_dense if len(rows) == 1 else self.core.learn_sparse
        base = BASE if self.shared else -1
        return teach(slots, *rows, y, weights, scores, 0 if check else self.threads, base, born)

    def _call_logged(self, rows: Rows, slots: Slots, y: Any, weights: Any, scores: Any, *, born: Any) -> int:
        """The same; Ctrl-C raises `Interrupted`, which knows how many rows were learned."""
        self.midway = True
        try:
            return self._call(rows, slots, y, weights, scores, born=born)
        except KeyboardInterrupt:
            raise Interrupted(self.core.learned) from None

    def _learn_at_once(self, keys: _core.KeyColumn, rows: Rows, y: Any, weights: Any, scores: Any) -> int:
        """Without evictions: all rows in one call."""
        slots = self._slots_of(keys, -1)
        new = np.flatnonzero(slots < 0).tolist()
        born = np.zeros(len(keys), dtype=bool) if self.shared else None
        opened: dict[Key, int] = {}
        learned = 0
        try:
            for row in new:
                key = keys[row]
                if key not in opened:
                    slots[row] = self._open(key, born, row)
                    opened[key] = row
                slots[row] = slots[opened[key]]
            status = self._call_logged(rows, slots, y, weights, scores, born=born)
            learned = len(keys) if status == 0 else 0
        except Interrupted as error:
            learned = error.learned
            raise
        finally:
            for key, row in reversed(opened.items()):
                if row >= learned:
                    self._close(key)
            self._used[slots[:learned]] = self.clock + np.arange(learned, dtype=np.uint64)
            self._learned(keys, rows, y, weights, learned)
        return status

    def _learn_in_segments(self, keys: _core.KeyColumn, rows: Rows, y: Any, weights: Any, scores: Any) -> int:
        """Row by row, so that every eviction is that of the key used least recently just then."""
        nowhere = np.zeros(len(keys), dtype=np.int64)
        status = self._call(rows, nowhere, y, weights, scores, born=self._births(keys), check=True)
        if status != 0:
            return status
        start = 0
        opened: list[tuple[int, Key]] = []
        slots = np.zeros(len(keys), dtype=np.int64)
        born = self._births(keys)

        def flush(stop: int) -> None:
            nonlocal start
            if stop == start:
                return
            try:
                some = slice(start, stop)
                status = self._call_logged(
                    _part(rows, start, stop), slots[some], y[some], None if weights is None else weights[some],
                    scores[some], born=None if born is None else born[some],
                )  # fmt: skip
                assert status == 0, "rows that were checked before"
            except Interrupted as error:
                start += error.learned
                raise
            start = stop
            opened.clear()

        try:
            for row, key in enumerate(keys):
                slot = self.of.get(key)
                if slot is None:
                    if self.max_keys is not None and len(self.of) >= self.max_keys:
                        victim = self._least_recent()
                        if self._used[victim] >= self.clock + start:
                            flush(row)
                        self._evict(victim, self.clock + row)
                    slot = self._open(key, born, row)
                    opened.append((row, key))
                slots[row] = slot
                self._used[slot] = self.clock + row
            flush(len(keys))
        finally:
            for row, key in reversed(opened):
                if row >= start:
                    self._close(key)
            self._learned(keys, rows, y, weights, start)
        return 0

    def _births(self, keys: _core.KeyColumn) -> npt.NDArray[np.bool_] | None:
        return np.zeros(len(keys), dtype=bool) if self.shared else None

    def _learned(self, keys: _core.KeyColumn, rows: Rows, y: Any, weights: Any, count: int) -> None:
        self.clock += count
        if self.logged and count > 0:
            self.lesson = (keys, _part(rows, 0, count), y[:count], None if weights is None else weights[:count])
        self.midway = False

    # ---- scoring ----------------------------------------------------------------------------------------------------

    def _score(self, rows: Rows, scores: Any, threads: int) -> int:
        keys = self._keys_for(rows)
        slots = self._slots_of(keys, BASE)
        visitors: dict[Key, int] = {}
        try:
            if self.archive is not None and self.evicted:
                for row in np.flatnonzero(slots == BASE).tolist():
                    key = keys[row]
                    if key not in visitors:
                        visitors[key] = self.visit(key)
                    slots[row] = visitors[key]
            score: Callable[..., int] = self.core.score_dense if len(rows) == 1 else self.core.score_sparse
            return score(slots, *rows, scores, max(threads, 1))
        finally:
            for slot in visitors.values():
                self.leave(slot)

    def leave(self, slot: int) -> None:
        """Give back the slot of a visitor."""
        if slot != BASE:
            self._free.append(slot)

    def visit(self, key: Key) -> int:
        """A slot for the time of one call with an archived model; that of the base if there is none."""
        state = self.archived(key)
        if state is None:
            return BASE
        slot = self._new_slot()
        self.load(slot, state)
        return slot

    # ---- keys -------------------------------------------------------------------------------------------------------

    def slots(self) -> Slots:
        """The slots of all keys, in the order of `of.column()`."""
        slots = np.empty(len(self.of), dtype=np.int64)
        self.of.slots(slots)
        return slots

    @property
    def index_bytes(self) -> int:
        """Bytes of the tables of keys."""
        return self.of.nbytes + self._used.nbytes + 8 * len(self._free) + 80 * len(self._oldest)

    def open(self, key: Key) -> int:
        """The slot of a key, a new one if it has none yet."""
        slot = self.of.get(key)
        if slot is None:
            if self.max_keys is not None and len(self.of) >= self.max_keys:
                self._evict(self._least_recent(), self.clock)
            slot = self._open(key, None, 0)
        self._used[slot] = self.clock
        self.clock += 1
        return slot

    def remove(self, key: Key) -> None:
        """Forget a key, evicted or not; KeyError if there is none."""
        evicted = self.archived(key)
        if key in self.of or evicted is None:
            self._close(key)
        if self.archive is not None and evicted is not None:
            self.archive.put(key, self.clock, b"")
        self.clock += 1

    def archived(self, key: Key, row: int = 0) -> bytes | None:
        """The state of an evicted model, as that row of a call finds it."""
        return self.archive.get(key, self.clock + row) if self.archive is not None and self.evicted else None

    def used(self) -> npt.NDArray[np.uint64]:
        """The number of the last event of every key, in the order of the keys."""
        return self._used[self.slots()]

    def place(self, keys: _core.KeyColumn, used: npt.NDArray[np.uint64]) -> bool:
        """Give keys the slots from 1 on, in an empty fleet; False if one comes twice."""
        if not self.of.place(keys, 1):
            return False
        self._slots = 1 + len(keys)
        self._used = np.concatenate([np.zeros(1, dtype=np.uint64), used, np.zeros(1024, dtype=np.uint64)])
        self._reserve(self._slots)
        return True

    def _open(self, key: Key, born: npt.NDArray[np.bool_] | None, row: int) -> int:
        slot = self._new_slot()
        state = self.archived(key, row)
        if state is not None:
            self.load(slot, state)
        elif born is None:
            self.core.begin([slot], BASE)
        else:
            born[row] = True
        self.of.put(key, slot)
        return slot

    def _new_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot = self._slots
        if slot >= self.core.capacity:
            self._reserve(slot + 1)
        self._slots += 1
        if slot >= len(self._used):
            self._used = np.concatenate([self._used, np.zeros(len(self._used), dtype=np.uint64)])
        return slot

    def _reserve(self, slots: int) -> None:
        if self._mapped is None:
            self.core.reserve(slots)
            return
        while self.core.capacity < slots:
            self.core.add_slab(self._mapped.new(self.core.bytes_of_slab))

    def _close(self, key: Key) -> None:
        slot = self.of.get(key)
        if slot is None:
            raise KeyError(key)
        self.of.remove(slot)
        self._used[slot] = 0
        self._free.append(slot)

    def load(self, slot: int, state: bytes) -> None:
        """Fill a slot with a state; FleetStoreError if it is none of such a model."""
        if len(state) != self.core.slot_bytes or not self.core.write(
            np.array([slot]), np.frombuffer(state, dtype=np.uint8).reshape(1, -1)
        ):
            raise FleetStoreError("the store of this fleet has an impossible model")

    def state(self, slot: int) -> bytes:
        """A model's state, without a header."""
        out = np.empty((1, self.core.slot_bytes), dtype=np.uint8)
        self.core.read(np.array([slot]), out)
        return out.tobytes()

    # ---- eviction ---------------------------------------------------------------------------------------------------

    def _least_recent(self) -> int:
        """The slot whose key was used least recently. Slots are sorted in batches; one used since is skipped."""
        while True:
            while self._oldest:
                last, slot = self._oldest.popleft()
                if self.of.has(slot) and int(self._used[slot]) == last:
                    return slot
            slots = self.slots()
            last_used = self._used[slots]
            few = max(16, len(slots) // 16)
            if few < len(slots):
                slots = slots[np.argpartition(last_used, few)[:few]]
                last_used = self._used[slots]
            order = np.lexsort((slots, last_used))
            self._oldest.extend(zip(last_used[order].tolist(), slots[order].tolist(), strict=True))

    def _evict(self, slot: int, clock: int) -> None:
        key = self.of.name(slot)
        if self.archive is not None:
            self.archive.put(key, clock, self.state(slot))
        self.evicted += 1
        self._close(key)


_NO_KEYS = _core.KeyColumn.decoded(b"", "str", 0)


def _count(rows: Rows) -> int:
    return len(rows[0]) if len(rows) == 1 else len(rows[2]) - 1


def _part(rows: Rows, start: int, stop: int) -> Rows:
    if len(rows) == 1:
        return (rows[0][start:stop],)
    values, columns, starts = rows
    some = slice(int(starts[start]), int(starts[stop]))
    return values[some], columns[some], starts[start : stop + 1] - starts[start]
