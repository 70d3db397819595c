"""The paper's data sets in memory, in the order that a permutation gives them. Their files are the catalogue's."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pocketkernel.lab import catalogue
from pocketkernel.stream import permutation

DENSE_FROM = 0.25
"""Share of entries that are not zero above which rows are kept dense: the same numbers, in less time."""


class Data(NamedTuple):
    """Rows, dense or CSR, and labels -1 and 1, in the order of the file."""

    X: Any
    y: npt.NDArray[np.float64]

    def permuted(self, seed: int) -> "Data":
        """The rows in the random order of this seed."""
        order = permutation(len(self.y), seed)
        return Data(self.X[order], self.y[order])


def locate(name: str, folder: str | Path | None = None) -> Path:
    """Find the file of a data set where the catalogue looks for it, by its full name: workers may be elsewhere."""
    return catalogue.locate(name, folder).resolve()


@lru_cache(maxsize=16)
def fingerprint(path: Path) -> str:
    """Identifies a file: the start of its SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@lru_cache(maxsize=2)  # a worker goes through one data set after the other
def load(name: str, folder: Path, dtype: str) -> Data:
    """Read a data set from a folder that has it; kept for the next call."""
    rows, y = catalogue.load(name, folder)
    X: Any = rows.astype(dtype)
    dense = X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]
    return Data(np.ascontiguousarray(X.toarray()) if dense else X, y.astype(float))
