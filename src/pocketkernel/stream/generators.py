"""Generated streams, for which the true labels are known."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

# Standard deviations of the centres and of the rows around them, per feature and in widths. The centres are then far
# enough apart for a wider kernel to blur them, and the rows near enough to them for a narrower one to see too few.
SPREAD = 1.5
SCATTER = 0.5
_BLOCK = 8192


def known_kernel(
    rows: int, *, features: int = 8, width: float = 1.0, centres: int = 100, noise: float = 0.05, seed: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rows scattered around random centres, labelled by the sign of an expansion of one Gaussian kernel.

    The label of x is the sign of the sum over centres z_j of (-1)^j exp(-|x - z_j|^2 / (2 width^2)), so this is the
    kernel to find; a share of the labels is then flipped. A longer stream begins with the shorter one.

    Parameters
    ----------
    rows : int
        Length of the stream.
    features : int, default=8
        Numbers per row.
    width : float, default=1.0
        Sigma of the Gaussian, positive.
    centres : int, default=100
        Terms of the expansion; an even number gives balanced labels.
    noise : float, default=0.05
        Share of flipped labels, from 0 to 1: the mistake rate of a learner that knows everything.
    seed : int, default=0
        Seed of centres, rows and flips.

    Returns
    -------
    X : array of shape (rows, features)
    y : array of shape (rows,)
        Labels -1 and 1.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> X, y = known_kernel(20_000)
    >>> X.shape
    (20000, 8)
    >>> model = MOMDS(memory="64KiB", random_state=0)
    >>> scores = model.predict_then_learn(X, y)
    >>> bool(0.05 < ((scores >= 0) != (y > 0)).mean() < 0.15)
    True
    >>> bool(model.kernel_weights_[1] > 0.8)  # the second of the default kernels has width 1
    True
    """
    places, choices, scatter, flips = np.random.default_rng(seed).spawn(4)
    Z = width * SPREAD * places.normal(size=(centres, features))
    signs = np.resize([1.0, -1.0], centres)
    X = Z[choices.integers(centres, size=rows)] + width * SCATTER * scatter.normal(size=(rows, features))
    y = np.empty(rows, dtype=np.int64)
    for start in range(0, rows, _BLOCK):
        part = slice(start, start + _BLOCK)
        y[part] = np.where(_gaussian(X[part], Z, width) @ signs >= 0, 1, -1)
    y[flips.random(rows) < noise] *= -1
    return X, y


def _gaussian(X: Any, Z: Any, width: float) -> npt.NDArray[np.float64]:
    return np.exp(cdist(X, Z, "sqeuclidean") / (-2 * width**2))
