"""Streams for experiments: generated ones, the digits of scikit-learn, rows in random order or scaled, and as text."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits  # type: ignore[import-untyped, unused-ignore]

from pocketkernel.stream import Block, Scaler, gather, permutation
from pocketkernel.stream.block import Array, check_block


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
    noise, seed
        As in `pocketkernel.stream.known_kernel`, whose X and y these are like.

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
        Numbers per row, at least 2; only the first two determine the label.
    period : float, default=20000
        Rows that a full turn takes; infinity for no drift.
    noise, seed
        As in `pocketkernel.stream.known_kernel`, whose X and y these are like.

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


def permute(blocks: Iterable[Block], seed: int, *, block: int = 1000) -> Iterator[Block]:
    """The rows of a stream in random order, for streams that fit in memory.

    Parameters
    ----------
    blocks : iterable of Block
    seed : int
        Of `permutation`.
    block : int, default=1000
        Rows per block that is returned.

    Examples
    --------
    >>> from pocketkernel.stream import blocks_of
    >>> X = np.arange(4.0)[:, None]
    >>> gather(permute(blocks_of(X), seed=0)).X.ravel().tolist()
    [2.0, 0.0, 1.0, 3.0]
    """
    whole = gather(blocks)
    order = permutation(len(whole), seed)
    for start in range(0, len(order), check_block(block)):
        yield whole.take(order[start : start + block])


def scale(blocks: Iterable[Block], scaler: Scaler) -> Iterator[Block]:
    """The same blocks with their rows scaled, each row by those before it."""
    for block in blocks:
        yield replace(block, X=scaler.transform_then_learn(block.X))


def line_of(label: float | None, columns: Array, values: Array) -> bytes:
    """One line of LIBSVM text, which reads back as the same numbers; columns from 0."""
    words = [] if label is None else [repr(int(label) if label == int(label) else float(label))]
    words += [f"{column + 1}:{value!r}" for column, value in zip(columns.tolist(), values.tolist(), strict=True)]
    return " ".join(words).encode() + b"\n"
