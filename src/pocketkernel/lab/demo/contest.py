"""What the demo runs: two streams, and for each the learners and what they have to beat."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pocketkernel import Gaussian
from pocketkernel.evaluate import Progress, progressive
from pocketkernel.kernels import PAPER_KERNELS
from pocketkernel.lab.demo.baselines import Majority, OnlineLinear
from pocketkernel.lab.roster import ROSTER
from pocketkernel.lab.streams import digits
from pocketkernel.stream import known_kernel

FRAMES = 100
SMALLEST_BLOCK = 100
"""A stream is shown in so many blocks, unless they would be smaller than this."""


@dataclass(frozen=True)
class Stream:
    """Rows, labels -1 and 1, and the kernel that made the labels if one did."""

    title: str
    X: Any
    y: Any
    kernel: Gaussian | None = None


def handwriting(seed: int) -> Stream:
    """Make the stream of scikit-learn's digits."""
    return Stream("odd against even digits", *digits(seed))


def generated(rows: int, seed: int) -> Stream:
    """Make the stream whose best kernel is known."""
    kernel = PAPER_KERNELS[1]
    title = f"stream made by a Gaussian of width {kernel.width:g}"
    return Stream(title, *known_kernel(rows, width=kernel.width, seed=seed), kernel)


@dataclass
class Contestant:
    """A model, what its budget counts, and how it has done so far."""

    name: str
    model: Any
    unit: str = ""
    progress: Progress | None = None
    refusal: str = ""

    def prepare(self, stream: Stream) -> None:
        """Note in `refusal` why the model cannot learn such rows in its memory, if that is so."""
        try:
            deepcopy(self.model).predict_then_learn(stream.X[:1], stream.y[:1], classes=(-1, 1))
        except ValueError as error:
            self.refusal = str(error)

    def run(self, stream: Stream) -> Iterator[Progress]:
        """Go through the stream, unless refused."""
        if self.refusal:
            return
        block = max(SMALLEST_BLOCK, len(stream.y) // FRAMES)
        for progress in progressive(self.model, stream.X, stream.y, block=block, classes=(-1, 1)):
            self.progress = progress
            yield progress


def contestants(stream: Stream, memory: str, seed: int) -> list[Contestant]:
    """PocketClassifier, the paper's learners, the baselines."""
    rounds = len(stream.y)
    everyone = [
        *(
            Contestant(one.name, one.make(rows=rounds, memory=memory, random_state=seed), one.counts)
            for one in ROSTER.values()
        ),
        Contestant("linear model", OnlineLinear()),
        Contestant("always the majority", Majority()),
    ]
    for contestant in everyone:
        contestant.prepare(stream)
    return everyone
