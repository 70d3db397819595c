"""From names to columns: dicts and pandas frames as rows of numbers.

The first `width` names to be learned get a column each. A later name shares the column that its hash selects, with a
sign. A feature that is missing from a row is 0. Text is a feature of its own with the value 1: "red" as the colour is
the feature "colour=red". So a level of a category gets a column, or shares one by its hash, as a name does.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pocketkernel._hash import hash_of

Features = Mapping[Hashable, Any]
Floats = npt.NDArray[np.float64]


@dataclass
class Values:
    """The values of some rows by name: one float each, or one array with a value for every row; NaN is missing.

    Attributes
    ----------
    of : dict
        The values.
    given : dict
        Of a name that not all rows have, which do; its value is 0 in the others.
    """

    of: dict[Hashable, Any]
    given: dict[Hashable, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def known(self, name: Hashable) -> Any:
        """The rows in which this name has a value: given, and not missing."""
        value = self.of[name]
        return self.given.get(name, value == value)  # noqa: PLR0124  (NaN)

    def take(self, kept: npt.NDArray[np.bool_]) -> Self:
        """Some of the rows."""
        values = {name: value[kept] if isinstance(value, np.ndarray) else value for name, value in self.of.items()}
        return type(self)(values, {name: given[kept] for name, given in self.given.items()})


class Columns:
    """The column of each name, of a fixed number of columns."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.of: dict[Hashable, int] = {}  # columns of the names that have their own
        self.shared: dict[Hashable, int] = {}  # of some names that share one, as `_shared_column` returns them
        self.collisions = 0  # learned values that shared a column

    def new_names(self, values: Values) -> tuple[dict[Hashable, int], list[Hashable]]:
        """Columns for unknown names as long as some are free, and the names that have to share one.

        In the order of the rows that first have a value for them; within a row sorted, so that the order of a dict does
        not matter. A name without any value gets nothing.
        """
        firsts = ((_first(values.known(name)), name) for name in values.of if name not in self.of)
        unknown = sorted((first, type(name).__name__, str(name), name) for first, name in firsts if first is not None)
        names = [name for *_, name in unknown]
        taken = len(self.of)
        room = self.width - taken
        return {name: taken + k for k, name in enumerate(names[:room])}, names[room:]

    def rows(self, values: Values, count: int, new: dict[Hashable, int], shared: list[Hashable]) -> Floats:
        """Rows from values by name, with `new` and `shared` as in `new_names`; other unknown names are left out."""
        blocks = any(isinstance(value, np.ndarray) for value in values.of.values())
        cells: list[Any] = [np.zeros(count) if blocks else 0.0] * self.width
        for name, value in values.of.items():
            if (column := self.of.get(name)) is not None:
                cells[column] = value
            elif name in new:  # missing values before the first one are of a name that has no column yet
                before = np.arange(count) < (_first(values.known(name)) or 0)
                cells[new[name]] = np.where(before, 0.0, value) if before.any() else value
        for name in shared:
            code = self._shared_column(name)
            column, value = abs(code) - 1, np.nan_to_num(values.of[name])
            cells[column] = cells[column] + (value if code > 0 else -value)
        rows = np.empty((count, self.width))
        rows[:] = np.array(cells).reshape(self.width, -1).T
        return rows

    def rows_to_score(self, values: Values, count: int) -> Floats:
        """Rows that may have unknown names: they are left out until all columns are taken, then hashed."""
        full = len(self.of) == self.width
        return self.rows(values, count, {}, self.new_names(values)[1] if full else [])

    def keep(self, new: dict[Hashable, int], shared: list[Hashable], values: Values, count: int) -> None:
        """Remember the names of `count` rows that have been learned."""
        self.of.update(new)
        for name in shared:  # not all of them, because memory is bounded: the others are hashed again
            known = values.known(name)
            self.collisions += int(known.sum()) if isinstance(known, np.ndarray) else count
            if len(self.shared) < 4 * self.width:
                self.shared[name] = self._shared_column(name)

    def _shared_column(self, name: Hashable) -> int:
        """Column k that a name shares, as k + 1, or as -(k + 1) if its values are subtracted there."""
        code = hash_of(str(name))
        column = (code >> 1) % self.width + 1
        return column if code & 1 else -column


def _first(known: Any) -> int | None:
    """The first row in which a name has a value, if there is one."""
    if isinstance(known, np.ndarray):
        return int(known.argmax()) if known.any() else None
    return 0 if known else None


# ---- values ---------------------------------------------------------------------------------------------------------


def with_text(x: dict[Hashable, Any]) -> dict[Hashable, Any]:
    """The same features with one for each text, whose value is 1.

    Examples
    --------
    >>> with_text({"size": 3.5, "colour": "red"})
    {'size': 3.5, 'colour=red': 1.0}
    """
    if str not in map(type, x.values()):
        return x
    texts = {feature_of(name, value): 1.0 for name, value in x.items() if type(value) is str}
    numbers = {name: value for name, value in x.items() if type(value) is not str}
    for name in texts.keys() & numbers.keys():
        raise ValueError(f"x has a feature {name!r}, and text that is called so, too: rename one of them.")
    return numbers | texts


def feature_of(name: Hashable, text: str) -> str:
    """The name of the feature that a text is."""
    return f"{name}={text}"


def read_dict(x: Any, missing: bool) -> Values:
    """Values of a mapping by name, or an error; None and NaN are NaN where values may be missing."""
    if not isinstance(x, Mapping):
        raise TypeError(f"x={short(x)} is a {type(x).__name__}: give a dict of features.")
    plain = with_text({name: str(value) if isinstance(value, str) else value for name, value in x.items()})
    return Values({name: _number(name, value, missing) for name, value in plain.items()})


def read_frame(X: Any, missing: bool) -> Values:
    """Values of a pandas DataFrame by name, one array for each column, and one for each text in it."""
    if not isinstance(X, pandas().DataFrame):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}: give a pandas DataFrame.")
    if not X.columns.is_unique:
        raise ValueError(f"X has two columns named {X.columns[X.columns.duplicated()][0]!r}: rename one of them.")
    if all(dtype.kind in "biuf" for dtype in X.dtypes):
        block = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isfinite(block).all() or (missing and not np.isinf(block).any()):
            return Values(dict(zip(X.columns, block.T, strict=True)))
    values = Values({})
    for name, column in X.items():
        _add_column(values, name, list(column), missing)
    return values


def _add_column(values: Values, name: Hashable, column: list[Any], missing: bool) -> None:
    """Add a column of a frame, whose texts are features of their own."""
    is_text = np.array([isinstance(value, str) for value in column], dtype=bool)
    found = [(name, ~is_text)] if not is_text.all() or not column else []
    for text in dict.fromkeys(value for value in column if isinstance(value, str)):
        found.append((feature_of(name, text), np.array([isinstance(v, str) and v == text for v in column])))
    for one, given in found:
        if one in values.of:
            raise ValueError(f"X has a column {one!r}, and text that is called so, too: rename one of them.")
        if one is name:
            numbers = [0.0 if isinstance(value, str) else _number(name, value, missing) for value in column]
            values.of[one] = np.array(numbers)
        else:
            values.of[one] = given.astype(np.float64)
        if not given.all():
            values.given[one] = given & (values.of[one] == values.of[one])


def pandas() -> Any:
    """The module, imported when a frame is used."""
    import pandas as pd  # noqa: PLC0415  (only frames need it)

    return pd


def named(error: ValueError, values: Values) -> ValueError:
    """An error about a value that is too large, with the name of the feature; other errors unchanged."""
    if not str(error).startswith("X "):
        return error
    name = max(values.of, key=lambda name: float(np.max(np.abs(values.of[name]))))
    return ValueError(f"{error} The largest value is that of {name!r}.")


def _number(name: Hashable, value: Any, missing: bool) -> float:
    """The value of a feature as a finite float, or NaN if it may be missing, or an error that names the feature."""
    if missing and (
        value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))
    ):
        return math.nan
    is_odd = isinstance(value, bytes | np.datetime64 | np.timedelta64) or getattr(value, "ndim", 0) != 0
    try:
        number = math.nan if is_odd or value is np.ma.masked else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"x[{name!r}]={short(value)} is not a finite number, nor text: fill in missing values with "
            "river.preprocessing.StatImputer."
        )
    return number
