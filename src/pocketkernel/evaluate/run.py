"""A stream on its way through a learner: stream -> scaler -> learner -> recorder."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import chain
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import learners, model_file
from pocketkernel.evaluate.ahead import ahead
from pocketkernel.evaluate.arrivals import Arrivals, room_of
from pocketkernel.evaluate.events import joined_events, to_dict
from pocketkernel.evaluate.influence import SCORES, influence_of
from pocketkernel.evaluate.metrics import ClassificationMetrics, Metrics, RegressionMetrics
from pocketkernel.evaluate.pipeline import ASKED, PIPELINE, READING, Pipeline, ready
from pocketkernel.evaluate.progressive import Progress, follow, follow_values
from pocketkernel.evaluate.record import Record
from pocketkernel.evaluate.recorder import Recorder
from pocketkernel.evaluate.reservoir import Reservoir
from pocketkernel.evaluate.settings import settings_of
from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION, found_task
from pocketkernel.stream import Block, Scaler, Stream, gather, permutation
from pocketkernel.stream.block import rebatch
from pocketkernel.stream.errors import StreamError
from pocketkernel.stream.labels import A_CLASS, admitted

POINTS = 256
"""Most points of a run's curve; at least half as many, once there are enough rows."""

AT_ONCE = 2**30
"""Rows times bytes of the model that are learned at once: so many take less than a second, and then it may stop."""

GRACE = 1.0
"""Seconds after Ctrl-C in which rows of a pipe that were read before are still learned."""

SCHEMA_COLUMNS = 1000
"""Most columns of a table that a record describes."""


class RunError(ValueError):
    """A folder that contains something other than this run, or a checkpoint that cannot be used."""


class Run:
    """A stream on its way through a learner. Made by `Job.start`."""

    def __init__(
        self,
        stream: Stream,
        model: Any,
        *,
        task: str | None = CLASSIFICATION,
        regressor: Callable[[], Any] | None = None,
        scaler: Scaler | None = None,
        permute: int | None = None,
        rows: int | None = None,
        reading: Mapping[str, Any] | None = None,
        count: Callable[[], int] | None = None,
    ) -> None:
        self.stream, self.model, self.scaler = stream, model, scaler
        self.task = task  # None: as the first block tells
        self.recorder = Recorder(limit=POINTS)
        self.metrics: Metrics | None = None
        self.reservoir = Reservoir(stream.n_features)
        self.events: list[learners.Event] = []  # changes of the stream that the learner has noticed
        self.results: dict[str, Any] = {}  # of the metrics, once the run has ended
        self.progress: Progress | None = None  # after the latest block
        self.total = rows  # that there will be, if that is known
        self.interrupted = False  # whether the run was stopped before its end
        self.dropped = 0  # rows of a pipe that were read, but not learned, as the run was stopped
        self.schema = schema_of(stream)
        self.sources: list[list[str]] = []  # names and fingerprints of what was learned before
        self._base = 0  # rows that were learned from other files before
        self.resumed_at: list[int] = []  # rows after which the run went on from a checkpoint
        self.classes: Arrivals | None = None  # the labels there are, once that is known
        self._regressor = regressor
        self._permute, self._rows, self._reading, self._count = permute, rows, reading or {}, count
        if stream.classes is not None:
            self.classes = self._with_room(np.unique(np.array(stream.classes)))

    def steps(self, stop: Callable[[], bool] | None = None) -> Iterator[Progress]:
        """Go through the stream, from where the run is, until `stop` says so.

        Yields after every block, or every part of one that takes long.
        """
        start = self.progress.rows - self._base if self.progress else 0
        if self.stream.live and self._permute is None:
            with closing(ahead(self.stream.arrivals(start), stop=stop, end=self.stream.stop)) as pieces:
                yield from self._learn(self._limited(rebatch(pieces, self.stream.block), start), stop)
        else:
            with closing(ahead(self._limited(self._blocks(start), start), stop=stop)) as blocks:
                yield from self._learn(blocks, stop)
        self.interrupted = stop is not None and stop()

    def goes_on(self, rows: int, schema: list[dict[str, Any]] | None) -> None:
        """Count the rows of the stream from here: others before them were learned from other files."""
        self._base, self.schema, self.total = rows, schema, None

    def _learn(self, blocks: Iterator[Block], stop: Callable[[], bool] | None = None) -> Iterator[Progress]:
        first = next(blocks, None)
        if first is None:
            if self.progress is None or self.progress.rows == self._base:  # not a row of this stream
                if stop is not None and stop():
                    raise KeyboardInterrupt
                none = StreamError("at least one row", "none", file=self.stream.name)
                raise next(iter(self.stream.skipped.reports), none)
            self._finish(stop)
            return
        labels = first.y
        if labels is None:
            raise ValueError("the stream has no labels, and learning needs them: give label=.")
        if self.task is None:
            self.decide(found_task(labels))
        if self.task == CLASSIFICATION:
            if self.classes is None:
                self.classes = self._with_room(self._found(first))
            self._check_classes()
        self._tell_horizon()
        if self.metrics is None:
            self.metrics = self.new_metrics()
            self.recorder.expect(0, len(first))  # also if it is learned in parts
            if isinstance(self.metrics, ClassificationMetrics) and self.classes is not None:
                self.metrics.expect(self.classes.places(labels[np.isin(labels, self.classes.known)]))
        parts = self._parts((self._checked(block) for block in chain([first], blocks)), stop)
        for progress in self._follow((self._scaled(part), np.asarray(part.y)) for part in parts):
            self.progress = progress
            if isinstance(self.metrics, ClassificationMetrics) and self.classes is not None:
                self.metrics.labels += map(plain_label, self.classes.known[len(self.metrics.labels) :])
            if hasattr(self.model, "events_"):
                self.events = joined_events(self.events, self.model.events_, self._names())
            yield progress
        self._finish(stop)

    def _finish(self, stop: Callable[[], bool] | None) -> None:
        assert self.metrics is not None
        names = self._names()
        sources = [] if self.stream.encoding is None else [one.name for one in self.stream.encoding.features]
        hurry = stop is not None and stop()
        scores = min(SCORES, 4 * AT_ONCE // self._bytes()) if hurry else SCORES
        influence = influence_of(self.model, self.reservoir.rows(), names, sources, scores)
        self.results = self.metrics.results() | {"influence": influence}
        if hasattr(self.model, "events_"):
            self.results["events"] = list(map(to_dict, self.events))

    def _names(self) -> list[str]:
        """Names of the columns of an encoded row."""
        return self.stream.feature_names or [f"column {k}" for k in range(1, self.stream.n_features + 1)]

    def _follow(self, labelled: Iterator[tuple[Any, npt.NDArray[Any]]]) -> Iterator[Progress]:
        if isinstance(self.metrics, RegressionMetrics):
            return follow_values(self.model, labelled, after=self.progress, metrics=self.metrics, notes=self.recorder)
        return follow(
            self.model, labelled, self.classes, after=self.progress, metrics=self.metrics, notes=self.recorder
        )

    def decide(self, task: str) -> None:
        """Take labels for classes or numbers, if that was not known before."""
        if self.task is None and task == REGRESSION:
            assert self._regressor is not None
            self.model = self._regressor()
        self.task = task

    def planned(self) -> learners.Plan | None:
        """What the learner will be, if that is known before its first row."""
        is_known = self.task == REGRESSION or (self.task == CLASSIFICATION and self.classes is not None)
        if not is_known or not isinstance(self.model, learners.PocketClassifier | learners.PocketRegressor):
            return None
        room = 2 if self.classes is None else self.classes.room or len(self.classes.known)
        plan: learners.Plan = self.model.plan(self.stream.n_features, n_classes=room)
        return plan

    def new_metrics(self) -> Metrics:
        """Measures that have counted nothing yet."""
        if self.task == REGRESSION:
            return RegressionMetrics()
        assert self.classes is not None
        return ClassificationMetrics(
            [plain_label(label) for label in self.classes.known],
            probabilities=hasattr(self.model, "predict_proba"),
            linear=hasattr(self.model, "predict_then_learn_both"),
            apart=bool(getattr(self.model, "lag", False)),
            room=self.classes.room,
        )

    def pipeline(self) -> Pipeline:
        """How rows have been encoded and scaled so far."""
        given = {name: value for name, value in self._reading.items() if name in READING}
        reading = {"format": self.stream.format, **self.stream.dialect, **given}
        asked = {name: value for name, value in self._reading.items() if name in ASKED and ASKED[name](value)}
        encoding = None if self.stream.encoding is None else self.stream.encoding.to_dict()
        schema = None if self.schema is None or len(self.schema) == SCHEMA_COLUMNS else sentences(self.schema)
        return Pipeline(self.stream.n_features, encoding, self.scaler, reading, asked, schema)

    def to_bytes(self) -> bytes:
        """A model file of what was learned, with the pipeline."""
        model, (section, arrays) = learners.contents_of(self.model), self.pipeline().written()
        return model_file.encode(replace(model, sections={PIPELINE: section}, arrays=arrays))

    def record(self, **more: Any) -> Record:
        """How the run has gone, with `more` for its settings."""
        skipped = self.stream.skipped
        more = {
            "task": self.task,
            "scale": None if self.scaler is None else self.scaler.kind,
            "permute": self._permute,
            "rows": self._rows,
            "block": self.stream.block,
            "format": self.stream.format,
            "skipped": {"rows": skipped.count, "first": [str(report) for report in skipped.reports]},
            "resumed_at": self.resumed_at,
            "schema": self.schema,
            "interrupted": self.interrupted,
            "dropped": self.dropped,
            "sources": [name for name, _ in self.sources],
            **more,
        }
        return Record(settings_of(self.model, **more), self.recorder.curve(), self.results)

    # ---- rows -------------------------------------------------------------------------------------------------------

    def _blocks(self, start: int) -> Iterator[Block]:
        return self.stream.blocks(start) if self._permute is None else self._permuted(start)

    def _parts(self, blocks: Iterator[Block], stop: Callable[[], bool] | None) -> Iterator[Block]:
        """Blocks in parts that do not take long, each beginning at a multiple of their size within its block.

        Once `stop` says so, there are no more; but of a pipe those that can be learned soon, and others are counted.
        """
        size = max(1, min(self.stream.block, AT_ONCE // self._bytes()))
        missing = (self.progress.rows - self._base) % self.stream.block if self.progress else 0
        latest = math.inf
        for block in blocks:
            begin = 0
            while begin < len(block):
                if monotonic() > latest:
                    self.dropped += len(block) - begin
                    break
                end = min((missing + begin) // size * size + size - missing, len(block))
                yield block[begin:end]
                begin = end
                if stop is not None and stop():
                    if not self.stream.live:
                        return
                    latest = min(latest, monotonic() + GRACE)
            missing = 0

    def _bytes(self) -> int:
        """The size of the model, which may not have begun."""
        if self.model.__sklearn_is_fitted__():
            return int(self.model.nbytes)
        room = getattr(self.model, "n_classes", None) or (2 if self.classes is None else len(self.classes.known))
        return int(self.model.plan(self.stream.n_features, n_classes=room).nbytes)

    def _limited(self, blocks: Iterator[Block], start: int) -> Iterator[Block]:
        left = None if self._rows is None else self._rows - start
        for block in blocks:
            if left is not None and len(block) >= left:
                if left:
                    yield block[:left]
                return
            left = None if left is None else left - len(block)
            yield block

    def _permuted(self, start: int) -> Iterator[Block]:
        assert self._permute is not None
        whole = gather(self.stream.blocks())
        order = permutation(len(whole), self._permute)
        self.total = len(order) if self._rows is None else min(self._rows, len(order))
        if self.classes is None and whole.y is not None:
            self.classes = self._with_room(np.unique(whole.y))
        for at in range(start - start % self.stream.block, len(order), self.stream.block):
            yield whole.take(order[max(at, start) : at + self.stream.block])

    def _checked(self, block: Block) -> Block:
        """A block with labels that can be learned."""
        assert block.y is not None
        if self.task == REGRESSION:
            return replace(block, y=self._numbers(block))
        assert self.classes is not None
        if self.stream.classes is None:  # else it was checked there
            return self._known(block)
        return block

    def _scaled(self, block: Block) -> Any:
        X = block.X if self.scaler is None else self.scaler.transform_then_learn(ready(block, self.scaler))
        self.reservoir.update(X)
        return X

    def _numbers(self, block: Block) -> npt.NDArray[np.float64]:
        assert block.y is not None
        if block.y.dtype.kind not in "iuf":
            raise StreamError(
                "labels that are numbers, for task='regression'",
                f"{plain_label(block.y[0])!r}",
                file=block.file,
                line=block.line,
            )
        return block.y.astype(np.float64)

    def _with_room(self, labels: npt.NDArray[Any]) -> Arrivals:
        return Arrivals(labels.tolist(), room_of(self.model))

    def _known(self, block: Block) -> Block:
        """Rows with labels that are known or have room; others are reported, and left out of a pipe."""
        assert block.y is not None and self.classes is not None
        known = np.isin(block.y, admitted(self.classes.known, block.y.tolist(), self.classes.room))
        if known.all():
            return block
        shown = ", ".join(map(plain_label, self.classes.known))
        for row in np.flatnonzero(~known).tolist():
            error = StreamError(
                f"{A_CLASS} {shown}, which the first {self.stream.block:,} rows have (give all by classes=)",
                plain_label(block.y[row]) + (f", row {row + 1} from there" if block.line else ""),
                file=block.file,
                line=block.line,
            )
            if self._count is not None:  # a file, whose rows a resumed run must count in the same way
                raise error
            self.stream.skipped.report(error)
        return block.take(np.flatnonzero(known))

    def _found(self, first: Block) -> npt.NDArray[Any]:
        assert first.y is not None
        found = np.unique(first.y)
        if len(found) < 2:
            raise StreamError(
                "two classes or more among the first rows (list all in classes=; add permute=SEED if they are sorted)",
                f"only {plain_label(found[0])} in {len(first):,} rows",
                file=first.file,
            )
        return found

    def _check_classes(self) -> None:
        assert self.classes is not None
        known = self.classes.known
        if len(known) > 2 and not learners.is_multiclass(self.model):
            shown = ", ".join(map(plain_label, known[:5])) + (" ..." if len(known) > 5 else "")
            raise ValueError(
                f"{type(self.model).__name__} supports only two classes, but there are {len(known)}: {shown}; "
                "use learner=pocket or multiclassmomds."
            )

    def _tell_horizon(self) -> None:
        """LKMBooks must know how many rows there will be; those of files can be counted."""
        if "horizon" not in self.model.get_params(deep=False) or self.model.horizon is not None:
            return
        if self.total is None and self._count is not None:
            self.total = self._count()
        if self.total is None:
            raise ValueError(
                f"{type(self.model).__name__} needs the number of rows of a pipe in advance: give horizon=N, or rows=N."
            )
        self.model.horizon = self.total


def sentences(schema: list[dict[str, Any]]) -> dict[str, str]:
    """What became of each column, by its name.

    Examples
    --------
    >>> sentences([{"name": "colour", "role": "category", "encoded": "3 levels in 3 columns", "examples": "red"}])
    {'colour': 'category: 3 levels in 3 columns'}
    """
    return {column["name"]: f"{column['role']}: {column['encoded']}" for column in schema}


def schema_of(stream: Stream) -> list[dict[str, Any]] | None:
    """What was inferred of the columns of a table, in plain values."""
    inferred = stream.inferred
    return None if inferred is None else [column.to_dict() for column in inferred.columns[:SCHEMA_COLUMNS]]


def plain_label(label: Any) -> str:
    """A label as people write it: 1, not 1.0.

    Examples
    --------
    >>> plain_label(np.float64(-1.0)), plain_label(0.5), plain_label("ham")
    ('-1', '0.5', 'ham')
    """
    label = label.item() if isinstance(label, np.generic) else label
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
