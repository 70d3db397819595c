"""Whether probabilities are what they claim: log loss, reliability curve, expected calibration error."""

from typing import Any

import numpy as np

from pocketkernel.evaluate.metrics.tallies import Floats, Integers, Tallies

BINS = 20
"""Equal parts of the probabilities from 0 to 1."""

AT_ONCE, FAR = 128, 500.0


class Calibration(Tallies):
    """Compares predicted probabilities with what happened.

    For two classes the probability is that of the second one; for more, that of the predicted class.

    Parameters
    ----------
    classes : int
        How many there are.

    Examples
    --------
    >>> calibration, y, predicted = Calibration(2), np.array([0, 1, 1, 1]), np.ones(4, int)
    >>> losses, claimed = claims_of(y, np.zeros(4), predicted)
    >>> calibration.update(y, predicted, claimed, losses)
    >>> round(calibration.log_loss(), 4), calibration.error()
    (0.6931, 0.25)
    """

    _names = ("counts", "happened", "sums", "loss")

    def __init__(self, classes: int) -> None:
        self._binary = classes == 2
        self.counts, self.happened = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
        self.sums = np.zeros(BINS)  # of the probabilities
        self.loss = np.zeros(1)  # sum of -log of the probability of the true class

    def update(self, y: Integers, predicted: Integers, claimed: Floats, losses: Floats) -> None:
        """Count some rows, given each row's true and predicted class, and what `claims_of` says."""
        came_true = y == 1 if self._binary else predicted == y
        bins = np.minimum((claimed * BINS).astype(np.int64), BINS - 1)
        not_happened, happened = np.bincount(bins + BINS * came_true, minlength=2 * BINS).reshape(2, BINS)
        self.counts += not_happened + happened
        self.happened += happened
        self.sums += np.bincount(bins, weights=claimed, minlength=BINS)
        self.loss += losses.sum()

    def valid(self) -> bool:
        """Whether sums fit the counts."""
        counts = np.all((self.happened >= 0) & (self.happened <= self.counts))
        return bool(counts and np.all((self.sums >= 0) & (self.sums <= self.counts + 1e-6)) and self.loss[0] >= 0)

    def log_loss(self) -> float | None:
        """Mean of -log of the probability that was given to the true class."""
        rows = int(self.counts.sum())
        return float(self.loss[0] / rows) if rows else None

    def error(self) -> float | None:
        """Expected calibration error: mean distance between probability and frequency, over the bins."""
        rows = int(self.counts.sum())
        return float(np.abs(self.sums - self.happened).sum() / rows) if rows else None

    def bins(self) -> list[dict[str, Any]]:
        """The reliability curve: bins that have rows, with the mean probability and the frequency in each."""
        return [
            {
                "low": k / BINS,
                "high": (k + 1) / BINS,
                "rows": int(self.counts[k]),
                "probability": float(self.sums[k] / self.counts[k]),
                "frequency": float(self.happened[k] / self.counts[k]),
            }
            for k in np.flatnonzero(self.counts)
        ]


def claims_of(y: Integers, scores: Floats, predicted: Integers) -> tuple[Floats, Floats]:
    """Log loss of each row, and the probability of the second of two classes or, of more, of the predicted one."""
    if scores.ndim == 1:
        small = np.exp(-np.abs(scores))
        losses = np.log1p(small) + np.abs(scores) * (predicted != y)
        return losses, np.where(scores >= 0, 1.0, small) / (1.0 + small)
    rows = np.arange(len(y))
    highest = scores[rows, predicted]
    if np.any(np.abs(highest) > FAR):  # or their exponentials would overflow, or all be 0
        scores = scores - highest[:, None]
        highest = np.zeros(len(y))
    totals, room = np.empty(len(y)), np.empty((AT_ONCE, scores.shape[1]))
    for start in range(0, len(y), AT_ONCE):  # few enough rows for a processor's cache: three times as fast
        part = scores[start : start + AT_ONCE]
        np.exp(part, out=room[: len(part)]).sum(axis=1, out=totals[start : start + AT_ONCE])
    return np.maximum(np.log(totals) - scores[rows, y], 0.0), np.exp(highest) / totals
