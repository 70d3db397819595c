"""Rows in memory as a table: dicts, data frames of any library, and arrays.

What the columns are is inferred as from a CSV file of these rows, by the same code. Two things are known for certain,
and stay: numbers are not written and read again, and a column of a categorical type is a category, whatever its levels
look like.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from reprlib import repr as short
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pocketkernel._frames import as_narwhals, numbers_of
from pocketkernel.stream import schema
from pocketkernel.stream.arrow import text_of
from pocketkernel.stream.dates import ISO
from pocketkernel.stream.delimited import NUMBERS, read_numbers
from pocketkernel.stream.dicts import RARE
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.errors import StreamError, advice_on_text, shown
from pocketkernel.stream.feature import Feature
from pocketkernel.stream.files import CHUNK
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.infer import FEWEST_ROWS, Sample
from pocketkernel.stream.jsonl import flattened
from pocketkernel.stream.schema import Inferred
from pocketkernel.stream.table import INFERRED, Table, side_by_side
from pocketkernel.stream.values import Floats, Texts

NAME = "the rows"
"""What they are called in messages."""

Values = Floats | list[Any]
_TEXT = {str, type(None)}
_NESTED = (list, tuple, dict, np.ndarray)
_NUMBER = {int, float, type(None)}


@dataclass
class Memory:
    """Rows in memory, column by column.

    Attributes
    ----------
    count : int
        How many rows.
    columns : dict
        Values by name: an array of numbers (NaN is missing), or a list of values of Python (None is missing).
    integers : set of str
        Columns of numbers that are whole by their type, and so are written without a point.
    categories : set of str
        Columns of a categorical type.
    named : bool
        Whether the columns have names of their own; those of arrays are called x0, x1 ...
    rare : set of str
        Keys of dicts that few of the first rows have.
    """

    count: int
    columns: dict[str, Values]
    integers: set[str] = field(default_factory=set)
    categories: set[str] = field(default_factory=set)
    named: bool = True
    rare: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return self.count

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.columns)

    def without(self, name: str) -> "Memory":
        """The same without a column."""
        kept = {one: values for one, values in self.columns.items() if one != name}
        return Memory(self.count, kept, self.integers, self.categories, self.named, self.rare)

    def plan(self, **options: Any) -> tuple[Encoding, Inferred]:
        """Decide what becomes of each column, as `pocketkernel run` does; options as in `open_stream`."""
        options["categorical"] = [*options["categorical"], *(name for name in self.columns if name in self.categories)]
        if not self.named:  # an array of numbers has no ids, constants or dates: it is what somebody has made of them
            numeric = [name for name, values in self.columns.items() if isinstance(values, np.ndarray)]
            options["numeric"] = [*options["numeric"], *numeric]
        with no_search():
            return schema.plan(self.sample(), **options)

    # ---- what is looked at ------------------------------------------------------------------------------------------

    def sample(self) -> Sample:
        """The first rows, as text and, where they are, as numbers: as many as of a CSV file of these rows."""
        names = [name for name in self.columns if name not in self.rare]
        most = min(self.count, INFERRED, max(1, NUMBERS // max(1, len(names))))
        texts: dict[str, Texts] = {name: self._written(name, most) for name in names}
        rows = self._in_a_chunk(texts, most)
        texts = {name: column[:rows] for name, column in texts.items()}
        numbers = {}
        for name, column in texts.items():
            values = self.columns[name]
            if isinstance(values, np.ndarray):
                numbers[name] = values[:rows]
            elif name not in self.categories:
                found, wrong = read_numbers(column)
                if wrong is None:
                    numbers[name] = found
        lists = frozenset(name for name in names if _has_lists(self.columns[name]))
        return Sample(rows, FEWEST_ROWS <= rows == self.count, texts, numbers, lists)

    def _written(self, name: str, rows: int) -> list[str | None]:
        """The text of a column in a CSV file."""
        values = self.columns[name]
        if not isinstance(values, np.ndarray):
            return _texts(values[:rows])
        given = values[:rows].tolist()
        if name in self.integers:
            return [None if value != value else str(int(value)) for value in given]  # noqa: PLR0124  (NaN)
        return [None if value != value else repr(value) for value in given]  # noqa: PLR0124

    @staticmethod
    def _in_a_chunk(texts: Mapping[str, Texts], rows: int) -> int:
        """How many of these rows are in the first piece of a CSV file, which is what is looked at of one."""
        ends = np.full(rows, len(",".join(texts)) + 1)
        ends += np.cumsum(sum((_sizes(column) for column in texts.values()), start=np.zeros(rows, np.int64)))
        return max(1, int(np.count_nonzero(ends <= CHUNK))) if rows else 0

    # ---- what is encoded --------------------------------------------------------------------------------------------

    def table(self, features: Iterable[Feature]) -> Table:
        """The columns that these features need; one that is not there has no values. StreamError for what is wrong."""
        plain: dict[str, Floats] = {}
        texts: dict[str, list[str | None]] = {}
        for one in features:
            values = self.columns.get(one.name)
            if one.kind == "number":
                plain[one.name] = self._numbers(one.name, values)
            elif values is None:
                texts[one.name] = [None] * self.count
            else:
                texts[one.name] = self._texts_for(one, values)
        numbers = side_by_side(list(plain.values()), self.count)
        return Table(NAME, np.arange(1, self.count + 1), list(plain), numbers, texts, "row")

    def _numbers(self, name: str, values: Values | None) -> Floats:
        if values is None:
            return np.full(self.count, np.nan)
        if isinstance(values, np.ndarray):
            return values
        texts = _texts([int(value) if isinstance(value, bool) else value for value in values])
        numbers, wrong = read_numbers(texts)
        if wrong is not None:
            raise self._error(name, wrong, "a number", texts[wrong])
        return numbers

    def _texts_for(self, feature: Feature, values: Values) -> list[str | None]:
        """The text of a column as it would be in the file that the encoding was made for."""
        if isinstance(values, np.ndarray):
            values = [None if value != value else value for value in values.tolist()]  # noqa: PLR0124  (NaN)
        if not _TEXT.issuperset(map(type, values)):
            if _has_lists(values):
                row = next(k for k, value in enumerate(values) if isinstance(value, list | dict | tuple))
                raise self._error(feature.name, row, "text, not a list or an object", str(values[row]))
            values = [value if value is None else _as_in_file(value, feature) for value in values]
        return _texts(values)

    def _error(self, name: str, row: int, expected: str, found: str | None) -> StreamError:
        return StreamError(
            expected, shown(found or ""), file=NAME, line=row + 1, field=name, unit="row",
            advice=advice_on_text(name, None) if expected == "a number" else "",
        )  # fmt: skip


# ---- out of what is given -------------------------------------------------------------------------------------------


def in_memory(given: Any) -> Memory:
    """Rows of a dict (one row), of a list of dicts, of a data frame or of an array, column by column."""
    if isinstance(given, Mapping):
        return _of_dicts([given])
    if isinstance(given, list | tuple) and any(isinstance(row, Mapping) for row in given):
        for row, one in enumerate(given):
            if not isinstance(one, Mapping):
                raise ValueError(f"row {row + 1} of the rows is {short(one)}, others are dicts: give only dicts.")
        return _of_dicts(given)
    frame = as_narwhals("X", given) if not isinstance(given, list | tuple | np.ndarray) else None
    if isinstance(frame, nw.DataFrame):
        return _of_frame(frame)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return _of_array(given)
    raise ValueError(
        f"rows of type {type(given).__name__}, {short(given)}, are not a table: give dicts, a data frame, an array of "
        "shape (rows, columns), or a file."
    )


def _of_dicts(rows: Sequence[Mapping[Any, Any]]) -> Memory:
    plain = [{str(name): value for name, value in row.items()} for row in rows]
    names = dict.fromkeys(chain.from_iterable(plain))
    made = _made(len(rows), {name: [row.get(name) for row in plain] for name in names})
    first = plain[:INFERRED]
    counts, least = Counter(chain.from_iterable(map(flattened, first))), RARE * len(first)
    made.rare = {name for name in made.columns if counts[name] <= least}
    return made


def _of_frame(frame: Any) -> Memory:
    columns: dict[str, Values] = {}
    integers, categories = set(), set()
    for name, column in zip(map(str, frame.columns), frame.iter_columns(), strict=True):
        kind = column.dtype
        found = None if kind == nw.Boolean else numbers_of(column)
        if name in columns:
            raise ValueError(f"X has two columns that are called {name!r} as text: rename one of them.")
        if found is None:
            columns[name] = column.to_list()
        else:
            columns[name] = np.array(np.broadcast_to(found, len(column)), np.float64)
        if kind.is_integer():
            integers.add(name)
        if kind in (nw.Categorical, nw.Enum):
            categories.add(name)
    return _made(len(frame), columns, integers, categories)


def _of_array(given: Any) -> Memory:
    names = [f"x{place}" for place in range(given.shape[1])]
    if given.dtype.kind not in "biuf":
        return _made(len(given), {name: list(column) for name, column in zip(names, given.T, strict=True)}, named=False)
    numbers = dict(zip(names, given.astype(np.float64).T, strict=True))
    return Memory(len(given), numbers, set(names) if given.dtype.kind != "f" else set(), named=False)


def _made(
    count: int,
    columns: Mapping[str, Values],
    integers: Iterable[str] = (),
    categories: Iterable[str] = (),
    *,
    named: bool = True,
) -> Memory:
    """Columns of numbers and of values of any kind: lists of nothing but numbers become arrays of them."""
    made = Memory(count, {}, set(integers), set(categories), named)
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            made.columns[name] = values
            continue
        for inner, given in _unnested(name, _plain_values(values)).items():
            kinds = set(map(type, given))
            if _NUMBER.issuperset(kinds) and kinds != {type(None)} and inner not in made.categories:
                made.columns[inner] = np.array([np.nan if value is None else _float(value) for value in given])
                if float not in kinds:
                    made.integers.add(inner)
            else:
                made.columns[inner] = given
    return made


def _unnested(name: str, values: list[Any]) -> dict[str, list[Any]]:
    """The values by name; those of dicts each by its own, as `user.age`."""
    if dict not in map(type, values):
        return {name: values}
    rows = [flattened({name: value}) if isinstance(value, dict) else {name: value} for value in values]
    names = dict.fromkeys(key for row in rows for key, value in row.items() if value is not None)
    return {key: _plain_values([row.get(key) for row in rows]) for key in names}


# ---- single values --------------------------------------------------------------------------------------------------


def _plain_values(values: Iterable[Any]) -> list[Any]:
    """Values of Python for those of NumPy, pandas and others; None for what is missing."""
    given = list(values)
    return given if _TEXT.issuperset(map(type, given)) else [_plain(value) for value in given]


def _plain(value: Any) -> Any:
    if type(value) in (str, int, bool):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{'datetime64' if isinstance(value, np.datetime64) else 'timedelta64'}[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items()}
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | Fraction):
        value = float(value)
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124  (NaN)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond 1e308: as large as infinity, which is refused later
        return float("inf")


def _has_lists(values: Values) -> bool:
    return not isinstance(values, np.ndarray) and any(isinstance(value, _NESTED) for value in values)


def _texts(values: Sequence[Any]) -> list[str | None]:
    """Values as text, as the fields of a CSV file are read: without blanks around them, empty ones missing."""
    if not _TEXT.issuperset(map(type, values)):
        values = [value if value is None or type(value) is str else _text(value) for value in values]
    return [_stripped(text) if text else None for text in values]


def _stripped(text: str) -> str | None:
    if text[0] > " " and text[-1] > " ":
        return text
    return (text if _is_quoted(text) else text.strip(" \t")) or None


def _is_quoted(text: str) -> bool:
    """Whether a CSV file has this text in quotes."""
    return any(sign in text for sign in ',"\n\r')


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return text_of(value)
    return repr(value) if isinstance(value, float) else str(value)


def _as_in_file(value: Any, feature: Feature) -> Any:
    """A value as the text that this column has of it elsewhere, if that is not how Python writes it."""
    kind = feature.kind
    if kind == "category":
        if isinstance(value, bool):
            return str(value).lower() if str(value).lower() in feature.categories else str(value)
        is_whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if is_whole else value  # pandas has no missing value among whole numbers
    if kind == "boolean" and value in (0, 1):
        return "true" if value else "false"
    if kind == "decimal" and isinstance(value, float | int):
        return repr(value).replace(".", feature.style[0])
    if kind == "date" and isinstance(value, date) and feature.style != ISO:
        return value.strftime(feature.style)
    return value


def _sizes(texts: Texts) -> Any:
    """Bytes of the fields of a column in a CSV file, each with the sign behind it."""
    given = ["" if text is None else text for text in texts]
    sizes = [1 + (len(text) if text.isascii() else len(text.encode(errors="replace"))) for text in given]
    quoted = [2 + text.count('"') if _is_quoted(text) else 0 for text in given]
    return np.array(sizes, np.int64) + np.array(quoted, np.int64)
