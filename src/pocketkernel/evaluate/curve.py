"""The curve of a run: columns of numbers, in memory and as CSV or Parquet without rounding."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel._optional import optional

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

COLUMNS: Mapping[str, type[np.int64] | type[np.float64]] = {
    "rows": np.int64,
    "mistakes": np.int64,
    "loss": np.float64,
    "seconds": np.float64,
    "nbytes": np.int64,
    "stored": np.float64,
    "additions": np.int64,
    "proxies": np.int64,
    "removals": np.int64,
}
"""The columns of a curve that hold one number per point, and their types."""

FORMATS = ("parquet", "csv")
_WEIGHT = "weight: "  # before a kernel's name, in the header


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve of a run: columns of equal length, one entry per point. All numbers count from the start.

    Attributes
    ----------
    rows, mistakes : arrays of int64
        `rows` increases.
    loss : array of float64
        Cumulative; NaN where the model does not report it.
    seconds : array of float64
        Time spent in the model.
    nbytes : array of int64
        Bytes of the model; 0 where it does not report them.
    stored : array of float64
        Rows in the buffer; the mean over the kernels if each has its own.
    additions, proxies, removals : arrays of int64
        Over all buffers.
    weights : array of float64, of shape (points, kernels)
        Weight of each kernel.
    kernels : tuple of str
        Their names.
    """

    rows: Integers
    mistakes: Integers
    loss: Floats
    seconds: Floats
    nbytes: Integers
    stored: Floats
    additions: Integers
    proxies: Integers
    removals: Integers
    weights: Floats
    kernels: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, kind in COLUMNS.items():
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=kind))
        object.__setattr__(self, "kernels", tuple(self.kernels))
        weights = np.ascontiguousarray(self.weights, dtype=np.float64).reshape(len(self.rows), len(self.kernels))
        object.__setattr__(self, "weights", weights)
        lengths = {name: len(getattr(self, name)) for name in COLUMNS}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a curve differ in length: {lengths}.")
        if np.any(np.diff(self.rows) <= 0):
            raise ValueError("the rows of a curve must increase from point to point.")

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same, to the last bit."""
        if not isinstance(other, Curve):
            return NotImplemented
        mine, theirs = ([getattr(one, f.name) for f in fields(Curve)[:-1]] for one in (self, other))
        return self.kernels == other.kernels and all(
            a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(mine, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def mistake_rate(self) -> Floats:
        """Share of mistakes since the start, from 0 to 1, at each point."""
        return self.mistakes / self.rows

    def window_mistake_rate(self, window: int) -> Floats:
        """Share of mistakes in the latest `window` rows, or a few more where points are sparse, at each point."""
        rows = np.concatenate(([0], self.rows))
        mistakes = np.concatenate(([0], self.mistakes))
        before = np.searchsorted(rows, self.rows - window, side="right") - 1
        before = np.maximum(before, 0)
        return (self.mistakes - mistakes[before]) / (self.rows - rows[before])


def _header(kernels: Iterable[str]) -> list[str]:
    return [*COLUMNS, *(_WEIGHT + name for name in kernels)]


def columns_of(curve: Curve) -> list[Integers | Floats]:
    """All columns, one for each kernel's weight at the end."""
    return [*(getattr(curve, name) for name in COLUMNS), *curve.weights.T]


def curve_of(columns: list[Any], kernels: tuple[str, ...]) -> Curve:
    """The curve that has these columns."""
    plain, weights = columns[: len(COLUMNS)], columns[len(COLUMNS) :]
    stacked = np.column_stack(weights) if weights else np.empty((len(plain[0]), 0))
    return Curve(**dict(zip(COLUMNS, plain, strict=True)), weights=stacked, kernels=kernels)


# ---- as files -------------------------------------------------------------------------------------------------------


def to_bytes(curve: Curve, format: str) -> bytes:
    """The curve as a file."""
    return _to_parquet(curve) if format == "parquet" else _to_csv(curve)


def from_bytes(data: bytes, format: str, points: int, kernels: tuple[str, ...]) -> Curve:
    """The curve in a file, which must have this number of points. ValueError if anything is wrong."""
    try:
        curve = (_of_parquet if format == "parquet" else _of_csv)(data, points, kernels)
    except (KeyError, IndexError, TypeError, OverflowError, OSError, csv.Error) as error:
        raise ValueError(f"{error}") from None
    if len(curve) != points:
        raise ValueError(f"it has {len(curve)} points, not {points}")
    return curve


def _to_csv(curve: Curve) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_header(curve.kernels))
    # repr of a Python float is the shortest text that reads back as the same bits.
    writer.writerows(zip(*(map(repr, column.tolist()) for column in columns_of(curve)), strict=True))
    return file.getvalue().encode("utf-8")


def _of_csv(data: bytes, points: int, kernels: tuple[str, ...]) -> Curve:
    header, *lines = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
    if header != _header(kernels):
        raise ValueError(f"its columns are {', '.join(header)}")
    kinds = [*COLUMNS.values(), *(np.float64 for _ in kernels)]
    texts = zip(*lines, strict=True) if lines else ([] for _ in kinds)
    columns = [
        np.array([int(text) if kind is np.int64 else float(text) for text in column], dtype=kind)
        for kind, column in zip(kinds, texts, strict=True)
    ]
    return curve_of(columns, kernels)


def _to_parquet(curve: Curve) -> bytes:
    pyarrow = optional("pyarrow", "Parquet", "files")
    parquet = optional("pyarrow.parquet", "Parquet", "files")
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns_of(curve), names=_header(curve.kernels)), file)
    return file.getvalue()


def _of_parquet(data: bytes, points: int, kernels: tuple[str, ...]) -> Curve:
    parquet = optional("pyarrow.parquet", "Parquet", "files")
    file = parquet.ParquetFile(io.BytesIO(data))
    if file.metadata.num_rows != points:  # checked before memory is allocated
        raise ValueError(f"it has {file.metadata.num_rows} points, not {points}")
    table = file.read()
    if table.column_names != _header(kernels):
        raise ValueError(f"its columns are {', '.join(table.column_names)}")
    return curve_of([column.to_numpy() for column in table.columns], kernels)
