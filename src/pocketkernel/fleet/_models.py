"""The models of a fleet in the place of the one compiled learner that an estimator has.

An estimator checks rows, labels and weights, and calls its compiled learner with arrays. Here such a call finds the
slot of each row's key, makes room for new keys, learns every row in its slot, and keeps what was learned for a log.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.fleet._changes import CLOSE, Change, Lesson, Rows, Slots
from pocketkernel.fleet._keys import Key
from pocketkernel.fleet._places import BASE, Places
from pocketkernel.fleet._slabs import MappedSlabs


class Models(Places):
    """Slots, which key has which, and what they learn."""

    def __init__(
        self, core: _core.Fleet, *, shared: bool, max_keys: int | None, threads: int, mapped: MappedSlabs | None = None
    ) -> None:
        super().__init__(core, max_keys=max_keys, mapped=mapped)
        self.shared = shared
        self.threads = threads
        self._small_labels = False  # whether a byte has room for each
        self.learned = 0  # for estimators, which ask after Ctrl-C what a fleet counts by itself
        self._next = local()  # keys of the next call, in every thread

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
        self._small_labels = all(label == int(label) and -128 <= label <= 127 for label in classes)

    def learn_dense(self, x: Any, y: Any, weights: Any, scores: Any, labels: Any = None) -> int:
        """Score and learn the rows of a matrix; the labels are always the same."""
        return self._learn((x,), y, weights, scores)

    def learn_sparse(self, *given: Any) -> int:
        """Score and learn the rows of a CSR matrix: values, columns, starts, labels, weights, scores."""
        return self._learn(given[:3], *given[3:6])

    def score_dense(self, x: Any, scores: Any, threads: int, continues: bool = True) -> int:
        """Score the rows of a matrix."""
        return self._score((x,), scores, threads, continues)

    def score_sparse(self, *given: Any) -> int:
        """Score the rows of a CSR matrix: values, columns, starts, scores, threads, whether rows continue."""
        return self._score(given[:3], *given[3:])

    def forget_lags(self) -> None:
        """For estimators that are fitted; a fleet is not."""

    @contextmanager
    def rows_with(self, keys: _core.KeyColumn) -> Iterator[None]:
        """Within this, rows that are learned or scored have these keys."""
        before = self.rows_of
        self._next.keys = keys
        try:
            yield
        finally:
            self._next.keys = before

    @property
    def rows_of(self) -> _core.KeyColumn:
        """Keys of this thread's next call."""
        return getattr(self._next, "keys", _NO_KEYS)

    # ---- learning ---------------------------------------------------------------------------------------------------

    def _learn(self, rows: Rows, y: Any, weights: Any, scores: Any) -> int:
        keys = self._keys_for(rows)
        if self.logged:  # what is learned is what is stored, even if the caller changes the arrays meanwhile
            rows, weights = tuple(map(np.array, rows)), None if weights is None else np.array(weights)
            y = self._short(y)
        lesson = Lesson(np.zeros(len(keys), dtype=np.int64), rows, y, weights, self._births(keys), self.clock)
        if self.max_keys is None or len(self.of) + len(keys) <= self.max_keys:
            return self._learn_at_once(keys, lesson, scores)
        return self._learn_in_segments(keys, lesson, scores)

    def _short(self, y: Any) -> Any:
        """A copy of labels or targets, as bytes if that changes nothing."""
        if self._small_labels and y.dtype.kind in "bi":
            short = y.astype(np.int8)
            if np.array_equal(short, y):
                return short
        return np.array(y)

    def _keys_for(self, rows: Rows) -> _core.KeyColumn:
        count, keys = _count(rows), self.rows_of
        if count != len(keys):
            raise ValueError(f"X has {count} rows, but there are {len(keys)} keys: give one key per row.")
        return keys

    def _slots_of(self, keys: _core.KeyColumn, unknown: int) -> Slots:
        slots = np.empty(len(keys), dtype=np.int64)
        self.of.find(keys, slots, unknown)
        return slots

    def teach(self, lesson: Lesson, scores: Any, *, check: bool = False) -> int:
        """Learn every row in its slot; the status."""
        slots, rows, y, weights, born, _ = lesson
        teach: Callable[..., int] = self.core.learn_dense if len(rows) == 1 else self.core.learn_sparse
        base = BASE if self.shared else -1
        return teach(slots, *rows, y, weights, scores, 0 if check else self.threads, base, born)

    def _learn_at_once(self, keys: _core.KeyColumn, lesson: Lesson, scores: Any) -> int:
        """Without evictions: all rows in one call."""
        slots = lesson.slots
        self.of.find(keys, slots, -1)
        new: dict[Key, int] = {}
        for row in np.flatnonzero(slots < 0).tolist():
            new.setdefault(keys[row], row)
        self.make_room(len(new))
        change = self.begin()
        if new:
            self._open_all(new, lesson.born, change)
            self.of.find(keys, slots, -1)
        status, learned, error = self._attempt(lesson, scores)
        self._settle(change, lesson, 0, learned)
        change.whole = True
        if error is not None:
            raise error
        return status

    def _attempt(self, lesson: Lesson, scores: Any) -> tuple[int, int, BaseException | None]:
        """Learn rows; the status, how many were learned, and what was raised between two rows, such as Ctrl-C."""
        self.core.learned = 0  # else it would be that of the call before, until the next one begins
        try:
            status = self.teach(lesson, scores)
        except MemoryError:  # of which nobody knows where
            raise
        except BaseException as error:
            return 0, self.core.learned, error
        return status, len(lesson.slots) if status == 0 else 0, None

    def _settle(self, change: Change, lesson: Lesson, start: int, stop: int) -> None:
        """Count some rows of a call, which were learned; keys that are new in later ones get no slot."""
        for move in reversed(change.moves):
            if move.row >= stop and move.what != CLOSE:
                self._close(move.slot)
        change.moves = [move for move in change.moves if move.row < stop or move.what == CLOSE]
        if stop > start:
            learned = lesson.part(start, stop)
            self._used[learned.slots] = self.clock + np.arange(stop - start, dtype=np.uint64)
            change.learn(learned)
            self.clock += stop - start
        else:
            change.move()

    def _learn_in_segments(self, keys: _core.KeyColumn, lesson: Lesson, scores: Any) -> int:
        """Row by row, so that every eviction is that of the key used least recently just then."""
        status = self.teach(lesson, scores, check=True)
        if status != 0:
            return status
        start, before = 0, self.clock
        assert self.max_keys is not None
        self.make_room(min(len(keys), self.max_keys - len(self.of)))
        change = self.begin()

        def flush(stop: int) -> None:
            nonlocal start
            if stop == start:
                return
            status, learned, error = self._attempt(lesson.part(start, stop), scores[start:stop])
            self._settle(change, lesson, start, start + learned)
            if status != 0:  # they were checked before
                error = ValueError("X, y or sample_weight was changed by another thread while it was read.")
            if error is not None:
                change.whole = True
                raise error
            start = stop

        for row, key in enumerate(keys):
            slot = self.of.get(key)
            if slot is None:
                if len(self.of) >= self.max_keys:
                    victim = self._least_recent()
                    if self._used[victim] >= before + start:
                        flush(row)
                    self._evict(victim, row)
                slot = self._open(key, lesson.born, row, change)
            lesson.slots[row] = slot
            self._used[slot] = before + row
        flush(len(keys))
        change.whole = True
        return 0

    def _births(self, keys: _core.KeyColumn) -> npt.NDArray[np.bool_] | None:
        return np.zeros(len(keys), dtype=bool) if self.shared else None

    # ---- scoring ----------------------------------------------------------------------------------------------------

    def _score(self, rows: Rows, scores: Any, threads: int, continues: bool) -> int:
        keys = self._keys_for(rows)
        slots = self._slots_of(keys, BASE)
        visitors: dict[Key, int] = {}
        try:
            if self.has_archived:
                for row in np.flatnonzero(slots == BASE).tolist():
                    key = keys[row]
                    if key not in visitors:
                        visitors[key] = self.visit(key)
                    slots[row] = visitors[key]
            score: Callable[..., int] = self.core.score_dense if len(rows) == 1 else self.core.score_sparse
            return score(slots, *rows, scores, max(threads, 1), continues)
        finally:
            for slot in reversed(visitors.values()):
                self.leave(slot)


_NO_KEYS = _core.KeyColumn.decoded(b"", "str", 0)


def _count(rows: Rows) -> int:
    return len(rows[0]) if len(rows) == 1 else len(rows[2]) - 1
