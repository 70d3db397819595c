"""Running sums at about 200 evenly spread rows of a stream of any length."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pocketkernel.evaluate.metrics.tallies import Array, Tallies

LIMIT = 256
"""Most points: when there would be more, every second one is dropped, so at least half of them are left."""


class Trace(Tallies):
    """Running sums of some quantities, noted every `stride` rows, whatever the size of the blocks.

    Parameters
    ----------
    names : list of str
        The quantities.

    Examples
    --------
    >>> trace = Trace(["mistakes"])
    >>> for _ in range(3):
    ...     trace.update([np.array([0, 1] * 100)])
    >>> points = trace.points()
    >>> points["rows"][:3], points["mistakes"][:3], points["rows"][-1]
    ([4, 8, 12], [2, 4, 6], 600)
    """

    _names = ("head", "rows", "sums", "totals")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.head = np.array([0, 0, 1], np.int64)  # rows, points, stride
        self.rows = np.zeros(LIMIT, np.int64)
        self.sums = np.zeros((LIMIT, len(self.names)))
        self.totals = np.zeros(len(self.names))

    def update(self, quantities: Sequence[Array]) -> None:
        """Go on with some rows, given one number for each row and quantity."""
        before, count = int(self.head[0]), len(quantities[0])
        rows = self._next_rows(before, count)
        while self.head[1] + len(rows) > LIMIT:
            self._thin()
            rows = self._next_rows(before, count)
        # What is counted is added up as integers, which is several times as fast, and as exact.
        sums = [np.cumsum(one.astype(np.int64) if one.dtype == np.bool_ else one) for one in quantities]
        points = rows - before - 1
        self._note(rows, self.totals + np.column_stack([column[points] for column in sums]))
        self.head[0] = before + count
        self.totals = self.totals + [column[-1] for column in sums]

    def add(self, other: "Trace") -> None:
        """Go on with the points of another pass, which come after these."""
        count = int(other.head[1])
        rows, sums = other.rows[:count] + self.head[0], other.sums[:count] + self.totals
        while self.head[1] + len(rows) > LIMIT:
            self._thin()
            rows, sums = rows[1::2], sums[1::2]
        self._note(rows, sums)
        self.head[0] += other.head[0]
        self.totals = self.totals + other.totals

    def valid(self) -> bool:
        """Whether there are as many points as there should be, at rows that increase."""
        rows, count, stride = self.head.tolist()
        if not (0 <= count <= LIMIT and stride >= 1 and stride.bit_count() == 1 and rows >= 0):
            return False
        at, sums = self.rows[:count], self.sums[:count]
        increasing = np.all(np.diff(at, prepend=0) > 0) and np.all(at <= rows)
        grows = np.all(np.diff(np.vstack([np.zeros_like(self.totals), sums, self.totals]), axis=0) >= 0)
        return bool(increasing and grows and rows // stride <= LIMIT)

    def points(self) -> dict[str, list[Any]]:
        """The rows and the sums there, by name; the last point is the last row."""
        count = int(self.head[1])
        rows, sums = self.rows[:count], self.sums[:count]
        if self.head[0] and (not count or rows[-1] < self.head[0]):
            rows, sums = np.append(rows, self.head[0]), np.vstack([sums, self.totals])
        return {"rows": rows.tolist()} | {
            name: [int(number) if number.is_integer() else number for number in column.tolist()]
            for name, column in zip(self.names, sums.T, strict=True)
        }

    def _next_rows(self, before: int, count: int) -> Array:
        stride = int(self.head[2])
        return np.arange((before // stride + 1) * stride, before + count + 1, stride)

    def _note(self, rows: Array, sums: Array) -> None:
        place = slice(int(self.head[1]), int(self.head[1]) + len(rows))
        self.rows[place], self.sums[place] = rows, sums
        self.head[1] += len(rows)

    def _thin(self) -> None:
        count = int(self.head[1])
        rows, sums = self.rows[1:count:2].copy(), self.sums[1:count:2].copy()
        self.rows[:], self.sums[:] = 0, 0.0
        self.rows[: len(rows)], self.sums[: len(rows)] = rows, sums
        self.head[1:] = len(rows), 2 * self.head[2]
