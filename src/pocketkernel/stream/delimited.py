"""CSV, TSV and similar formats: one record per line, fields with or without quotes, with or without a header.

The records are parsed in the binding (text.cpp), which reports line and column of errors.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.stream.errors import Skipped, StreamError, advice_on_text, shown
from pocketkernel.stream.files import Opened, Text
from pocketkernel.stream.table import SAMPLE, Schema, Table, Texts

ROWS = 4096
NUMBERS = 1 << 19  # most numbers that are read in one go, but for a few rows
FEWEST_ROWS = 8


class Delimited:
    """The rows of one file."""

    def __init__(
        self,
        opened: Opened,
        skipped: Skipped,
        *,
        delimiter: str,
        header: bool | None,  # whether the first record has the names; None: if none of its fields is a number
        columns: list[str] | None,  # the names, without a header; with one, the same names in any order
        sample: int = SAMPLE,  # rows that decide which columns are numbers
    ) -> None:
        if len(delimiter.encode()) != 1 or delimiter in '"\n\r':
            raise ValueError(f"delimiter={delimiter!r} is not supported: use one ASCII character, such as ',' or ';'.")
        self.text, self.skipped, self.delimiter = Text(opened), skipped, delimiter
        self.text.fill()
        first = self._first_record()
        if header is None:
            header = columns is None and not _has_number(first)
        if header and self._first_faults:
            raise next(iter(self._first_faults.values()))
        if header:
            names = [field or f"column{n}" for n, field in enumerate(first, 1)]
            if columns is not None and sorted(columns) != sorted(names):
                raise self._refused(f"the columns {', '.join(columns)}", ", ".join(names))
            if len(set(names)) != len(names):
                twice = next(name for name, count in Counter(names).items() if count > 1)
                raise self._refused("a different name for each column", f"{twice!r} twice")
            self.text.advance(self._after_first, self._first_lines)
        else:
            names = columns or [f"column{n}" for n in range(1, len(first) + 1)]
            if first and len(names) != len(first):
                raise self._refused(f"{len(names)} fields, one for each of columns=", f"{len(first)}")
        if len(names) == 1 and (other := next((c for c in ";\t|," if c != delimiter and c in names[0]), "")):
            raise self._refused(f"fields divided by {delimiter!r}", f"{other!r}: give delimiter={other!r}")
        self.schema = Schema(names, self._numeric(len(names), sample))

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` has for each name whether it is a number (n), text (t) or skipped (-).

        `label` names the column of the labels, for advice.
        """
        names = self.schema.names
        letters = "".join(kinds.get(name, "-") for name in names)
        numbers = [name for name, kind in zip(names, letters, strict=True) if kind == "n"]
        texts = [name for name, kind in zip(names, letters, strict=True) if kind == "t"]
        page = _Page(letters, max(FEWEST_ROWS, min(ROWS, NUMBERS // max(1, len(names)))))
        text = self.text
        while True:
            done = page.read(text, self.delimiter)
            if done.rows:
                faults: dict[int, StreamError] = {}
                columns = {name: self._texts(page.spans[: done.rows, k], faults) for k, name in enumerate(texts)}
                lines = page.lines[: done.rows] + text.line
                table = Table(text.name, lines, numbers, page.numbers[: done.rows], columns)
                yield table.without(faults) if faults else table
            text.advance(done.end, done.lines)
            if done.fault:
                error = self._error(done, label)
                if done.fault == "unclosed":  # where the next row begins cannot be told
                    raise error
                self.skipped.report(error)
                text.advance(done.next, done.next_lines - done.lines)
            elif done.rows < len(page.lines):
                if text.final:
                    return
                text.more()

    def _texts(self, spans: npt.NDArray[np.int64], faults: dict[int, StreamError]) -> Texts:
        """Text of the fields; none is None. The first fault of each row goes to `faults`."""
        buffer = self.text.buffer
        texts: Texts = []
        for row, (begin, end) in enumerate(spans.tolist()):
            raw = buffer[begin : abs(end)]
            try:
                text = raw.decode()
            except UnicodeDecodeError:
                text = ""
                if row not in faults:
                    faults[row] = self.text.error("text in UTF-8", raw, begin)
            texts.append((text.replace('""', '"') if end < 0 else text) or None)
        return texts

    def _first_record(self) -> list[str]:
        """Fields of the first record, which stays to be read."""
        text = self.text
        page = _Page("t", 1)
        done = page.read(text, self.delimiter)
        while not done.rows and not done.fault and not text.final:
            text.more()
            done = page.read(text, self.delimiter)
        if done.fault == "fields":
            page = _Page("t" * done.detail, 1)
            done = page.read(text, self.delimiter)
        if done.fault:
            text.advance(done.end, done.lines)
            raise self._error(done)
        if not done.rows:
            raise StreamError("at least one line", "an empty file", file=text.name)
        self._after_first, self._first_lines = done.end, done.lines
        self._first_faults: dict[int, StreamError] = {}
        return [field or "" for field in self._texts(page.spans[0], self._first_faults)]

    def _numeric(self, count: int, sample: int) -> list[bool]:
        """Whether the first rows have numbers in each column: try, and take off a column that does not."""
        letters = ["n"] * count
        text = self.text
        left, start = min(sample, max(1, NUMBERS // count)), text.at
        while left:
            done = _Page("".join(letters), left).read(text, self.delimiter, start)
            left, start = left - done.rows, done.end
            if done.fault == "number":
                self._take_off_text(letters, start)
            elif done.fault:
                start = done.next
            else:
                break
        return [letter == "n" for letter in letters]

    def _take_off_text(self, letters: list[str], start: int) -> None:
        """Mark all columns that have no number in the record at `start`: together, as reading it for each is slow."""
        page = _Page("".join("t" if letter == "n" else "-" for letter in letters), 1)
        page.read(self.text, self.delimiter, start)
        asked = [place for place, letter in enumerate(letters) if letter == "n"]
        one = _Page("n", 1)
        for place, (begin, end) in zip(asked, page.spans[0].tolist(), strict=True):
            if one.read_field(self.text.buffer[begin : abs(end)]).fault:
                letters[place] = "-"

    def _refused(self, expected: str, found: str) -> StreamError:
        return StreamError(expected, found, file=self.text.name, line=self.text.line)

    def _error(self, done: _core.Parsed, label: str | None = None) -> StreamError:
        text = self.text
        if done.fault == "fields":
            count = len(self.schema.names)
            return text.error(f"{count} fields", f"{done.detail}", done.at)
        if done.fault == "unclosed":
            return text.error("a quote that is closed", "the end of the file", done.at)
        raw = text.buffer[done.at : done.next]
        if done.fault == "quote":
            return text.error(f"{self.delimiter!r} or the end of the line after a quote", raw[:20].rstrip(), done.at)
        name = self.schema.names[done.detail]
        word = raw.split(b'"' if text.buffer[done.at - 1 : done.at] == b'"' else self.delimiter.encode(), 1)[0]
        error = text.error("a finite number", shown(word.strip()), done.at, name)
        if not _looks_like_a_number(word):
            error.advice = advice_on_text(name, label)
        return error


class _Page:
    """Room for the rows that are read in one go."""

    def __init__(self, letters: str, rows: int) -> None:
        self.letters = letters
        self.numbers = np.empty((rows, letters.count("n")))
        self.spans = np.empty((rows, letters.count("t"), 2), np.int64)
        self.lines = np.empty(rows, np.int64)

    def read(self, text: Text, delimiter: str, start: int | None = None) -> _core.Parsed:
        start = text.at if start is None else start
        return _core.parse_delimited(
            text.buffer, start, text.final, delimiter, self.letters, self.numbers, self.spans, self.lines
        )

    def read_field(self, raw: bytes) -> _core.Parsed:
        """Read a field by itself, as it is between its quotes."""
        return _core.parse_delimited(
            b'"' + raw + b'"', 0, True, ",", self.letters, self.numbers, self.spans, self.lines
        )


def _looks_like_a_number(word: bytes) -> bool:
    """Whether it is one that cannot be used, such as infinity."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _has_number(fields: list[str]) -> bool:
    """Whether any of the fields is a number; none is one if it is missing."""
    page = _Page("n", 1)
    for field in fields:
        if not page.read_field(field.replace('"', '""').encode()).fault and not np.isnan(page.numbers[0, 0]):
            return True
    return False
