"""Losses of many rows at once, for measuring; what learners minimise is in the core."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pocketkernel.lab.theory.rows import Floats
from pocketkernel.learners import MOMDH, SharedMOMDH

_VALUES: dict[str, Callable[[Floats], Floats]] = {
    "hinge": lambda z: np.maximum(0.0, 1 - z),
    "logistic": lambda z: np.logaddexp(0.0, -z),
    "smooth_hinge": lambda z: (1 - z + np.sqrt(1 + (1 - z) ** 2)) / 2,
}


def loss_values(loss: str, scores: Any, y: Any) -> Floats:
    """Losses of many scores at labels -1 and 1.

    Examples
    --------
    >>> loss_values("hinge", [0.5, 2.0], [1, -1]).tolist()
    [0.5, 3.0]
    """
    return _VALUES[loss](np.asarray(scores, dtype=np.float64) * np.asarray(y, dtype=np.float64))


def loss_of(learner: Any) -> str:
    """The loss that a learner minimises.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> loss_of(MOMDH()), loss_of(MOMDS())
    ('hinge', 'logistic')
    """
    return "hinge" if isinstance(learner, MOMDH | SharedMOMDH) else str(getattr(learner, "loss", "logistic"))
