"""How much the rows of each class count: weights that are given, or the inverse of frequencies."""

from collections.abc import Mapping
from numbers import Real
from reprlib import repr as short
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]

LARGEST = 1e9


def checked_class_weight(class_weight: Any) -> Any:
    """None, "balanced" or a dict of weights, or an error."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={short(class_weight)} is unknown: use None, 'balanced' or a dict of weights.")
    for label, weight in class_weight.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) <= LARGEST:
            raise ValueError(
                f"class_weight[{short(label)}]={short(weight)} is out of range: use a number from 0 to 1e9."
            )
    return dict(class_weight)


def balanced(counts: Counts, places: Places) -> Floats:
    """For each row, the inverse of its class's share in all of the rows: as in scikit-learn.

    ``rows / (classes * rows of the class)``, of the classes that have any.
    """
    shares = np.maximum(counts[places] * np.count_nonzero(counts), 1)
    return np.asarray(counts.sum() / shares)


def running(counts: Counts, places: Places, learned: npt.NDArray[np.bool_]) -> Floats:
    """The same for rows of a stream: each row's class is counted up to this row, whatever the size of the blocks.

    `counts` has the rows before; of these, only those that are `learned` count.
    """
    weights = np.ones(len(places))
    some = places[learned]
    order = np.argsort(some, kind="stable")
    ordered = some[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(some) else np.empty(0, dtype=np.int64)
    sizes = np.diff(np.r_[starts, len(some)])
    earlier = np.empty(len(some), dtype=np.int64)  # rows of the same class before this one, in the block
    earlier[order] = np.arange(len(some)) - np.repeat(starts, sizes)
    of_class = counts[some] + earlier + 1
    classes = np.count_nonzero(counts) + np.cumsum(of_class == 1)
    weights[learned] = (counts.sum() + np.arange(1, len(some) + 1)) / (classes * of_class)
    return weights


def times(weights: Floats | None, factors: Floats) -> Floats:
    """Both weights multiplied, within what a learner takes; one that was out of range stays so."""
    if weights is None:
        return factors
    fine = (weights >= 0) & (weights <= LARGEST)
    return np.where(fine, np.minimum(np.where(fine, weights, 0.0) * factors, LARGEST), weights)
