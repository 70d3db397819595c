"""The labels of a run, numbered in the order of their arrival."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


class Arrivals:
    """Labels and their numbers: those that are known at the start, then others as they come, while there is room.

    Parameters
    ----------
    labels : sequence
        Those that are known, all different; a learner takes them in ascending order.
    room : int, default=0
        How many there may be.

    Examples
    --------
    >>> labels = Arrivals(["b", "d"], room=3)
    >>> y = np.array(["d", "a", "b", "a", "c"])
    >>> labels.take(y), labels.known, labels.places(y[:4]).tolist()
    ([1], ['b', 'd', 'a'], [1, 2, 0, 2])
    >>> labels.order(2).tolist(), labels.order(3).tolist()
    ([0, 1], [2, 0, 1])
    """

    def __init__(self, labels: Sequence[Any], room: int = 0) -> None:
        self.known = list(labels)
        self.room = max(room, len(self.known))
        self._orders: dict[int, Integers] = {}

    def ascending(self, count: int) -> npt.NDArray[Any]:
        """The first `count` labels in ascending order."""
        return np.array(self.known[:count])[self.order(count)]

    def take(self, y: npt.NDArray[Any]) -> list[int]:
        """Add the labels of y that are new; the rows in which they first occur. Others have no room."""
        if len(self.known) == self.room:
            return []
        found, first = np.unique(y, return_index=True)
        new = sorted(
            (row, label) for row, label in zip(first.tolist(), found.tolist(), strict=True) if label not in self.known
        )
        new = new[: self.room - len(self.known)]
        self.known += [label for _, label in new]
        return [row for row, _ in new]

    def order(self, count: int) -> Integers:
        """Numbers of the first `count` labels, in ascending order of the labels: that of a learner's scores."""
        if count not in self._orders:
            self._orders[count] = np.argsort(np.array(self.known[:count]), kind="stable")
        return self._orders[count]

    def places(self, y: npt.NDArray[Any]) -> Integers:
        """The number of each label, which must be known."""
        known = len(self.known)
        return self.order(known)[np.searchsorted(self.ascending(known), y)]


def room_of(model: Any) -> int:
    """For how many labels a learner has reserved room; 0 if it has not."""
    room = getattr(model, "n_classes", None)
    return room if type(room) is int else 0
