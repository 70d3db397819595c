"""From labels to the learner's classes and back, for labels that are not known in advance."""

import math
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, Self

import numpy as np

from pocketkernel.learners import with_places
from pocketkernel.river._columns import Floats


class Labels:
    """The labels that have been learned, and what scores mean: none yet."""

    _signed: ClassVar[bool] = False

    def __init__(self, classes: Floats, places: dict[Hashable, int] | None = None) -> None:
        self.classes = classes  # the learner's
        self.places = places or {}  # in `classes`, of each label that has been learned
        self.codes = {y: classes[[place]] for y, place in self.places.items()}  # as a column of one row
        self.known = list(self.places)  # labels that have a probability
        if len(classes) == 2 and all(y in (False, True) for y in self.known):
            self.known += [y for y in (False, True) if y not in self.known]

    def extended(self, labels: Iterable[Hashable]) -> Self:
        """With these labels as well, or an error if a label is missing or there are too many."""
        new = [y for y in labels if y not in self.places]
        for y in new:
            if y is None or isinstance(y, np.ma.MaskedArray) or y != y:  # noqa: PLR0124  (NaN)
                raise ValueError(f"y={y!r} is not a label: learn only rows whose label is known.")
        if not new:
            return self
        room = len(self.classes)
        places = with_places(self.places, new, room, signed=self._signed, advice=self._advice())
        return type(self)(self.classes, places)

    def numbered(self, labels: Iterable[Hashable]) -> Floats:
        """The classes of labels that have been learned."""
        return self.classes[[self.places[y] for y in labels]]

    def _advice(self) -> str:
        """What to do about too many labels."""
        raise NotImplementedError

    def best(self, score: Any) -> Any:
        """The label that a row's score means."""
        return None

    def odds(self, score: Any) -> dict[Hashable, float]:
        """Probabilities of the known labels, from a row's score."""
        return dict.fromkeys(self.known, 0.5)

    def odds_many(self, scores: list[Any]) -> dict[Hashable, Any]:
        """The same for rows: a column of probabilities for each known label."""
        rows = [self.odds(score) for score in scores]
        return {y: [odds[y] for odds in rows] for y in self.known}


class Pair(Labels):
    """Labels of a binary learner: True (or 1) is positive, False (or 0) negative; else the first one is negative."""

    _signed = True

    def __init__(self, classes: Floats, places: dict[Hashable, int] | None = None) -> None:
        super().__init__(classes, places)
        self.known.sort(key=with_places(self.places, self.known, 2, signed=True, advice="").__getitem__)

    def _advice(self) -> str:
        return (
            "this learner supports only two labels; use PocketClassifier, or wrap the model in "
            "river.multiclass.OneVsRestClassifier."
        )

    def best(self, score: Any) -> Any:
        """The label that a row's score means; a score of exactly 0 is positive."""
        return self.known[-1 if score >= 0 else 0]

    def odds(self, score: Any) -> dict[Hashable, float]:
        """Probabilities of the known labels, from a row's score."""
        if len(self.known) == 1:
            return {self.known[0]: 1.0}
        positive = sigmoid(score)
        return {self.known[0]: 1.0 - positive, self.known[1]: positive}


class Several(Labels):
    """Labels of a multiclass learner, in order of appearance."""

    def _advice(self) -> str:
        return (
            f"the learner has room for {len(self.classes)} labels; give it more with n_classes=, such as "
            f"PocketClassifier(n_classes={2 * len(self.classes)})."
        )

    def best(self, score: Any) -> Any:
        """The label with the largest of a row's scores; of equal ones the earlier label."""
        return self.known[max(range(len(self.known)), key=score.__getitem__)]

    def odds(self, score: Any) -> dict[Hashable, float]:
        """Probabilities of the known labels, from a row's scores."""
        seen = score[: len(self.known)]
        largest = max(seen)
        odds = [math.exp(each - largest) for each in seen]
        total = sum(odds)
        return {y: odd / total for y, odd in zip(self.known, odds, strict=True)}


def sigmoid(score: float) -> float:
    """1 / (1 + exp(-score)) without overflow."""
    # Not np.exp for blocks: its last bit may differ from that of math.exp.
    if score >= 0:
        return 1.0 / (1.0 + math.exp(-score))
    odds = math.exp(score)
    return odds / (1.0 + odds)
