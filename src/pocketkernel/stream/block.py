"""Blocks of rows, the parts of a stream."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]
Rows = Any  # an array or a CSR matrix: scipy's types are too narrow for code that takes both


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a stream.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows.
    y : array of shape (n,) or None
        Their labels.
    file : str
        Where the first row came from.
    line : int or None
        Line of the first row in that file, from 1; in a file without lines, the row.
    ids : list of str or None
        What the column of ids says of each row.
    """

    X: Rows = field(repr=False)
    y: Array | None = field(default=None, repr=False)
    file: str = ""
    line: int | None = None
    ids: list[str] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def dense(self) -> Self:
        """The same block with its rows as an array."""
        return replace(self, X=self.X.toarray()) if is_sparse(self.X) else self

    def __getitem__(self, part: slice) -> Self:
        """Some of the rows; file and line are kept if they start with the first row."""
        begins = part.indices(len(self))[0] == 0
        y = None if self.y is None else self.y[part]
        ids = None if self.ids is None else self.ids[part]
        return replace(self, X=_cut(self.X, part), y=y, line=self.line if begins else None, ids=ids)

    def take(self, order: Array) -> "Block":
        """The rows with these numbers, in this order."""
        ids = None if self.ids is None else [self.ids[row] for row in order.tolist()]
        return Block(self.X[order], None if self.y is None else self.y[order], self.file, ids=ids)


def blocks_of(X: Rows, y: Array | None = None, *, block: int = 1000) -> Iterator[Block]:
    """Cut arrays into blocks.

    Examples
    --------
    >>> [len(b) for b in blocks_of(np.zeros((2500, 3)))]
    [1000, 1000, 500]
    """
    for start in range(0, X.shape[0], check_block(block)):
        part = slice(start, start + block)
        yield Block(X[part], None if y is None else y[part], line=start + 1)


def gather(blocks: Iterable[Block]) -> Block:
    """All rows of a stream in one block, for streams that fit in memory.

    Examples
    --------
    >>> len(gather(blocks_of(np.zeros((2500, 3)))))
    2500
    """
    parts = list(blocks)
    if not parts:
        raise ValueError("the stream has no rows.")
    if len(parts) == 1:
        return parts[0]
    y = None if parts[0].y is None else np.concatenate([part.y for part in parts if part.y is not None])
    ids = None if parts[0].ids is None else [one for part in parts for one in part.ids or ()]
    return replace(parts[0], X=stack([part.X for part in parts]), y=y, ids=ids)


def rebatch(pieces: Iterable[Block], size: int, missing: int = 0) -> Iterator[Block]:
    """The same rows in blocks of exactly `size` rows; only the last may be shorter, and the first by `missing` rows."""
    held: list[Block] = []
    rows = missing
    for piece in pieces:
        start = 0
        while rows + len(piece) - start >= size:
            stop = start + size - rows
            yield _joined([*held, _part(piece, start, stop)])
            held, rows, start = [], 0, stop
        if start < len(piece):
            held.append(_part(piece, start, len(piece)))
            rows += len(piece) - start
    if held:
        yield _joined(held)


@dataclass(frozen=True, eq=False)
class Piece(Block):
    """A block that knows the line of each row."""

    lines: Array = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    def __getitem__(self, part: slice) -> Self:
        return replace(super().__getitem__(part), lines=self.lines[part])


def _part(piece: Block, start: int, stop: int) -> Block:
    return piece if start == 0 and stop == len(piece) else piece[start:stop]


def _joined(parts: list[Block]) -> Block:
    first = parts[0]
    line = int(first.lines[0]) if isinstance(first, Piece) else first.line
    whole = gather(parts)
    return Block(whole.X, whole.y, first.file, line, whole.ids)


def _cut(X: Rows, part: slice) -> Rows:
    """Consecutive rows; of a CSR matrix without a copy, as scipy would make one."""
    start, stop, step = part.indices(X.shape[0])
    if step != 1 or not is_sparse(X) or not X.has_canonical_format:
        return X[part]
    starts = X.indptr[start : max(start, stop) + 1]
    entries = slice(starts[0], starts[-1])
    return csr(X.data[entries], X.indices[entries], starts - starts[0], X.shape[1])


def stack(parts: list[Rows]) -> Rows:
    """Rows of several arrays, or of several CSR matrices, below each other."""
    if not is_sparse(parts[0]):
        return np.concatenate(parts)
    ends = np.cumsum([part.nnz for part in parts])
    starts = [parts[0].indptr, *(part.indptr[1:] + end for part, end in zip(parts[1:], ends[:-1], strict=True))]
    return csr(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate(starts),
        parts[0].shape[1],
    )


def is_sparse(X: Rows) -> bool:
    """Whether rows are sparse, in words that leave the type checker alone."""
    return bool(sparse.issparse(X))


def csr(values: Array, columns: Array, starts: Array, width: int) -> sparse.csr_matrix:
    """A CSR matrix of rows whose columns ascend; the arrays are taken as they are."""
    matrix = sparse.csr_matrix((values, columns, starts), shape=(len(starts) - 1, width), copy=False)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


def check_block(block: int) -> int:
    """The size of a block, or an error."""
    if block < 1:
        raise ValueError(f"block={block} is too small: use a positive integer.")
    return block
