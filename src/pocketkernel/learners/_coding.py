"""Labels and their places in the core, with room for labels that arrive later."""

from collections.abc import Hashable, Iterable, Sequence
from numbers import Number
from reprlib import repr as short
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pocketkernel.learners._labels import is_sequence_of_labels

Array = npt.NDArray[Any]
Places = npt.NDArray[np.int64]


def with_places(
    places: dict[Hashable, int], labels: Iterable[Hashable], room: int, *, signed: bool, advice: str
) -> dict[Hashable, int]:
    """Places of labels, with these labels as well, in order of arrival.

    Parameters
    ----------
    places : dict
        Places of the labels so far.
    labels : iterable of labels
        Some may be known.
    room : int
        How many places there are.
    signed : bool
        Of two classes: True (or 1) gets the second place, the positive one, and any other label the first, if it is
        free.
    advice : str
        What to do if there are too many labels.
    """
    more = dict(places)
    for label in labels:
        if label in more:
            continue
        if len(more) == room:
            raise ValueError(f"y={label!r} is one label too many after {short(list(more))}: {advice}")
        wanted = int(label == True) if signed else len(more)  # noqa: E712  (1 and np.True_ as well)
        more[label] = 1 - wanted if signed and wanted in more.values() else wanted
    return more


class Coding:
    """The labels of a learner as its core knows them.

    The labels that are known from the start have the first places in the core, in ascending order; a label that arrives
    later takes the next one. The core compares labels themselves as long as it can, else their places.

    Attributes
    ----------
    classes : array
        The labels so far, in ascending order.
    places : array of int
        The place of each of them in the core.
    room : int
        How many places the core has.
    numbers : list of float
        What the core compares labels with.
    """

    def __init__(self, classes: Array, room: int, places: Sequence[int] | None = None) -> None:
        self.classes, self.room = classes, room
        self.places: Places = np.arange(len(classes)) if places is None else np.array(places, dtype=np.int64)
        self.in_order = bool(np.array_equal(self.places, np.arange(len(classes))))
        small = classes.dtype.kind in "biuf" and bool(np.all(np.abs(classes.astype(float)) < 2**53))
        self.by_value = small and self.in_order
        self.numbers = (classes if self.by_value else np.arange(self.places.max() + 1)).astype(float).tolist()
        self._places: dict[Hashable, int] = dict(zip(classes.tolist(), self.places.tolist(), strict=True))
        self._number = np.array(self.numbers)

    @classmethod
    def of_first(cls, classes: Array, room: int) -> Self:
        """Of the labels of a first call; a single one may be the positive one of two."""
        signed = len(classes) == 1 and room == 2
        places = with_places({}, classes.tolist(), room, signed=signed, advice="")
        return cls(classes, room, list(places.values()))

    def extended(self, y: Array, advice: str) -> Self:
        """With the labels of y as well, in order of arrival, or an error if there is no room for them."""
        if len(self.classes) == self.room:
            return self
        found, first = np.unique(y, return_index=True)
        new = [label for _, label in sorted(zip(first, found.tolist(), strict=True)) if label not in self._places]
        if not new:
            return self
        _check_alike(self.classes[0], new[0])
        places = with_places(self._places, new, self.room, signed=self.room == 2, advice=advice)
        classes = np.unique(np.concatenate([self.classes, found]))
        return type(self)(classes, self.room, [places[label] for label in classes.tolist()])

    # ---- to the core ------------------------------------------------------------------------------------------------

    def of(self, y: Array) -> Array:
        """Labels in a form that the core reads, which refuses those that it does not know."""
        if self.by_value and y.dtype.kind in "biuf":
            native = y.dtype.newbyteorder("=")
            return np.ascontiguousarray(y, dtype=native if native.char in "?bidflq" else np.float64)
        return self._number[self.places_of(y)]

    def at_once(self, y: Any) -> Array | None:
        """The same without any check, or None if it takes one."""
        if self.by_value and type(y) is np.ndarray:
            return y
        if not is_sequence_of_labels(y):
            return None
        try:
            return self._number[list(map(self._places.__getitem__, y.tolist() if type(y) is np.ndarray else y))]
        except (KeyError, TypeError):
            return None

    def places_of(self, y: Array) -> Places:
        """The places of labels, which must be known."""
        places = [self._places.get(label, -1) for label in y.tolist()]  # labels are hashable, see check_labels
        if -1 in places:
            raise self.unknown(y[places.index(-1)])
        return np.array(places, dtype=np.int64)

    def covers(self, y: Any) -> bool:
        """Whether all labels of y are known."""
        return self.whole or set(np.asarray(y).tolist()) <= self._places.keys()

    def knows(self, classes: Any) -> bool:
        """Whether these are the classes, in their order, seen at a glance."""
        given = classes.tolist() if type(classes) is np.ndarray else classes
        return isinstance(given, list | tuple) and list(given) == list(self._places)

    def unknown(self, label: Any) -> ValueError:
        """The error about a label that is none of the classes."""
        label = label.item() if isinstance(label, np.generic) else label
        return ValueError(f"y has the label {label!r}, which is not one of the classes {self.classes.tolist()}.")

    # ---- from the core ----------------------------------------------------------------------------------------------

    @property
    def whole(self) -> bool:
        """Whether the classes have all places, in their order."""
        return self.in_order and len(self.places) == self.room

    def columns(self, scores: Array) -> Array:
        """Scores of the classes, in their order, of scores for every place."""
        return scores if self.whole else scores[:, self.places]

    def decision(self, scores: Array) -> Array:
        """The core's scores in the form of a decision function: of two classes one number, the difference."""
        if len(self.classes) == 1:
            return np.zeros(len(scores))
        if scores.ndim == 1:
            return scores if self.in_order else -scores
        columns = self.columns(scores)
        return columns[:, 1] - columns[:, 0] if columns.shape[1] == 2 else columns


def _check_alike(known: Any, new: Any) -> None:
    known = known.item() if isinstance(known, np.generic) else known
    if not (isinstance(known, Number) and isinstance(new, Number)) and type(known) is not type(new):
        raise ValueError(
            f"y has the label {new!r}, and earlier ones are like {known!r}: use only numbers or only strings."
        )
