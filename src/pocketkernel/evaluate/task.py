"""Whether labels are classes or numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.stream import Stream

CLASSIFICATION, REGRESSION = "classification", "regression"
TASKS = (CLASSIFICATION, REGRESSION)

FRACTIONS, INTEGERS, FEW = 10, 100, 20
"""Most different values that are taken for classes: of labels with fractions, and of integers. Integers of a short file
are taken for numbers above the last of the three, too, if most of them are different."""


def found_task(y: npt.NDArray[Any]) -> str:
    """What labels like these are: numbers if they have many different values, else classes.

    Examples
    --------
    >>> found_task(np.array([0.0, 1.0, 1.0])), found_task(np.linspace(0, 1, 50))
    ('classification', 'regression')
    """
    if y.dtype.kind not in "iuf":
        return CLASSIFICATION
    values = np.unique(y)
    if not np.all(values == np.round(values)):
        return REGRESSION if len(values) > FRACTIONS else CLASSIFICATION
    many = len(values) > INTEGERS or (len(values) > FEW and len(values) > len(y) / 2)
    return REGRESSION if many else CLASSIFICATION


def seen_task(stream: Stream) -> str | None:
    """The same for a stream whose first labels have been looked at; None if they have not."""
    labels = stream.seen_labels()
    return None if len(labels) == 0 else found_task(labels)
