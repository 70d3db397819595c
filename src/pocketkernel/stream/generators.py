"""Streams that are made up, so that the truth about them is known."""

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


def rings(
    rows: int, *, features: int = 2, count: int = 3, scatter: float = 0.15, noise: float = 0.05, seed: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rings (in more dimensions, shells) around one another, whose labels alternate: no line can divide them.

    The radius of ring j is j = 1, 2 ... `count`; the outermost is labelled 1. A longer stream begins with the shorter
    one.

    Parameters
    ----------
    rows : int
        Length of the stream.
    features : int, default=2
        Numbers per row, at least 2.
    count : int, default=3
        Rings, at least 2; each has about the same number of rows.
    scatter : float, default=0.15
        Standard deviation of the radius. Rings are 1 apart.
    noise : float, default=0.05
        Share of flipped labels, from 0 to 1.
    seed : int, default=0
        Seed of rows and flips.

    Returns
    -------
    X : array of shape (rows, features)
    y : array of shape (rows,)
        Labels -1 and 1.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> X, y = rings(10_000)
    >>> scores = MOMDS(memory="64KiB", random_state=0).predict_then_learn(X, y)
    >>> bool(0.05 < ((scores >= 0) != (y > 0)).mean() < 0.15)
    True
    """
    choices, directions, radii, flips = np.random.default_rng(seed).spawn(4)
    ring = choices.integers(1, count + 1, size=rows)
    X = directions.normal(size=(rows, features))
    X *= ((ring + scatter * radii.normal(size=rows)) / np.linalg.norm(X, axis=1))[:, None]
    y = np.where((count - ring) % 2 == 0, 1, -1)
    y[flips.random(rows) < noise] *= -1
    return X, y


def xor_with_drift(
    rows: int, *, features: int = 2, period: float = 20_000, noise: float = 0.05, seed: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Normally distributed rows, labelled by the sign of the product of the first two numbers, while the axes turn.

    After a quarter of the period every label is the opposite of what it was. A longer stream begins with the shorter
    one.

    Parameters
    ----------
    rows : int
        Length of the stream.
    features : int, default=2
        Numbers per row, at least 2; all but the first two say nothing.
    period : float, default=20000
        Rows that a full turn takes; infinity for no drift.
    noise : float, default=0.05
        Share of flipped labels, from 0 to 1.
    seed : int, default=0
        Seed of rows and flips.

    Returns
    -------
    X : array of shape (rows, features)
    y : array of shape (rows,)
        Labels -1 and 1.

    Examples
    --------
    >>> X, y = xor_with_drift(10_001, noise=0)
    >>> bool(np.all((X[0, 0] * X[0, 1] > 0) == (y[0] > 0)))
    True
    >>> bool(abs(np.corrcoef(X[:, 0] * X[:, 1], y)[0, 1]) < 0.1)  # over half a turn, there is nothing to see
    True
    """
    places, flips = np.random.default_rng(seed).spawn(2)
    X = places.normal(size=(rows, features))
    angle = 2 * np.pi * np.arange(rows) / period
    first = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    second = np.cos(angle) * X[:, 1] - np.sin(angle) * X[:, 0]
    y = np.where(first * second >= 0, 1, -1)
    y[flips.random(rows) < noise] *= -1
    return X, y


def _gaussian(X: Any, Z: Any, width: float) -> npt.NDArray[np.float64]:
    return np.exp(cdist(X, Z, "sqeuclidean") / (-2 * width**2))
