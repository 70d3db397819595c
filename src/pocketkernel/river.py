"""The learners as River classifiers: one dict of features at a time, names that come and go, the same bits.

A row of the core has `width` columns. The first `width` names to be learned get one each (`columns_`); a later name
shares the column that its hash points to, with a sign, and `collisions_` counts such values. A feature that is not in
a row is 0. Every score equals that of the scikit-learn-style learner of the same name, given the same rows and seed.

Of two labels, True (or 1) is positive and False (or 0) negative; of others, the first to appear is negative. A score of
exactly 0 is answered with the positive label, and with None before any label is known. The multiclass learners have
room for a fixed number of labels and take them as they appear.
"""

import gc
import inspect
import math
import os
import re
import sys
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from numbers import Integral
from reprlib import repr as short
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from pocketkernel import learners, model_file
from pocketkernel._core import fill_row
from pocketkernel._files import write_atomically
from pocketkernel.kernels import Kernel
from pocketkernel.learners._alone import alone
from pocketkernel.learners._base import OnlineKernelClassifier, checked_weights, whole_number
from pocketkernel.learners._certificate import Certificate
from pocketkernel.learners._persistent import is_plain, plausible
from pocketkernel.learners._plan import Plan
from pocketkernel.learners._rows import is_sequence_of_labels
from pocketkernel.model_file import Contents, ModelFileError

try:
    from river import base
except ImportError as error:
    raise ImportError('pocketkernel.river needs River: pip install "pocketkernel[river]"') from error

__all__ = ["MOMDH", "MOMDS", "LKMBooks", "MulticlassMOMDS", "PocketClassifier", "Raker"]

Features = Mapping[Hashable, Any]
Floats = npt.NDArray[np.float64]
Values = dict[Hashable, Any]
"""Values by name: one float each, or one array with a value for every row."""


class _Stream(base.MiniBatchClassifier):
    """From dicts and frames to rows of the core. A subclass gives the learner, and turns scores into answers."""

    _learner: ClassVar[type[OnlineKernelClassifier]]

    width: int
    seed: int | None

    def __init__(self) -> None:
        self.columns_: dict[Hashable, int] = {}
        self.collisions_ = 0
        self._shared: dict[Hashable, int] = {}
        self._places: dict[Hashable, int] = {}
        self._model: OnlineKernelClassifier | None = None
        self._y_name: Hashable = None

    # ---- what a subclass knows about labels -------------------------------------------------------------------------

    @property
    def _labels_in_core(self) -> Floats:
        """The label of each place, as the core knows it."""
        return np.array([-1.0, 1.0])

    def _code(self, place: int) -> Floats:
        """One of them, as a column of one row."""
        raise NotImplementedError

    def _with_labels(self, labels: Iterable[Hashable]) -> dict[Hashable, int]:
        """Places of the labels known so far and of these; an error if they are too many."""
        raise NotImplementedError

    def _keep_labels(self, places: dict[Hashable, int]) -> None:
        """Take over what `_with_labels` answered, now that rows with these labels have been learned."""
        self._places = places

    # ---- learning ---------------------------------------------------------------------------------------------------

    def learn_one(self, x: Features, y: Hashable, w: float = 1.0) -> None:
        """Learn the features x with their label y.

        Parameters
        ----------
        x : dict
            Finite numbers by name.
        y
            A label.
        w : float, default=1.0
            What the row's loss is multiplied by, from 0 to 1e9.
        """
        model = self._model
        if model is not None and type(x) is dict and type(w) is float and w > 0.0 and y in self._places:
            # New arrays for every call, not kept ones: prediction and pickles stay pure, and threads apart.
            row = np.empty((1, self.width))
            shared = fill_row(self.columns_, self._shared, x, row)
            if shared >= 0:
                code, weight = self._code(self._places[y]), None if w == 1.0 else np.array([w])
                if model._core.learn_dense(row, code, weight, model._room_for_scores(1)) == 0:
                    self.collisions_ += shared
                    return
        self._learn(_numbers(x), [y], w)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a pandas DataFrame with a Series of labels: the same as `learn_one` for each in turn.

        If a row is refused, none is learned.
        """
        values, labels = _columns(X), _labels(y)
        if len(labels) != len(X):
            raise ValueError(f"X has {len(X)} rows but y has {len(labels)} labels: give one label per row.")
        if labels:
            self._learn(values, labels, w)
        self._y_name = getattr(y, "name", None)

    def _learn(self, values: Values, labels: list[Hashable], w: Any) -> None:
        """Learn rows that may bring new names, labels or errors. Nothing is kept unless everything was learned."""
        weights = _weights(w, len(labels))
        if weights is not None and not weights.all():  # rows of weight 0 are as if they had not come
            kept = weights > 0
            values = {name: value[kept] if isinstance(value, np.ndarray) else value for name, value in values.items()}
            labels = [y for y, keep in zip(labels, kept, strict=True) if keep]
            weights = weights[kept]
        if not labels:
            return
        with alone(self):
            if self._model is None:
                self._check_parameters()
            places = self._with_labels(labels)
            new, shared = self._new_names(values)
            rows = self._rows(values, len(labels), new, shared)
            try:
                self._feed(rows, np.concatenate([self._code(places[y]) for y in labels]), weights)
            except ValueError as error:
                raise _named(error, values) from None
            self.columns_.update(new)
            self.collisions_ += len(shared) * len(labels)
            self._remember(shared)
            self._keep_labels(places)

    def _feed(self, rows: Floats, codes: Floats, weights: Floats | None) -> None:
        """Let the learner learn rows; the first ones build it."""
        if self._model is None:
            self._model = self._begun(rows, codes, weights)
        else:
            self._model.predict_then_learn(rows, codes, sample_weight=weights)

    def _begun(self, rows: Floats, codes: Floats, weights: Floats | None) -> OnlineKernelClassifier:
        """A new learner that has learned these rows."""
        model = self._unlearned()
        model.partial_fit(rows, codes, classes=self._labels_in_core, sample_weight=weights)
        return model

    def _unlearned(self) -> OnlineKernelClassifier:
        known = inspect.signature(self._learner).parameters
        given = {name: value for name, value in self._get_params().items() if name in known}
        return self._learner(random_state=self.seed, **given)

    def _check_parameters(self) -> None:
        """Check what the learner does not know by these names; it checks the others."""
        if not 1 <= whole_number("width", self.width) <= 1_000_000:
            raise ValueError(f"width={self.width!r} is out of range: a row has 1 to 1,000,000 columns.")
        seed = self.seed
        if not (seed is None or (isinstance(seed, Integral) and 0 <= int(seed) < 2**64)):
            raise ValueError(f"seed={seed!r} is neither None nor an integer from 0 to 2**64 - 1.")

    # ---- scoring ----------------------------------------------------------------------------------------------------

    def _score(self, x: Features) -> Any:
        """Score of one row, or scores if there are more than one; 0 as long as nothing has been learned."""
        model = self._model
        if model is not None and type(x) is dict:
            row, score = np.empty((1, self.width)), model._room_for_scores(1)
            if fill_row(self.columns_, self._shared, x, row) >= 0 and model._core.score_dense(row, score, 1) == 0:
                return score.tolist()[0]
        return self._scores(_numbers(x), 1).tolist()[0]

    def _scores(self, values: Values, count: int) -> Floats:
        """Scores of rows that may have unknown names: they are left out until all columns are taken, then hashed."""
        if self._model is None or count == 0:
            return np.zeros(count)
        full = len(self.columns_) == self.width
        rows = self._rows(values, count, {}, self._new_names(values)[1] if full else [])
        try:
            return self._model._scores(rows)
        except ValueError as error:
            raise _named(error, values) from None

    # ---- names ------------------------------------------------------------------------------------------------------

    def _new_names(self, names: Iterable[Hashable]) -> tuple[dict[Hashable, int], list[Hashable]]:
        """Columns for unknown names as far as there are any, and the names that must share one.

        Sorted, so that the order of a dict is of no matter.
        """
        unknown = sorted(
            (name for name in names if name not in self.columns_), key=lambda name: (type(name).__name__, str(name))
        )
        taken = len(self.columns_)
        room = self.width - taken
        return {name: taken + k for k, name in enumerate(unknown[:room])}, unknown[room:]

    def _rows(self, values: Values, count: int, new: dict[Hashable, int], shared: list[Hashable]) -> Floats:
        """Rows of the core from values by name."""
        blocks = any(isinstance(value, np.ndarray) for value in values.values())
        cells: list[Any] = [np.zeros(count) if blocks else 0.0] * self.width
        for name, value in values.items():
            column = self.columns_.get(name, new.get(name))
            if column is not None:
                cells[column] = value
        for name in shared:
            code = self._shared_column(name)
            column = abs(code) - 1
            cells[column] = cells[column] + (values[name] if code > 0 else -values[name])
        rows = np.empty((count, self.width))
        rows[:] = np.array(cells).reshape(self.width, -1).T
        return rows

    def _shared_column(self, name: Hashable) -> int:
        """Column k that a name shares, as k + 1, or as -(k + 1) if its values are taken away there."""
        # Not hash(): this one is the same in every process and on every machine.
        code = zlib.crc32(str(name).encode(errors="backslashreplace"))
        column = (code >> 1) % self.width + 1
        return column if code & 1 else -column

    def _remember(self, names: Iterable[Hashable]) -> None:
        """Keep the places of some names that share, so that the next row with them is a matter of look-ups."""
        for name in names:
            if len(self._shared) < 4 * self.width:
                self._shared[name] = self._shared_column(name)

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes of the learner in the core. Known before the first row, never changed after."""
        return self.plan().nbytes if self._model is None else self._model.nbytes

    def plan(self) -> Plan:
        """What the learner takes, or will take; exactly, and without any row."""
        self._check_parameters()
        return self._unlearned().plan(self.width, n_classes=len(self._labels_in_core))

    @property
    def budget_(self) -> int:
        """Number of stored examples or frequencies, as it was chosen."""
        return self._fitted().budget_

    @property
    def kernel_weights_(self) -> Floats:
        """Weight of each kernel in the mixture; they sum to 1."""
        return self._fitted().kernel_weights_

    @property
    def diagnostics_(self) -> Bunch:
        """What the learner has done so far; see the learner of the same name in pocketkernel.learners."""
        return self._fitted().diagnostics_

    def certificate(self, delta: float = 0.05) -> Certificate:
        """What the learner has done, and what that proves about its regret on the rows as it saw them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability with which the bound may fail, above 0, below 1.
        """
        return self._fitted().certificate(delta)

    def _fitted(self) -> OnlineKernelClassifier:
        if self._model is None:
            raise AttributeError(f"This {type(self).__name__} has not learned anything yet: call learn_one.")
        return self._model

    # ---- files ------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The whole model as bytes: parameters, labels, columns, and the exact state of learning.

        Their number grows with the names of features and labels until there are no new ones, and with nothing else.
        """
        if self._model is None:
            raise ValueError(f"This {type(self).__name__} has not learned anything yet: call learn_one.")
        if globals().get(type(self).__name__) is not type(self):
            raise TypeError(
                f"{type(self).__name__} is not a class of pocketkernel.river, so no file of it could be read back: "
                "pickle it."
            )
        return self._model._to_bytes(
            {
                "river": type(self).__name__,
                "columns": [_written("feature", name) for name in self.columns_],
                "labels": [[_written("label", y), place] for y, place in self._places.items()],
                "collisions": f"{self.collisions_:020d}",  # as long as any
            }
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes()` to a file, which `pocketkernel.load` reads; an older file is replaced in one step."""
        write_atomically(path, self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The model that `to_bytes` wrote; it goes on exactly where that one was."""
        model = restored(model_file.decode(data, plausible))
        if type(model) is not cls:
            raise ModelFileError(f"the model file holds a river.{type(model).__name__}, not a river.{cls.__name__}.")
        return model

    @classmethod
    def _restored(cls, contents: Contents) -> Self:
        model, extra = cls._learner._restored(contents)
        columns: Any = extra.get("columns")
        labels: Any = extra.get("labels")
        collisions: Any = extra.get("collisions")
        shape = {"width": model.n_features_in_, "seed": model.random_state, "n_classes": len(model.classes_)}
        given = model.get_params(deep=False) | shape
        self = cls(**{name: given[name] for name in inspect.signature(cls).parameters})
        codes = self._labels_in_core
        good = (
            extra.keys() == {"river", "columns", "labels", "collisions"}
            and _are_plain(columns)
            and len(set(columns)) == len(columns) <= self.width
            and isinstance(labels, list)
            and all(isinstance(pair, list) and len(pair) == 2 and _are_plain(pair) for pair in labels)
            and all(type(place) is int and 0 <= place < len(codes) for _, place in labels)
            and len({y for y, _ in labels}) == len({place for _, place in labels}) == len(labels)
            and isinstance(collisions, str)
            and re.fullmatch(r"[0-9]{20}", collisions)
            and np.array_equal(model.classes_, codes)
        )
        if not good:
            raise ModelFileError("the model file does not hold the columns and labels of a river stream.")
        self._model = model
        self.columns_ = {name: column for column, name in enumerate(columns)}
        self.collisions_ = int(collisions)
        self._keep_labels(dict(labels))
        return self

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the core, and of all that Python holds: parameters, names of features and labels."""
        core = 0 if self._model is None else self._model.nbytes
        # River asks the garbage collector who refers to whom, and a dict does not tell it of keys that are strings.
        told = set(map(id, gc.get_referents(self.columns_)))
        names = sum(sys.getsizeof(name) for name in self.columns_ if id(name) not in told)
        return super()._raw_memory_usage + core + names


class _Binary(_Stream):
    """Two labels, as the module says, and their probabilities."""

    _CODES = (np.array([-1.0]), np.array([1.0]))

    def _code(self, place: int) -> Floats:
        return self._CODES[place]

    def __init__(self) -> None:
        super().__init__()
        self._pair: tuple[Hashable, Hashable] = (None, None)

    def _with_labels(self, labels: Iterable[Hashable]) -> dict[Hashable, int]:
        places = dict(self._places)
        for y in labels:
            if y in places:
                continue
            _check_label(y)
            if len(places) == 2:
                raise ValueError(
                    f"y={y!r} is a third label after {list(places)}: {type(self).__name__} tells two apart; "
                    "use PocketClassifier, or wrap it in river.multiclass.OneVsRestClassifier."
                )
            wanted = int(y == True)  # noqa: E712  (1 and np.True_ as well)
            places[y] = 1 - wanted if wanted in places.values() else wanted
        return places

    def _keep_labels(self, places: dict[Hashable, int]) -> None:
        if len(places) == len(self._places):
            return
        self._places = places
        labels = {place: y for y, place in places.items()}
        if len(labels) == 1:  # of bools, the other one is known already
            (y,) = places
            labels = ({0: False, 1: True} if y in (False, True) else {0: y, 1: y}) | labels
        self._pair = labels[0], labels[1]

    # ---- answering --------------------------------------------------------------------------------------------------

    def predict_one(self, x: Features) -> Any:  # type: ignore[override]
        """Label of the features x, None before the first one was learned. A score of exactly 0 is positive."""
        return self._pair[self._score(x) >= 0]

    def predict_proba_one(self, x: Features) -> dict[Any, float]:  # type: ignore[override]
        """Probability of each label; needs the logistic loss."""
        self._check_loss()
        return self._distribution(_sigmoid(self._score(x)))

    def predict_many(self, X: Any) -> Any:
        """Labels of the rows of a pandas DataFrame, as a Series with its index."""
        scores = self._scores(_columns(X), len(X))
        labels = [self._pair[score >= 0] for score in scores.tolist()]
        return _pandas().Series(labels, index=X.index, name=self._y_name)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of the rows of a pandas DataFrame, as a DataFrame with its index and a column per label."""
        self._check_loss()
        scores = self._scores(_columns(X), len(X))
        # Not np.exp, whose last bit may differ from that of math.exp.
        positive = np.array([_sigmoid(score) for score in scores.tolist()])
        return _pandas().DataFrame(self._distribution(positive), index=X.index)

    def _distribution(self, positive: Any) -> dict[Any, Any]:
        negative_label, positive_label = self._pair
        if negative_label is not positive_label:
            return {negative_label: 1.0 - positive, positive_label: positive}
        return {False: 0.5, True: 0.5} if negative_label is None else {negative_label: 1.0}

    def _check_loss(self) -> None:
        loss = getattr(self, "loss", self._learner._loss)
        if loss != "logistic":
            raise NotImplementedError(
                f"A score made with the {loss} loss says nothing about probabilities: use predict_one, or a learner "
                "with loss='logistic'."
            )


class _HasFrequencies(_Stream):
    """A learner with random features."""

    @property
    def frequencies_(self) -> Floats:
        """The D random frequencies, one per row, before they are divided by a kernel's width."""
        return self._fitted().frequencies_  # type: ignore[no-any-return]


class _Many(_Stream):
    """Labels in order of appearance, as many as there is room for, and their probabilities."""

    n_classes: int

    @property
    def _labels_in_core(self) -> Floats:
        return np.arange(self.n_classes, dtype=np.float64)

    def _code(self, place: int) -> Floats:
        return np.array([place], dtype=np.float64)

    @property
    def _multiclass(self) -> bool:
        return self.n_classes > 2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 2 <= whole_number("n_classes", self.n_classes) <= 10_000:
            raise ValueError(f"n_classes={self.n_classes!r} is out of range: 2 to 10,000 classes can be told apart.")

    def _with_labels(self, labels: Iterable[Hashable]) -> dict[Hashable, int]:
        places = dict(self._places)
        for y in labels:
            if y in places:
                continue
            _check_label(y)
            if len(places) == self.n_classes:
                raise ValueError(
                    f"y={y!r} is one label more than n_classes={self.n_classes}: give {type(self).__name__} room for "
                    "all of them."
                )
            places[y] = len(places)
        return places

    # ---- answering: among the labels that are known -----------------------------------------------------------------

    def _known(self) -> list[Hashable]:
        """Labels by place: those that have been learned; and if there is room for two, False and True beforehand."""
        labels = list(self._places)
        if self.n_classes == 2 and len(labels) < 2 and all(y in (False, True) for y in labels):
            labels += [y for y in (False, True) if y not in labels]
        return labels

    def predict_one(self, x: Features) -> Any:  # type: ignore[override]
        """Label of the features x, None before the first one was learned. Of equal scores the earlier label wins."""
        return self._best(self._score(x))

    def predict_proba_one(self, x: Features) -> dict[Any, float]:  # type: ignore[override]
        """Probability of each label that has been learned; of two bools, of both from the beginning."""
        return dict(zip(self._known(), self._softmax(self._score(x)), strict=True))

    def predict_many(self, X: Any) -> Any:
        """Labels of the rows of a pandas DataFrame, as a Series with its index."""
        labels = [self._best(scores) for scores in self._scores(_columns(X), len(X)).tolist()]
        return _pandas().Series(labels, index=X.index, name=self._y_name)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of the rows of a pandas DataFrame, as a DataFrame with its index and a column per label."""
        rows = [self._softmax(scores) for scores in self._scores(_columns(X), len(X)).tolist()]
        return _pandas().DataFrame(rows, index=X.index, columns=self._known())

    def _best(self, scores: Any) -> Any:
        if not self._places:
            return None
        labels = self._known()
        return labels[max(range(len(labels)), key=scores.__getitem__)]

    def _softmax(self, scores: Any) -> list[float]:
        known = len(self._known())
        if not self._places:  # nor scores: the labels are two bools, or none
            return [0.5] * known
        seen = scores[:known]
        odds = [math.exp(score - max(seen)) for score in seen]
        total = sum(odds)
        return [odd / total for odd in odds]


# ---- the learners ---------------------------------------------------------------------------------------------------


class PocketClassifier(_HasFrequencies, _Many):
    """A linear model and random features of several kernel widths, mixed: the learner to begin with.

    It has nothing to tune, and scales the features itself. Two labels or more.

    Parameters
    ----------
    memory, dtype
        As in `pocketkernel.PocketClassifier`.
    n_classes : int, default=2
        C, the number of labels that there is room for, from 2 to 10,000. They need not be known beforehand.
    width : int, default=64
        Number of columns, at least 1. Memory and time grow with it: give it the number of features if that is known.
    seed : int, default=None
        Seed of the frequencies.

    Attributes
    ----------
    columns_ : dict
        Column of each name that has one.
    collisions_ : int
        Number of learned values that had to share a column.
    frequencies_, nbytes, budget_, kernel_weights_, diagnostics_
        See the properties.

    Examples
    --------
    >>> from pocketkernel.river import PocketClassifier
    >>> from river import datasets, evaluate, metrics
    >>> model = PocketClassifier(memory="16KiB", width=9, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.87
    True
    >>> model.nbytes <= 16 * 1024
    True
    """

    _learner = learners.PocketClassifier

    def __init__(
        self,
        *,
        n_classes: int = 2,
        memory: int | str = "64KiB",
        dtype: str = "float32",
        width: int = 64,
        seed: int | None = None,
    ):
        super().__init__()
        self.n_classes = n_classes
        self.memory = memory
        self.dtype = dtype
        self.width = width
        self.seed = seed

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_classes": 10}
        yield {}


class MOMDS(_Binary):
    """Memory-bounded online mirror descent for smooth losses (M-OMD-S).

    Runs all kernels on one buffer of at most B examples. Scale the features first.

    Parameters
    ----------
    kernels, budget, memory, step, norm_bound, loss, removal, dtype, storage
        As in `pocketkernel.MOMDS`.
    width : int, default=64
        Number of columns, at least 1. Memory and time grow with it: give it the number of features if that is known.
    seed : int, default=None
        Seed of the sampling.

    Attributes
    ----------
    columns_ : dict
        Column of each name that has one.
    collisions_ : int
        Number of learned values that had to share a column.
    nbytes, budget_, kernel_weights_, diagnostics_
        See the properties.

    Examples
    --------
    >>> from pocketkernel.river import MOMDS
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | MOMDS(memory="16KiB", width=9, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.85
    True
    >>> model["MOMDS"].nbytes <= 16 * 1024
    True
    """

    _learner = learners.MOMDS

    def __init__(
        self,
        *,
        kernels: Iterable[Kernel] | Kernel | None = None,
        budget: int | None = None,
        memory: int | str | None = None,
        step: float = 1.0,
        norm_bound: float | None = None,
        loss: str = "logistic",
        removal: str = "half",
        dtype: str = "float32",
        storage: str | None = None,
        width: int = 64,
        seed: int | None = None,
    ):
        super().__init__()
        self.kernels = kernels
        self.budget = budget
        self.memory = memory
        self.step = step
        self.norm_bound = norm_bound
        self.loss = loss
        self.removal = removal
        self.dtype = dtype
        self.storage = storage
        self.width = width
        self.seed = seed


class MOMDH(_Binary):
    """Memory-bounded optimistic mirror descent for the hinge loss (M-OMD-H). It has no probabilities.

    Each kernel has its own buffer of at most B examples, and all share a uniform sample of the past. Scale the features
    first.

    Parameters
    ----------
    kernels, budget, memory, step, norm_bound, reservoir, horizon, removal, dtype, storage
        As in `pocketkernel.MOMDH`.
    width : int, default=64
        Number of columns, at least 1. Memory and time grow with it: give it the number of features if that is known.
    seed : int, default=None
        Seed of the sampling.

    Attributes
    ----------
    columns_ : dict
        Column of each name that has one.
    collisions_ : int
        Number of learned values that had to share a column.
    nbytes, budget_, kernel_weights_, diagnostics_
        See the properties.

    Examples
    --------
    >>> from pocketkernel.river import MOMDH
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | MOMDH(budget=50, width=9, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.8
    True
    """

    _learner = learners.MOMDH

    def __init__(
        self,
        *,
        kernels: Iterable[Kernel] | Kernel | None = None,
        budget: int | None = None,
        memory: int | str | None = None,
        step: float = 1.0,
        norm_bound: float | None = None,
        reservoir: int = 10,
        horizon: float = 1e9,
        removal: str = "half",
        dtype: str = "float32",
        storage: str | None = None,
        width: int = 64,
        seed: int | None = None,
    ):
        super().__init__()
        self.kernels = kernels
        self.budget = budget
        self.memory = memory
        self.step = step
        self.norm_bound = norm_bound
        self.reservoir = reservoir
        self.horizon = horizon
        self.removal = removal
        self.dtype = dtype
        self.storage = storage
        self.width = width
        self.seed = seed


class LKMBooks(_Binary):
    """Learning kernels with memory by randomly adding examples (LKMBooks), a baseline of the paper.

    Stores at most B examples and never removes one. Scale the features first.

    Parameters
    ----------
    kernels, budget, memory, nu, step, loss, dtype, storage
        As in `pocketkernel.LKMBooks`.
    horizon : float
        T, the number of rounds that will come; it must be known beforehand.
    width : int, default=64
        Number of columns, at least 1. Memory and time grow with it: give it the number of features if that is known.
    seed : int, default=None
        Seed of the sampling.

    Attributes
    ----------
    columns_ : dict
        Column of each name that has one.
    collisions_ : int
        Number of learned values that had to share a column.
    nbytes, budget_, kernel_weights_, diagnostics_
        See the properties.

    Examples
    --------
    >>> from pocketkernel.river import LKMBooks
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | LKMBooks(horizon=1250, budget=50, width=9, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.8
    True
    """

    _learner = learners.LKMBooks

    def __init__(
        self,
        *,
        horizon: float,
        kernels: Iterable[Kernel] | Kernel | None = None,
        budget: int | None = None,
        memory: int | str | None = None,
        nu: float = 0.5,
        step: float = 10.0,
        loss: str = "logistic",
        dtype: str = "float32",
        storage: str | None = None,
        width: int = 64,
        seed: int | None = None,
    ):
        super().__init__()
        self.horizon = horizon
        self.kernels = kernels
        self.budget = budget
        self.memory = memory
        self.nu = nu
        self.step = step
        self.loss = loss
        self.dtype = dtype
        self.storage = storage
        self.width = width
        self.seed = seed

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"horizon": 2000}


class Raker(_HasFrequencies, _Binary):
    """Random-feature multi-kernel learning (Raker), a baseline of the paper.

    Stores no examples: each Gaussian kernel is a linear model on cosines and sines of D random projections, which all
    kernels share. Scale the features first.

    Parameters
    ----------
    kernels, features, memory, rate, regularization, loss, dtype
        As in `pocketkernel.Raker`.
    width : int, default=64
        Number of columns, at least 1. Memory and time grow with it: give it the number of features if that is known.
    seed : int, default=None
        Seed of the frequencies.

    Attributes
    ----------
    columns_ : dict
        Column of each name that has one.
    collisions_ : int
        Number of learned values that had to share a column.
    frequencies_, nbytes, budget_, kernel_weights_, diagnostics_
        See the properties.

    Examples
    --------
    >>> from pocketkernel.river import Raker
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | Raker(features=50, width=9, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.8
    True
    """

    _learner = learners.Raker

    def __init__(
        self,
        *,
        kernels: Iterable[Kernel] | Kernel | None = None,
        features: int | None = None,
        memory: int | str | None = None,
        rate: float = 0.5,
        regularization: float = 0.0005,
        loss: str = "logistic",
        dtype: str = "float32",
        width: int = 64,
        seed: int | None = None,
    ):
        super().__init__()
        self.kernels = kernels
        self.features = features
        self.memory = memory
        self.rate = rate
        self.regularization = regularization
        self.loss = loss
        self.dtype = dtype
        self.width = width
        self.seed = seed


class MulticlassMOMDS(_Many):
    """M-OMD-S with the multinomial logistic loss, for two or more labels.

    All kernels and all labels share one buffer of at most B examples. Scale the features first.

    Parameters
    ----------
    kernels, budget, memory, step, norm_bound, removal, dtype, storage
        As in `pocketkernel.MulticlassMOMDS`.
    n_classes : int, default=10
        C, the number of labels that there is room for, from 2 to 10,000. They need not be known beforehand.
    width : int, default=64
        Number of columns, at least 1. Memory and time grow with it: give it the number of features if that is known.
    seed : int, default=None
        Seed of the sampling.

    Attributes
    ----------
    columns_ : dict
        Column of each name that has one.
    collisions_ : int
        Number of learned values that had to share a column.
    nbytes, budget_, kernel_weights_, diagnostics_
        See the properties.

    Examples
    --------
    >>> from pocketkernel.river import MulticlassMOMDS
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | MulticlassMOMDS(n_classes=7, width=18, seed=0)
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy()).get() > 0.8
    True
    """

    _learner = learners.MulticlassMOMDS

    def __init__(
        self,
        *,
        n_classes: int = 10,
        kernels: Iterable[Kernel] | Kernel | None = None,
        budget: int | None = None,
        memory: int | str | None = None,
        step: float = 1.0,
        norm_bound: float | None = None,
        removal: str = "half",
        dtype: str = "float32",
        storage: str | None = None,
        width: int = 64,
        seed: int | None = None,
    ):
        super().__init__()
        self.n_classes = n_classes
        self.kernels = kernels
        self.budget = budget
        self.memory = memory
        self.step = step
        self.norm_bound = norm_bound
        self.removal = removal
        self.dtype = dtype
        self.storage = storage
        self.width = width
        self.seed = seed


# ---- files ----------------------------------------------------------------------------------------------------------


def restored(contents: Contents) -> Any:
    """The model that a file holds."""
    extra = contents.model.get("extra")
    name = extra.get("river") if isinstance(extra, dict) else None
    if not extra:
        raise ModelFileError("the model file holds no stream of pocketkernel.river: use pocketkernel.load.")
    if name not in __all__:
        raise ModelFileError(f"the model file holds an unknown class of pocketkernel.river, {short(name)}.")
    return globals()[name]._restored(contents)


def _written(what: str, name: Hashable) -> Any:
    """A name as a file can hold it."""
    plain = name.item() if isinstance(name, np.generic) else name
    if not is_plain(plain):
        raise ValueError(f"the {what} {name!r} cannot be written to a file: name it by a string or a number.")
    return plain


def _are_plain(names: Any) -> bool:
    return isinstance(names, list) and all(map(is_plain, names))


# ---- values ---------------------------------------------------------------------------------------------------------


def _numbers(x: Any) -> Values:
    if not isinstance(x, Mapping):
        raise TypeError(f"x={short(x)} is a {type(x).__name__}: give a dict of features.")
    return {name: _number(name, value) for name, value in x.items()}


def _number(name: Hashable, value: Any) -> float:
    """The value of a feature as a finite float, or an error that names the feature."""
    is_odd = isinstance(value, str | bytes | np.datetime64 | np.timedelta64) or getattr(value, "ndim", 0) != 0
    try:
        number = math.nan if is_odd or value is np.ma.masked else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"x[{name!r}]={short(value)} is not a finite number: encode categories with "
            "river.preprocessing.OneHotEncoder, fill in what is missing with river.preprocessing.StatImputer."
        )
    return number


def _labels(y: Any) -> list[Hashable]:
    """Labels of a Series, a list or an array of one dimension: a frame would give its names, a set any order."""
    if not is_sequence_of_labels(y):
        raise ValueError(f"y is of type {type(y).__name__}, {short(y)}: give a pandas Series or a list of labels.")
    return list(y)


def _check_label(y: Hashable) -> None:
    if y is None or isinstance(y, np.ma.MaskedArray) or y != y:  # noqa: PLR0124  (NaN)
        raise ValueError(f"y={y!r} is not a label: learn only rows whose label is known.")


def _weights(w: Any, count: int) -> Floats | None:
    """Weights of rows, None if all are 1; or an error."""
    try:
        weights = checked_weights(w, count)
    except ValueError:
        weights = None
    if weights is None or not np.all((weights >= 0) & (weights <= 1e9)):
        raise ValueError(f"w={short(w)} is out of range: a weight is a number from 0 to 1e9.")
    return None if np.all(weights == 1.0) else weights


def _columns(X: Any) -> Values:
    """Values of a pandas DataFrame by name, one array for each column."""
    if not isinstance(X, _pandas().DataFrame):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}: give a pandas DataFrame.")
    if not X.columns.is_unique:
        raise ValueError(f"X has two columns named {X.columns[X.columns.duplicated()][0]!r}: rename one of them.")
    if all(dtype.kind in "biuf" for dtype in X.dtypes):
        block = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isfinite(block).all():
            return dict(zip(X.columns, block.T, strict=True))
    return {name: np.array([_number(name, value) for value in column]) for name, column in X.items()}


def _pandas() -> Any:
    import pandas as pd  # noqa: PLC0415  (only frames need it)

    return pd


def _named(error: ValueError, values: Values) -> ValueError:
    """An error about a value that is too large, with the name of the feature; other errors as they are."""
    if not str(error).startswith("X "):
        return error
    name = max(values, key=lambda name: float(np.max(np.abs(values[name]))))
    return ValueError(f"{error} The largest value is that of {name!r}.")


def _sigmoid(score: float) -> float:
    """1 / (1 + exp(-score)) without overflow."""
    if score >= 0:
        return 1.0 / (1.0 + math.exp(-score))
    odds = math.exp(score)
    return odds / (1.0 + odds)
