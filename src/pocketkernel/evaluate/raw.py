"""A model that takes rows as they are in files: dicts, data frames, or files themselves."""

import copy
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from pocketkernel import learners, model_file
from pocketkernel._alone import alone, together
from pocketkernel._files import write_atomically
from pocketkernel.evaluate.pipeline import MODEL, PIPELINE, Pipeline, from_bytes, load_with_pipeline, ready
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import Stream, open_stream
from pocketkernel.stream.dates import ISO
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.feature import Feature
from pocketkernel.stream.values import NO_VALUE

Array = npt.NDArray[Any]


class RawModel:
    """A model with its pipeline: rows are encoded and scaled as in the run that trained it.

    Rows are a dict of values by column, a list of dicts, a data frame of any library, or a path, glob or binary file in
    any format that a run reads. The model of a LIBSVM file also takes arrays and sparse matrices. Rows to predict are not
    taken for the next ones after the learned rows, unless `continues=True` says so: see `predict`. Several threads may
    predict at a time; `learn` waits for them, and they for it, also while a file or a pipe is being read.

    Attributes
    ----------
    model : learner
        The estimator, which takes encoded rows.
    pipeline : Pipeline
        How rows are encoded and scaled.

    Examples
    --------
    >>> import pocketkernel
    >>> model = pocketkernel.load("fruit.run")  # doctest: +SKIP
    >>> model.predict({"size": 3.5, "colour": "red"})  # doctest: +SKIP
    array(['apple'], dtype='<U6')
    """

    def __init__(self, model: Any, pipeline: Pipeline) -> None:
        self.model = model
        self.pipeline = pipeline

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model})"

    # ---- answering --------------------------------------------------------------------------------------------------

    def predict(self, rows: Any, *, continues: bool = False) -> Array:
        """Labels, or numbers of a regressor, for rows as they are. Learns nothing.

        Parameters
        ----------
        rows
            As everywhere.
        continues : bool, default=False
            Whether each row is the next one after the last that was learned, so that the last labels help to predict
            it. A regressor does not use them.
        """
        return self._answers("predict", rows, continues)

    def predict_proba(self, rows: Any, *, continues: bool = False) -> Array:
        """Probabilities of the classes, in the order of ``model.classes_``; `continues` as in `predict`."""
        return self._answers("predict_proba", rows, continues)

    def decision_function(self, rows: Any, *, continues: bool = False) -> Array:
        """Scores of the rows; `continues` as in `predict`."""
        return self._answers("decision_function", rows, continues)

    def predict_interval(self, rows: Any, coverage: float = 0.9) -> Array:
        """Lower and upper bounds, of a regressor."""
        return self._answers("predict_interval", rows, False, coverage)

    def _answers(self, method: str, rows: Any, continues: bool, *more: Any) -> Array:
        answer = getattr(self.model, method)
        if hasattr(self.model, "classes_"):
            answer = partial(answer, continues=continues)
        with together(self):
            return np.concatenate([answer(X, *more) for X in self._encoded(rows)])

    def _encoded(self, rows: Any) -> Iterator[Any]:
        if self.pipeline.encoding is None and not _is_source(rows):
            return iter([rows if self.pipeline.scaler is None else self.pipeline.scaler.transform(rows)])
        source, reading = self._source(rows)
        return self.pipeline.rows(self.pipeline.open(source, **reading))

    # ---- learning ---------------------------------------------------------------------------------------------------

    def learn(self, rows: Any, y: Any = None) -> Self:
        """Learn labelled rows, in order: categories get places, and the scale moves, as in the run.

        Parameters
        ----------
        rows
            As everywhere; with the column of the labels unless y is given.
        y : label or sequence of labels, default=None
            Labels of dicts or of a frame that has none.

        Notes
        -----
        If a row of dicts or of a frame is refused, none is learned.
        """
        with alone(self):
            self._learn(rows, y)
        return self

    def _learn(self, rows: Any, y: Any) -> None:
        pipeline = self.pipeline
        if pipeline.encoding is None and not _is_source(rows):
            scaled = rows if pipeline.scaler is None else pipeline.scaler.transform_then_learn(rows)
            self.model.partial_fit(scaled, y)
            return
        if y is not None and _is_source(rows):
            raise ValueError("y is for dicts and frames: the labels of files are in the files.")
        stream = self._stream_to_learn(rows, y)
        for block in stream.blocks():
            if block.y is None:
                raise ValueError("the rows have no labels, and learning needs them: give y.")
            X = (
                block.X
                if pipeline.scaler is None
                else pipeline.scaler.transform_then_learn(ready(block, pipeline.scaler))
            )
            self.model.partial_fit(X, block.y)
        if stream.encoding is not None:
            pipeline.encoding = stream.encoding.to_dict()

    def _stream_to_learn(self, rows: Any, y: Any) -> Stream:
        pipeline = self.pipeline
        source, reading = self._source(rows, y)
        options = {**pipeline.reading, "block": 4096, **reading}
        if pipeline.encoding is None:
            return open_stream(source, **options, n_features=pipeline.n_features)
        return open_stream(source, **options, encoding=pipeline.encoding, learn=True)

    def _source(self, rows: Any, y: Any = None) -> tuple[Any, dict[str, Any]]:
        """What `open_stream` reads, and how: rows that are not in a file become JSON lines."""
        if _is_source(rows):
            return rows, {}
        assert self.pipeline.encoding is not None
        encoding = Encoding.from_dict(self.pipeline.encoding)
        table = _dicts(rows)
        if y is not None:
            labels = [y] if isinstance(rows, Mapping) else list(y)
            if encoding.label is None or len(labels) != len(table):
                raise ValueError(f"there are {len(table)} rows and {len(labels)} labels: give one label per row.")
            table = [{**row, encoding.label: _plain(label)} for row, label in zip(table, labels, strict=True)]
        lines = "\n".join(json.dumps(_written(row, encoding), default=str) for row in table)  # dates as text
        return _Lines(lines.encode()), {"format": "jsonl", "block": max(len(table), 1)}

    # ---- files ------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """A model file with the pipeline, as a run writes it."""
        with together(self):
            section, arrays = self.pipeline.written()
            contents = replace(learners.contents_of(self.model), sections={PIPELINE: section}, arrays=arrays)
            return model_file.encode(contents)

    def __getstate__(self) -> dict[str, Any]:
        with together(self):
            return copy.deepcopy(self.__dict__)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `to_bytes()` into a folder, which is created, for `pocketkernel.load` and ``pocketkernel predict``."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        write_atomically(Path(folder) / MODEL, self.to_bytes(), follow=False, read=from_bytes)


def load_run(path: str | os.PathLike[str]) -> RawModel:
    """The model of a run with its pipeline, from the run's folder or the model file in it."""
    model, pipeline, file = load_with_pipeline(path)
    if pipeline is None:
        raise ModelFileError(f"{file} does not contain how to read rows: use a model that `pocketkernel run` wrote.")
    return RawModel(model, pipeline)


# ---- rows as they are -----------------------------------------------------------------------------------------------


def _is_source(rows: Any) -> bool:
    """Whether it is something that is opened and read."""
    return isinstance(rows, str | os.PathLike) or hasattr(rows, "read")


def _dicts(rows: Any) -> list[dict[str, Any]]:
    if isinstance(rows, Mapping):
        return [dict(rows)]
    if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
        if not rows:
            raise ValueError("there are no rows: give at least one.")
        return [dict(row) for row in rows]
    frame = nw.from_native(rows, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise ValueError(f"rows are of type {type(rows).__name__}: give dicts, a data frame or a file.")
    return _dicts(list(frame.iter_rows(named=True)))


def _written(row: dict[str, Any], encoding: Encoding) -> dict[str, Any]:
    """A row as a line of JSON; a value as it would be in the file that the model was trained on."""
    flat = {name: _plain(value) for name, value in row.items()}
    for feature in encoding.features:
        if feature.name in flat:
            flat[feature.name] = _as_in_file(flat[feature.name], feature)
    return flat


def _as_in_file(value: Any, feature: Feature) -> Any:
    if feature.kind == "number":
        return _number(value)
    if feature.kind == "category":
        return _level(value, feature)
    if feature.kind == "decimal" and isinstance(value, float | int):
        return repr(value).replace(".", feature.style)
    if feature.kind == "date" and isinstance(value, date) and feature.style != ISO:
        return value.strftime(feature.style)
    return value


def _number(value: Any) -> Any:
    """A number that may be text, as csv.DictReader has it; other text is left alone, and refused with its column."""
    if not isinstance(value, str):
        return value
    with suppress(ValueError):
        return None if value.strip() in NO_VALUE else float(value)
    return value


def _level(value: Any, feature: Feature) -> Any:
    if isinstance(value, bool) and str(value) in feature.categories:
        return str(value)
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value  # pandas has no missing value among whole numbers


def _plain(value: Any) -> Any:
    """A value of Python for one of NumPy or pandas; None if it is missing."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    value = value.item() if isinstance(value, np.generic) else value
    missing = type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value))
    return None if missing else value


class _Lines(io.BytesIO):
    name = "the rows"  # in messages
