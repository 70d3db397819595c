"""What could be predicted without looking at the rows, in the same progressive way as a learner predicts."""

import numpy as np

from pocketkernel.evaluate.metrics.tallies import Floats, Integers, Tallies, ratio

MOST_TARGET = 1e71
"""A learner takes targets up to 1e70."""


class LabelBaselines(Tallies):
    """Two predictions from labels alone: the most frequent class so far, and the label of the row before.

    Before the first label both predict class 0. Of classes that are equally frequent, the one that was so first is
    predicted.

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

    _names = ("rows", "leader", "last")

    def __init__(self, classes: int) -> None:
        self.rows = np.zeros(classes, np.int64)
        self.leader, self.last = np.zeros(1, np.int64), np.zeros(1, np.int64)

    def update(self, y: Integers) -> tuple[Integers, Integers]:
        """Predict the class of each row, then count it: by majority, and by the last label."""
        last = np.concatenate([self.last, y[:-1]])
        majority = self._majority(y)
        self.last[0] = y[-1]
        return majority, last

    def _majority(self, y: Integers) -> Integers:
        here = np.bincount(y, minlength=len(self.rows))
        leaders = self._leaders_of_two(y) if len(self.rows) == 2 else self._leaders(y, here)
        self.rows = self.rows + here
        self.leader[0] = leaders[-1]
        return leaders[:-1]

    def _leaders_of_two(self, y: Integers) -> Integers:
        """The more frequent of two classes, before the first row and after each."""
        lead = np.cumsum(np.concatenate([np.diff(self.rows), 2 * y - 1]))  # of the second class
        return np.concatenate([self.leader, 2 * lead[1:] + lead[:-1] > 0])  # without a lead, it is as it was before

    def _leaders(self, y: Integers, here: Integers) -> Integers:
        # Rows by class, and in order within a class: a row's place among them is how often its class has come.
        by_class = np.argsort(y.astype(np.int16) if len(self.rows) < 2**15 else y, kind="stable")
        starts = np.cumsum(here) - here
        counts = np.empty(len(y), np.int64)
        counts[by_class] = np.arange(1, len(y) + 1) + (self.rows - starts)[y[by_class]]
        most = np.maximum.accumulate(np.concatenate([self.rows[self.leader], counts]))
        took_lead = np.flatnonzero(counts > most[:-1])
        leaders = np.concatenate([self.leader, y[took_lead]])
        return np.repeat(leaders, np.diff(took_lead + 1, prepend=0, append=len(y) + 1))

    def valid(self) -> bool:
        """Whether counts are counts, and the others classes."""
        here = [place in range(len(self.rows)) for place in (int(self.leader[0]), int(self.last[0]))]
        return bool(np.all(self.rows >= 0) and all(here))

    def add(self, other: "LabelBaselines") -> None:
        """Take over the labels of another pass, which come after these."""
        if other.rows.any():
            self.rows, self.last = self.rows + other.rows, other.last.copy()
            if self.rows.max() > self.rows[self.leader[0]]:
                self.leader[0] = np.argmax(self.rows)


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

    _names = ("rows", "mean", "last", "moves")

    def __init__(self) -> None:
        self.rows = np.zeros(1, np.int64)
        self.mean, self.last = np.zeros(1), np.zeros(1)
        self.moves = np.zeros(2, np.int64)  # how often a target was larger than the one before, and smaller

    def update(self, y: Floats) -> tuple[Floats, Floats]:
        """Predict each target, then learn it: by the mean, and by the last one."""
        rows, level = int(self.rows[0]), float(self.mean[0])
        if rows == 0:
            level = float(y[0])
        # Sums of differences from the level: those of large numbers that differ little would lose digits.
        sums = np.concatenate([[0.0], np.cumsum(y - level)])
        means = level + sums / np.maximum(rows + np.arange(len(y) + 1), 1)
        last = np.concatenate([self.last, y[:-1]])
        known = slice(0 if rows else 1, None)
        self.moves += [np.count_nonzero(y[known] > last[known]), np.count_nonzero(y[known] < last[known])]
        self.rows[0], self.mean[0], self.last[0] = rows + len(y), means[-1], y[-1]
        return means[:-1], last

    def valid(self) -> bool:
        """Whether targets are such as a learner takes."""
        counts = np.all(self.moves >= 0) and self.moves.sum() <= self.rows[0]
        return bool(counts and abs(self.mean[0]) <= MOST_TARGET and abs(self.last[0]) <= MOST_TARGET)

    def rising(self) -> float | None:
        """Share of the changes of the target that go up: about a half, unless the rows are sorted by it."""
        return ratio(self.moves[0], self.moves.sum())

    def add(self, other: "ValueBaselines") -> None:
        """Take over the targets of another pass, which come after these."""
        if other.rows[0]:
            rows = self.rows + other.rows
            self.mean = self.mean + (other.mean - self.mean) * (other.rows / rows)
            self.rows, self.last, self.moves = rows, other.last.copy(), self.moves + other.moves
