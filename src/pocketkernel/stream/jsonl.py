"""JSON lines: an object on every line, whose keys are the columns; or one array of such objects.

Keys may be in any order; an absent key is a missing value. Keys of an object within an object become `user.age`. The
columns are the keys that more than half of the first 1,000 rows have. Any other key is an error, unless the columns are
given or inferred: then other keys are ignored.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from pocketkernel.stream.errors import Skipped, StreamError, advice_on_text, shown
from pocketkernel.stream.files import LONGEST_LINE, Opened, Text
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.infer import Sample
from pocketkernel.stream.table import INFERRED, SAMPLE, Floats, Schema, Table, side_by_side
from pocketkernel.stream.values import POINT, Texts, to_numbers

ROWS = 4096
VALUES = 1 << 22  # most that are looked at, but for a few rows
FEWEST_ROWS = 8
Row = tuple[int, dict[str, Any] | StreamError]
TYPES = {"n": {int, float, bool, type(None)}, "t": {str, int, float, bool, type(None)}}  # by kind of column
_WRITTEN = {str, type(None)}
DEEPEST = 200  # lists and objects within each other
_SHALLOW = f"JSON with at most {DEEPEST} brackets within brackets"


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


_decoder = json.JSONDecoder(parse_constant=_no_constant)
_decode = _decoder.decode


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
        infer: bool = False,  # whether to look at the first rows for what the columns are
    ) -> None:
        self.name = opened.name
        self.all_keys = columns is None and not infer  # of given columns, other keys are left out
        self.rows = self._objects(Text(opened))
        self._least = 1 if opened.path is None else FEWEST_ROWS  # of a table: rows of a pipe are not waited for
        self.first: list[Row] = []
        self.ended = False
        wanted = INFERRED if infer and sample > 1 else sample
        rows: list[dict[str, Any]] = []
        faulty = INFERRED if skipped.on_error == "skip" else 1  # lines that are tried for a first row
        while not self.ended and (len(self.first) < wanted or (not rows and len(self.first) < faulty)):
            before = len(self.first)
            self._more(self.first, before + 1)
            rows += [row for _, row in self.first[before:] if isinstance(row, dict)]
            wanted = min(wanted, max(FEWEST_ROWS, VALUES // max(1, len(rows[-1]) if rows else 1)))
        if not rows and self.first and (infer or skipped.on_error == "raise"):
            raise next(row for _, row in self.first if isinstance(row, StreamError))
        if infer and columns is None and self.ended and len(rows) == 1 and _holds_rows(rows[0]):
            raise StreamError(
                "an object for each row",
                "one object with all rows in it: write JSON lines, as DataFrame.to_json(orient='records', lines=True)",
                file=self.name,
            )
        counts, known = Counter(chain.from_iterable(rows)), set(known)
        if not self.first and not known and columns is None:
            raise StreamError("at least one object, {...}", "an empty file", file=self.name)
        least = len(rows) / 100 if infer else len(rows) / 2
        keys = [key for key, count in counts.items() if count > least or key in known]
        names = [name for name in columns or keys if name != optional or name in counts]
        self._values = _columns(rows, names)  # of the first rows
        self.schema = Schema(names, [TYPES["n"].issuperset(map(type, self._values[name])) for name in names])

    @no_search()
    def sample(self) -> Sample:
        """The first rows, as text and, where they are, as numbers."""
        rows = sum(isinstance(row, dict) for _, row in self.first)
        columns, self._values = self._values, {}
        lists = frozenset(name for name, values in columns.items() if list in map(type, values))
        texts: dict[str, Texts] = {name: _texts(values) for name, values in columns.items()}
        numeric = [name for name, is_it in zip(*self.schema, strict=True) if is_it]
        return Sample(rows, self.ended, texts, {name: _numbers(columns[name]) for name in numeric}, lists)

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
            values = _columns([row for _, row in rows], every)
            if not all(TYPES[kind].issuperset(map(type, values[name])) for name, kind in wanted):
                rows = _unquoted(rows, {name: values[name] for name, kind in wanted if kind == "n"})
                rows = _sound(rows, faults, lambda line, row: self._wrong_type(line, row, wanted, label))
                values = _columns([row for _, row in rows], every)
            names = [name for name, kind in wanted if kind == "n"]
            numbers = side_by_side([_numbers(values[name]) for name in names], len(rows))
            texts = {name: _texts(values[name]) for name, kind in wanted if kind == "t"}
            lines = np.array([line for line, _ in rows], np.int64)
            yield Table(self.name, lines, names, numbers, texts, faults=faults)
            pending = []

    def _objects(self, text: Text) -> Iterator[Row | None]:
        """Rows, or what is wrong with them: that is reported later, in order of lines. None: others must be awaited."""
        if text.buffer[text.at :].lstrip()[:1] == b"[":
            yield from self._array(text)
            return
        for batch in text.batches():
            for number, line in batch:
                if line.strip():
                    yield number, self._object(number, line)
            yield None

    def _object(self, number: int, line: bytes) -> dict[str, Any] | StreamError:
        try:
            row = _decode(line.decode("utf-8"))
        except json.JSONDecodeError as error:
            found = shown(line[error.pos :]) if error.pos < len(line.rstrip()) else "the end of the line"
            return self._error(f"JSON ({error.msg.lower()})", found, number, column=error.colno)
        except UnicodeDecodeError as error:
            return self._error(
                "JSON in UTF-8", shown(line[error.start : error.start + 20]), number, column=error.start + 1
            )
        except ValueError as error:  # a constant such as NaN
            return self._error("JSON", str(error), number)
        except RecursionError:
            return self._error(_SHALLOW, shown(line), number)
        return self._checked(number, row, line)

    def _checked(self, number: int, row: Any, line: bytes) -> dict[str, Any] | StreamError:
        if not isinstance(row, dict):
            return self._error("an object, {...}", shown(line), number)
        if line.count(b"[") + line.count(b"{") > DEEPEST and _is_deep(row):
            return self._error(_SHALLOW, shown(line), number)
        if b"\\u" in line and (half := _half_character(row)):
            return self._error("text of whole characters", f"{half!r}, half a pair", number)
        return flattened(row)

    def _array(self, text: Text) -> Iterator[Row | None]:
        """Objects of one array, in constant memory; what is wrong with its syntax ends it."""
        text.fill()
        buffer, line = text.take(), 1
        at, counted = buffer.index("[") + 1, 0
        while True:
            at = _skip(buffer, at, " \t\r\n,")
            line, counted = line + buffer.count("\n", counted, at), at
            if at < len(buffer) and buffer[at] == "]":
                yield from self._after(text, buffer[at + 1 :], line)
                return
            try:
                row, end = _decoder.raw_decode(buffer, at)
                whole = end < len(buffer) or text.final
            except (ValueError, RecursionError) as error:
                whole, end, row = False, at, error
            if not whole and not text.final and len(buffer) - at <= LONGEST_LINE:
                yield None
                text.more()
                buffer, at, counted = buffer[at:] + text.take(), 0, 0
                continue
            if isinstance(row, RecursionError):
                yield line, self._error(_SHALLOW, shown(buffer[at : at + 40]), line)
                return
            if end == at:
                yield line, self._error(f"JSON ({row})", shown(buffer[at : at + 40]) or "the end", line)
                return
            yield line, self._checked(line, row, buffer[at:end].encode("utf-8", "surrogatepass"))
            at = end

    def _after(self, text: Text, rest: str, line: int) -> Iterator[Row | None]:
        """Nothing may follow an array: a second one would be rows that are never learned."""
        while not rest.strip() and not text.final:
            yield None
            line += rest.count("\n")
            text.more()
            rest = text.take()
        if rest.strip():
            line += rest[: len(rest) - len(rest.lstrip())].count("\n")
            yield line, self._error("the end of the file after ]", shown(rest.strip()[:40]), line)

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


def _holds_rows(row: dict[str, Any]) -> bool:
    """Whether an object is a whole table: a list of objects, or the values of each column by number of row."""
    lists = any(isinstance(value, list) and value and isinstance(value[0], dict | list) for value in row.values())
    return lists or sum(key.rpartition(".")[2].isdecimal() for key in row) > len(row) / 2


def _is_deep(row: dict[str, Any]) -> bool:
    """Whether lists and objects are nested more deeply than is read; found without recursion."""
    level: list[Any] = [row]
    for _ in range(DEEPEST):
        inner = chain.from_iterable(one.values() if isinstance(one, dict) else one for one in level)
        level = [one for one in inner if isinstance(one, dict | list)]
    return bool(level)


def _half_character(row: dict[str, Any]) -> str:
    """A surrogate without its partner, which no file of text can hold; "" if there is none."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return str(error.object[error.start])
    return ""


def flattened(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    """The same with keys of objects within it as `user.age`."""
    if not before and dict not in map(type, row.values()):
        return row
    flat: dict[str, Any] = {}
    for key, value in row.items():
        flat |= flattened(value, f"{before}{key}.") if isinstance(value, dict) else {before + key: value}
    return flat


def _columns(rows: list[dict[str, Any]], names: list[str]) -> dict[str, Sequence[Any]]:
    """The values of each name. Rows with the same keys in the same order, as usual, are turned all at once."""
    keys = list(rows[0]) if rows else []
    if not all(list(row) == keys for row in rows):
        return {name: [row.get(name) for row in rows] for name in names}
    columns = dict(zip(keys, zip(*(row.values() for row in rows), strict=True), strict=True))
    absent = (None,) * len(rows)
    return {name: columns.get(name, absent) for name in names}


def _skip(text: str, at: int, signs: str) -> int:
    while at < len(text) and text[at] in signs:
        at += 1
    return at


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
