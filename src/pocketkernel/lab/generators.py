"""Further streams that are made up: one that no line divides, and one that drifts."""

import numpy as np
import numpy.typing as npt


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
