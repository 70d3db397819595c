"""Kernel alignment, the paper's first complexity of data: exact, from random pairs of rows, and along a stream.

A = sum_t kappa(x_t, x_t) - (1/T) Y'KY. With z_t = y_t kappa(x_t, .) and m_t the mean of z_1 ... z_t it is
sum_t |z_t - m_T|^2, the squared distance of the examples from their mean: 0 if the kernel makes all examples of a label
one point and those of the other its opposite, and about T if it is uninformative.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from pocketkernel.kernels import PAPER_KERNELS, Kernel
from pocketkernel.lab.theory._pairs import quadratic_forms
from pocketkernel.lab.theory.rows import Floats, check_data, check_kernels, dense, directions, gram

_PAIRS_AT_ONCE = 4096


def kernel_alignment(
    X: Any,
    y: Any,
    kernels: Sequence[Kernel] = PAPER_KERNELS,
    *,
    block: int | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Kernel alignment A of all rows, exactly, in O(T^2) time.

    One pass serves all Gaussians. It is made in float32 where rounding moves no exponent by more than about 1e-4, which
    bounds the error of A/T, too (1e-7 is usual); else in float64, where that of A/T is below 1e-9 if no row is further
    than 3,000 of the smallest width from the mean row. Memory beyond X is that of two dense blocks per thread.

    Parameters
    ----------
    X : array or CSR matrix of shape (T, d)
        All rows.
    y : array of shape (T,)
        Labels -1 and 1.
    kernels : list of Kernel, default=PAPER_KERNELS
        Any mixture.
    block : int, default=None
        Rows of a block; None: 2,048, or fewer if they would take more than 64 MiB.
    n_jobs : int, default=None
        Threads; -1 for all cores. None: as many as the environment or the machine allows.

    Returns
    -------
    array of shape (K,)
        A of each kernel, from 0 to T.

    Examples
    --------
    >>> from pocketkernel import Gaussian, Linear
    >>> X, y = [[-5], [-5], [5], [5]], [-1, -1, 1, 1]
    >>> kernel_alignment(X, y, [Gaussian(0.01), Gaussian(1), Linear()]).round(6).tolist()
    [2.0, 2.0, 0.0]

    References
    ----------
    Li and Liao, "Learnability in Online Kernel Selection with Memory Constraint via Data-dependent Regret Analysis",
    2024, section on the problem setting.
    """
    rows, labels = check_data(X, y)
    forms = quadratic_forms(rows, labels, check_kernels(kernels), block=block, n_jobs=n_jobs)
    return len(labels) - forms / len(labels)


# ---- random pairs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AlignmentEstimate:
    """An estimate of the alignment from random pairs of rows.

    Attributes
    ----------
    value, low, high : arrays of shape (K,)
        A/T of each kernel, and the ends of its interval.
    rows, pairs : int
        T, and how many pairs were drawn.
    confidence : float
        Chance that the interval of a kernel holds its A/T, at least.
    """

    value: Floats
    low: Floats
    high: Floats
    rows: int
    pairs: int
    confidence: float


def estimate_alignment(
    X: Any,
    y: Any,
    kernels: Sequence[Kernel] = PAPER_KERNELS,
    *,
    pairs: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> AlignmentEstimate:
    """Estimate A/T from random pairs of rows, without bias, in time that does not depend on T.

    The interval is the empirical Bernstein bound of Maurer and Pontil (2009) on both sides, for independent pairs of
    different rows. It holds for any data and any number of pairs, for each kernel by itself.

    Parameters
    ----------
    X : array or CSR matrix of shape (T, d)
        All rows, at least 2.
    y : array of shape (T,)
        Labels -1 and 1.
    kernels : list of Kernel, default=PAPER_KERNELS
        Any mixture.
    pairs : int, default=100000
        Pairs to draw, at least 2.
    confidence : float, default=0.95
        Between 0 and 1.
    seed : int, default=0
        Of the drawing.

    Examples
    --------
    >>> from pocketkernel.stream import known_kernel
    >>> X, y = known_kernel(2000)
    >>> guess = estimate_alignment(X, y)
    >>> exact = kernel_alignment(X, y) / 2000
    >>> bool(np.all((guess.low <= exact) & (exact <= guess.high)))
    True
    >>> bool(np.all(guess.high - guess.low < 0.03))
    True
    """
    rows, labels = check_data(X, y)
    some = check_kernels(kernels)
    T = len(labels)
    if T < 2:
        raise ValueError(f"X has {T} row: pairs need at least 2.")
    if pairs < 2:
        raise ValueError(f"pairs={pairs} is too small: a spread needs at least 2.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} must be between 0 and 1.")
    rng = np.random.default_rng(seed)
    sums, squares = np.zeros(len(some)), np.zeros(len(some))
    for start in range(0, pairs, _PAIRS_AT_ONCE):
        first = rng.integers(T, size=min(_PAIRS_AT_ONCE, pairs - start))
        second = (first + rng.integers(1, T, size=len(first))) % T
        values = labels[first] * labels[second] * _paired(dense(rows[first]), dense(rows[second]), some)
        sums += values.sum(axis=1)
        squares += np.square(values).sum(axis=1)
    mean = sums / pairs
    variance = np.maximum(squares - pairs * mean**2, 0) / (pairs - 1)
    log = np.log(4 / (1 - confidence))
    reach = np.sqrt(2 * variance * log / pairs) + 2 * 7 * log / (3 * (pairs - 1))  # values range over 2
    low, value, high = (
        # A row with itself has 1, and that is 1/T of all pairs. A is the sum of squares: 0 <= A <= T.
        np.clip((1 - 1 / T) * (1 - theta), 0, 1)
        for theta in (mean + reach, mean, mean - reach)
    )
    return AlignmentEstimate(value, low, high, T, pairs, confidence)


def _paired(X: Floats, Z: Floats, kernels: Sequence[Kernel]) -> Floats:
    """kappa(x, z) for each row x of X and the row z of Z at the same place, kernel by kernel."""
    values = np.empty((len(kernels), len(X)))
    for place, kernel in enumerate(kernels):
        if kernel.metric == "squared_distance":
            metric = np.square(X - Z).sum(axis=1)
        elif kernel.metric == "l1_distance":
            metric = np.abs(X - Z).sum(axis=1)
        else:
            metric = np.clip((directions(X) * directions(Z)).sum(axis=1), -1, 1)
        values[place] = kernel.at(metric)
    return values


# ---- a stream -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class RunningAlignment:
    """Alignment of a stream so far, from a reservoir of its rows; the memory does not grow.

    M-OMD-H's proxy without its bias. The alignment obeys A_t = A_{t-1} + (1 - 1/t) |z_t - m_{t-1}|^2. A reservoir V of
    M rows, drawn uniformly from those before t, has the mean h instead of m_{t-1}; what its chance adds to the squared
    distance, (1 - |h|^2) (1 - M/(t-1)) / (M-1) on average, is taken off. The expectation over the draws is A_t,
    whatever the order of the stream.

    Parameters
    ----------
    kernels : list of Kernel, default=PAPER_KERNELS
        Any mixture.
    reservoir : int, default=30
        M, at least 2; the paper's value for its table.
    seed : int, default=0
        Of the reservoir.

    Attributes
    ----------
    rounds : int
        Rows so far.
    value : array of shape (K,)
        A of each kernel.

    Examples
    --------
    >>> from pocketkernel.stream import blocks_of, known_kernel
    >>> X, y = known_kernel(5000)
    >>> running = RunningAlignment(reservoir=100)
    >>> for block in blocks_of(X, y):
    ...     running = running.learn(block.X, block.y)
    >>> bool(np.all(abs(running.value - kernel_alignment(X, y)) < 0.02 * 5000))
    True
    """

    kernels: Sequence[Kernel] = PAPER_KERNELS
    reservoir: int = 30
    seed: int = 0
    rounds: int = field(default=0, init=False)
    value: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.kernels = check_kernels(self.kernels)
        if self.reservoir < 2:
            raise ValueError(f"reservoir={self.reservoir} is too small: a spread needs at least 2 rows.")
        self.value = np.zeros(len(self.kernels))
        self._rng = np.random.default_rng(self.seed)
        self._size = 0
        self._rows: Floats = np.empty((0, 0))
        self._labels: Floats = np.empty(self.reservoir)
        self._norms2: Floats = np.zeros(len(self.kernels))

    def learn(self, X: Any, y: Any) -> Self:
        """Take the next rows of the stream with their labels -1 and 1."""
        rows, labels = check_data(X, y)
        if self.rounds == 0:
            self._rows = np.empty((self.reservoir, rows.shape[1]))
        if rows.shape[1] != self._rows.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} features, but the rows before had {self._rows.shape[1]}.")
        t = self.rounds + np.arange(1, len(labels) + 1)
        enters = self._rng.random(len(labels)) * t < self.reservoir
        slots = self._rng.integers(self.reservoir, size=len(labels))
        start = 0
        for place in [*np.flatnonzero(enters).tolist(), len(labels)]:  # the reservoir is the same up to this row
            stop = min(place + 1, len(labels))
            self._add(rows[start:stop], labels[start:stop])
            if place < len(labels):
                self._put(slots[place] if self._size == self.reservoir else self._size, rows[place:stop], labels[place])
            start = stop
        return self

    def _add(self, X: Any, y: Floats) -> None:
        n, M = self.rounds + np.arange(len(y)), self._size  # n = t - 1 rows came before each
        self.rounds += len(y)
        if M == 0:
            return  # the first row of all: A is 0
        spare = (1 - M / n) / (M - 1) if M > 1 else np.zeros(len(y))
        for place, kernel in enumerate(self.kernels):
            h = gram(X, self._rows[:M], kernel) @ self._labels[:M] / M
            norm2 = self._norms2[place]
            distances = 1 - 2 * y * h + norm2 - (1 - norm2) * spare
            self.value[place] += np.sum(n / (n + 1) * distances)

    def _put(self, slot: int, row: Any, label: float) -> None:
        self._rows[slot], self._labels[slot] = dense(row)[0], label
        self._size = max(self._size, slot + 1)
        held, w = self._rows[: self._size], self._labels[: self._size] / self._size
        self._norms2 = np.array([w @ gram(held, held, kernel) @ w for kernel in self.kernels])
