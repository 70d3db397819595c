"""The order of rows for a seed: the only place that shuffles."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Order = npt.NDArray[np.int64]


def permutations(rows: int, seed: int) -> Iterator[Order]:
    """Endlessly many orders of the rows, each different from the one before."""
    rng = np.random.default_rng(seed)
    while True:
        yield rng.permutation(rows)


def permutation(rows: int, seed: int) -> Order:
    """The order of rows for a seed, used everywhere: ``numpy.random.default_rng(seed).permutation(rows)``.

    Examples
    --------
    >>> permutation(4, seed=0).tolist()
    [2, 0, 1, 3]
    """
    return next(permutations(rows, seed))
