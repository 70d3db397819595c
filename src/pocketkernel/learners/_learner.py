"""The common part of all learners: learning and predicting, row by row. The algorithms are in the core."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from pocketkernel import _core
from pocketkernel._alone import alone, together
from pocketkernel._threads import thread_count
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._parameters import Parameters, flag
from pocketkernel.learners._passes import orders, parts_of, passes_of, taken
from pocketkernel.learners._persistent import LEARNED
from pocketkernel.learners._rows import CsrRows, check_rows, checked_weights

Array = npt.NDArray[Any]
Scores = npt.NDArray[np.float64]

ANSWERS = 6
"""Numbers that the core tells of a row."""


@with_parameters
class OnlineLearner(Parameters):
    """An estimator that learns row by row in one block of memory of fixed size.

    A subclass names its learner in the core (`_learner`), the parameter that counts stored rows or frequencies
    (`_budget_name`), and copies its own parameters into the core's settings (`_configure`). It says what targets it
    takes (`_checked_targets`, `_coded`), and what it becomes with the first of them (`_begin`).
    """

    _takes_missing: ClassVar[bool] = False  # whether NaN in a row is a missing value, else an error

    shuffle: bool = True
    epochs: int | str = 1

    # ---- targets ----------------------------------------------------------------------------------------------------

    def _checked_targets(self, y: Any, rows: int, begin: bool) -> Array:
        """One target for each row, as an array, or the error that says what is wrong."""
        raise NotImplementedError

    def _coded(self, y: Array) -> Array:
        """Such targets in a form that the core reads."""
        raise NotImplementedError

    def _unknown(self, target: Any, sentence: str) -> ValueError:
        """The error about a target that the core refuses."""
        raise NotImplementedError

    def _begin(self, X: Array, y: Array, classes: Any, restart: bool) -> None:
        """Become a learner of rows and targets like these."""
        raise NotImplementedError

    def _extended(self, y: Array, classes: Any) -> Any:
        """What `_use` takes, if there are targets of new kinds, else None; `classes` are all, if they are given."""
        return None

    def _use(self, coding: Any) -> None:
        """Take targets of new kinds."""

    def _weighed(self, y: Array, weights: Array | None, *, of_all: bool = False) -> Array | None:
        """The weights of rows with these targets, which are all that there are, or the next ones of a stream."""
        return weights

    def _count(self, y: Array, weights: Array | None, rounds: int) -> None:
        """Take note that the first `rounds` rows of those that have a weight were learned."""

    def _room_for_scores(self, rows: int) -> Scores:
        raise NotImplementedError

    def _decision(self, scores: Scores) -> Scores:
        """The core's scores as callers get them."""
        return scores

    # ---- learning ---------------------------------------------------------------------------------------------------

    def _feed(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        *,
        restart: bool,
        then: Callable[[], None] | None = None,
        **told: list[Scores],
    ) -> Scores:
        """Score and learn every row. Returns the scores as callers get them.

        `then` is called when the rows have been learned, before anyone predicts. A list `linear` receives the scores of
        the learner's linear part, a list `apart` those without the last labels; a list `answers` what the core tells of
        each row, in place of its scores.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if restart:  # whoever uses the old learner meanwhile is not disturbed
            fresh, scores = self._begun(X, y, classes, sample_weight, restart=True)
            with alone(self):
                self._become(fresh)
            return scores
        with alone(self):
            if "_core" in self.__dict__:
                return self._feed_more(X, y, classes, sample_weight, then, **told)
            fresh, scores = self._begun(X, y, classes, sample_weight, restart=False, **told)
            self._become(fresh)
            return scores

    def _begun(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, restart: bool, **told: list[Scores]
    ) -> tuple[Self, Scores]:
        """An estimator like this one that has learned these rows alone, and their scores."""
        fresh = type(self).__new__(type(self))
        fresh.__dict__.update({name: value for name, value in self.__dict__.copy().items() if name not in LEARNED})
        X = check_rows(fresh, X, reset=True)
        y = fresh._checked_targets(y, X.shape[0], classes is None)
        weights = checked_weights(sample_weight, X.shape[0])
        fresh._begin(X, y, classes, restart)
        return fresh, fresh._go_through(X, y, weights) if restart else fresh._learn_block(X, y, weights, **told)

    def _become(self, fresh: Self) -> None:
        """Take over what another estimator has learned, all at once."""
        if "feature_names_in_" not in fresh.__dict__:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fresh.__dict__)

    def _feed_more(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        then: Callable[[], None] | None,
        **told: list[Scores],
    ) -> Scores:
        X = check_rows(self, X, reset=False)
        y = self._checked_targets(y, X.shape[0], False)
        weights = checked_weights(sample_weight, X.shape[0])
        before, extended = self.__dict__.get("_coding"), self._extended(y, classes)
        # Nobody predicts between the new labels, or names of columns, and the rows that bring them.
        with nullcontext() if extended is None and then is None else alone(self._core):
            if extended is not None:
                self._use(extended)
            self._core.learned = 0
            try:
                scores = self._learn_block(X, y, weights, **told)
            except BaseException:
                if extended is not None and self._core.learned == 0:
                    self._use(before)
                raise
            if then is not None:
                then()
        return scores

    def _learn_block(self, X: Any, y: Array, weights: Array | None, **told: list[Scores]) -> Scores:
        scores = self._room_for_scores(X.shape[0])
        room = {name: np.empty((len(scores), ANSWERS)) if name == "answers" else np.empty_like(scores) for name in told}
        weights = self._weighed(y, weights)
        try:
            self._call(X, scores, self._coded(y), weights, told=room)
        except BaseException:
            self._count(y, weights, self._core.learned)
            raise
        self._count(y, weights, len(y))
        for name, receiver in told.items():
            receiver.append(room[name] if name == "answers" else self._decision(room[name]))
        return self._decision(scores)

    def _go_through(self, X: Any, y: Array, weights: Array | None) -> Scores:
        """Learn a data set: `epochs` passes over it, shuffled by `shuffle`, a block of rows at a time."""
        seed = self._recipe.seed if flag("shuffle", self.shuffle) else None
        weights = self._weighed(y, weights, of_all=True)
        y = self._coded(y)

        def learn(order: Array) -> None:
            for part in parts_of(order, X.shape[1]):
                some = None if weights is None else weights[part]
                self._call(taken(X, part), self._room_for_scores(len(part)), y[part], some, rows_of=part)

        weighs = np.ones(len(y), dtype=bool) if weights is None else weights > 0
        learn(np.flatnonzero(~weighs))  # such rows are checked, and leave no trace
        rows = np.flatnonzero(weighs)
        if len(rows) == 0:
            raise ValueError("the weight is zero for every row: use at least one positive weight.")
        for number, order in enumerate(orders(rows, self._passes(len(rows)), seed)):
            if number > 0:
                self._core.repeat(True)
                self._core.forget_lags()
            learn(order)
        self._core.repeat(False)
        self._core.forget_lags()  # rows that are predicted after a fit need not follow it
        return self._room_for_scores(0)

    def _passes(self, rows: int) -> int:
        return passes_of(self.epochs, rows)

    def _build(self, X: Array, classes: int, restart: bool) -> None:
        """Build the learner in the core for rows like X."""
        flag("shuffle", self.shuffle)  # what only `fit` needs is checked by whoever comes first
        rows = X.shape[0] * self._passes(X.shape[0])
        with _core.Arithmetic():  # whatever other libraries have set in this thread
            self._recipe = self._choose(X.shape[1], classes, rows if restart else None)
        self.budget_ = self._recipe.budget
        try:
            self._core = self._recipe.build()
        except MemoryError:
            size = self._recipe.size()[0]
            raise MemoryError(f"{type(self).__name__} needs {size} bytes, which could not be allocated.") from None

    # ---- answering --------------------------------------------------------------------------------------------------

    def _scores(self, X: Any, continues: bool = True) -> Scores:
        """Scores as the core gives them, of rows that follow the learned ones, or do not."""
        if self._takes_as_it_is(X):
            rows, core = len(X), self._core
            scores = self._room_for_scores(rows)
            threads = 1 if rows == 1 and self.n_jobs is None else thread_count(self.n_jobs, rows * core.nbytes)
            if core.score_dense(X, scores, threads, continues) == 0:
                return scores
        check_is_fitted(self)
        while True:
            core = self._core
            try:
                rows = check_rows(self, X, reset=False)
                scores = self._room_for_scores(rows.shape[0])
                self._call(rows, scores, continues=continues)
            except (ValueError, AssertionError):
                if self._core is core:
                    raise
            if self._core is core:  # else another thread has called `fit` meanwhile
                return scores

    def _takes_as_it_is(self, X: Any) -> bool:
        """Whether the core may read X directly: it refuses what it cannot read, and the slow path raises the error."""
        mine = self.__dict__
        return "_core" in mine and type(X) is np.ndarray and X.ndim == 2 and "feature_names_in_" not in mine

    def _call(
        self,
        X: Any,
        scores: Scores,
        y: Array | None = None,
        weights: Array | None = None,
        *,
        told: Mapping[str, Scores] = MappingProxyType({}),
        rows_of: Array | None = None,
        continues: bool = True,
    ) -> None:
        """Run a block through the core: learn if there are labels, else only score.

        `told` has arrays for what the core tells besides. `rows_of` has the number of each row as the caller knows it,
        if it is not its place in the block.
        """
        core = self._core
        if isinstance(X, CsrRows):
            rows = (X.values, X.columns, X.starts)
            learn, score = partial(core.learn_sparse, *rows), partial(core.score_sparse, *rows)
        else:
            learn, score = partial(core.learn_dense, X), partial(core.score_dense, X)
        if y is None:
            status = score(scores, thread_count(self.n_jobs, X.shape[0] * core.nbytes), continues)
        else:
            status = learn(y, weights, scores, **told)
        if status == 0:
            return
        if status == _core.UNSUITED:
            raise AssertionError("the core refused arrays that were prepared for it")
        subject, sentence = _core.describe(status)
        row, column = self._core.fault
        there = row if rows_of is None else int(rows_of[row])
        if subject == "y":
            assert y is not None
            found = y[row] if y.ndim == 1 else y[row, column]
            raise self._unknown(found, f"{sentence} (found {found} at row {there})")
        if subject == "sample_weight":
            assert weights is not None
            raise ValueError(f"{subject} {sentence} (found {weights[row]} at row {there}).")
        if column >= X.shape[1]:
            raise ValueError(f"X {sentence} (in row {there}).")
        value = X.at(row, column) if isinstance(X, CsrRows) else float(X[row, column])
        names = getattr(self, "feature_names_in_", None)
        named = "" if names is None else f" {names[column]!r}"
        raise ValueError(f"X {sentence} (found {value} at row {there}, column {column}{named}).")

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Total bytes of the learner: the size that `plan` gives, constant from the first row on."""
        return self._fitted().nbytes

    @property
    def scratch_bytes(self) -> int:
        """Bytes that a prediction takes besides, for the time of its call, if another one is under way."""
        return self._fitted().scratch_bytes

    @property
    def kernel_weights_(self) -> npt.NDArray[np.float64]:
        """Weight of each kernel in the mixture; they sum to 1."""
        return np.array([kernel["weight"] for kernel in self._fitted().report()])

    @property
    def diagnostics_(self) -> Bunch:
        """Counters of the learner.

        rounds, mistakes, cumulative_loss, of rows that were new; repeats, rounds of later passes of `fit` over them;
        additions, proxies, removals (over all kernels and all rounds); archived, overflowed (M-OMD-H); rounds_before,
        mistakes_before (up to the last power of two but one of the new rows); and one number per kernel:
        alignment_proxy (M-OMD-H), norms, stored, and the counts again as kernel_additions, kernel_proxies,
        kernel_removals.
        """
        core = self._fitted()
        with together(core):
            tally, report = core.tally(), core.report()
        return Bunch(
            **tally,
            alignment_proxy=np.array([kernel["alignment"] for kernel in report]),
            norms=np.array([kernel["norm"] for kernel in report]),
            stored=np.array([kernel["stored"] for kernel in report]),
            kernel_additions=np.array([kernel["additions"] for kernel in report]),
            kernel_proxies=np.array([kernel["proxies"] for kernel in report]),
            kernel_removals=np.array([kernel["removals"] for kernel in report]),
        )

    def _fitted(self) -> _core.Learner:
        core: _core.Learner | None = self.__dict__.get("_core")
        if core is None:
            raise NotFittedError(f"This {type(self).__name__} has not learned anything yet: call fit or partial_fit.")
        return core

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing
        return tags
