"""A bounded random sample of the rows of a stream."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.evaluate.metrics.tallies import Tallies
from pocketkernel.stream.block import is_sparse

ROWS = 64
MOST_COLUMNS = 2048
"""Of rows that are kept; of wider ones none are."""

_NONE = np.int64(2**63 - 1)


class Reservoir(Tallies):
    """Keeps 64 rows of a stream of any length, each with the same chance.

    A row is kept if a hash of its number is among the smallest so far: which rows are kept depends neither on the size
    of the blocks nor on where a run was resumed.

    Parameters
    ----------
    columns : int
        Of a row.

    Examples
    --------
    >>> reservoir = Reservoir(1)
    >>> for start in range(0, 10_000, 100):
    ...     reservoir.update(np.arange(start, start + 100.0)[:, None])
    >>> kept = reservoir.rows()
    >>> kept.shape, bool(3_000 < kept.mean() < 7_000)
    ((64, 1), True)
    """

    _names = ("seen", "keys", "kept")

    def __init__(self, columns: int) -> None:
        self.seen = np.zeros(1, np.int64)
        self.keys = np.full(ROWS, _NONE)
        self.kept = np.zeros((ROWS, columns if columns <= MOST_COLUMNS else 0))

    def update(self, X: Any) -> None:
        """Look at some rows."""
        numbers = np.arange(self.seen[0], self.seen[0] + X.shape[0])
        self.seen += X.shape[0]
        if not self.kept.shape[1]:
            return
        keys = _hash(numbers)
        chosen = np.flatnonzero(keys < self.keys.max())
        chosen = chosen[np.argsort(keys[chosen], kind="stable")[:ROWS]]
        if not len(chosen):
            return
        rows = X[chosen].toarray() if is_sparse(X) else np.asarray(X[chosen], dtype=np.float64)
        all_keys, all_rows = np.concatenate([self.keys, keys[chosen]]), np.vstack([self.kept, rows])
        order = np.argsort(all_keys, kind="stable")[:ROWS]
        self.keys, self.kept = all_keys[order], all_rows[order]

    def rows(self) -> npt.NDArray[np.float64]:
        """The rows that are kept."""
        return np.asarray(self.kept[self.keys != _NONE])

    def restore(self, state: Any) -> None:
        """Take over the arrays of a state; rows may have missing values."""
        kept, keys = state.get("kept"), state.get("keys")
        known = kept is not None and keys is not None
        # Keys are random numbers, and rows may have missing values.
        super().restore({**state, "kept": np.nan_to_num(kept, posinf=np.inf), "keys": keys >> 11} if known else state)
        if known:
            self.kept, self.keys = kept.copy(), keys.copy()

    def valid(self) -> bool:
        """Whether there are no more rows than were seen."""
        return bool(self.seen[0] >= 0 and np.all(self.keys >= 0))


def _hash(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Numbers that look random, from 0 to 2^63 - 2 (splitmix64)."""
    with np.errstate(over="ignore"):
        z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(2), dtype=np.int64)
