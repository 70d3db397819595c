"""What all learners share: input, labels, budgets, errors. What they compute is in the core."""

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
from pocketkernel.learners._recipe import Recipe, largest
from pocketkernel.losses import LOSSES
from pocketkernel.memory import parse_bytes

DEFAULT_BUDGET = 400

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
        if core is not None and self._core_knows_labels and classes is None and type(X) is np.ndarray and X.ndim == 2:
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
        self._recipe = self._choose(X.shape[1], X.shape[0] if restart else None)
        self.budget_ = self._recipe.budget
        self._core = self._recipe.build()
        self._name_labels()

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
        positive = self.decision_function(X) >= 0
        return self.classes_[positive.astype(int)]  # type: ignore[no-any-return]

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

    # A learner in the core is carried as its recipe and the bytes of its state, and built anew from them.
    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_core" in state:
            state["_core"] = self._core.save()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        saved = state.pop("_core", None)
        super().__setstate__(state)
        if saved is None:
            return
        core = self._recipe.build()
        status = core.load(saved)
        if status != 0:
            raise ValueError("saved state {1}".format(*_core.describe(status)))
        self._core = core
        self._name_labels()

    # ---- from parameters to a recipe --------------------------------------------------------------------------------

    def _choose(self, features: int, rows: int | None) -> Recipe:
        """Check the parameters and choose the budget; `rows` is how many are to come, if that is known."""
        recipe = Recipe(
            learner=self._learner,
            doubles=_one_of("dtype", self.dtype, ("float32", "float64")) == "float64",
            kernels=_checked_kernels(self.kernels),
            loss=_one_of("loss", getattr(self, "loss", "hinge"), LOSSES),
            removal=_one_of("removal", getattr(self, "removal", "half"), ("half", "restart")),
            features=features,
            seed=_seed(self.random_state),
        )
        self._configure(recipe, rows)
        budget = getattr(self, self._budget_name)
        if self.memory is None:
            self._try_budget(recipe, DEFAULT_BUDGET if budget is None else whole_number(self._budget_name, budget))
        elif budget is not None:
            raise ValueError(f"{self._budget_name}={budget!r} and memory={self.memory!r} are both given: choose one.")
        else:
            self._fit_into(recipe, parse_bytes(self.memory))
        return recipe

    def _configure(self, recipe: Recipe, rows: int | None) -> None:
        """Copy the learner's own numbers."""
        raise NotImplementedError

    def _set_budget(self, recipe: Recipe, budget: int) -> None:
        """Set the budget, and whatever follows from it."""
        recipe.budget = budget

    def _try_budget(self, recipe: Recipe, budget: int) -> int:
        """Bytes with this budget, or the error that says why not."""
        if budget < 1:
            raise ValueError(f"{self._budget_name}={budget} is too small: use a whole number from 1 up.")
        self._set_budget(recipe, budget)
        size, status = recipe.bytes()
        if status != 0:
            subject, sentence = _core.describe(status)
            name = self._budget_name if subject == "budget" else subject
            value = f"={getattr(self, name)!r}" if hasattr(self, name) else ""
            raise ValueError(f"{name}{value} {sentence}.")
        return size

    def _fit_into(self, recipe: Recipe, memory: int) -> None:
        """Choose the largest budget whose learner fits into `memory` bytes."""
        least = self._try_budget(recipe, self._smallest_budget)
        if least > memory:
            raise ValueError(
                f"memory={self.memory!r} ({memory} bytes) is too small: {type(self).__name__} with "
                f"{recipe.features} features takes at least {least} bytes."
            )

        def fits(budget: int) -> bool:
            self._set_budget(recipe, budget)
            size, status = recipe.bytes()
            return status == 0 and size <= memory

        self._set_budget(recipe, largest(fits, self._smallest_budget))

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
        return CsrRows.of(X) if sparse.issparse(X) else np.require(X, requirements=["C", "A"])

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

    def _name_labels(self) -> None:
        """Tell the core the two labels, if it can compare them itself; else it is given -1 and +1."""
        kind, numbers = self.classes_.dtype.kind, self.classes_
        self._core_knows_labels = kind in "biuf" and bool(np.all(np.abs(numbers.astype(float)) < 2**53))
        negative, positive = map(float, numbers) if self._core_knows_labels else (-1.0, 1.0)
        self._core.set_labels(negative, positive)

    def _signs(self, y: Array) -> Array:
        """Labels in a form that the core reads."""
        if self._core_knows_labels and y.dtype.kind in "biuf":
            native = y.dtype.newbyteorder("=")
            return np.ascontiguousarray(y, dtype=native if native.char in "?bidflq" else np.float64)
        positive = y == self.classes_[1]
        unknown = ~(positive | (y == self.classes_[0]))
        if np.any(unknown):
            raise self._unknown_label(y[unknown][0])
        negative, label = self.classes_.astype(float) if self._core_knows_labels else (-1.0, 1.0)
        return np.where(positive, label, negative)

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


def _one_of(name: str, value: Any, known: Iterable[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={value!r} is unknown: use one of {', '.join(map(repr, known))}.")
    return value


def number(name: str, value: Any) -> float:
    """`value` as a float, or an error that names the parameter."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name}={value!r} is not a number.")
    return float(value)


def whole_number(name: str, value: Any) -> int:
    """`value` as an int, or an error that names the parameter."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name}={value!r} is not a whole number.")
    if not 0 <= int(value) < 2**62:
        raise ValueError(f"{name}={value!r} is too {'small' if int(value) < 0 else 'large'} to count anything.")
    return int(value)


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
