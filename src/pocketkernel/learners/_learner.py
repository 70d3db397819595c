"""The common part of all learners: learning and predicting, row by row. The algorithms are in the core."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from pocketkernel import _core
from pocketkernel._alone import alone
from pocketkernel._threads import thread_count
from pocketkernel.learners._parameters import Parameters
from pocketkernel.learners._rows import CsrRows, check_rows, checked_weights

Array = npt.NDArray[Any]
Scores = npt.NDArray[np.float64]


class OnlineLearner(Parameters):
    """An estimator that learns row by row in one block of memory of fixed size.

    A subclass names its learner in the core (`_learner`), the parameter that counts stored rows or frequencies
    (`_budget_name`), and copies its own parameters into the core's settings (`_configure`). It says what targets it
    takes (`_checked_targets`, `_coded`), and what it becomes with the first of them (`_begin`).
    """

    _takes_missing: ClassVar[bool] = False  # whether NaN in a row is a missing value, else an error

    # ---- targets ----------------------------------------------------------------------------------------------------

    def _checked_targets(self, y: Any, rows: int, begin: bool) -> Array:
        """One target for each row, as an array, or the error that says what is wrong."""
        raise NotImplementedError

    def _coded(self, y: Array) -> Array:
        """Such targets in a form that the core reads."""
        raise NotImplementedError

    def _unknown(self, y: Array, row: int, column: int, sentence: str) -> ValueError:
        """The error about a target that the core refuses."""
        raise NotImplementedError

    def _begin(self, X: Array, y: Array, classes: Any, restart: bool) -> None:
        """Become a learner of rows and targets like these."""
        raise NotImplementedError

    def _check_same(self, classes: Any) -> None:
        """Refuse other classes than those of the first call."""
        raise NotImplementedError

    def _room_for_scores(self, rows: int) -> Scores:
        raise NotImplementedError

    def _decision(self, scores: Scores) -> Scores:
        """The core's scores as callers get them."""
        return scores

    # ---- learning ---------------------------------------------------------------------------------------------------

    def _feed(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, restart: bool, linear: list[Scores] | None = None
    ) -> Scores:
        """Score and learn every row. A list `linear` receives the scores of the learner's linear part."""
        with alone(self):
            before = self.__dict__.copy()
            try:
                return self._feed_alone(X, y, classes, sample_weight, restart=restart, linear=linear)
            except BaseException:
                for name in self.__dict__.keys() - before.keys():
                    del self.__dict__[name]
                self.__dict__.update(before)
                raise

    def _feed_alone(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, restart: bool, linear: list[Scores] | None
    ) -> Scores:
        if restart:
            self.__dict__.pop("_core", None)
        begin = "_core" not in self.__dict__
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = check_rows(self, X, reset=begin)
        y = self._checked_targets(y, X.shape[0], begin)
        weights = checked_weights(sample_weight, X.shape[0])
        if restart and weights is not None and not np.any(weights):
            raise ValueError("sample_weight is zero for every row: use at least one positive weight.")
        if begin:
            self._begin(X, y, classes, restart)
        elif classes is not None:
            self._check_same(classes)
        scores = self._room_for_scores(X.shape[0])
        parts = None if linear is None else np.empty_like(scores)
        self._call(X, scores, self._coded(y), weights, parts)
        if linear is not None and parts is not None:
            linear.append(parts)
        if restart:
            self._core.forget_lags()  # rows that are predicted after a fit need not follow it
        return scores

    def _build(self, X: Array, classes: int, restart: bool) -> None:
        """Build the learner in the core for rows like X."""
        self._recipe = self._choose(X.shape[1], classes, X.shape[0] if restart else None)
        self.budget_ = self._recipe.budget
        try:
            self._core = self._recipe.build()
        except MemoryError:
            size = self._recipe.size()[0]
            raise MemoryError(f"{type(self).__name__} needs {size} bytes, which could not be allocated.") from None

    # ---- answering --------------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Scores:
        """Scores as the core gives them."""
        if self._takes_as_it_is(X):
            scores = self._room_for_scores(len(X))
            if self._core.score_dense(X, scores, thread_count(self.n_jobs, len(X) * self._core.nbytes)) == 0:
                return scores
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        scores = self._room_for_scores(X.shape[0])
        self._call(X, scores)
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
        linear: Scores | None = None,
    ) -> None:
        """Run a block through the core: learn if there are labels, else only score."""
        core = self._core
        if isinstance(X, CsrRows):
            rows = (X.values, X.columns, X.starts)
            learn, score = partial(core.learn_sparse, *rows), partial(core.score_sparse, *rows)
        else:
            learn, score = partial(core.learn_dense, X), partial(core.score_dense, X)
        if y is None:
            status = score(scores, thread_count(self.n_jobs, X.shape[0] * core.nbytes))
        else:
            status = learn(y, weights, scores, linear)
        if status == 0:
            return
        if status == _core.UNSUITED:
            raise AssertionError("the core refused arrays that were prepared for it")
        subject, sentence = _core.describe(status)
        row, column = self._core.fault
        if subject == "y":
            assert y is not None
            raise self._unknown(y, row, column, sentence)
        if subject == "sample_weight":
            assert weights is not None
            raise ValueError(f"{subject} {sentence} (found {weights[row]} at row {row}).")
        if column >= X.shape[1]:
            raise ValueError(f"X {sentence} (in row {row}).")
        value = X.at(row, column) if isinstance(X, CsrRows) else float(X[row, column])
        names = getattr(self, "feature_names_in_", None)
        named = "" if names is None else f" {names[column]!r}"
        raise ValueError(f"X {sentence} (found {value} at row {row}, column {column}{named}).")

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Total bytes of the learner: the size that `plan` gives, constant from the first row on."""
        return self._fitted().nbytes

    @property
    def kernel_weights_(self) -> npt.NDArray[np.float64]:
        """Weight of each kernel in the mixture; they sum to 1."""
        return np.array([kernel["weight"] for kernel in self._fitted().report()])

    @property
    def diagnostics_(self) -> Bunch:
        """Counters of the learner.

        rounds, mistakes, cumulative_loss; additions, proxies, removals (over all kernels); archived, overflowed
        (M-OMD-H); rounds_before, mistakes_before (up to the last power of two but one); and one number per kernel:
        alignment_proxy (M-OMD-H), norms, stored, and the counts again as kernel_additions, kernel_proxies,
        kernel_removals.
        """
        core = self._fitted()
        report = core.report()
        return Bunch(
            **core.tally(),
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
