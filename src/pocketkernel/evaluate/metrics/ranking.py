"""Area under the ROC curve, from a histogram of scores."""

import numpy as np
import numpy.typing as npt

from pocketkernel.evaluate.metrics.tallies import Integers, Tallies

BINS = 1024
"""Equal parts of s / (1 + |s|), from -1 to 1: fine near 0, where most scores are, and of any range."""


class Ranking(Tallies):
    """How well the scores of two classes rank them.

    Rows in the same bin count as ties. `error` is how far the exact area can be from the reported one for that reason.

    Examples
    --------
    >>> ranking = Ranking()
    >>> ranking.update(np.array([0, 0, 1, 1]), np.array([-2.0, 0.5, 0.3, 4.0]))
    >>> ranking.area(), ranking.error()
    (0.75, 0.0)
    """

    _names = ("counts",)

    def __init__(self) -> None:
        self.counts = np.zeros((2, BINS), np.int64)

    def update(self, y: Integers, scores: npt.NDArray[np.float64]) -> None:
        """Count rows, given the number of each row's class, 0 or 1, and its score, larger for class 1."""
        with np.errstate(invalid="ignore"):
            squeezed = scores / (1.0 + np.abs(scores))
        if np.isnan(squeezed.sum()):  # of infinite scores
            squeezed = np.nan_to_num(squeezed, nan=0.0)
        bins = np.minimum(((squeezed + 1.0) * (BINS / 2)).astype(np.int64), BINS - 1)
        self.counts += np.bincount(y * BINS + bins, minlength=2 * BINS).reshape(2, BINS)

    def valid(self) -> bool:
        """Whether counts are counts."""
        return bool(np.all(self.counts >= 0))

    def area(self) -> float | None:
        """Probability that a row of class 1 has a larger score than one of class 0; None if a class is missing."""
        zeros, ones = self.counts.astype(np.float64)
        pairs = zeros.sum() * ones.sum()
        below = np.cumsum(zeros) - zeros
        return float(((below + 0.5 * zeros) * ones).sum() / pairs) if pairs else None

    def error(self) -> float | None:
        """The largest possible difference to the area of the exact scores."""
        zeros, ones = self.counts.astype(np.float64)
        pairs = zeros.sum() * ones.sum()
        # A bin with one row of each kind may hold them in either order: half a pair either way.
        return float(0.5 * (zeros * ones).sum() / pairs) if pairs else None
