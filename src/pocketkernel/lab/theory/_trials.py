"""Learners on the first part of a stream, in several memories: what advice rests on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from pocketkernel import learners
from pocketkernel._scores import labels_of
from pocketkernel.evaluate.progressive import progressive
from pocketkernel.lab.theory.rows import Floats
from pocketkernel.stream.block import is_sparse

FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
"""Widths to try, in units of the median distance between two rows."""
CONFIDENCE = 1.96
"""Standard deviations of a normal variable that hold 95 %."""
ONE_SIDED = 1.645
"""The same, of those on one side."""
MIDDLE = 0.75
"""Where the middle of the second half lies."""

_PAIRS = 1000
_LARGEST = 1 << 40  # bytes; no learner needs as many to begin


@dataclass(frozen=True)
class Candidate:
    """A learner and all its parameters except the memory."""

    learner: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def build(self, memory: int, seed: int) -> Any:
        """The untrained learner."""
        return getattr(learners, self.learner)(**self.parameters, memory=memory, random_state=seed)

    def fits(self, memory: int, columns: int, classes: int) -> bool:
        """Whether the smallest size of the learner is at most `memory`."""
        try:
            self.build(memory, 0).plan(columns, n_classes=classes)
        except ValueError:  # says that it is too small: nothing else is asked for here
            return False
        return True

    def least(self, columns: int, classes: int) -> int:
        """The smallest memory that it fits into."""
        low, high = 0, _LARGEST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.fits(middle, columns, classes) else (middle, high)
        return high


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with some memory on the first part of a stream, each row scored before its label is used.

    Attributes
    ----------
    learner : str
        Name of the class.
    parameters : dict
        Of its constructor, but for memory and seed.
    memory : int
        Bytes that it might take.
    nbytes, budget : int
        Bytes that it took, and what it stores in them.
    mistakes : int
        On all rows of the part.
    rate, low, high : float
        Expected mistake rate on the remaining rows, and its range.
    """

    learner: str
    parameters: Mapping[str, Any]
    memory: int
    nbytes: int
    budget: int
    mistakes: int
    rate: float
    low: float
    high: float
    wrong: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def second_half(self) -> float:
        """Share of mistakes in the second half of the part."""
        return float(self.wrong[len(self.wrong) // 2 :].mean())

    def at_worst(self, length: int | None) -> float:
        """Mistakes on a stream of `length` rows if nothing more is learned; None: as many rows again as were tried.

        What candidates are ranked by: how much more each will learn is not known well enough.
        """
        rows = len(self.wrong)
        return self.mistakes + ((2 * rows if length is None else length) - rows) * self.second_half

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold."""
        return {
            "learner": self.learner,
            "parameters": {name: plain(value) for name, value in self.parameters.items()},
            "memory": self.memory,
            "bytes": self.nbytes,
            "budget": self.budget,
            "mistakes": self.mistakes,
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
        }


def plain(value: Any) -> Any:
    """A parameter as JSON can hold it: kernels by their widths."""
    return [kernel.width for kernel in value] if isinstance(value, tuple) else value


def attempt(candidate: Candidate, memory: int, X: Any, y: Any, *, length: int | None, seed: int) -> Trial:
    """Run a candidate over the first rows of a stream; `length` as for `outlook`."""
    labels = np.unique(y)
    model = candidate.build(memory, seed)
    (progress,) = progressive(model, X, y, block=len(y), classes=labels)
    wrong = np.asarray(labels_of(progress.scores, labels) != y)
    return Trial(
        candidate.learner,
        candidate.parameters,
        memory,
        model.nbytes,
        model.budget_,
        int(wrong.sum()),
        *outlook(wrong, length),
        wrong,
    )


def outlook(wrong: npt.NDArray[np.bool_], length: int | None) -> tuple[float, float, float]:
    """Expected mistake rate on the remaining rows, and its range.

    At worst nothing more is learned, and the rate stays that of the second half. At best mistakes keep growing as a
    power of the number of rows, as from the first half to the whole. What is expected is the geometric mean of the two.
    The upper end is that of a 95 % Wilson interval of the worst, wider if few rows are to come, whose own share has
    some spread. The lower end is that of such an interval, times what is left of the rate if it keeps falling with
    every doubling of the rows as fast as it may have in one of the last two: by the least factor that 95 % confidence
    allows, as learners often learn faster than they have so far.

    Parameters
    ----------
    wrong : array of bool
        The mistakes of the part.
    length : int or None
        Rows of the whole stream; None: twice those of the part.

    Examples
    --------
    >>> rate, low, high = outlook(np.tile([True, False, False, False], 1000), 40_000)
    >>> rate, bool(0.22 < low < rate < high < 0.28)
    (0.25, True)
    """
    first, second = np.array_split(wrong, 2)
    ahead = 2.0 if length is None else length / len(wrong)
    worst = float(second.mean())
    to_come = math.inf if length is None or ahead <= 1 else length - len(wrong)
    low, high = wilson(worst, 1 / (1 / len(second) + 1 / to_come))
    if ahead <= 1 or not worst or worst >= first.mean():
        return worst, low, high
    power = math.log(wrong.sum() / first.sum()) / math.log(len(wrong) / len(first))
    best = min(worst, float(wrong.mean()) * (ahead**power - 1) / (ahead - 1))
    return math.sqrt(best * worst), low * min(best / worst, _share_left(wrong, ahead)), high


def _share_left(wrong: npt.NDArray[np.bool_], ahead: float) -> float:
    """What may be left of the rate of the second half, on average over the rows up to `ahead` times those so far."""
    eighths = np.array([part.sum() for part in np.array_split(wrong, 8)])
    doublings = (eighths[1], eighths[2:4].sum(), eighths[4:].sum())  # each of twice as many rows as the one before
    falls = [
        math.log(after / (2 * before)) - ONE_SIDED * math.sqrt(1 / before + 1 / after)
        for before, after in pairwise(doublings)
        if before and after
    ]
    power = min([0.0, *falls]) / math.log(2)  # of the number of rows, to which the rate is proportional
    begin, end = 1 / MIDDLE, ahead / MIDDLE  # of the rows to come, in units of the middle of the second half
    if power == -1.0:
        return math.log(end / begin) / (end - begin)
    return float((end ** (power + 1) - begin ** (power + 1)) / ((power + 1) * (end - begin)))


def wilson(share: float, rows: float) -> tuple[float, float]:
    """Ends of the 95 % Wilson interval for a share of this number of rows.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    z2 = CONFIDENCE**2
    spread = 1 + z2 / rows
    middle = (share + z2 / (2 * rows)) / spread
    reach = CONFIDENCE * math.sqrt(share * (1 - share) / rows + z2 / (4 * rows**2)) / spread
    return max(0.0, middle - reach), min(1.0, middle + reach)


def confidence_within(chosen: Trial, others: Sequence[Trial], slack: float) -> float:
    """Least chance that none of the others makes fewer than 1 / (1 + slack) of the mistakes of the chosen one.

    Both answered the same rows, so that what counts is where they differ: a normal approximation for the sum of
    (1 + slack) other - chosen over the second half, and the union bound over the others. What is still to be learned
    by those in more memory is taken off their mistakes, and nothing off those of the chosen one: more memory learns
    for longer, and the first part of a stream does not show it.
    """
    half = len(chosen.wrong) // 2
    doubt = 0.0
    for other in others:
        made = other.second_half
        factor = other.rate / made if made and other.memory > chosen.memory else 1.0
        leads = (1 + slack) * factor * other.wrong[half:] - chosen.wrong[half:].astype(float)
        total, sd = leads.sum(), leads.std() * math.sqrt(len(leads))
        doubt += float(ndtr(-total / sd)) if sd > 0 else float(total < 0)
    return max(0.0, 1 - doubt)


# ---- widths ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Width:
    """A Gaussian kernel by itself.

    Attributes
    ----------
    width : float
        In units of the columns.
    rate, low, high : float
        Share of mistakes of M-OMD-S with this kernel alone, as in `Trial`.
    alignment : float or None
        A/T, from random pairs of rows; None if there are more than two classes or 2,000 columns.
    matters : bool
        Whether its mistakes are at most a tenth more than those of the best.
    """

    width: float
    rate: float
    low: float
    high: float
    alignment: float | None
    matters: bool


def typical_distance(X: Any, seed: int) -> float:
    """Median distance between two random rows that differ, or 1 if there are none."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(X.shape[0], size=(2, _PAIRS))
    apart = X[first] - X[second]
    squares = apart.multiply(apart) if is_sparse(apart) else np.square(apart)
    distances = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
    differing: Floats = distances[(distances > 0) & (distances < np.inf)]
    return float(np.median(differing)) if len(differing) else 1.0
