"""JSON lines: an object on every line, whose keys are the columns.

Keys may be in any order; an absent key is a missing value. The columns are the keys that more than half of the first
1,000 rows have. Any other key is an error, unless the columns are given: then other keys are ignored.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from pocketkernel.stream.errors import Skipped, StreamError, advice_on_text, shown
from pocketkernel.stream.files import Opened, Text
from pocketkernel.stream.table import SAMPLE, Floats, Schema, Table, side_by_side

ROWS = 4096
Row = tuple[int, dict[str, Any] | StreamError]
TYPES = {"n": {int, float, bool, type(None)}, "t": {str, int, float, bool, type(None)}}  # by kind of column


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode


class JsonLines:
    """The rows of one file."""

    def __init__(
        self,
        opened: Opened,
        skipped: Skipped,
        columns: list[str] | None,  # the keys to read
        *,
        optional: str | None = None,  # a column that may be absent from all rows
        known: Iterable[str] = (),  # without `columns`, keys that earlier files have
        sample: int = SAMPLE,  # lines that decide the keys, and which of them are numbers
    ) -> None:
        self.name = opened.name
        self.all_keys = columns is None  # of given columns, other keys are left out
        self.rows = self._objects(Text(opened))
        self.first = list(islice(self.rows, sample))
        rows = [row for _, row in self.first if isinstance(row, dict)]
        if not rows and self.first and skipped.on_error == "raise":
            raise next(row for _, row in self.first if isinstance(row, StreamError))
        counts, known = Counter(key for row in rows for key in row), set(known)
        keys = [key for key, count in counts.items() if 2 * count > len(rows) or key in known]
        names = [name for name in columns or keys if name != optional or name in counts]
        self.schema = Schema(names, [all(type(row.get(name)) in TYPES["n"] for row in rows) for name in names])

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` has for each name whether it is a number (n), text (t) or skipped (-).

        `label` names the column of the labels, for advice.
        """
        wanted = [(name, kind) for name, kind in kinds.items() if kind != "-"]
        pending, self.first = self.first, []
        while pending:
            faults = [row for _, row in pending if isinstance(row, StreamError)]
            rows = [(line, row) for line, row in pending if isinstance(row, dict)]
            if self.all_keys:
                rows = _sound(rows, faults, lambda line, row: self._new_key(line, row, kinds))
            values = {name: [row.get(name) for _, row in rows] for name, _ in wanted}
            if not all(set(map(type, values[name])) <= TYPES[kind] for name, kind in wanted):
                rows = _sound(rows, faults, lambda line, row: self._wrong_type(line, row, wanted, label))
                values = {name: [row.get(name) for _, row in rows] for name, _ in wanted}
            names = [name for name, kind in wanted if kind == "n"]
            numbers = side_by_side([_numbers(values[name]) for name in names], len(rows))
            texts = {name: [_text(value) for value in values[name]] for name, kind in wanted if kind == "t"}
            lines = np.array([line for line, _ in rows], np.int64)
            yield Table(self.name, lines, names, numbers, texts, faults=faults)
            pending = list(islice(self.rows, ROWS))

    def _objects(self, text: Text) -> Iterator[Row]:
        """Rows, or what is wrong with them: that is reported later, in order of lines."""
        for number, line in text.lines():
            if not line.strip():
                continue
            try:
                row = _decode(line.decode("utf-8"))
            except json.JSONDecodeError as error:
                found = shown(line[error.pos :]) if error.pos < len(line.rstrip()) else "the end of the line"
                yield number, self._error(f"JSON ({error.msg.lower()})", found, number, column=error.colno)
            except (ValueError, RecursionError) as error:  # UTF-8, or a constant such as NaN
                yield number, self._error("JSON", str(error), number)
            else:
                if not isinstance(row, dict):
                    yield number, self._error("an object, {...}", shown(line), number)
                elif b"\\u" in line and (half := _half_character(row)):
                    yield number, self._error("text of whole characters", f"{half!r}, half a pair", number)
                else:
                    yield number, row

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
                expected = "a number" if kind == "n" else "text, not a list or an object"
                error = self._error(expected, shown(json.dumps(value)), line, field=name)
                if isinstance(value, str):
                    error.advice = advice_on_text(name, label)
                return error
        return None

    def _error(
        self, expected: str, found: str, line: int, *, column: int | None = None, field: str = ""
    ) -> StreamError:
        return StreamError(expected, found, file=self.name, line=line, column=column, field=field)


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


def _half_character(row: dict[str, Any]) -> str:
    """A surrogate without its partner, which no file of text can hold; "" if there is none."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return str(error.object[error.start])
    return ""


def _numbers(values: list[Any]) -> Floats:
    try:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    except OverflowError:  # a whole number beyond 1e308: as large as infinity, which is refused later
        return np.array([np.nan if v is None else v if abs(v) < 1e308 else np.inf for v in values], np.float64)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
