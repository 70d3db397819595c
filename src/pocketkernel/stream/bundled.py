"""Data sets that come with scikit-learn, as streams."""

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits  # type: ignore[import-untyped, unused-ignore]

from pocketkernel.stream.block import permutation


def digits(seed: int = 0) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Handwritten digits, odd (1) against even (-1), in random order.

    Parameters
    ----------
    seed : int, default=0
        Seed of the permutation.

    Returns
    -------
    X : array of shape (1797, 64)
        Grey values of 8 by 8 pixels, from 0 to 1.
    y : array of shape (1797,)
        Labels -1 and 1.

    Examples
    --------
    >>> X, y = digits()
    >>> X.shape, float(X.min()), float(X.max())
    ((1797, 64), 0.0, 1.0)
    >>> bool(0.49 < (y == 1).mean() < 0.51)
    True
    """
    X, digit = load_digits(return_X_y=True)
    order = permutation(len(digit), seed)
    return X[order] / 16, np.where(digit[order] % 2 == 1, 1, -1)
