"""How `fit` goes through a data set: how often, in which order, in which blocks."""

import math
from collections.abc import Iterator
from itertools import islice, repeat
from reprlib import repr as short
from typing import Any

from pocketkernel._order import Order, permutations
from pocketkernel.learners._parameters import whole_number
from pocketkernel.learners._rows import Array, CsrRows

ROUNDS, MOST_PASSES = 3000, 10
"""epochs="auto" takes as many passes as give this number of rounds, within this limit."""

_VALUES_AT_ONCE = 2**20  # in a block of rows, so that a shuffled copy of the whole matrix is never made
_ROWS_AT_ONCE = 8192


def passes_of(epochs: Any, rows: int) -> int:
    """How often `fit` goes through so many rows."""
    if isinstance(epochs, str) and epochs == "auto":
        return min(math.ceil(ROUNDS / rows), MOST_PASSES)
    if isinstance(epochs, str):
        raise ValueError(f"epochs={short(epochs)} is unknown: use 'auto' or a positive integer.")
    passes = whole_number("epochs", epochs)
    if passes < 1:
        raise ValueError(f"epochs={short(epochs)} is too small: use 'auto' or a positive integer.")
    return passes


def orders(rows: Order, passes: int, seed: int | None) -> Iterator[Order]:
    """The order of the rows in each pass: another one for every pass, or as they are if there is no seed."""
    if seed is None:
        return repeat(rows, passes)
    return (rows[order] for order in islice(permutations(len(rows), seed), passes))


def parts_of(order: Order, columns: int) -> Iterator[Order]:
    """An order in parts, each of few enough rows to be copied."""
    size = max(1, min(_ROWS_AT_ONCE, _VALUES_AT_ONCE // columns))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def taken(X: Any, rows: Order) -> Any:
    """Some rows of a matrix, in that order."""
    if isinstance(X, CsrRows):
        return X.take(rows)
    part: Array = X[rows]
    return part
