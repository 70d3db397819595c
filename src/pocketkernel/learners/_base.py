"""What all learners share: input, labels, budgets, errors. What they compute is in the core."""

import os
import secrets
from collections.abc import Iterable
from dataclasses import astuple
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pocketkernel import _core
from pocketkernel.kernels import PAPER_KERNELS, Kernel
from pocketkernel.losses import LOSSES
from pocketkernel.memory import parse_bytes

DEFAULT_BUDGET = 400
LEVEL_VARIABLE = "POCKETKERNEL_LEVEL"
"""Environment variable that forces a level of the core: scalar, base or avx2. All give the same bits."""

Array = npt.NDArray[Any]
Scores = npt.NDArray[np.float64]


class CsrRows(NamedTuple):
    """The three arrays of a CSR matrix, of the types that the core reads."""

    values: Array
    columns: Array
    starts: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Any) -> Self:
        """Rows of a CSR matrix with sorted, unique column indices; the matrix itself is left alone."""
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return cls(
            np.ascontiguousarray(X.data),
            np.ascontiguousarray(X.indices, dtype=np.int32),
            np.ascontiguousarray(X.indptr, dtype=np.int64),
            X.shape,
        )

    def at(self, row: int, column: int) -> float:
        """The stored value at a place."""
        place = slice(self.starts[row], self.starts[row + 1])
        return float(self.values[place][self.columns[place] == column][0])


class OnlineKernelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the learners: a binary classifier that learns row by row in one block of memory of fixed size.

    A subclass names its learner in the core (`_learner`), the parameter that counts stored rows or frequencies
    (`_budget_name`), and copies its own parameters into the core's settings (`_configure`).
    """

    _learner: ClassVar[str]
    _budget_name: ClassVar[str] = "budget"
    _smallest_budget: ClassVar[int] = 1

    kernels: Iterable[Kernel] | None
    memory: int | str | None
    dtype: str
    random_state: Any

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn every row of X once, in order.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Finite numbers; float32 and float64 arrays in C order are read in place.
        y : array of shape (n,)
            Labels, of exactly two different values. The smaller one is the negative class.
        """
        self._feed(X, y, None, restart=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn every row of X once, in order, going on from what was learned before.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array of two labels, default=None
            Needed in the first call if y does not hold both labels.
        """
        self._feed(X, y, classes, restart=False)
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Scores:
        """For every row of X: score it, then learn it with its label. Answers the scores, each made before its label.

        The fast path for progressive evaluation, with whole blocks or with one row at a time. Parameters as in
        `partial_fit`.
        """
        core = self.__dict__.get("_core")
        if core is not None and classes is None and type(X) is np.ndarray:
            scores = np.empty(len(X))
            status = core.learn_dense(X, y, scores)
            if status == 0:
                return scores
        return self._feed(X, y, classes, restart=False)

    def _feed(self, X: Any, y: Any, classes: Any, *, restart: bool) -> Scores:
        before = self.__dict__.copy()
        try:
            if restart:
                self.__dict__.pop("_core", None)
            begin = "_core" not in self.__dict__
            X, y = self._check_rows_and_labels(X, y, begin)
            if begin:
                self._begin(X, y, classes, restart)
            elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(f"classes={classes!r} differ from those of the first call, {self.classes_.tolist()}.")
            scores = np.empty(X.shape[0])
            self._call(X, scores, self._signs(y))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return scores

    def _begin(self, X: Array, y: Array, classes: Any, restart: bool) -> None:
        """Build the learner in the core for rows like X."""
        labels = np.unique(y if classes is None else np.asarray(classes))
        if classes is not None and len(labels) != 2:
            raise ValueError(f"classes={classes!r} has {len(labels)} different labels: exactly two are needed.")
        if len(labels) == 1:
            raise ValueError(
                f"y has only one class, {labels[0]!r}: "
                + ("learning needs both." if restart else "give both labels in the first call, as classes=[...].")
            )
        if len(labels) > 2:
            raise ValueError(
                f"Only binary classification is supported: y has {len(labels)} classes, {labels[:5].tolist()} ...; "
                "wrap the learner in sklearn.multiclass.OneVsRestClassifier."
            )
        self.classes_ = labels
        settings = self._settings(X.shape[1], X.shape[0] if restart else None)
        self._settings_ = settings
        self._build(settings)
        self.budget_ = settings.budget

    def _build(self, settings: _core.Settings) -> None:
        level = os.environ.get(LEVEL_VARIABLE, "")
        self._core = _core.Learner(self._learner, self._doubles(), level, settings)

    # ---- answering --------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Scores:
        """Scores of the rows of X; a score >= 0 means the positive class, ``classes_[1]``. Learns nothing."""
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        scores = np.empty(X.shape[0])
        self._call(X, scores, None)
        return scores

    def predict(self, X: Any) -> Array:
        """Labels of the rows of X."""
        return self.classes_[(self.decision_function(X) >= 0).astype(int)]  # type: ignore[no-any-return]

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes that the learner takes, all in all. Known before the first row, never changed after."""
        return self._fitted().nbytes

    @property
    def kernel_weights_(self) -> npt.NDArray[np.float64]:
        """Weight of each kernel in the mixture; they sum to 1."""
        return np.array([kernel["weight"] for kernel in self._fitted().report()])

    @property
    def diagnostics_(self) -> Bunch:
        """What the learner has done so far.

        rounds, mistakes, cumulative_loss; additions, proxies, removals (over all kernels); archived, overflowed
        (M-OMD-H); and one number per kernel: alignment_proxy (M-OMD-H), norms, stored, and the counts again as
        kernel_additions, kernel_proxies, kernel_removals.
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
        tags.classifier_tags.multi_class = False
        return tags

    # A learner in the core is carried as the bytes of its state, and built anew around them.
    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_core" in state:
            state["_core"] = self._core.save()
            state["_settings_"] = {name: getattr(self._settings_, name) for name in _NUMBERS}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        saved = state.pop("_core", None)
        super().__setstate__(state)
        if saved is None:
            return
        numbers: dict[str, Any] = state["_settings_"]
        self._settings_ = self._describe(_core.Settings())
        for name, value in numbers.items():
            setattr(self._settings_, name, value)
        self._build(self._settings_)
        status = self._core.load(saved)
        if status != 0:
            raise ValueError("saved state {1}".format(*_core.describe(status)))
        self._name_labels()

    # ---- parameters to settings -------------------------------------------------------------------------------------

    def _doubles(self) -> bool:
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype={self.dtype!r} is unknown: use 'float32' or 'float64'.")
        return self.dtype == "float64"

    def _settings(self, features: int, rows: int | None) -> _core.Settings:
        """Everything the core must know; `rows` is how many are to come, if that is known."""
        settings = self._describe(_core.Settings())
        settings.features = features
        settings.seed = _seed(self.random_state)
        self._configure(settings, rows)
        budget = getattr(self, self._budget_name)
        if self.memory is None:
            chosen = DEFAULT_BUDGET if budget is None else _whole(self._budget_name, budget)
            self._try_budget(settings, chosen)
        elif budget is not None:
            raise ValueError(f"{self._budget_name}={budget!r} and memory={self.memory!r} are both given: choose one.")
        else:
            self._fit_into(settings, parse_bytes(self.memory))
        return settings

    def _describe(self, settings: _core.Settings) -> _core.Settings:
        """Copy the parameters that are not numbers."""
        for kernel in _checked_kernels(self.kernels):
            settings.add_kernel(kernel.family, kernel.parameter)
        loss = getattr(self, "loss", "hinge")
        if loss not in LOSSES:
            raise ValueError(f"loss={loss!r} is unknown: use one of {', '.join(map(repr, LOSSES))}.")
        settings.set_loss(loss)
        removal = getattr(self, "removal", "half")
        if removal not in ("half", "restart"):
            raise ValueError(f"removal={removal!r} is unknown: use 'half' or 'restart'.")
        settings.set_removal(removal == "half")
        return settings

    def _configure(self, settings: _core.Settings, rows: int | None) -> None:
        """Copy the learner's own numbers."""
        raise NotImplementedError

    def _set_budget(self, settings: _core.Settings, budget: int) -> None:
        """Set the budget, and whatever follows from it."""
        settings.budget = budget

    def _bytes_with(self, settings: _core.Settings, budget: int) -> tuple[int, int]:
        self._set_budget(settings, budget)
        return _core.bytes_of(self._learner, self._doubles(), settings)

    def _try_budget(self, settings: _core.Settings, budget: int) -> int:
        if budget < 1:
            raise ValueError(f"{self._budget_name}={budget} is too small: use a whole number from 1 up.")
        size, status = self._bytes_with(settings, budget)
        if status != 0:
            raise self._error(status)
        return size

    def _fit_into(self, settings: _core.Settings, memory: int) -> None:
        """Choose the largest budget whose learner fits into `memory` bytes."""
        least = self._try_budget(settings, self._smallest_budget)
        if least > memory:
            raise ValueError(
                f"memory={self.memory!r} ({memory} bytes) is too small: {type(self).__name__} with "
                f"{settings.features} features takes at least {least} bytes."
            )

        def fits(budget: int) -> bool:
            size, status = self._bytes_with(settings, budget)
            return status == 0 and size <= memory

        low, high = self._smallest_budget, self._smallest_budget + 1
        while fits(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        self._set_budget(settings, low)

    def _error(self, status: int) -> ValueError:
        """The exception for a status of the core, naming the value at fault."""
        subject, sentence = _core.describe(status)
        name = self._budget_name if subject == "budget" else subject
        value = f"={getattr(self, name)!r}" if hasattr(self, name) else ""
        return ValueError(f"{name}{value} {sentence}.")

    # ---- rows and labels --------------------------------------------------------------------------------------------

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            order="C",
            ensure_all_finite=False,
        )
        return CsrRows.of(X) if sparse.issparse(X) else X

    def _check_rows_and_labels(self, X: Any, y: Any, begin: bool) -> tuple[Any, Array]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._check_rows(X, reset=begin)
        y = column_or_1d(y, warn=True)
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but y has {y.shape[0]} labels: give one label per row.")
        if begin:
            check_classification_targets(y)
        return X, y

    def _name_labels(self) -> bool:
        """Tell the core the two labels, if it can compare them itself; else it is given -1 and +1."""
        numbers = self.classes_.dtype.kind in "biuf" and bool(np.all(np.abs(self.classes_.astype(float)) < 2**53))
        negative, positive = map(float, self.classes_) if numbers else (-1.0, 1.0)
        self._core.set_labels(negative, positive)
        return numbers

    def _signs(self, y: Array) -> Array:
        """Labels in a form that the core reads."""
        if self._name_labels() and y.dtype.kind in "biuf":
            return np.ascontiguousarray(y, dtype=y.dtype if y.dtype.char in "?bidflq" else np.float64)
        positive = y == self.classes_[1]
        unknown = ~(positive | (y == self.classes_[0]))
        if np.any(unknown):
            raise self._unknown_label(y[unknown][0])
        return np.where(positive, self._label(1), self._label(0))

    def _label(self, i: int) -> float:
        return float(self.classes_[i]) if self._name_labels() else (-1.0, 1.0)[i]

    def _unknown_label(self, label: Any) -> ValueError:
        return ValueError(f"y has the label {label!r}, which is none of the two classes {self.classes_.tolist()}.")

    def _call(self, X: Any, scores: Scores, y: Array | None) -> None:
        """Run a block through the core: learn if there are labels, else only score."""
        if isinstance(X, CsrRows):
            rows = (X.values, X.columns, X.starts)
            core = self._core
            status = core.score_sparse(*rows, scores) if y is None else core.learn_sparse(*rows, y, scores)
        else:
            status = self._core.score_dense(X, scores) if y is None else self._core.learn_dense(X, y, scores)
        if status == 0:
            return
        if status == _core.UNSUITED:
            raise AssertionError("the core refused arrays that were prepared for it")
        subject, sentence = _core.describe(status)
        row, column = self._core.fault
        if subject == "y":
            assert y is not None
            raise self._unknown_label(y[row])
        value = X.at(row, column) if isinstance(X, CsrRows) else float(X[row, column])
        raise ValueError(f"X {sentence} (found {value} at row {row}, column {column}).")


_NUMBERS = (
    "features", "budget", "reservoir", "step", "norm_bound", "horizon", "nu", "rate", "regularization", "seed",
)  # fmt: skip


def _checked_kernels(kernels: Any) -> tuple[Kernel, ...]:
    if kernels is None:
        return PAPER_KERNELS
    if isinstance(kernels, str) or not isinstance(kernels, Kernel | Iterable):
        raise ValueError(f"kernels={kernels!r} is not a list of kernels: use for example gaussians([0.5, 1, 2]).")
    checked = (kernels,) if isinstance(kernels, Kernel) else tuple(kernels)
    for kernel in checked:
        if not isinstance(kernel, Kernel):
            raise ValueError(
                f"kernels has {kernel!r}, an unknown kernel: use Gaussian(width), Laplacian(width), Polynomial(degree) "
                "or Linear()."
            )
        if not all(isinstance(value, Real) and float(value) > 0 for value in astuple(kernel)):
            raise ValueError(f"kernels has {kernel!r}: its number must be positive.")
    return checked


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name}={value!r} is not a whole number.")
    return int(value)


def number(name: str, value: Any) -> float:
    """`value` as a float, or an error that names the parameter."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name}={value!r} is not a number.")
    return float(value)


def whole_number(name: str, value: Any) -> int:
    """`value` as an int from 0 up, or an error that names the parameter."""
    whole = _whole(name, value)
    if whole < 0:
        raise ValueError(f"{name}={value!r} is negative.")
    return whole


def _seed(random_state: Any) -> int:
    """64-bit seed that a random_state stands for."""
    if random_state is None:
        return secrets.randbits(64)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(8), "little")
    if isinstance(random_state, Integral) and 0 <= int(random_state) < 2**64:
        return int(random_state)
    raise ValueError(
        f"random_state={random_state!r} is none of these: None, an integer from 0 to 2**64 - 1, a NumPy generator."
    )
