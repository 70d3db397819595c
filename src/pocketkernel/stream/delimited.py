"""CSV, TSV and similar formats: one record per line, fields with or without quotes, with or without a header.

The records are parsed in the binding (text.cpp), which reports line and column of errors.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.stream.errors import Skipped, StreamError, advice_on_text, expected_number, listed, shown
from pocketkernel.stream.files import CHUNK, LONGEST_LINE, Opened, Text
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.infer import Sample
from pocketkernel.stream.sniff import ALIGNED, LINES, Before, Dialect, dialect_of, is_header, lines_before, title_lines
from pocketkernel.stream.table import INFERRED, SAMPLE, Schema, Table
from pocketkernel.stream.values import COMMA, POINT, Texts, to_numbers

ROWS = 4096
NUMBERS = 1 << 19  # most numbers that are read in one go, but for a few rows
FEWEST_ROWS = 8
HEADER_COLUMNS = 1000  # that are looked at to tell whether the first record has names


class Delimited:
    """The rows of one file."""

    def __init__(
        self,
        opened: Opened,
        skipped: Skipped,
        *,
        delimiter: str | None,  # None: `usual`, unless the first lines speak for another
        header: bool | None,  # whether the first record has the names; None: if none of its fields is a number
        columns: list[str] | None,  # the names, without a header; with one, the same names in any order
        sample: int = SAMPLE,  # rows that decide which columns are numbers
        usual: str = ",",
        infer: bool = False,  # whether to be lenient, and to look at the first rows for what the columns are
        wanted: Sequence[str] = (),  # columns that the file should have: no further look is needed then
    ) -> None:
        if delimiter is not None and not is_delimiter(delimiter):
            raise ValueError(
                f"delimiter={delimiter!r} is not supported: use one ASCII character, such as ',' or ';', or two spaces."
            )
        self.text, self.skipped, self.lenient = Text(opened), skipped, infer
        if not wanted:
            self.text.fill()
        while not self.text.final and b"\n" not in self.text.buffer:
            self.text.more()
        self._check_text()
        before = self._skip_lines_before() if infer else Before()
        found = Dialect(usual)
        if infer:
            found = dialect_of(self.text.buffer[self.text.at : self.text.at + (1 << 16)], usual, wanted)
        delimiter = delimiter or before.delimiter or found.delimiter
        self.dialect = Dialect(delimiter, found.quote)
        self._may_have_names = header is not False and columns is None
        titles = self._skip_titles(wanted) if infer and self._may_have_names else range(0)
        first = self._first_record()
        above = self._names_above(before, first, wanted) if self._may_have_names else []
        if header is None:
            header = bool(above) or self._has_header(first, columns, wanted)
        self.header = header
        self.remarks = [*filter(None, [opened.remark]), *_remarks(before, bool(above), titles)]
        if header and self._first_faults:
            raise next(iter(self._first_faults.values()))
        if header:
            names = self._named(above or first)
            if columns is not None and sorted(columns) != sorted(names):
                raise self._refused(f"the columns {listed(columns)}", listed(names))
            if not above:
                self.text.advance(self._after_first, self._first_lines)
        else:
            names = columns or [f"column{n}" for n in range(1, len(first) + 1)]
            if first and len(names) != len(first):
                raise self._refused(f"{len(names)} fields, one for each of columns=", f"{len(first)}")
        if len(names) == 1 and (other := next((c for c in ";\t|," if c != delimiter and c in names[0]), "")):
            raise self._refused(f"fields divided by {delimiter!r}", f"{other!r}: give delimiter={other!r}")
        self.names, self._most = names, INFERRED
        self.schema = Schema(names, [] if wanted else self._numeric(len(names), sample))

    def _check_text(self) -> None:
        """Refuse what is not text in a code that is read."""
        start = self.text.buffer[: 1 << 12]
        found = ""
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            found = "compressed text in UTF-16: save the table as UTF-8"
        elif self.lenient and b"\0" in start:
            found = "binary data"
        elif self.lenient and start.lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith(
            (b"<!doctype", b"<html", b"<?xml")
        ):
            found = "a page in HTML or XML: save the table as CSV"
        elif self.lenient and b"\r" in start and b"\n" not in self.text.buffer:
            found = "lines that end in carriage returns alone: save the table with the line ends of Unix or Windows"
        if found:
            raise StreamError("a table as text", found, file=self.text.name)

    def _skip_lines_before(self) -> Before:
        """Go to the first line of the table."""
        text = self.text
        while True:
            before = lines_before(text.buffer, text.at)
            if text.final or b"\n" in text.buffer[before.end :]:
                text.advance(before.end, before.lines)
                return before
            text.more()

    def _skip_titles(self, wanted: Sequence[str]) -> range:
        """Go past lines above the table that are no part of it, if names follow; their numbers."""
        text, start = self.text, self.text.at
        size, lines = title_lines(text.buffer[start : start + (1 << 16)], self.dialect, wanted)
        text.advance(start + size, lines)
        if lines and not self._has_header(self._first_record(), None, wanted):
            text.advance(start, -lines)
            return range(0)
        return range(text.line - lines, text.line)

    def sample(self) -> Sample:
        """The first rows, as text and, where they are, as numbers."""
        page, rows, end, fault = self._first_rows("t" * len(self.names))
        if not rows and fault:
            raise self._error(fault)
        texts: dict[str, Texts] = dict(zip(self.names, self._texts(page.spans[:rows], {}), strict=True))
        whole = self.text.final and end >= len(self.text.buffer)
        letters = "".join("n" if is_number else "-" for is_number in self.schema.numeric)
        page, found, _, _ = self._first_rows(letters)
        numeric = [name for name, is_number in zip(*self.schema, strict=True) if is_number]
        numbers = page.numbers[:found]
        decimal = COMMA if self.dialect.delimiter == ";" else POINT
        return Sample(
            rows, whole, texts, dict(zip(numeric, numbers.T, strict=True)), decimal=decimal, remarks=self.remarks
        )

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` has for each name whether it is a number (n), text (t) or skipped (-).

        `label` names the column of the labels, for advice.
        """
        names = self.names
        letters = "".join(kinds.get(name, "-") for name in names)
        numbers = [name for name, kind in zip(names, letters, strict=True) if kind == "n"]
        texts = [name for name, kind in zip(names, letters, strict=True) if kind == "t"]
        page = _Page(letters, max(FEWEST_ROWS, min(ROWS, NUMBERS // max(1, len(names)))))
        text = self.text
        while True:
            done = page.read(text, self.dialect)
            if done.rows:
                faults: dict[int, StreamError] = {}
                columns = dict(zip(texts, self._texts(page.spans[: done.rows], faults), strict=True))
                lines = page.lines[: done.rows] + text.line
                table = Table(text.name, lines, numbers, page.numbers[: done.rows], columns)
                yield table.without(faults) if faults else table
            text.advance(done.end, done.lines)
            if done.fault:
                error = self._error(done, label)
                if self.skipped.on_error == "mark":
                    error.texts = self._texts_here(texts, kinds)
                self.skipped.report(error)
                text.advance(done.next, done.next_lines - done.lines)
                if len(self.skipped.marked) >= ROWS:  # one after the other: whoever takes them is not kept waiting
                    yield Table(
                        text.name, np.empty(0, np.int64), numbers, page.numbers[:0], {name: [] for name in texts}
                    )
            elif done.rows < len(page.lines):
                if text.final:
                    return
                text.more()

    def _texts_here(self, names: list[str], kinds: dict[str, str]) -> dict[str, str | None]:
        """The columns of text of the next record, if it has the right number of fields."""
        page = _Page("".join("t" if kinds.get(name) == "t" else "-" for name in self.names), 1)
        if not page.read(self.text, self.dialect).rows:
            return {}
        return dict(zip(names, (texts[0] for texts in self._texts(page.spans, {})), strict=True))

    @no_search()
    def _texts(self, spans: npt.NDArray[np.int64], faults: dict[int, StreamError]) -> list[list[str | None]]:
        """Columns of the fields' text; none is None. A fault of each row goes to `faults`."""
        rows, width = spans.shape[:2]
        # All columns in one go, as a few operations for each would take most of the time of a wide table.
        ends = spans[..., 1].T.ravel()
        places = list(zip(spans[..., 0].T.ravel().tolist(), np.abs(ends).tolist(), strict=True))
        buffer = self.text.buffer
        try:
            texts = [buffer[begin:end].decode() or None for begin, end in places]
        except UnicodeDecodeError:
            texts = [self._odd_text(begin, end, k % rows, faults) for k, (begin, end) in enumerate(places)]
        for k in np.flatnonzero(ends < 0).tolist():
            texts[k] = (texts[k] or "").replace(2 * self.dialect.quote, self.dialect.quote) or None
        return [texts[k * rows : (k + 1) * rows] for k in range(width)]

    def _odd_text(self, begin: int, end: int, row: int, faults: dict[int, StreamError]) -> str | None:
        """Text of a field that may not be UTF-8."""
        raw = self.text.buffer[begin:end]
        try:
            return raw.decode() or None
        except UnicodeDecodeError:
            if self.lenient:
                return raw.decode("cp1252", "replace")
            if row not in faults:
                faults[row] = self.text.error("text in UTF-8", raw, begin)
            return None

    def _first_record(self) -> list[str]:
        """Fields of the first record, which stays to be read; without names, faulty lines before it are left out."""
        text = self.text
        page, lines = _Page("", 1), 0
        while True:
            done = page.read(text, self.dialect)
            if not done.rows and not done.fault and not text.final:
                text.more()
                continue
            if done.fault == "fields":
                page = _Page("t" * done.detail, 1)
                done = page.read(text, self.dialect)
            if not done.fault:
                break
            text.advance(done.end, done.lines)
            error, lines = self._error(done), lines + 1
            if self._may_have_names or lines > LINES:
                error.advice = "the first line may have the names of the columns" if self._may_have_names else ""
                raise error
            self.skipped.report(error)
            text.advance(done.next, done.next_lines - done.lines)
        if not done.rows:
            raise StreamError("at least one line", "an empty file", file=text.name)
        self._after_first, self._first_lines = done.end, done.lines
        self._first_faults: dict[int, StreamError] = {}
        return [field or "" for (field,) in self._texts(page.spans[:1], self._first_faults)]

    def _names_above(self, before: Before, first: list[str], wanted: Sequence[str]) -> list[str]:
        """The names of the columns, if the last comment before the table has them, given the first record below it."""
        above = before.named(self.dialect)
        if len(above) != len(first) or len(above) < 2 or not all(above) or any(map(_is_number, above)):
            return []
        if wanted:
            are_names = not set(wanted).isdisjoint(above)
        else:
            are_names = above[0].startswith("#") or not self._has_header(first, None, ())
        return above if are_names else []

    def _has_header(self, first: list[str], columns: list[str] | None, wanted: Sequence[str]) -> bool:
        if columns is not None or not self.lenient:
            return columns is None and not any(map(_is_number, first))
        if wanted:
            numbered = set(wanted) <= {f"column{n}" for n in range(1, len(first) + 1)}  # without names
            return bool(set(wanted) & set(first)) or not (numbered or any(map(_is_number, first)))
        page = _Page("t" * min(len(first), HEADER_COLUMNS) + "-" * (len(first) - HEADER_COLUMNS), LINES)
        below = page.read(self.text, self.dialect, self._after_first)
        if below.fault == "fields" and below.rows == 0 and below.detail == len(first) + 1:
            return True  # as R writes row names: without a name of their own
        first = first[:HEADER_COLUMNS]
        values = self._texts(page.spans[: below.rows], {})
        numeric = [below.rows > 0 and not to_numbers(column, POINT)[1] and any(column) for column in values]
        return is_header(first, values, numeric, [bool(_is_number(field)) for field in first])

    def _named(self, first: list[str]) -> list[str]:
        """Names of the columns; without a name, their number."""
        if self.lenient:
            done = _Page("t" * len(first), 1).read(self.text, self.dialect, self._after_first)
            if done.fault == "fields" and done.detail == len(first) + 1:
                first = ["", *first]
        names = [field or f"column{n}" for n, field in enumerate(first, 1)]
        if len(set(names)) == len(names):
            return names
        if not self.lenient:
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise self._refused("a different name for each column", f"{twice!r} twice")
        seen: Counter[str] = Counter()
        for k, name in enumerate(names):
            seen[name] += 1
            names[k] = name if seen[name] == 1 else f"{name} ({seen[name]})"
        return names

    def _numeric(self, count: int, sample: int) -> list[bool]:
        """Whether the first rows have numbers in each column: try, and take off a column that does not."""
        self._read_enough()
        if self.lenient:
            sample = self._most = self._rows_of_a_chunk()
        letters = ["n"] * count
        text = self.text
        left, start = min(sample, max(1, NUMBERS // count)), text.at
        page = _Page("".join(letters), left)
        while left:
            done = page.after(len(page.lines) - left).read(text, self.dialect, start)
            left, start = left - done.rows, done.end
            if done.fault == "number":
                self._take_off_text(letters, start)
                page = _Page("".join(letters), left)
            elif done.fault:
                start = done.next
            else:
                break
        return [letter == "n" for letter in letters]

    def _first_rows(self, letters: str) -> tuple["_Page", int, int, _core.Parsed | None]:
        """The first rows, how many, and where they end; without those that cannot be read, and the first fault."""
        most, rows, start = min(self._most, max(1, NUMBERS // len(letters))), 0, self.text.at
        page, fault = _Page(letters, most), None
        while rows < most:
            done = page.after(rows).read(self.text, self.dialect, start)
            rows, start = rows + done.rows, done.next if done.fault else done.end
            if not done.fault:
                break
            fault = fault or done
        return page, rows, start, fault

    def _rows_of_a_chunk(self) -> int:
        """How many rows are looked at: those of the first chunk, however much of a file or of a pipe is there."""
        page, rows, _, _ = self._first_rows("-" * (len(self.names) - 1) + "t")
        return max(1, int(np.count_nonzero(np.abs(page.spans[:rows, 0, 1]) < CHUNK)))

    def _read_enough(self) -> None:
        """Read on until there is a row to look at, and it is known whether a quote that is open at the end is stray."""
        text = self.text
        while not text.final and len(text.buffer) - text.at <= LONGEST_LINE:
            end = _core.delimited_end(text.buffer, text.at, self.dialect.delimiter, len(self.names), self.dialect.quote)
            if text.buffer.find(b"\n", end) < 0 and self._has_row():
                return
            text.more()

    def _has_row(self) -> bool:
        page, start = _Page("-" * len(self.names), 1), self.text.at
        while (done := page.read(self.text, self.dialect, start)).fault:
            start = done.next
        return done.rows > 0

    def _take_off_text(self, letters: list[str], start: int) -> None:
        """Mark all columns that have no number in the record at `start`: together, as reading it for each is slow."""
        page = _Page("".join("t" if letter == "n" else "-" for letter in letters), 1)
        page.read(self.text, self.dialect, start)
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
            count = len(self.names)
            return text.error(f"{count} fields", f"{done.detail}", done.at)
        if done.fault == "unclosed":
            return text.error("a quote that is closed", text.buffer[done.at : done.next].rstrip(), done.at)
        raw = text.buffer[done.at : max(done.next, text.buffer.find(b"\n", done.at))]
        if done.fault == "quote":
            sign = "a blank" if self.dialect.delimiter in ALIGNED else repr(self.dialect.delimiter)
            return text.error(f"{sign} or the end of the line after a quote", raw[:20].rstrip(), done.at)
        name = self.names[done.detail]
        delimiter, quote = (sign.encode() for sign in self.dialect)
        word = raw.split(quote if text.buffer[done.at - 1 : done.at] == quote else delimiter, 1)[0]
        error = text.error(expected_number(name, label), shown(word.strip()), done.at, name)
        if not _looks_like_a_number(word):
            error.advice = advice_on_text(name, label)
        return error


def read_numbers(texts: Texts) -> tuple[npt.NDArray[np.float64], int | None]:
    """The numbers of fields as a CSV file has them, NaN where they are missing, and the first row that has none.

    Examples
    --------
    >>> read_numbers(["1.5", None, " 2e3", "NA"]), read_numbers(["1", "red"])[1]
    ((array([1.5e+00,     nan, 2.0e+03,     nan]), None), 1)
    """
    page = _Page("n", len(texts))
    fields = "".join(['"' + (text or "").replace('"', '""') + '"\n' for text in texts])
    done = _core.parse_delimited(
        fields.encode("utf-8", "surrogatepass"), 0, True, ",", page.letters, page.numbers, page.spans, page.lines
    )
    return page.numbers[:, 0], done.rows if done.fault else None


class _Page:
    """Room for the rows that are read in one go."""

    def __init__(self, letters: str, rows: int) -> None:
        self.letters = letters  # a column each; none: any number of columns
        self.numbers = np.empty((rows, letters.count("n")))
        self.spans = np.empty((rows, letters.count("t"), 2), np.int64)
        self.lines = np.empty(rows, np.int64)

    def read(self, text: Text, dialect: Dialect, start: int | None = None) -> _core.Parsed:
        start = text.at if start is None else start
        delimiter, quote = dialect
        return _core.parse_delimited(
            text.buffer, start, text.final, delimiter, self.letters, self.numbers, self.spans, self.lines, quote
        )

    def after(self, rows: int) -> "_Page":
        """The room after some rows."""
        rest = copy(self)
        rest.numbers, rest.spans, rest.lines = self.numbers[rows:], self.spans[rows:], self.lines[rows:]
        return rest

    def read_field(self, raw: bytes) -> _core.Parsed:
        """Read a field by itself, as it is between its quotes."""
        return _core.parse_delimited(
            b'"' + raw + b'"', 0, True, ",", self.letters, self.numbers, self.spans, self.lines
        )


def is_delimiter(text: str) -> bool:
    """Whether fields can be divided by it."""
    return text in ALIGNED or (len(text) == 1 and text.isascii() and text not in '"\n\r')


def _remarks(before: Before, are_names: bool, titles: range) -> list[str]:
    """What was made of the lines before a table."""
    remarks = [f"The file says what divides its fields (sep={before.delimiter})."] if before.delimiter else []
    comments = [number + 1 for number, _ in before.comments[: len(before.comments) - are_names]]
    for lines, one, several in ((comments, "is a comment (#)", "are comments (#)"), (titles, "stands", "stand")):
        if lines:
            where = f"Line {lines[0]} {one}" if len(lines) == 1 else f"Lines {lines[0]} to {lines[-1]} {several}"
            remarks.append(f"{where} before the table, and {'is' if len(lines) == 1 else 'are'} not read.")
    return remarks


def _looks_like_a_number(word: bytes) -> bool:
    """Whether it is one that cannot be used, such as infinity."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_number(field: str) -> bool:
    """Whether a field is a number, and not a missing one."""
    page = _Page("n", 1)
    return not page.read_field(field.replace('"', '""').encode()).fault and not np.isnan(page.numbers[0, 0])
