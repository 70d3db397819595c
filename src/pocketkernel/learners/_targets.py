"""Targets of a regressor: out of lists, arrays, series and frames."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from pocketkernel._frames import as_narwhals
from pocketkernel.learners._rows import as_array, refuse_odd_numbers

Targets = npt.NDArray[np.float64]


def as_targets(y: Any) -> Targets:
    """Numbers in an array of shape (n,), or (n, m) with m > 1. The core looks at whether they are finite."""
    given = y
    if not isinstance(y, np.ndarray):
        native = as_narwhals("y", y)
        given = native.to_numpy() if isinstance(native, nw.Series | nw.DataFrame) else y
        given = as_array("y", given, "a list, an array, a series or a frame of numbers")
    refuse_odd_numbers("y", given)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y has complex numbers, and targets are real.")
    if given.ndim not in (1, 2):
        raise ValueError(f"y has {given.ndim} dimensions: give a number, or a row of them, for each row of X.")
    if given.dtype.kind in "SU":
        raise ValueError(f"y holds text, not numbers ({given.dtype}): a regressor predicts numbers.")
    try:
        targets = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y does not hold numbers ({error}): a regressor predicts numbers.") from None
    if targets.ndim == 2 and targets.shape[1] == 0:
        raise ValueError("y has no columns: give at least one target.")
    return targets[:, 0].copy() if targets.ndim == 2 and targets.shape[1] == 1 else targets
