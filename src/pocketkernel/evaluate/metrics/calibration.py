"""Whether probabilities are what they claim: log loss, reliability curve, expected calibration error."""

from typing import Any

import numpy as np
from scipy.special import expit

from pocketkernel.evaluate.metrics.tallies import Floats, Integers, Tallies

BINS = 20
"""Equal parts of the probabilities from 0 to 1."""


class Calibration(Tallies):
    """Compares predicted probabilities with what happened.

    For two classes the probability is that of the second one; for more, that of the predicted class.

    Parameters
    ----------
    classes : int
        How many there are.

    Examples
    --------
    >>> calibration = Calibration(2)
    >>> losses = calibration.update(np.array([0, 1, 1, 1]), np.zeros(4))
    >>> round(calibration.log_loss(), 4), calibration.error()
    (0.6931, 0.25)
    """

    _names = ("counts", "happened", "sums", "loss")

    def __init__(self, classes: int) -> None:
        self._binary = classes == 2
        self.counts, self.happened = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
        self.sums = np.zeros(BINS)  # of the probabilities
        self.loss = np.zeros(1)  # sum of -log of the probability of the true class

    def update(self, y: Integers, scores: Floats) -> Floats:
        """Compare the probabilities of some rows, given the number of each row's class and its scores.

        Returns the log loss of each row.
        """
        if self._binary:
            losses = np.logaddexp(0.0, np.where(y == 1, -scores, scores))
            claimed, came_true = expit(scores), y == 1
        else:
            highest = scores.max(axis=1)
            logs = np.log(np.exp(scores - highest[:, None]).sum(axis=1))
            losses = logs + highest - scores[np.arange(len(y)), y]
            claimed, came_true = np.exp(-logs), scores.argmax(axis=1) == y
        bins = np.minimum((claimed * BINS).astype(np.int64), BINS - 1)
        self.counts += np.bincount(bins, minlength=BINS)
        self.happened += np.bincount(bins[came_true], minlength=BINS)
        self.sums += np.bincount(bins, weights=claimed, minlength=BINS)
        self.loss += losses.sum()
        return np.asarray(losses)

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
