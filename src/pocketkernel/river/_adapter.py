"""What all River models share: from dicts and frames to a learner's rows, weights, memory and files."""

import copy
import gc
import os
import re
import sys
from collections.abc import Hashable
from numbers import Integral
from reprlib import repr as short
from typing import Any, ClassVar, Self

import numpy as np
from river import base
from sklearn.utils import get_tags

from pocketkernel import learners, model_file
from pocketkernel._alone import alone, together
from pocketkernel._core import fill_row
from pocketkernel._files import write_atomically
from pocketkernel.certificate import Certificate
from pocketkernel.learners import (
    OnlineKernelClassifier,
    OnlineLearner,
    Plan,
    checked_weights,
    core_of,
    is_sequence_of_labels,
)
from pocketkernel.model_file import ModelFileError
from pocketkernel.river._columns import Columns, Features, Floats, Values, named, read_dict, read_frame, with_text


class Adapter(base.Estimator):
    """A learner as a River model. A subclass reads targets, and turns scores into predictions.

    The parameter `learner` is a template: a copy of it, `learner_`, is trained.
    """

    _takes: ClassVar[type[OnlineLearner]] = OnlineKernelClassifier
    _usual: ClassVar[OnlineLearner]

    def __init__(self, learner: Any, *, width: int, seed: int | None) -> None:
        self.learner = learner
        self.width = width
        self.seed = seed
        self._columns = Columns(width)
        self._model: OnlineKernelClassifier | None = None
        self._score_shape: tuple[int, ...] = (1,)
        self._y_name: Hashable = None

    def __str__(self) -> str:
        return f"{type(self).__name__}({type(self._template()).__name__})"

    def _template(self) -> Any:
        """The learner of which a copy is trained."""
        return self._usual if self.learner is None else self.learner

    # ---- what a subclass knows about targets ------------------------------------------------------------------------

    def _code(self, y: Any) -> Floats | None:
        """A target as a column of one row, or None if it needs further checks."""
        raise NotImplementedError

    def _read(self, targets: list[Any]) -> tuple[Floats, Any]:
        """Targets as a column, and what `_keep` should remember of them; or an error."""
        raise NotImplementedError

    def _is_new(self, read: Any) -> bool:
        """Whether what `_read` returned is more than is known."""
        return False

    def _keep(self, read: Any) -> None:
        """Remember what `_read` returned, now that the rows with these targets have been learned."""

    def _begin(self, model: OnlineKernelClassifier, rows: Floats, targets: Floats, weights: Floats | None) -> None:
        """Let a new learner learn its first rows."""
        model.partial_fit(rows, targets, sample_weight=weights)

    def _planned(self, model: OnlineKernelClassifier) -> Plan:
        """The plan of a new learner."""
        return model.plan(self.width)

    def _written(self) -> dict[str, Any]:
        """What a file must store about targets."""
        return {}

    def _restore_targets(self, extra: dict[str, Any]) -> None:
        """Restore what `_written` returned, or raise `implausible()`."""

    # ---- learning ---------------------------------------------------------------------------------------------------

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn the features x with their target y.

        Parameters
        ----------
        x : dict
            Finite numbers or text by name. Text is a feature of its own: {"colour": "red"} is {"colour=red": 1}. None
            or NaN is a missing value to a learner that takes them (PocketClassifier); a name that has no column yet
            gets none for it.
        y
            The label, or the number to predict.
        w : float, default=1.0
            Weight of the row's loss, from 0 to 1e9.
        """
        model = self._model
        if model is not None and type(x) is dict and type(w) is float and w > 0.0:
            # New arrays for every call, not kept ones: prediction stays pure, and threads do not interfere.
            target, row, columns = self._code(y), np.empty((1, self.width)), self._columns
            shared = fill_row(columns.of, columns.shared, x, row)
            if shared < 0 and (plain := with_text(x)) is not x:
                shared = fill_row(columns.of, columns.shared, plain, row)
            if target is not None and shared >= 0:
                weight = None if w == 1.0 else np.array([w])
                if core_of(model).learn_dense(row, target, weight, np.empty(self._score_shape)) == 0:
                    columns.collisions += shared
                    return
        self._learn(read_dict(x, self._takes_missing()), [y], w)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a pandas DataFrame with a Series of targets, as `learn_one` would for each row in order.

        If a row is refused, none is learned.
        """
        if not is_sequence_of_labels(y):  # a frame would give its names, a set any order
            raise ValueError(f"y is of type {type(y).__name__}, {short(y)}: give a pandas Series or a list.")
        values, targets = self._read_frame(X), list(y)
        if len(targets) != len(X):
            raise ValueError(f"X has {len(X)} rows but y has {len(targets)} values: give one per row.")
        if targets:
            self._learn(values, targets, w)
        self._y_name = getattr(y, "name", None)

    def _learn(self, values: Values, targets: list[Any], w: Any) -> None:
        """Learn rows that may have new names, new labels or errors. Nothing is kept unless all rows were learned."""
        weights = _weights(w, len(targets))
        if weights is not None and not weights.all():  # rows of weight 0 change nothing
            kept = weights > 0
            values = values.take(kept)
            targets = [y for y, keep in zip(targets, kept, strict=True) if keep]
            weights = weights[kept]
        if not targets:
            return
        with alone(self):
            if self._model is None:
                self._check_parameters()
            numbers, read = self._read(targets)
            new, shared = self._columns.new_names(values)
            rows = self._columns.rows(values, len(targets), new, shared)

            def keep() -> None:
                self._columns.keep(new, shared, values, len(targets))
                self._keep(read)

            try:
                if self._model is None:
                    model = self._unlearned()
                    self._begin(model, rows, numbers, weights)
                    self._columns.keep(new, shared, values, len(targets))
                    self._adopt(model)
                    self._keep(read)  # until now other threads have no label to predict
                elif new or self._is_new(read):
                    learners.learn_then(self._model, rows, numbers, weights, keep)
                else:
                    self._model.partial_fit(rows, numbers, sample_weight=weights)
                    keep()
            except ValueError as error:
                raise named(error, values) from None

    def _read_frame(self, X: Any) -> Values:
        return read_frame(X, self._takes_missing())

    def _takes_missing(self) -> bool:
        learner = self._template()
        return isinstance(learner, self._takes) and bool(get_tags(learner).input_tags.allow_nan)

    def _unlearned(self) -> OnlineKernelClassifier:
        """A copy of the learner that has learned nothing, with the seed."""
        learner = self._template()
        made: OnlineKernelClassifier = type(learner)(**learner.get_params(deep=False) | {"random_state": self.seed})
        return made

    def _adopt(self, model: OnlineKernelClassifier) -> None:
        self._score_shape = learners.room_for_scores(model, 1).shape
        self._model = model  # the last, from which on other threads predict with it

    def _check_parameters(self) -> None:
        """Check parameters that the learner does not check under these names."""
        learner: Any = self._template()
        seed = self.seed
        if not isinstance(learner, self._takes):
            raise TypeError(
                f"learner={short(learner)} is not a learner of pocketkernel for a {type(self).__name__}: use for "
                "example PocketClassifier(). For other estimators use River's compat.convert_sklearn_to_river."
            )
        if learner.random_state is not None:
            raise ValueError(
                f"the learner has random_state={learner.random_state!r}: pass the seed to {type(self).__name__} as "
                "seed=..., and leave random_state at None."
            )
        if not (seed is None or (isinstance(seed, Integral) and 0 <= int(seed) < 2**64)):
            raise ValueError(f"seed={seed!r} is neither None nor an integer from 0 to 2**64 - 1.")
        check_count("width", self.width, 1, 1_000_000)

    # ---- scoring ----------------------------------------------------------------------------------------------------

    def _score(self, x: Features) -> Any:
        """Score of one row, or a list of its scores if there are several; 0 before anything has been learned."""
        model = self._model
        if model is not None and type(x) is dict:
            columns = self._columns
            score = core_of(model).score_named(columns.of, columns.shared, x)
            if score is None and (plain := with_text(x)) is not x:
                score = core_of(model).score_named(columns.of, columns.shared, plain)
            if score is not None:
                return score
        return self._scores(read_dict(x, self._takes_missing()), 1)[0]

    def _scores(self, values: Values, count: int) -> list[Any]:
        """The same for rows that may have unknown names."""
        if self._model is None or count == 0:
            return [0.0] * count
        while True:
            names = len(self._columns.of)
            rows = self._columns.rows_to_score(values, count)
            try:
                scores: list[Any] = learners.raw_scores(self._model, rows).tolist()
            except ValueError as error:
                raise named(error, values) from None
            if len(self._columns.of) == names:
                return scores

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def columns_(self) -> dict[Hashable, int]:
        """Column of each name that has its own."""
        return self._columns.of

    @property
    def collisions_(self) -> int:
        """Number of learned values that shared a column."""
        return self._columns.collisions

    @property
    def learner_(self) -> OnlineKernelClassifier:
        """The fitted learner, with all its attributes, such as `diagnostics_`."""
        if self._model is None:
            raise AttributeError(f"This {type(self).__name__} has not learned anything yet: call learn_one.")
        return self._model

    @property
    def nbytes(self) -> int:
        """Bytes of the learner. Known before the first row, constant after it."""
        return self.plan().nbytes if self._model is None else self._model.nbytes

    def plan(self) -> Plan:
        """The exact memory that the learner uses or will use; needs no rows."""
        self._check_parameters()
        return self._planned(self._unlearned())

    def certificate(self, delta: float = 0.05) -> Certificate:
        """The learner's counters, and the bound on its regret that they prove for the rows as it saw them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound fails, between 0 and 1.
        """
        return self.learner_.certificate(delta)

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the learner and of all Python objects: parameters, names of features and labels."""
        core = 0 if self._model is None else self._model.nbytes
        # River asks the garbage collector what an object refers to, and a dict does not report keys that are strings.
        with together(self):
            reported = set(map(id, gc.get_referents(self.columns_)))
            names = sum(sys.getsizeof(name) for name in self.columns_ if id(name) not in reported)
            return super()._raw_memory_usage + core + names

    # ---- files ------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The whole model as bytes: parameters, labels, columns, and the exact state of learning.

        Their number grows only with new names of features and new labels.
        """
        if self._model is None:
            raise ValueError(f"This {type(self).__name__} has not learned anything yet: call learn_one.")
        if type(self).__module__.rpartition(".")[0] != __package__:
            raise TypeError(
                f"{type(self).__name__} is not a class of pocketkernel.river, so a file of it could not be read: "
                "use pickle instead."
            )
        with together(self):
            extra = {
                "river": type(self._model).__name__,
                "columns": [writable("feature", name) for name in self.columns_],
                "collisions": f"{self.collisions_:020d}",  # a fixed number of digits
            }
            return model_file.encode(learners.contents_of(self._model, extra | self._written()))

    def __getstate__(self) -> dict[str, Any]:
        with together(self):
            return copy.deepcopy(self.__dict__)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes()` to a file for `pocketkernel.load`; an existing file is replaced atomically."""
        write_atomically(path, self.to_bytes(), read=self.from_bytes)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The model that `to_bytes` wrote; it continues exactly where that one was."""
        learner, extra = learners.restored(model_file.decode(data, learners.plausible))
        if not extra:
            raise ModelFileError("the model file has no model of pocketkernel.river: use pocketkernel.load.")
        return cls._restored(learner, extra)

    @classmethod
    def _restored(cls, learner: OnlineKernelClassifier, extra: dict[str, Any]) -> Self:
        """The model in a file, from its learner and what was saved with it."""
        given = learner.get_params(deep=False)
        template = type(learner)(**given | {"random_state": None})
        self = cls(template, seed=given["random_state"], width=learner.n_features_in_)
        columns: Any = extra.get("columns")
        collisions: Any = extra.get("collisions")
        good = (
            extra.keys() == {"river", "columns", "collisions"} | self._written().keys()
            and extra["river"] == type(learner).__name__
            and are_plain(columns)
            and len(set(columns)) == len(columns) <= self.width
            and isinstance(collisions, str)
            and re.fullmatch(r"[0-9]{20}", collisions)
        )
        if not good:
            raise implausible()
        self._adopt(learner)
        self._columns.of = {name: column for column, name in enumerate(columns)}
        self._columns.collisions = int(collisions)
        self._restore_targets(extra)
        return self


def check_count(name: str, value: Any, least: int, most: int) -> None:
    """Refuse a parameter that is not a whole number in this range."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise ValueError(f"{name}={value!r} is not a whole number from {least:,} to {most:,}.")


def _weights(w: Any, count: int) -> Floats | None:
    """Weights of rows, None if all are 1; or an error."""
    try:
        weights = checked_weights(w, count)
    except ValueError:
        weights = None
    if weights is None or not np.all((weights >= 0) & (weights <= 1e9)):
        raise ValueError(f"w={short(w)} is out of range: a weight is a number from 0 to 1e9.")
    return None if np.all(weights == 1.0) else weights


# ---- names and labels in files --------------------------------------------------------------------------------------


def writable(what: str, name: Hashable) -> Any:
    """A name as a file can hold it."""
    plain = name.item() if isinstance(name, np.generic) else name
    if not model_file.is_plain(plain):
        raise ValueError(f"the {what} {name!r} cannot be written to a file: use a string or a number.")
    return plain


def are_plain(names: Any) -> bool:
    """Whether these are names that a file can hold."""
    return isinstance(names, list) and all(map(model_file.is_plain, names))


def implausible() -> ModelFileError:
    """The error about a file whose columns or labels are not plausible."""
    return ModelFileError("the model file does not contain the columns and labels of a river model.")
