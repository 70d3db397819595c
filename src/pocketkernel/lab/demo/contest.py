"""What the demo runs: a stream whose labels flip half-way, PocketClassifier, and what it has to beat."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import PocketClassifier
from pocketkernel.evaluate import Progress, progressive
from pocketkernel.lab.demo.baselines import Majority, OnlineLinear
from pocketkernel.stream import known_kernel

FRAMES = 60
"""Blocks in which a stream is shown, each one a point of the curve."""

Mistakes = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Stream:
    """Rows, labels -1 and 1, and the row from which on all labels are exchanged."""

    X: Any
    y: Any
    flip: int


def generated(rows: int, seed: int) -> Stream:
    """Make the stream."""
    X, y = known_kernel(rows, seed=seed)
    flip = rows // 2
    y[flip:] *= -1
    return Stream(X, y, flip)


@dataclass
class Contestant:
    """A model, and how it has done so far."""

    name: str
    model: Any
    rates: list[float] = field(default_factory=list)
    wrong: list[Mistakes] = field(default_factory=list)
    progress: Progress | None = None

    def note(self, progress: Progress, y: Any) -> None:
        """Add a block."""
        self.progress = progress
        self.rates.append(progress.window_mistake_rate)
        self.wrong.append((progress.scores >= 0) != (y > 0))

    def rate(self, first: int, last: int) -> float:
        """Share of mistakes from one row to another; NaN if there are no rows."""
        part = np.concatenate(self.wrong)[max(0, first) : last]
        return float(part.mean()) if len(part) else float("nan")


def contestants(memory: str, seed: int) -> list[Contestant]:
    """PocketClassifier first, then the baselines."""
    return [
        Contestant("PocketClassifier", PocketClassifier(memory=memory, random_state=seed)),
        Contestant("linear model", OnlineLinear()),
        Contestant("always the majority", Majority()),
    ]


class Contest:
    """All contestants on the same stream, block by block."""

    def __init__(self, stream: Stream, everyone: Sequence[Contestant]) -> None:
        self.stream, self.everyone = stream, everyone
        self.learner = everyone[0]
        self.refusal = ""
        """Why the learner cannot learn such rows in its memory, if that is so."""
        self.first_bytes = 0
        try:
            trial = deepcopy(self.learner.model)
            trial.predict_then_learn(stream.X[:1], stream.y[:1], classes=(-1, 1))
            self.first_bytes = trial.nbytes
        except ValueError as error:
            self.refusal = str(error)

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self.learner.progress.rows if self.learner.progress else 0

    def run(self) -> Iterator[int]:
        """Go through the stream; yields the number of each block after it was learned."""
        X, y = self.stream.X, self.stream.y
        block = max(1, -(-len(y) // FRAMES))
        runs = (progressive(one.model, X, y, block=block, classes=(-1, 1)) for one in self.everyone)
        for number, steps in enumerate(zip(*runs, strict=True)):
            for one, progress in zip(self.everyone, steps, strict=True):
                one.note(progress, y[progress.rows - progress.window_rows : progress.rows])
            yield number
