"""Errors of predicted numbers, and how often intervals hold."""

import math
from collections.abc import Sequence

import numpy as np

from pocketkernel.evaluate.metrics.baselines import MOST_TARGET
from pocketkernel.evaluate.metrics.tallies import Floats, Tallies, ratio


class Errors(Tallies):
    """Absolute and squared errors of several predictions of the same targets, and the variance of the targets.

    The first prediction is compared with the others: by how many standard errors its squares are smaller.

    Parameters
    ----------
    predictions : int
        How many are compared.

    Examples
    --------
    >>> errors = Errors(1)
    >>> squares = errors.update(np.array([1.0, 3.0]), [np.array([1.0, 2.0])])
    >>> errors.mean_absolute(0), errors.root_mean_square(0), errors.deviation()
    (0.5, 0.7071067811865476, 1.0)
    """

    _names = ("rows", "absolute", "squared", "gaps", "moments")

    def __init__(self, predictions: int) -> None:
        self.rows = np.zeros(1, np.int64)
        self.absolute, self.squared = np.zeros(predictions), np.zeros(predictions)
        # Roots of the sums of squares of what the first one's squared errors differ by: the sums may be too large.
        self.gaps = np.zeros(predictions)
        self.moments = np.zeros(2)  # of the targets: mean, and sum of squared differences from it

    def update(self, y: Floats, predictions: Sequence[Floats]) -> list[Floats]:
        """Compare the predictions of some targets; returns the squared errors of each."""
        errors = [prediction - y for prediction in predictions]
        squares = [error * error for error in errors]
        self.absolute += [np.abs(error).sum() for error in errors]
        self.squared += [square.sum() for square in squares]
        self.gaps = np.hypot(self.gaps, [math.sqrt(((square - squares[0]) ** 2).sum()) for square in squares])
        if len(y):
            mean = float(y.mean())
            self._join(len(y), np.array([mean, float(((y - mean) ** 2).sum())]))
        return squares

    def add(self, other: "Errors") -> None:
        """Count the rows of another pass."""
        self.absolute, self.squared = self.absolute + other.absolute, self.squared + other.squared
        self.gaps = np.hypot(self.gaps, other.gaps)
        if other.rows[0]:
            self._join(int(other.rows[0]), other.moments)

    def valid(self) -> bool:
        """Whether sums of what cannot be negative are not."""
        sums = (
            np.all(self.absolute >= 0) and np.all(self.squared >= 0) and np.all(self.gaps >= 0) and self.moments[1] >= 0
        )
        return bool(sums and self.rows[0] >= 0 and abs(self.moments[0]) <= MOST_TARGET)

    def _join(self, rows: int, moments: Floats) -> None:
        before, apart = int(self.rows[0]), moments[0] - self.moments[0]
        both = before + rows
        mean = self.moments[0] + apart * rows / both
        self.moments = np.array([mean, self.moments[1] + moments[1] + apart * apart * before * rows / both])
        self.rows[0] = both

    def mean_absolute(self, which: int) -> float | None:
        """Mean absolute error."""
        return ratio(self.absolute[which], self.rows[0])

    def root_mean_square(self, which: int) -> float | None:
        """Root of the mean squared error."""
        mean = ratio(self.squared[which], self.rows[0])
        return None if mean is None else math.sqrt(mean)

    def beaten_by(self, which: int) -> float | None:
        """By how many standard errors the first prediction's squared errors are smaller than those of another."""
        rows = float(self.rows[0])
        if not rows:
            return None
        mean = float(self.squared[which] - self.squared[0]) / rows
        variance = float(self.gaps[which]) ** 2 / rows - mean * mean
        return mean / math.sqrt(variance / rows) if variance > 0 else None

    def deviation(self) -> float | None:
        """Standard deviation of the targets."""
        variance = ratio(self.moments[1], self.rows[0])
        return None if variance is None else math.sqrt(variance)

    def explained(self, which: int) -> float | None:
        """R2: the share of the variance of the targets that is explained; None if they are all the same."""
        left = ratio(self.squared[which], self.moments[1])
        return None if left is None else 1.0 - left


class Intervals(Tallies):
    """How often targets lie within their intervals, and how wide those are.

    Examples
    --------
    >>> intervals = Intervals()
    >>> inside = intervals.update(np.array([1.0, 5.0]), np.array([0.0, 0.0]), np.array([2.0, 4.0]))
    >>> intervals.coverage(), intervals.mean_width()
    (0.5, 3.0)
    """

    _names = ("rows", "inside", "width")

    def __init__(self) -> None:
        self.rows, self.inside, self.width = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)

    def update(self, y: Floats, low: Floats, high: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Count some targets; returns which of them lie inside."""
        inside = (low <= y) & (y <= high)
        self.rows += len(y)
        self.inside += np.count_nonzero(inside)
        self.width += (high - low).sum()
        return inside

    def valid(self) -> bool:
        """Whether no more targets are inside than there are."""
        return bool(0 <= self.inside[0] <= self.rows[0] and self.width[0] >= 0)

    def coverage(self) -> float | None:
        """Share of the targets inside."""
        return ratio(self.inside[0], self.rows[0])

    def mean_width(self) -> float | None:
        """Mean width of the intervals."""
        return ratio(self.width[0], self.rows[0])
