"""What models of tables share: a learner, and how rows as they are become rows of numbers for it."""

import copy
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from pocketkernel import learners, model_file
from pocketkernel._alone import alone, together
from pocketkernel._files import write_atomically
from pocketkernel._frames import as_narwhals
from pocketkernel.evaluate.job import room_in_a_row
from pocketkernel.evaluate.pipeline import ASKED, PIPELINE, Pipeline, from_bytes, ready
from pocketkernel.evaluate.run import sentences
from pocketkernel.learners import OnlineLearner
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import SCALERS, Scaler, open_stream
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.errors import Skipped, listed
from pocketkernel.stream.labels import LABEL_NAMES
from pocketkernel.stream.memory import Memory, in_memory
from pocketkernel.stream.schema import Inferred
from pocketkernel.stream.tables import NUMBERS

Array = npt.NDArray[Any]
BLOCK = 4096
"""Rows of a file that are learned at once."""


SHARED = """\
    learner : {kind} of `pocketkernel`, default=None
        The learner; None means `{usual}()`. It is a template, which is copied and never changed.
    memory : int or str, default=None
        Bytes of the learner, such as "64KiB", in place of its own `memory`.
    label : str, default=None
        The column of the rows that has the {targets}, where `y` is not given; and what files have to call it. None: the
        name of `y` if it is a series, otherwise "label". This column is never learned from.
    drop, categorical, numeric, date : list of columns, default=None
        What the columns are, where that is not what they seem to be: left out, categories, numbers, or dates as "name"
        or "name=%d/%m/%Y". Columns of a categorical type (of pandas, Polars or Arrow) are categories anyway.
    max_categories : int, default=None
        Most columns for the levels of a category. None: as many as `pocketkernel run` takes.
    hash_width : int, default=None
        Columns that further levels share, chosen by a hash of the level's text. None: as `pocketkernel run`.
    missing : {{"error", "mean", "keep"}}, default=None
        Missing values: an error, the mean so far, or NaN. None: "keep" if the learner takes NaN, otherwise "mean".
    scale : {{"standard", "minmax", "maxabs"}}, default=None
        Scale each column using the rows before. The default learner scales columns itself.
    random_state : int, NumPy generator or None, default=None
        Seed of the learner, in place of its own.
"""

ATTRIBUTES = """\
    learner_
        The learner that has learned, with its `diagnostics_` and other attributes.
    schema_ : dict
        What became of each column of the first rows, in words.
    remarks_ : list of str
        What else was found in the first rows, such as columns that decide the label alone. (Not stored in files.)
    pipeline_ : Pipeline
        How rows are encoded and scaled now.
    feature_names_in_ : array
        Names of the columns of the first rows, unless they came as an array.
    n_features_in_ : int
        Their number.
    nbytes : int
        Bytes of the learner.
"""

NOTES = """\
    Rows are a data frame of any library (pandas, Polars, Arrow ...), a list of dicts, one dict, or an array; once a
    model has learned, also a file in any format that `pocketkernel run` reads. In a data frame without one of the
    columns, and in a dict without one of the keys, that value is missing.

    **The first rows decide.** What each column is (number, category, date ...; ids, long text and constants are left
    out) is inferred in the first call, from at most 10,000 rows (fewer if they took more than 1 MiB as CSV), as
    `pocketkernel run` does with a file of these rows. So give the first call of `partial_fit` as many rows as there
    are. The columns of the model do not change later:

    - A new level of a category gets a column if there is a free one, otherwise it shares one by its hash.
    - A new column is not looked at; a column that is absent counts as missing, with a warning for data frames.
    - A column may change its type as long as its values can be read as what they were: "3" is the number 3, a date may
      be a `datetime` or text in the format of the first rows. What cannot be read, such as "red" among numbers, is a
      ValueError that names the row and the column, and nothing is learned of the rows.

    Columns of an array of numbers are never left out.

    Learning the rows of a table in their order (`partial_fit`, `predict_then_learn`) gives the same model, to the bit,
    as `pocketkernel run` with the same seed on a CSV file of them, and later calls the same as `pocketkernel learn`.
    Several threads may predict at a time; who learns waits for them, and they for it.
"""


def described(class_: type) -> type:
    """The texts that models of tables share, in the places of their names in the docstring."""
    kind, usual, targets = ("classifier", "PocketClassifier", "labels")
    if issubclass(class_, RegressorMixin):
        kind, usual, targets = ("regressor", "PocketRegressor", "targets")
    texts = {
        "parameters": SHARED.format(kind=kind, usual=usual, targets=targets),
        "attributes": ATTRIBUTES,
        "notes": NOTES,
    }
    class_.__doc__ = (class_.__doc__ or "").format(**{name: text.strip() for name, text in texts.items()})
    return class_


class TableModel(BaseEstimator):  # type: ignore[misc]
    """A learner that takes rows as they are: what `TableClassifier` and `TableRegressor` share."""

    _takes: ClassVar[type[OnlineLearner]]
    _usual: ClassVar[type[OnlineLearner]]
    _task: ClassVar[str]

    learner_: Any
    schema_: dict[str, str]
    remarks_: list[str]
    _encoding: Encoding | None  # None: rows of LIBSVM text, which are numbers
    _scaler: Scaler | None
    _reading: dict[str, Any]  # how files were cut into fields, of a run
    _named: bool  # whether the columns have names of their own; else they are those of an array

    def __init__(
        self,
        learner: Any = None,
        *,
        memory: int | str | None = None,
        label: str | None = None,
        drop: Any = None,
        categorical: Any = None,
        numeric: Any = None,
        date: Any = None,
        max_categories: int | None = None,
        hash_width: int | None = None,
        missing: str | None = None,
        scale: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.memory = memory
        self.label = label
        self.drop = drop
        self.categorical = categorical
        self.numeric = numeric
        self.date = date
        self.max_categories = max_categories
        self.hash_width = hash_width
        self.missing = missing
        self.scale = scale
        self.random_state = random_state

    # ---- what a subclass knows about targets ------------------------------------------------------------------------

    def _targets(self, y: Any) -> Array:
        """Targets as an array of one dimension, or an error."""
        raise NotImplementedError

    def _from_text(self, texts: list[str | None]) -> Array:
        """Targets that were in a column of text."""
        raise NotImplementedError

    def _note_targets(self, encoding: Encoding, learner: Any) -> None:
        """Tell the encoding which targets the learner knows, for files with a column of them."""
        raise NotImplementedError

    # ---- learning ---------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Forget everything, then let the learner fit these rows."""
        state, _ = self._begun(X, y, lambda learner, rows, targets: learner.fit(rows, targets, sample_weight))
        with alone(self):
            self._become(state)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, **classes: Any) -> Array:
        """Score and learn rows, in order, going on from what was learned before."""

        def learn(learner: Any, rows: Array, targets: Array) -> Array:
            scores: Array = learner.predict_then_learn(rows, targets, sample_weight=sample_weight, **classes)
            return scores

        with alone(self):
            if self.__sklearn_is_fitted__():
                if _is_source(X):
                    if y is not None or sample_weight is not None:
                        raise ValueError("y and sample_weight are for rows in memory: files have their labels.")
                    return self._learn_files(X)
                return self._learn_more(X, y, learn)
            scores: Array
            state, scores = self._begun(X, y, learn)
            self._become(state)
            return scores

    def _begun(self, X: Any, y: Any, learn: Callable[[Any, Array, Array], Any]) -> tuple[dict[str, Any], Any]:
        """The state after these first rows, and what `learn` returned for them."""
        if _is_source(X):
            raise ValueError(
                f"X={X!r:.60} is a file, and the first rows must be in memory: give a data frame, or let `pocketkernel "
                "run` learn the file, and go on from pocketkernel.load."
            )
        rows, targets, label = self._labelled(X, y, None)
        learner = self._unlearned()
        encoding, schema = self._planned(rows, targets, label, learner)
        scaler = self._new_scaler()
        encoded = _encoded(rows, encoding)
        done = learn(learner, encoded if scaler is None else scaler.transform_then_learn(encoded), targets)
        self._note_targets(encoding, learner)
        state = {"learner_": learner, "_encoding": encoding, "_scaler": scaler, "_reading": {}}
        state["remarks_"] = [*schema.remarks, *schema.leaks]
        return state | _columns(sentences([one.to_dict() for one in schema.columns]), label, named=rows.named), done

    def _become(self, state: dict[str, Any]) -> None:
        """Take over another state, all at once."""
        for name in _LEARNED - state.keys():
            self.__dict__.pop(name, None)
        self.__dict__.update(state)

    def _learn_more(self, X: Any, y: Any, learn: Callable[[Any, Array, Array], Array]) -> Array:
        """Learn further rows in memory: all of them, or after an error none."""
        encoding, scaler, core = self._encoding, copy.deepcopy(self._scaler), learners.core_of(self.learner_)
        if encoding is None:  # of LIBSVM text, whose rows are numbers
            encoded, targets = X, y
        else:
            rows, targets, _ = self._labelled(X, y, encoding)
            encoding = encoding.copy()
            encoded = _encoded(rows, encoding)
        encoded = encoded if scaler is None else scaler.transform_then_learn(encoded)
        core.learned = 0
        try:
            scores = learn(self.learner_, encoded, targets)
        except KeyboardInterrupt:
            if core.learned:  # the first rows, completely
                self._go_on(encoding, scaler)
            raise
        self._go_on(encoding, scaler)
        return scores

    def _learn_files(self, source: Any) -> Array:
        """Learn the rows of files, block by block: those before an error stay learned."""
        pipeline = self.pipeline_
        if pipeline.encoding is None:
            options = {**pipeline.reading, "block": BLOCK, "n_features": pipeline.n_features}
            stream = open_stream(source, **options)
        else:
            stream = pipeline.open(source, block=BLOCK, labels=True, learn=True)
        scores = []
        for block in stream.blocks():
            scaler = copy.deepcopy(self._scaler)
            rows = block.X if scaler is None else scaler.transform_then_learn(ready(block, scaler))
            scores.append(self.learner_.predict_then_learn(rows, block.y))
            self._go_on(stream.encoding and stream.encoding.copy(), scaler)
        return np.concatenate(scores)

    def _go_on(self, encoding: Encoding | None, scaler: Scaler | None) -> None:
        """Keep what the rows that have been learned have changed."""
        if encoding is not None:
            self._note_targets(encoding, self.learner_)
        self._encoding, self._scaler = encoding, scaler

    # ---- first rows -------------------------------------------------------------------------------------------------

    def _unlearned(self) -> Any:
        """A copy of the learner that has learned nothing."""
        given = self._usual() if self.learner is None else self.learner
        if not isinstance(given, self._takes):
            raise TypeError(
                f"learner={self.learner!r} is not a learner of pocketkernel for a {type(self).__name__}: use for "
                f"example {self._usual.__name__}()."
            )
        own = {"memory": self.memory, "random_state": self.random_state}
        own = {name: value for name, value in own.items() if value is not None}
        return type(given)(**given.get_params(deep=False) | own)

    def _new_scaler(self) -> Scaler | None:
        if self.scale is not None and self.scale not in SCALERS:
            raise ValueError(f"scale={self.scale!r} is unknown: use one of {', '.join(SCALERS)}.")
        return None if self.scale is None else SCALERS[self.scale]()

    def _asked(self) -> dict[str, Any]:
        """What was asked for the columns."""
        asked = {}
        for name, check in ASKED.items():
            value = getattr(self, name)
            if value is None:
                continue
            several = name in ("drop", "categorical", "numeric", "date")
            if several:
                value = list(value) if isinstance(value, list | tuple | set) else [value]
            if not check(value):
                what = "a column or a list of columns" if several else "one of the values in its description"
                raise ValueError(f"{name}={getattr(self, name)!r} is not valid: use {what}.")
            asked[name] = value
        return asked

    def _planned(self, rows: Memory, targets: Array, label: str, learner: Any) -> tuple[Encoding, Inferred]:
        """Decide what becomes of each column, from the first rows and their targets."""
        usual = "keep" if get_tags(learner).input_tags.allow_nan else "mean"
        options: dict[str, Any] = {"missing": usual, "max_categories": None, "hash_width": None}
        options |= {
            "label": label,
            "id": None,
            "classes": None,
            "room": room_in_a_row(learner, self._task, lambda: learner),
        }
        options |= dict.fromkeys(("drop", "categorical", "numeric", "date"), ()) | self._asked()
        answers = in_memory(targets[:, None])
        whole = rows.integers | {label} if answers.integers else rows.integers
        columns = rows.columns | {label: answers.columns["x0"]}
        return replace(rows, columns=columns, integers=whole).plan(**options)

    def _labelled(self, X: Any, y: Any, encoding: Encoding | None) -> tuple[Memory, Array, str]:
        """Rows without their label, their targets, and the name of the column that files have them in."""
        rows = self._rows(X, encoding)
        label = self.label if encoding is None else encoding.label
        if y is None:
            if label is None:
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y is None: give y, or label=NAME, "
                    "the column of the rows that has it."
                )
            if label not in rows.columns:
                raise ValueError(
                    f"the rows have no column {label!r}, which has the labels, but {listed(rows.names)}: give y."
                )
            return rows.without(label), self._in_column(rows, label), label
        targets = self._targets([y] if isinstance(X, Mapping) and np.ndim(y) == 0 else y)
        if len(targets) != len(rows):
            raise ValueError(f"X has {len(rows)} rows but y has {len(targets)} labels: give one label per row.")
        label = label or _own_name(y, targets, rows) or _free_name(rows.names)
        return rows.without(label), targets, label

    def _in_column(self, rows: Memory, label: str) -> Array:
        """The targets in a column of the rows."""
        values = rows.columns[label]
        if isinstance(values, np.ndarray):
            whole = label in rows.integers and bool(np.isfinite(values).all())
            return self._targets(values.astype(np.int64) if whole else values)
        if all(type(value) is str for value in values):
            return self._from_text(values)
        return self._targets(values)

    # ---- answering --------------------------------------------------------------------------------------------------

    def _answers(self, method: str, X: Any, *more: Any, **how: Any) -> Array:
        """What a method of the learner says of rows."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        with together(self):
            answer = getattr(self.learner_, method)
            answers = [answer(rows, *more, **how) for rows in self._to_answer(X)]
            return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _to_answer(self, X: Any) -> Iterator[Any]:
        scaler = self._scaler
        if _is_source(X):
            pipeline = self.pipeline_
            yield from pipeline.rows(pipeline.open(X))
            return
        if self._encoding is None:
            rows = X
        else:
            encoding = self._encoding.copy()
            encoding.frozen = True
            rows = _encoded(self._rows(X, encoding), encoding)
        yield rows if scaler is None else scaler.transform(rows)

    # ---- rows -------------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, encoding: Encoding | None) -> Memory:
        """The rows, column by column: the first ones, or such as the encoding was made for."""
        if X is None or isinstance(X, str | bytes):
            raise ValueError(f"X={X!r:.40} is not a table: give a data frame, dicts, or an array of rows.")
        are_dicts = isinstance(X, Mapping) or (
            isinstance(X, list | tuple) and any(isinstance(row, Mapping) for row in X)
        )
        if sparse.issparse(X) or not (are_dicts or isinstance(as_narwhals("X", X), nw.DataFrame)):
            X = check_array(X, dtype=None, ensure_all_finite=False, estimator=self, input_name="X")
        rows = in_memory(X)
        if len(rows) == 0 or not rows.columns:
            raise ValueError(f"X has {len(rows)} rows and {len(rows.columns)} columns: give at least one of each.")
        if encoding is None:
            return rows
        if not rows.named:
            rows = self._with_names(rows)
        names = [feature.name for feature in encoding.features]
        absent = [name for name in names if name not in rows.columns]
        if len(absent) == len(names):
            raise ValueError(
                f"X has none of the columns that the model learned from, {listed(names)}, but {listed(rows.names)}."
            )
        if absent and not are_dicts:
            which = f"a column {absent[0]!r}" if len(absent) == 1 else f"columns {listed(absent)}"
            warnings.warn(f"X does not have {which}: missing in every row.", stacklevel=2)
        return rows

    def _label(self) -> str | None:
        """The column that the labels are in."""
        return None if self._encoding is None else self._encoding.label

    def _with_names(self, rows: Memory) -> Memory:
        """Rows of an array, whose columns are those of the first rows."""
        name, width = type(self).__name__, len(rows.columns)
        if width != self.n_features_in_:
            raise ValueError(
                f"X has {width} features, but {name} is expecting {self.n_features_in_} features as input."
            )
        if hasattr(self, "feature_names_in_"):
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=2
            )
        names = dict(zip(rows.columns, (one for one in self.schema_ if one != self._label()), strict=True))
        columns = {names[old]: values for old, values in rows.columns.items()}
        return replace(rows, columns=columns, integers={names[old] for old in rows.integers})

    # ---- what it has become -----------------------------------------------------------------------------------------

    @property
    def pipeline_(self) -> Pipeline:
        """How rows are encoded and scaled at this moment, as it is stored in the model file."""
        check_is_fitted(self)
        encoding = None if self._encoding is None else self._encoding.to_dict()
        width = self.learner_.n_features_in_
        schema = getattr(self, "schema_", None)
        return Pipeline(width, encoding, self._scaler, self._reading, self._asked(), schema, self._named)

    @property
    def nbytes(self) -> int:
        """Bytes of the learner, constant from the first row on; how columns are encoded takes some kilobytes more."""
        check_is_fitted(self)
        return int(self.learner_.nbytes)

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.dict = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    # ---- files ------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The learner, and how rows are encoded and scaled for it, as a model file, such as `pocketkernel run` writes.

        What comes with it of the constructor's parameters is what decides how it goes on: those of the learner, and
        what was asked for the columns.
        """
        check_is_fitted(self)
        with together(self):
            section, arrays = self.pipeline_.written()
            contents = replace(learners.contents_of(self.learner_), sections={PIPELINE: section}, arrays=arrays)
            return model_file.encode(contents)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes()` to a file for `pocketkernel.load` and ``pocketkernel predict``, atomically."""
        write_atomically(path, self.to_bytes(), read=from_bytes)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The model that `to_bytes` wrote; it continues exactly where that model stopped."""
        learner, pipeline = from_bytes(data)
        if pipeline is None or not isinstance(learner, cls._takes):
            raise ModelFileError(f"the model file does not contain a {cls.__name__}: use pocketkernel.load.")
        return cls.of(learner, pipeline)

    @classmethod
    def of(cls, learner: Any, pipeline: Pipeline) -> Self:
        """The model of a learner that has learned, and of the pipeline that its rows came from."""
        template = type(learner)(**learner.get_params(deep=False))
        encoding = None if pipeline.encoding is None else Encoding.from_dict(pipeline.encoding, frozen=False)
        label = None if encoding is None else encoding.label
        scale = None if pipeline.scaler is None else pipeline.scaler.kind
        self = cls(template, label=label, scale=scale, **pipeline.asked)
        state = {"learner_": learner, "_encoding": encoding, "_scaler": pipeline.scaler, "_reading": pipeline.reading}
        if pipeline.schema is not None:
            state |= _columns(pipeline.schema, label, named=pipeline.named)
        else:
            names = None if encoding is None else [feature.name for feature in encoding.features]
            state |= {"_named": True, "n_features_in_": pipeline.n_features if names is None else len(names)}
            state |= {} if names is None else {"feature_names_in_": np.array(names, dtype=object)}
        self._become(state)
        return self

    def __getstate__(self) -> dict[str, Any]:
        with together(self):
            return copy.deepcopy(super().__getstate__())


_LEARNED = {
    "learner_",
    "schema_",
    "remarks_",
    "n_features_in_",
    "feature_names_in_",
    "_encoding",
    "_scaler",
    "_reading",
    "_named",
}


def _columns(schema: Mapping[str, str], label: str | None, *, named: bool) -> dict[str, Any]:
    """What is known of the columns of the first rows, which have names of their own or are those of an array."""
    names = [name for name in schema if name != label]
    own = {"feature_names_in_": np.array(names, dtype=object)} if named else {}
    return {"schema_": dict(schema), "_named": named, "n_features_in_": len(names), **own}


def _encoded(rows: Memory, encoding: Encoding) -> Array:
    """Rows of numbers; StreamError, a ValueError, for what cannot be encoded."""
    table = rows.table(encoding.features)
    parts = table.parts(max(1, NUMBERS // encoding.n_features))
    encoded = [encoding.encode(part, Skipped("raise")).X for part in parts]
    return encoded[0] if len(encoded) == 1 else np.concatenate(encoded)


def _is_source(rows: Any) -> bool:
    """Whether it is something that is opened and read."""
    return isinstance(rows, str | os.PathLike) or hasattr(rows, "read")


def _free_name(names: list[str]) -> str:
    """A name for the labels that no column has."""
    numbered = (f"label {number}" for number in range(2, len(names) + 3))
    return next(name for name in (*LABEL_NAMES, *numbered) if name not in names)


def _own_name(y: Any, targets: Array, rows: Memory) -> str:
    """The name of a series or of a frame's only column, unless it is that of a column which is something else."""
    series = as_narwhals("y", y) if not isinstance(y, list | tuple | np.ndarray) else None
    if isinstance(series, nw.DataFrame):
        series = next(series.iter_columns())
    name = series.name if isinstance(series, nw.Series) else None
    if not isinstance(name, str):
        return ""
    column = rows.columns.get(name)
    is_it = column is None or np.array_equal(np.array(column, object), targets.astype(object))
    return name if is_it else ""  # pandas calls `rows["size"] > 5` size
