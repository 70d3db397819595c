"""A sample of predictions beside the true values, to draw one against the other."""

from typing import Any

import numpy as np

from pocketkernel.evaluate.metrics.tallies import Floats, Tallies

MOST = 500
"""Pairs that are kept; at least half as many, once there are enough rows."""

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 times the golden section: multiples of it, mod 2^64, are spread evenly, in step with no period."""


class Pairs(Tallies):
    """Some of the rows, evenly spread over all of them: what was predicted, and what was true.

    Each row has a number below 1 that its place decides; those below a limit are kept. The limit is halved when there
    are too many.

    Examples
    --------
    >>> pairs = Pairs()
    >>> pairs.update(np.arange(9000.0), np.arange(9000.0) + 1)
    >>> found = pairs.points()
    >>> 250 <= len(found["true"]) <= 500, found["predicted"][0] - found["true"][0]
    (True, 1.0)
    """

    _names = ("head", "lots", "values")

    def __init__(self) -> None:
        self.head = np.zeros(3, np.int64)  # rows, pairs, and how often the limit was halved
        self.lots, self.values = np.zeros(MOST), np.zeros((MOST, 2))

    def update(self, y: Floats, predictions: Floats) -> None:
        """Go on with some rows."""
        rows = np.arange(int(self.head[0]), int(self.head[0]) + len(y), dtype=np.uint64)
        with np.errstate(over="ignore"):
            lots = (rows * np.uint64(GOLDEN)) / 2.0**64
        self.head[0] += len(y)
        self._take(lots, np.column_stack([y, predictions]))

    def add(self, other: "Pairs") -> None:
        """Go on with the pairs of another pass."""
        self.head[0] += other.head[0]
        self.head[2] = max(self.head[2], other.head[2])
        count = int(other.head[1])
        self._take(other.lots[:count], other.values[:count])

    def valid(self) -> bool:
        """Whether there are as many pairs as there can be."""
        rows, count, halved = self.head.tolist()
        if not (0 <= count <= min(rows, MOST) and 0 <= halved <= 64):
            return False
        return bool(np.all((self.lots >= 0) & (self.lots < 1)))

    def points(self) -> dict[str, list[Any]]:
        """True and predicted values."""
        true, predicted = self.values[: int(self.head[1])].T.tolist()
        return {"true": true, "predicted": predicted}

    def _take(self, lots: Floats, values: Floats) -> None:
        before = int(self.head[1])
        lots, values = np.concatenate([self.lots[:before], lots]), np.concatenate([self.values[:before], values])
        kept = lots < 0.5 ** int(self.head[2])
        while np.count_nonzero(kept) > MOST:
            self.head[2] += 1
            kept = lots < 0.5 ** int(self.head[2])
        count = int(np.count_nonzero(kept))
        self.head[1], self.lots[:], self.values[:] = count, 0.0, 0.0
        self.lots[:count], self.values[:count] = lots[kept], values[kept]
