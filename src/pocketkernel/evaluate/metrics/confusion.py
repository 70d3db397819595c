"""Which class was predicted for which: confusion matrix, recall and precision."""

from typing import Any

import numpy as np

from pocketkernel.evaluate.metrics.tallies import Integers, Tallies, mean_of, ratio

MOST = 64
"""Size of a confusion matrix. Of more classes, the most frequent ones of the first block are kept; others share one."""

OTHERS = "other classes"
_UNDECIDED = -1


class Confusion(Tallies):
    """Counts rows by true and predicted class.

    Parameters
    ----------
    classes : int
        How many there are.

    Examples
    --------
    >>> confusion = Confusion(3)
    >>> confusion.update(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1]))
    >>> confusion.counts.tolist()
    [[1, 1, 0], [0, 1, 0], [0, 1, 0]]
    >>> confusion.balanced_accuracy()
    0.5
    """

    _names = ("rows", "hits", "predicted", "first", "places", "counts")

    def __init__(self, classes: int) -> None:
        size = min(classes, MOST)
        self.rows, self.hits, self.predicted = (np.zeros(classes, np.int64) for _ in range(3))
        self.first = np.zeros(classes, np.int64)  # row of a class's first example, from 1; 0: none yet
        self.places = np.arange(classes) if classes <= MOST else np.full(classes, _UNDECIDED)
        self.counts = np.zeros((size, size), np.int64)

    def expect(self, y: Integers) -> None:
        """If there are too many classes, keep those that are most frequent among these rows, unless that is decided."""
        if self.places[0] == _UNDECIDED:
            size = len(self.counts)
            most = np.argsort(-np.bincount(y, minlength=len(self.rows)), kind="stable")[: size - 1]
            self.places[:] = size - 1
            self.places[np.sort(most)] = np.arange(size - 1)

    def update(self, y: Integers, predicted: Integers) -> None:
        """Count rows, given the number of the true and the predicted class of each."""
        classes, size = len(self.rows), len(self.counts)
        self.expect(y)
        before = int(self.rows.sum())
        cells = self.places[y] * size + self.places[predicted]
        counts = np.bincount(cells, minlength=size * size).reshape(size, size)
        if classes == size:  # each class has a place of its own
            here, guessed, hits = counts.sum(axis=1), counts.sum(axis=0), counts.diagonal()
        else:
            here, guessed, hits = (np.bincount(of, minlength=classes) for of in (y, predicted, y[y == predicted]))
        new = (self.rows == 0) & (here > 0)
        if new.any():
            at = np.zeros(classes, np.int64)
            at[y[::-1]] = np.arange(len(y), 0, -1)  # of several rows of a class, the last one written is the first
            self.first[new] = before + at[new]
        self.rows += here
        self.predicted += guessed
        self.hits += hits
        self.counts += counts

    def add(self, other: "Confusion") -> None:
        """Count the rows of another pass, which come after these."""
        before = int(self.rows.sum())
        late = (self.first == 0) & (other.first > 0)
        first = np.where(late, other.first + before, self.first)
        for name in ("rows", "hits", "predicted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first = first
        if self.places[0] == _UNDECIDED:
            self.places, self.counts = other.places.copy(), other.counts.copy()
        elif other.places[0] != _UNDECIDED:
            size, moved = len(self.counts), np.full(len(self.counts), len(self.counts) - 1)
            for k in range(len(self.places)):  # a class that only one of the two has kept counts among the others
                if other.places[k] < size - 1 or len(self.places) <= MOST:
                    moved[other.places[k]] = self.places[k]
            np.add.at(self.counts, (moved[:, None], moved[None, :]), other.counts)

    def valid(self) -> bool:
        """Whether the counts are of the same rows, and places within the matrix."""
        rows, size, decided = self.rows.sum(), len(self.counts), self.places[0] != _UNDECIDED
        counts = all(np.all(count >= 0) for count in (self.rows, self.hits, self.predicted, self.first, self.counts))
        same = self.predicted.sum() == rows and self.counts.sum() == rows
        hits = np.all(self.hits <= np.minimum(self.rows, self.predicted)) and np.all(self.first <= rows)
        if len(self.places) <= MOST:
            places = np.array_equal(self.places, np.arange(size))
        else:
            kept = np.sort(self.places[self.places < size - 1])
            places = np.array_equal(kept, np.arange(size - 1)) and self.places.max() < size if decided else not rows
        return bool(counts and same and hits and places)

    def recall(self) -> list[float | None]:
        """Of each class, the share of its rows that were recognised; None if it has not appeared."""
        return [ratio(hits, rows) for hits, rows in zip(self.hits.tolist(), self.rows.tolist(), strict=True)]

    def precision(self) -> list[float | None]:
        """Of each class, the share of its predictions that were right; None if it was never predicted."""
        return [ratio(hits, rows) for hits, rows in zip(self.hits.tolist(), self.predicted.tolist(), strict=True)]

    def balanced_accuracy(self) -> float | None:
        """Mean recall of the classes that have appeared."""
        return mean_of(self.recall())

    def table(self, labels: list[str]) -> dict[str, Any]:
        """The matrix of the classes with these labels, the first ones: rows by true class, columns by predicted."""
        if len(self.places) <= MOST:
            return {"labels": labels, "counts": self.counts[: len(labels), : len(labels)].tolist()}
        kept = [label for label, place in zip(labels, self.places, strict=False) if place < len(self.counts) - 1]
        used = [*range(len(kept)), len(self.counts) - 1]
        return {"labels": [*kept, OTHERS], "counts": self.counts[np.ix_(used, used)].tolist()}
