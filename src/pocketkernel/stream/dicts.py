"""Rows whose values have names: the part of their readers that does not depend on the format.

The columns are the names that more than half of the first 1,000 rows have. Any other name is an error, unless the
columns are given or inferred: then other names are ignored.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from pocketkernel.stream.errors import Skipped, StreamError, advice_on_text, expected_number, shown
from pocketkernel.stream.files import Opened, Text
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.infer import Sample
from pocketkernel.stream.table import INFERRED, SAMPLE, Floats, Schema, Table, side_by_side
from pocketkernel.stream.values import POINT, Texts, to_numbers

ROWS = 4096
VALUES = 1 << 22  # most that are looked at, but for a few rows
FEWEST_ROWS = 8
RARE = 0.01  # the same share if columns are inferred
Row = tuple[int, dict[str, Any] | StreamError]
TYPES = {"n": {int, float, bool, type(None)}, "t": {str, int, float, bool, type(None)}}  # by kind of column
_WRITTEN = {str, type(None)}


class DictRows:
    """The rows of one file; a subclass knows its format."""

    one = "row"  # what a row is called
    common = 0.5  # share of the first rows that have a name which is a column, if nothing is inferred

    def _objects(self, text: Text) -> Iterator[Row | None]:
        """Rows, or what is wrong with them: that is reported later, in order of lines. None: others must be awaited."""
        raise NotImplementedError

    def _names(self, keys: list[str]) -> list[str]:
        """Which keys of the first rows are columns."""
        return keys

    def _default(self, name: str) -> Any:
        """What an absent key stands for; None is a missing value."""
        return None

    def _levels(self) -> dict[str, list[str]]:
        """All levels of the columns of which the file tells them."""
        return {}

    def __init__(
        self,
        opened: Opened,
        skipped: Skipped,
        columns: list[str] | None,  # the keys to read
        *,
        optional: str | None = None,  # a column that may be absent from all rows
        known: Iterable[str] = (),  # without `columns`, keys that earlier files have
        sample: int = SAMPLE,  # lines that decide the keys, and which of them are numbers
        infer: bool = False,  # whether to look at the first rows for what the columns are
    ) -> None:
        self.name = opened.name
        self.remarks: list[str] = []  # on the first rows
        self.all_keys = columns is None and not infer  # of given columns, other keys are left out
        self.rows = self._objects(Text(opened))
        self._least = 1 if opened.path is None else FEWEST_ROWS  # of a table: rows of a pipe are not waited for
        self.first: list[Row] = []
        self.ended = False
        wanted = INFERRED if infer and sample > 1 else sample
        rows: list[dict[str, Any]] = []
        faulty = INFERRED if skipped.on_error != "raise" else 1  # lines that are tried for a first row
        while not self.ended and (len(self.first) < wanted or (not rows and len(self.first) < faulty)):
            before = len(self.first)
            self._more(self.first, before + 1)
            rows += [row for _, row in self.first[before:] if isinstance(row, dict)]
            wanted = min(wanted, max(FEWEST_ROWS, VALUES // max(1, len(rows[-1]) if rows else 1)))
        if not rows and self.first and (infer or skipped.on_error == "raise"):
            raise next(row for _, row in self.first if isinstance(row, StreamError))
        if infer and columns is None and self.ended and len(rows) == 1:
            self._check_only(rows[0])
        counts, known = Counter(chain.from_iterable(rows)), set(known)
        if not self.first and not known and columns is None:
            raise StreamError(f"at least one {self.one}", "an empty file", file=self.name)
        least = len(rows) * (RARE if infer else self.common)
        keys = self._names([key for key, count in counts.items() if count > least or key in known])
        names = [name for name in columns or keys if name != optional or name in counts]
        self._values = self._columns(rows, names)  # of the first rows
        self.schema = Schema(names, [TYPES["n"].issuperset(map(type, self._values[name])) for name in names])

    @no_search()
    def sample(self) -> Sample:
        """The first rows, as text and, where they are, as numbers."""
        rows = sum(isinstance(row, dict) for _, row in self.first)
        columns, self._values = self._values, {}
        lists = frozenset(name for name, values in columns.items() if list in map(type, values))
        texts: dict[str, Texts] = {name: _texts(values) for name, values in columns.items()}
        numeric = [name for name, is_it in zip(*self.schema, strict=True) if is_it]
        numbers = {name: _numbers(columns[name]) for name in numeric}
        return Sample(rows, self.ended, texts, numbers, lists, remarks=self.remarks, levels=self._levels())

    def _more(self, found: list[Row], most: int) -> None:
        """Take further rows, no more than `most` and as many as there are without waiting for others."""
        for row in self.rows:
            if row is None:
                if found:
                    return
            else:
                found.append(row)
                if len(found) >= most:
                    return
        self.ended = True

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` has for each name whether it is a number (n), text (t) or skipped (-).

        `label` names the column of the labels, for advice.
        """
        wanted = [(name, kind) for name, kind in kinds.items() if kind != "-"]
        pending, self.first = self.first, []
        while pending or not self.ended:
            if len(pending) < self._least and not self.ended:
                self._more(pending, ROWS)
                continue
            faults = [row for _, row in pending if isinstance(row, StreamError)]
            rows = [(line, row) for line, row in pending if isinstance(row, dict)]
            if self.all_keys:
                rows = _sound(rows, faults, lambda line, row: self._new_key(line, row, kinds))
            every = [name for name, _ in wanted]
            values = self._columns([row for _, row in rows], every)
            if not all(TYPES[kind].issuperset(map(type, values[name])) for name, kind in wanted):
                rows = _unquoted(rows, {name: values[name] for name, kind in wanted if kind == "n"})
                rows = _sound(rows, faults, lambda line, row: self._wrong_type(line, row, wanted, label))
                values = self._columns([row for _, row in rows], every)
            names = [name for name, kind in wanted if kind == "n"]
            numbers = side_by_side([_numbers(values[name]) for name in names], len(rows))
            texts = {name: _texts(values[name]) for name, kind in wanted if kind == "t"}
            lines = np.array([line for line, _ in rows], np.int64)
            yield Table(self.name, lines, names, numbers, texts, faults=faults)
            pending = []

    def _new_key(self, line: int, row: dict[str, Any], kinds: dict[str, str]) -> StreamError | None:
        if row.keys() <= kinds.keys():
            return None
        found = next(key for key in row if key not in kinds)
        return self._error("the keys of the first rows (or give columns=)", shown(found), line, field=found)

    def _wrong_type(
        self, line: int, row: dict[str, Any], wanted: list[tuple[str, str]], label: str | None
    ) -> StreamError | None:
        for name, kind in wanted:
            value = row.get(name)
            if type(value) not in TYPES[kind]:
                expected = expected_number(name, label, "a number") if kind == "n" else "text, not a list or an object"
                error = self._error(expected, shown(json.dumps(value)), line, field=name)
                error.texts = {key: _text(value) for key, value in row.items() if type(value) in TYPES["t"]}
                if isinstance(value, str):
                    error.advice = advice_on_text(name, label)
                return error
        return None

    def _error(
        self, expected: str, found: str, line: int, *, column: int | None = None, field: str = ""
    ) -> StreamError:
        return StreamError(expected, found, file=self.name, line=line, column=column, field=field)

    def _check_only(self, row: dict[str, Any]) -> None:
        """Refuse a file with one row that is none."""

    def _columns(self, rows: list[dict[str, Any]], names: list[str]) -> dict[str, Sequence[Any]]:
        """The values of each name. Rows with the same keys in the same order, as usual, are turned all at once."""
        keys = list(rows[0]) if rows else []
        if not all(list(row) == keys for row in rows):
            defaults = [self._default(name) for name in names]
            return {
                name: [row.get(name, default) for row in rows] for name, default in zip(names, defaults, strict=True)
            }
        columns = dict(zip(keys, zip(*(row.values() for row in rows), strict=True), strict=True))
        return {name: columns.get(name, (self._default(name),) * len(rows)) for name in names}


def _unquoted(
    rows: list[tuple[int, dict[str, Any]]], columns: dict[str, Sequence[Any]]
) -> list[tuple[int, dict[str, Any]]]:
    """The same with numbers in place of text that stands for them; other text in columns of numbers is left."""
    changed: dict[int, dict[str, Any]] = {}
    for name, values in columns.items():
        quoted = [row for row, value in enumerate(values) if type(value) is str]
        numbers, wrong = to_numbers([values[row] for row in quoted], POINT)
        for place in np.setdiff1d(np.arange(len(quoted)), wrong).tolist():
            number = float(numbers[place])
            changed.setdefault(quoted[place], {})[name] = number if isfinite(number) else None
    return [(line, row | changed.get(place, {})) for place, (line, row) in enumerate(rows)]


def _sound(
    rows: list[tuple[int, dict[str, Any]]],
    faults: list[StreamError],
    check: Callable[[int, dict[str, Any]], StreamError | None],
) -> list[tuple[int, dict[str, Any]]]:
    """Rows that pass the check; what is wrong with the others goes to `faults`."""
    sound = []
    for line, row in rows:
        if fault := check(line, row):
            faults.append(fault)
        else:
            sound.append((line, row))
    return sound


def _numbers(values: Sequence[Any]) -> Floats:
    try:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    except OverflowError:  # a whole number beyond 1e308: as large as infinity, which is refused later
        return np.array([np.nan if v is None else v if abs(v) < 1e308 else np.inf for v in values], np.float64)


def _texts(values: Sequence[Any]) -> list[str | None]:
    return list(values) if _WRITTEN.issuperset(map(type, values)) else [_text(value) for value in values]


def _text(value: Any) -> str | None:
    if type(value) is int or (type(value) is float and isfinite(value)):
        return repr(value)  # as `dumps` has it, which takes ten times as long
    return value if value is None or isinstance(value, str) else json.dumps(value)
