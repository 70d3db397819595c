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
from pocketkernel.fleet._keys import Key
from pocketkernel.fleet._places import BASE, Places, Slots
from pocketkernel.fleet._slabs import MappedSlabs

Rows = tuple[Any, ...]  # a matrix, or values, columns and starts of a CSR matrix
Lesson = tuple[_core.KeyColumn, Rows, Any, Any]  # keys, rows, labels or targets, weights


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after some rows of a call."""

    def __init__(self, learned: int) -> None:
        super().__init__()
        self.learned = learned


class Models(Places):
    """Slots, which key has which, and what they learn."""

    def __init__(
        self, core: _core.Fleet, *, shared: bool, max_keys: int | None, threads: int, mapped: MappedSlabs | None = None
    ) -> None:
        super().__init__(core, max_keys=max_keys, mapped=mapped)
        self.shared = shared
        self.threads = threads
        self.logged = False
        self.lesson: Lesson | None = None  # what the last call has learned, if it is logged
        self.midway = False  # whether a call has learned rows that are not yet known to be its lesson
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
        if self.max_keys is None or len(self.of) + len(keys) <= self.max_keys:
            return self._learn_at_once(keys, rows, y, weights, scores)
        return self._learn_in_segments(keys, rows, y, weights, scores)

    def _keys_for(self, rows: Rows) -> _core.KeyColumn:
        count, keys = _count(rows), self.rows_of
        if count != len(keys):
            raise ValueError(f"X has {count} rows, but there are {len(keys)} keys: give one key per row.")
        return keys

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
        born = self._births(keys)
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
                if status != 0:  # they were checked before
                    raise ValueError("X, y or sample_weight was changed by another thread while it was read.")
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
            for slot in visitors.values():
                self.leave(slot)


_NO_KEYS = _core.KeyColumn.decoded(b"", "str", 0)


def _count(rows: Rows) -> int:
    return len(rows[0]) if len(rows) == 1 else len(rows[2]) - 1


def _part(rows: Rows, start: int, stop: int) -> Rows:
    if len(rows) == 1:
        return (rows[0][start:stop],)
    values, columns, starts = rows
    some = slice(int(starts[start]), int(starts[stop]))
    return values[some], columns[some], starts[start : stop + 1] - starts[start]
