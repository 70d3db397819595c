"""From names to columns: dicts and pandas frames as rows of numbers.

The first `width` names to be learned get a column each. A later name shares the column that its hash selects, with a
sign. A feature that is missing from a row is 0.
"""

import math
import zlib
from collections.abc import Hashable, Iterable, Mapping
from reprlib import repr as short
from typing import Any

import numpy as np
import numpy.typing as npt

Features = Mapping[Hashable, Any]
Floats = npt.NDArray[np.float64]
Values = dict[Hashable, Any]
"""Values by name: one float each, or one array with a value for every row."""


class Columns:
    """The column of each name, of a fixed number of columns."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.of: dict[Hashable, int] = {}  # columns of the names that have their own
        self.shared: dict[Hashable, int] = {}  # of some names that share one, as `_shared_column` returns them
        self.collisions = 0  # learned values that shared a column

    def new_names(self, names: Iterable[Hashable]) -> tuple[dict[Hashable, int], list[Hashable]]:
        """Columns for unknown names as long as some are free, and the names that have to share one.

        Sorted, so that the order of a dict does not matter.
        """
        unknown = sorted(
            (name for name in names if name not in self.of), key=lambda name: (type(name).__name__, str(name))
        )
        taken = len(self.of)
        room = self.width - taken
        return {name: taken + k for k, name in enumerate(unknown[:room])}, unknown[room:]

    def rows(self, values: Values, count: int, new: dict[Hashable, int], shared: list[Hashable]) -> Floats:
        """Rows from values by name, with `new` and `shared` as in `new_names`; other unknown names are left out."""
        blocks = any(isinstance(value, np.ndarray) for value in values.values())
        cells: list[Any] = [np.zeros(count) if blocks else 0.0] * self.width
        for name, value in values.items():
            column = self.of.get(name, new.get(name))
            if column is not None:
                cells[column] = value
        for name in shared:
            code = self._shared_column(name)
            column = abs(code) - 1
            cells[column] = cells[column] + (values[name] if code > 0 else -values[name])
        rows = np.empty((count, self.width))
        rows[:] = np.array(cells).reshape(self.width, -1).T
        return rows

    def rows_to_score(self, values: Values, count: int) -> Floats:
        """Rows that may have unknown names: they are left out until all columns are taken, then hashed."""
        full = len(self.of) == self.width
        return self.rows(values, count, {}, self.new_names(values)[1] if full else [])

    def keep(self, new: dict[Hashable, int], shared: list[Hashable], count: int) -> None:
        """Remember the names of `count` rows that have been learned."""
        self.of.update(new)
        self.collisions += len(shared) * count
        for name in shared:  # not all of them, because memory is bounded: the others are hashed again
            if len(self.shared) < 4 * self.width:
                self.shared[name] = self._shared_column(name)

    def _shared_column(self, name: Hashable) -> int:
        """Column k that a name shares, as k + 1, or as -(k + 1) if its values are subtracted there."""
        # Not hash(): this one is the same in every process and on every machine.
        code = zlib.crc32(str(name).encode(errors="backslashreplace"))
        column = (code >> 1) % self.width + 1
        return column if code & 1 else -column


# ---- values ---------------------------------------------------------------------------------------------------------


def read_dict(x: Any, missing: bool) -> Values:
    """Values of a mapping by name, or an error; None and NaN are NaN where values may be missing."""
    if not isinstance(x, Mapping):
        raise TypeError(f"x={short(x)} is a {type(x).__name__}: give a dict of features.")
    return {name: _number(name, value, missing) for name, value in x.items()}


def read_frame(X: Any, missing: bool) -> Values:
    """Values of a pandas DataFrame by name, one array for each column."""
    if not isinstance(X, pandas().DataFrame):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}: give a pandas DataFrame.")
    if not X.columns.is_unique:
        raise ValueError(f"X has two columns named {X.columns[X.columns.duplicated()][0]!r}: rename one of them.")
    if all(dtype.kind in "biuf" for dtype in X.dtypes):
        block = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isfinite(block).all() or (missing and not np.isinf(block).any()):
            return dict(zip(X.columns, block.T, strict=True))
    return {name: np.array([_number(name, value, missing) for value in column]) for name, column in X.items()}


def pandas() -> Any:
    """The module, imported when a frame is used."""
    import pandas as pd  # noqa: PLC0415  (only frames need it)

    return pd


def named(error: ValueError, values: Values) -> ValueError:
    """An error about a value that is too large, with the name of the feature; other errors unchanged."""
    if not str(error).startswith("X "):
        return error
    name = max(values, key=lambda name: float(np.max(np.abs(values[name]))))
    return ValueError(f"{error} The largest value is that of {name!r}.")


def _number(name: Hashable, value: Any, missing: bool) -> float:
    """The value of a feature as a finite float, or NaN if it may be missing, or an error that names the feature."""
    if missing and (
        value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))
    ):
        return math.nan
    is_odd = isinstance(value, str | bytes | np.datetime64 | np.timedelta64) or getattr(value, "ndim", 0) != 0
    try:
        number = math.nan if is_odd or value is np.ma.masked else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"x[{name!r}]={short(value)} is not a finite number: encode categories with "
            "river.preprocessing.OneHotEncoder, fill in missing values with river.preprocessing.StatImputer."
        )
    return number
