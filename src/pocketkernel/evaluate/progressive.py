"""Progressive validation: every row is scored before its label is used."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pocketkernel.evaluate.arrivals import Arrivals
from pocketkernel.evaluate.metrics import ClassificationMetrics, RegressionMetrics
from pocketkernel.evaluate.metrics.answers import Answers, places_of
from pocketkernel.evaluate.metrics.regression import COVERAGE

RENEWAL = 128
"""Rows after which intervals are asked for anew."""


class Model(Protocol):
    """What can be evaluated."""

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> npt.NDArray[np.float64]:
        """For every row: score it, then learn it.

        One score for each row, >= 0 for the larger of two labels; or one for each row and label, the largest wins.
        """


class Notes(Protocol):
    """What takes down how a model changes, as `Recorder` does."""

    def parts(self, before: int, count: int) -> list[slice]:
        """Where to interrupt a block of `count` rows after `before` others."""

    def add(self, model: Any, progress: "Progress") -> None:
        """Take down the state of the model."""


@dataclass(frozen=True)
class Progress:
    """The results of a model so far.

    Attributes
    ----------
    rows, mistakes : int
        Since the start. A regressor makes no mistakes, only errors: see its metrics.
    window_rows, window_mistakes : int
        In the latest block.
    seconds : float
        Time spent in the model since the start.
    pieces : arrays of shape (n,) or (n, classes)
        The latest block's scores, in the parts in which it was learned; none if metrics have read them.
    """

    rows: int
    mistakes: int
    window_rows: int
    window_mistakes: int
    seconds: float
    pieces: Sequence[npt.NDArray[np.float64]] = field(default=(), repr=False, compare=False)

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """The latest block's scores, of shape (window_rows,) or (window_rows, classes)."""
        return np.concatenate(self.pieces) if self.pieces else np.empty(0)

    @property
    def mistake_rate(self) -> float:
        """Share of mistakes since the start, from 0 to 1."""
        return self.mistakes / self.rows

    @property
    def window_mistake_rate(self) -> float:
        """Share of mistakes in the latest block, from 0 to 1."""
        return self.window_mistakes / self.window_rows

    @property
    def rows_per_second(self) -> float:
        """Speed of the model since the start."""
        return self.rows / self.seconds


def progressive(model: Model, X: Any, y: Any, *, block: int = 1000, classes: Any = None) -> Iterator[Progress]:
    """Feed a stream to a model, block by block, and yield the results so far after each block.

    The size of the blocks only determines how often results are yielded.

    Parameters
    ----------
    model : object with predict_then_learn(X, y, classes)
        It continues from what it has learned before.
    X : array or CSR matrix of shape (n, d)
        The rows, in order.
    y : array of shape (n,)
        Labels.
    block : int, default=1000
        Rows per block, at least 1; the last block may be shorter.
    classes : array of all labels, default=None
        None means the labels in y.

    Yields
    ------
    Progress
        After each block.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> from pocketkernel.stream import known_kernel
    >>> X, y = known_kernel(1500, features=2)
    >>> for progress in progressive(MOMDS(memory="64KiB", random_state=0), X, y, block=600):
    ...     print(progress.rows, progress.window_mistake_rate < 0.3)
    600 True
    1200 True
    1500 True
    """
    y = np.asarray(y)
    if X.shape[0] != len(y):
        raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels: give one label per row.")
    if block < 1:
        raise ValueError(f"block={block} is too small: use a positive integer.")
    parts = (slice(start, start + block) for start in range(0, len(y), block))
    yield from follow(model, ((X[part], y[part]) for part in parts), y if classes is None else classes)


def follow(
    model: Model,
    blocks: Iterable[tuple[Any, Any]],
    classes: Any,
    *,
    after: Progress | None = None,
    metrics: ClassificationMetrics | None = None,
    notes: Notes | None = None,
) -> Iterator[Progress]:
    """The same for a stream of blocks.

    Parameters
    ----------
    model : object with predict_then_learn(X, y, classes)
        It continues from what it has learned before.
    blocks : iterable of (X, y)
        Rows and labels.
    classes : array of all labels, or Arrivals
        The array may contain repetitions; to Arrivals, others are added while there is room.
    after : Progress, default=None
        Results to continue from, if the model has already learned a part of the stream.
    metrics : ClassificationMetrics, default=None
        Counts every row, with the labels in the order of the sorted classes, or of their arrival.
    notes : Recorder, default=None
        Gets the points that it asks for, within blocks too.
    """
    labels = classes if isinstance(classes, Arrivals) else Arrivals(np.unique(np.asarray(classes)).tolist())
    rows, mistakes, seconds = (after.rows, after.mistakes, after.seconds) if after else (0, 0, 0.0)
    first = after is None  # else the model has begun, and all of its answers are to be found in the same way
    for X, y in blocks:
        before = len(labels.known)
        new = labels.take(y)  # each begins a part: no earlier row is to be taken for it
        wrong, pieces, answers = 0, [], []
        asked = _parts(rows, len(y), notes)
        stops = {part.stop for part in asked}
        for part in _divided(asked, new):
            known = before + sum(row < part.stop for row in new)
            order = labels.order(known)
            began = perf_counter()
            given = labels.ascending(known) if first else None
            scores, others, told = _learned(model, _cut(X, part, len(y)), y[part], given, metrics)
            seconds += perf_counter() - began
            first = False
            if metrics is None:
                pieces.append(scores)
                wrong += int(np.count_nonzero(order[places_of(scores)] != labels.places(y[part])))
            else:
                if told is None:
                    found = metrics.read(np.argsort(order)[labels.places(y[part])], scores, *others)
                else:
                    found = Answers.told(told)
                answers.append(found.numbered(order))
                wrong += answers[-1].mistakes
            if notes is not None and part.stop in stops:
                notes.add(model, Progress(rows + part.stop, mistakes + wrong, 0, 0, seconds))
        if metrics is not None:
            metrics.count(Answers.joined(answers))
        rows += len(y)
        mistakes += wrong
        yield Progress(rows, mistakes, len(y), wrong, seconds, pieces)


def _parts(before: int, count: int, notes: Notes | None) -> list[slice]:
    """The parts of a block. The first row of a stream is alone: a model that has begun is faster."""
    if notes is not None:
        return notes.parts(before, count)
    return [slice(0, count)] if before or count == 1 else [slice(0, 1), slice(1, count)]


def _divided(parts: Iterable[slice], rows: Sequence[int]) -> Iterator[slice]:
    """The parts, and those of them in which one of the rows is not the first in two."""
    for part in parts:
        points = [part.start, *(row for row in rows if part.start < row < part.stop), part.stop]
        yield from (slice(begin, end) for begin, end in pairwise(points))


def _learned(
    model: Any, X: Any, y: Any, classes: Any, metrics: ClassificationMetrics | None
) -> tuple[Any, Sequence[Any], Any]:
    """Score and learn rows. Their scores, those of parts of the model as far as they are wanted, and what it tells.

    Parts are the linear one, and all but the last labels. A model that tells what its scores say gives no scores.
    """
    tell = getattr(model, "predict_then_learn_answers", None)
    if tell is not None and classes is None and metrics is not None and metrics.wants_answers:
        told = tell(X, y)
        if told is not None:
            return None, (), told
    if metrics is not None and metrics.wants_apart:
        scores, *others = model.predict_then_learn_parts(X, y, classes=classes)
        return scores, others, None
    if metrics is not None and metrics.wants_linear:
        scores, *others = model.predict_then_learn_both(X, y, classes=classes)
        return scores, others, None
    return model.predict_then_learn(X, y, classes=classes), (), None


def _cut(X: Any, part: slice, count: int) -> Any:
    """Some rows of a block; a whole one is not copied, which some matrices would do."""
    return X if part == slice(0, count) else X[part]


def follow_values(
    model: Any,
    blocks: Iterable[tuple[Any, Any]],
    *,
    after: Progress | None = None,
    metrics: RegressionMetrics | None = None,
    notes: Notes | None = None,
) -> Iterator[Progress]:
    """The same for a PocketRegressor and a stream of blocks with real targets.

    Parameters as in `follow`. Intervals are made before their targets are seen, and renewed after every 128 rows.
    """
    rows, seconds = (after.rows, after.seconds) if after else (0, 0.0)
    for X, y in blocks:
        answers, linear, low, high = np.empty((4, len(y)))
        before, start = rows, 0
        points = [] if notes is None else [part.stop for part in notes.parts(rows, len(y))]
        while start < len(y):
            # Short parts at first: there are no intervals before the first row, and poor ones after it.
            stop = min(start + min(max(rows, 1), RENEWAL), len(y))
            # Not np.sort, whose instructions slow the processor down for a while.
            low[start:stop], high[start:stop] = sorted(model.margins(COVERAGE).tolist()) if rows else (0.0, 0.0)
            for begin, end in pairwise([start, *(point for point in points if start < point < stop), stop]):
                part = slice(begin, end)
                began = perf_counter()
                answers[part], linear[part] = model.predict_then_learn_both(X[part], y[part])
                seconds += perf_counter() - began
                if notes is not None and end in points:
                    notes.add(model, Progress(before + end, 0, 0, 0, seconds))
            start, rows = stop, before + stop
        if metrics is not None:
            metrics.update(y, answers, answers + low, answers + high, linear)
        yield Progress(rows, 0, len(y), 0, seconds, [answers])
