"""Sums over all pairs of rows, w'Kw for several kernels K in one pass, in blocks and on all cores.

K = K', so blocks b <= c are visited once. Kernels of one metric share its values: one product of matrices gives the
squared distances of all Gaussians. Of these,

- wide ones are a power series. With Z the halved squared distances, exp(-Z / width^2) is the sum of
  (-Z / width^2)^p / p! over p, so a few sums w'(Z^p)w, powers taken by element, serve all of them;
- others in ratio 2, 4 ... (or its square root) share one exp: squaring a value divides the width by the root of 2.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from pocketkernel._optional import optional
from pocketkernel._threads import allowed_threads
from pocketkernel.kernels import Gaussian, Kernel, Polynomial
from pocketkernel.lab.theory.rows import Floats, dense, directions

Array = npt.NDArray[Any]
Side = tuple[Array, Array]  # rows as a metric takes them, and their weights

BLOCK = 2048
BLOCK_BYTES = 2**26
TILE = (256, 1024)
"""Rows and columns of a part of K that is worked on at once: it stays in the cache."""

MOST_TERMS = 8
"""Of a power series: about as dear as an exp."""
MOST_SQUARINGS = {"f": 8, "d": 20}
"""From one exp. Each doubles the relative error; these leave 3e-5 and 1e-10 in float32 and float64."""
SERIES_ERROR = {"f": 1e-7, "d": 1e-14}
SINGLE_ERROR = 1e-4
"""float32 is used where its rounding moves no exponent by more than about this."""
_LARGEST = 1e280  # squared distances beyond overflow


def quadratic_forms(
    X: Any,
    w: Floats,
    kernels: Sequence[Kernel],
    *,
    block: int | None = None,
    n_jobs: int | None = None,
    precise: bool = False,
) -> Floats:
    """The sums w'Kw, one for each kernel; X and w are finite.

    Parameters
    ----------
    X : array or CSR matrix of shape (T, d)
    w : array of shape (T,)
        A weight for each row.
    kernels : list of Kernel
    block : int, default=None
        Rows that a thread holds dense, twice; None: 2,048, or fewer if they would take more than 64 MiB.
    n_jobs : int, default=None
        Threads; None: as many as the environment or the machine allows.
    precise : bool, default=False
        Use float64 even where float32 would do for an alignment.
    """
    forms = np.empty(len(kernels))
    metrics: dict[Any, list[int]] = {}
    for place, kernel in enumerate(kernels):
        if kernel.family == "linear" or kernel == Polynomial(1):
            forms[place] = _linear_form(X, w)
        else:
            metrics.setdefault(_METRICS.get(kernel.family, _DIRECT[kernel.metric]), []).append(place)
    for metric, places in metrics.items():
        some = metric([kernels[place] for place in places], X, precise)
        forms[places] = _sum_over_blocks(some, X, w, _rows_of_block(X, block), allowed_threads(n_jobs))
    return forms


def _rows_of_block(X: Any, block: int | None) -> int:
    if block is not None:
        if block < 1:
            raise ValueError(f"block={block} is too small: use a positive integer.")
        return block
    return max(1, min(BLOCK, BLOCK_BYTES // (8 * (int(X.shape[1]) + 2))))


def _linear_form(X: Any, w: Floats) -> float:
    """|sum_t w_t u_t|^2 over directions u_t: no pairs are needed."""
    rows = _rows_of_block(X, None)
    total = np.zeros(X.shape[1] + 1)
    for start in range(0, len(w), rows):
        part = slice(start, start + rows)
        total += w[part] @ directions(dense(X[part]))
    return float(total @ total)


# ---- metrics --------------------------------------------------------------------------------------------------------


class Metric(Protocol):
    """What some kernels of a family share, and how it becomes their values."""

    dtype: npt.DTypeLike
    kernels: Sequence[Kernel]

    def left(self, X: Any) -> Array:
        """Rows as `fill` takes them on the left."""

    def right(self, X: Any) -> Array:
        """Rows as `fill` takes them on the right."""

    def fill(self, left: Array, right: Array, tile: Array) -> None:
        """Write the metric for all pairs into the tile."""

    def forms(self, tile: Array, scratch: Array, v: Array, w: Array) -> list[float]:
        """The sums v'Kw, one for each kernel. The tile may be changed."""


class _SquaredDistance:
    """Gaussians. A tile holds -d^2 / (2 unit^2)."""

    def __init__(self, kernels: Sequence[Kernel], X: Any, precise: bool) -> None:
        self.kernels = kernels
        self.parameters = widths = [kernel.parameter for kernel in kernels]
        self._centre = np.asarray(X.mean(axis=0), dtype=np.float64).reshape(1, -1)  # distances do not change
        rows = _rows_of_block(X, None)
        with np.errstate(over="ignore"):
            radius2 = max(
                float(np.square(dense(X[start : start + rows]) - self._centre).sum(axis=1).max())
                for start in range(0, X.shape[0], rows)
            )
        if not radius2 < _LARGEST:
            raise ValueError(f"rows of X are {radius2**0.5:g} from their mean: scale the features first.")
        error = np.finfo(np.float32).eps / 2 * radius2 / min(widths) ** 2
        self.dtype = np.dtype(np.float64 if precise or error > SINGLE_ERROR else np.float32)
        kind = self.dtype.char
        terms = {width: _terms(2 * radius2 / width**2, SERIES_ERROR[kind]) for width in widths}
        self._wide = sorted(width for width in set(widths) if terms[width] <= MOST_TERMS)
        self._terms = max((terms[width] for width in self._wide), default=0)
        self._ladders = ladders([width for width in widths if width not in self._wide], MOST_SQUARINGS[kind])
        self._unit = self._wide[0] if self._wide else self._ladders[0].width

    def _centred(self, X: Any) -> tuple[Array, Array]:
        rows = (dense(X) - self._centre).astype(self.dtype)
        return rows, 0.5 * np.square(rows, dtype=np.float64).sum(axis=1, keepdims=True)

    def left(self, X: Any) -> Array:
        rows, halves = self._centred(X)
        return (np.hstack((rows, -halves, -np.ones_like(halves))) / self._unit**2).astype(self.dtype)

    def right(self, X: Any) -> Array:
        rows, halves = self._centred(X)
        return np.hstack((rows, np.ones_like(halves), halves)).astype(self.dtype)

    def fill(self, left: Array, right: Array, tile: Array) -> None:
        np.matmul(left, right.T, out=tile)

    def forms(self, tile: Array, scratch: Array, v: Array, w: Array) -> list[float]:
        found: dict[float, float] = {}
        for ladder in self._ladders:
            np.multiply(tile, tile.dtype.type((self._unit / ladder.width) ** 2), out=scratch)
            np.exp(scratch, out=scratch)
            done = 0
            for squarings, width in ladder.steps:
                for _ in range(squarings - done):
                    np.multiply(scratch, scratch, out=scratch)
                done = squarings
                found[width] = _form(scratch, v, w)
        if self._wide:
            moments = [float(v.sum(dtype=np.float64) * w.sum(dtype=np.float64)), _form(tile, v, w)]
            power = tile
            for _ in range(1, self._terms):
                power = np.multiply(power, tile, out=scratch)
                moments.append(_form(power, v, w))
            for width in self._wide:
                scale = (self._unit / width) ** 2
                found[width] = sum(moment * scale**p / math.factorial(p) for p, moment in enumerate(moments))
        return [found[width] for width in self.parameters]


class _Cosine:
    """Polynomials."""

    def __init__(self, kernels: Sequence[Kernel], X: Any, precise: bool) -> None:
        self.kernels, self.parameters = kernels, [kernel.parameter for kernel in kernels]
        self.dtype = np.dtype(np.float64 if precise else np.float32)

    def left(self, X: Any) -> Array:
        return directions(dense(X)).astype(self.dtype)

    right = left

    def fill(self, left: Array, right: Array, tile: Array) -> None:
        np.matmul(left, right.T, out=tile)

    def forms(self, tile: Array, scratch: Array, v: Array, w: Array) -> list[float]:
        found: dict[float, float] = {}
        done = 1
        np.copyto(scratch, tile)
        for degree in sorted(set(self.parameters)):
            for _ in range(int(degree) - done):
                np.multiply(scratch, tile, out=scratch)
            done = int(degree)
            found[degree] = _form(scratch, v, w)
        return [found[degree] for degree in self.parameters]


class _Distance:
    """Any kernel of a distance, value by value."""

    dtype = np.dtype(np.float64)

    def __init__(
        self, name: Literal["sqeuclidean", "cityblock"], kernels: Sequence[Kernel], X: Any, precise: bool
    ) -> None:
        self.name, self.kernels = name, kernels

    def left(self, X: Any) -> Array:
        return dense(X)

    right = left

    def fill(self, left: Array, right: Array, tile: Array) -> None:
        cdist(left, right, self.name, out=tile)

    def forms(self, tile: Array, scratch: Array, v: Array, w: Array) -> list[float]:
        return [_form(kernel.at(tile), v, w) for kernel in self.kernels]


# Families whose values share work, and what serves any kernel of a metric.
_METRICS: dict[str, Any] = {Gaussian.family: _SquaredDistance, Polynomial.family: _Cosine}
_DIRECT: dict[str, Any] = {
    "squared_distance": partial(_Distance, "sqeuclidean"),
    "l1_distance": partial(_Distance, "cityblock"),
    "cosine": _Cosine,
}


@dataclass(frozen=True)
class Ladder:
    """Widths that share an exp: that of `width`, the widest; (squarings after it, width) for each."""

    width: float
    steps: tuple[tuple[int, float], ...]


def ladders(widths: Sequence[float], most: int) -> list[Ladder]:
    """Gather widths whose squares are in ratio 2, 4, 8 ..., from the narrowest up.

    Examples
    --------
    >>> [ladder.steps for ladder in ladders([1, 4, 0.25, 3], 8)]
    [((0, 4), (4, 1), (8, 0.25)), ((0, 3),)]
    """
    left = sorted(set(widths))
    found = []
    while left:
        above = {width: 2 * math.log2(width / left[0]) for width in left}
        members = [width for width in left if above[width] <= most and abs(above[width] - round(above[width])) < 1e-9]
        top = round(above[members[-1]])
        found.append(Ladder(members[-1], tuple((top - round(above[width]), width) for width in reversed(members))))
        left = [width for width in left if width not in members]
    return found


def _terms(largest: float, error: float) -> int:
    """Terms that the series of exp(-z) needs for 0 <= z <= largest; more than MOST_TERMS if it is not worth it."""
    terms = 1
    while terms <= MOST_TERMS and largest ** (terms + 1) / math.factorial(terms + 1) > error:
        terms += 1
    return terms


def _form(K: Array, v: Array, w: Array) -> float:
    return float(np.dot(K @ w, v))


# ---- the pass -------------------------------------------------------------------------------------------------------


def blas_threads(most: int | None) -> AbstractContextManager[Any]:
    """A context in which BLAS uses at most so many threads; None leaves it as it is."""
    limits = optional("threadpoolctl", "the theory of the laboratory", "lab").threadpool_limits
    return limits(most, "blas")  # type: ignore[no-any-return]


def _sum_over_blocks(metric: Metric, X: Any, w: Floats, rows: int, threads: int) -> Floats:
    starts = range(0, len(w), rows)
    weights = w.astype(metric.dtype)

    def strip(start: int) -> Floats:
        """One block of rows with itself and with all that follow."""
        total = np.zeros(len(metric.kernels))
        tiles = np.empty((2, TILE[0] * TILE[1]), metric.dtype)
        left, v = metric.left(X[start : start + rows]), weights[start : start + rows]
        for other in range(start, len(w), rows):
            right = metric.right(X[other : other + rows])
            times = 1 if other == start else 2
            sides = (left, v), (right, weights[other : other + rows])
            total += times * _sum_over_tiles(metric, *sides, tiles)
        return total

    with blas_threads(1), ThreadPoolExecutor(threads) as pool:  # the first strips are the longest
        return np.sum(list(pool.map(strip, starts)), axis=0)  # type: ignore[no-any-return]


def _sum_over_tiles(metric: Metric, left: Side, right: Side, tiles: Array) -> Floats:
    total = np.zeros(len(metric.kernels))
    for i in range(0, len(left[0]), TILE[0]):
        above, v = (part[i : i + TILE[0]] for part in left)
        for j in range(0, len(right[0]), TILE[1]):
            beside, w = (part[j : j + TILE[1]] for part in right)
            shape = (len(above), len(beside))
            tile, scratch = (memory[: shape[0] * shape[1]].reshape(shape) for memory in tiles)
            metric.fill(above, beside, tile)
            total += metric.forms(tile, scratch, v, w)
    return total
