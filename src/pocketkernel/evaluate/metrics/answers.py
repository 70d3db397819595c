"""What is read from the scores of a row: a few numbers, however many classes there are."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pocketkernel.evaluate.metrics.tallies import Floats, Integers


@dataclass(frozen=True)
class Answers:
    """What the scores of some rows say, and what is true.

    Attributes
    ----------
    labels : array
        Number of each row's class.
    places : array
        Number of the predicted class.
    linear, apart : arrays or None
        Those of the linear part, and of the learner without the last labels.
    losses, claimed : arrays or None
        Log loss, and the probability that is compared with what happened; None if scores are not log-odds.
    margins : array or None
        The scores themselves if there are two classes.
    """

    labels: Integers
    places: Integers
    linear: Integers | None
    apart: Integers | None
    losses: Floats | None
    claimed: Floats | None
    margins: Floats | None

    @property
    def mistakes(self) -> int:
        """How many rows have another class than the predicted one."""
        return int(np.count_nonzero(self.places != self.labels))

    def numbered(self, numbers: Integers) -> "Answers":
        """The same with other numbers of the classes."""
        linear, apart = (None if one is None else numbers[one] for one in (self.linear, self.apart))
        return replace(self, labels=numbers[self.labels], places=numbers[self.places], linear=linear, apart=apart)

    @staticmethod
    def told(answers: Floats) -> "Answers":
        """Those that a learner of several classes tells: see `PocketClassifier.predict_then_learn_answers`."""
        labels, places, linear, apart = answers.T[:4].astype(np.int64)
        claimed, losses = answers.T[4:].copy()
        return Answers(labels, places, linear, apart, losses, claimed, None)

    @staticmethod
    def joined(parts: Sequence["Answers"]) -> "Answers":
        """Those of several parts in one."""
        if len(parts) == 1:
            return parts[0]
        values: dict[str, Any] = {}
        for name in (one.name for one in fields(Answers)):
            column = [getattr(part, name) for part in parts]
            values[name] = None if column[0] is None else np.concatenate(column)
        return Answers(**values)


def places_of(scores: Floats) -> Integers:
    """Number of the predicted class of each row.

    Examples
    --------
    >>> places_of(np.array([-0.1, 0.0])).tolist(), places_of(np.array([[0.1, 0.3, 0.2]])).tolist()
    ([0, 1], [1])
    """
    return (scores >= 0).astype(np.int64) if scores.ndim == 1 else np.argmax(scores, axis=1)
