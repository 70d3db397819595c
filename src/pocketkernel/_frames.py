"""Data frames and series of any library, read through narwhals."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from narwhals.stable.v2.dependencies import get_pyarrow


def as_narwhals(name: str, given: Any) -> Any:
    """A frame or series of any library as one of narwhals; whatever is neither is returned unchanged."""
    native = nw.to_native(given, pass_through=True)  # it may be a frame of narwhals itself, of any version
    pyarrow = get_pyarrow()
    if pyarrow is not None and isinstance(native, pyarrow.RecordBatch):
        native = pyarrow.Table.from_batches([native])
    elif pyarrow is not None and isinstance(native, pyarrow.Array):
        native = pyarrow.chunked_array([native])
    try:
        found = nw.from_native(native, pass_through=True, allow_series=True)
    except DuplicateError as error:
        raise ValueError(f"{name} has columns of the same name: rename all but one of them. {error}") from error
    if isinstance(found, nw.LazyFrame):
        kind = type(found.to_native())
        library = kind.__module__.split(".")[0]
        raise ValueError(f"{name} is a lazy frame ({library}.{kind.__name__}): call .collect() first.")
    return found


def numbers_of(column: Any) -> Any:
    """A column's numbers as NumPy knows them, or None if they are none."""
    kind = column.dtype
    if kind == nw.Unknown:  # a type of one library only: long double, sparse, all null, complex, period ...
        if column.null_count() == len(column):
            return np.nan
        numbers = column.to_numpy()
        return numbers if numbers.dtype.kind in "biuf" else None
    if kind in (nw.Boolean, nw.Int128, nw.UInt128):  # NumPy has no null among bools, and no such integers
        return column.cast(nw.Float64).to_numpy()
    return column.to_numpy() if kind.is_numeric() else None
