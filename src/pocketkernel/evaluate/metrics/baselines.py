"""What could be predicted without looking at the rows, in the same progressive way as a learner predicts."""

import numpy as np

from pocketkernel.evaluate.metrics.tallies import Floats, Integers, Tallies

CELLS = 1 << 18
"""Rows times classes that are counted at once."""


class LabelBaselines(Tallies):
    """Two predictions from labels alone: the most frequent class so far, and the label of the row before.

    Before the first label both predict class 0.

    Parameters
    ----------
    classes : int
        How many there are.

    Examples
    --------
    >>> baselines = LabelBaselines(2)
    >>> majority, last = baselines.update(np.array([1, 1, 0, 0]))
    >>> majority.tolist(), last.tolist()
    ([0, 1, 1, 1], [0, 1, 1, 0])
    """

    _names = ("rows", "last")

    def __init__(self, classes: int) -> None:
        self.rows = np.zeros(classes, np.int64)
        self.last = np.zeros(1, np.int64)

    def update(self, y: Integers) -> tuple[Integers, Integers]:
        """Predict the class of each row, then count it: by majority, and by the last label."""
        at_once = max(1, CELLS // len(self.rows))
        majority = [self._majority(y[start : start + at_once]) for start in range(0, len(y), at_once)]
        last = np.concatenate([self.last, y[:-1]])
        self.last[0] = y[-1]
        return np.concatenate(majority), last

    def _majority(self, y: Integers) -> Integers:
        counts = np.zeros((len(y) + 1, len(self.rows)), np.int64)
        counts[0] = self.rows
        counts[np.arange(1, len(y) + 1), y] = 1
        np.cumsum(counts, axis=0, out=counts)
        self.rows = counts[-1].copy()
        return counts[:-1].argmax(axis=1)

    def add(self, other: "LabelBaselines") -> None:
        """Take over the labels of another pass, which come after these."""
        if other.rows.any():
            self.rows, self.last = self.rows + other.rows, other.last.copy()


class ValueBaselines(Tallies):
    """Two predictions from targets alone: their mean so far, and the one before.

    There is none before the first target: that row is not to be counted.

    Examples
    --------
    >>> baselines = ValueBaselines()
    >>> mean, last = baselines.update(np.array([4.0, 6.0, 8.0]))
    >>> mean.tolist()[1:], last.tolist()[1:]
    ([4.0, 5.0], [4.0, 6.0])
    """

    _names = ("rows", "mean", "last")

    def __init__(self) -> None:
        self.rows = np.zeros(1, np.int64)
        self.mean, self.last = np.zeros(1), np.zeros(1)

    def update(self, y: Floats) -> tuple[Floats, Floats]:
        """Predict each target, then learn it: by the mean, and by the last one."""
        rows, level = int(self.rows[0]), float(self.mean[0])
        if rows == 0:
            level = float(y[0])
        # Sums of differences from the level: those of large numbers that differ little would lose digits.
        sums = np.concatenate([[0.0], np.cumsum(y - level)])
        means = level + sums / np.maximum(rows + np.arange(len(y) + 1), 1)
        last = np.concatenate([self.last, y[:-1]])
        self.rows[0], self.mean[0], self.last[0] = rows + len(y), means[-1], y[-1]
        return means[:-1], last

    def add(self, other: "ValueBaselines") -> None:
        """Take over the targets of another pass, which come after these."""
        if other.rows[0]:
            rows = self.rows + other.rows
            self.mean = self.mean + (other.mean - self.mean) * (other.rows / rows)
            self.rows, self.last = rows, other.last.copy()
