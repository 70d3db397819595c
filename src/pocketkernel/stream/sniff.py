"""How a text table is written, judged by its first lines: delimiter and quotes, and whether they have the names."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pocketkernel.stream.values import Texts

DELIMITERS = ",;\t|"
ALIGNED = (" ", "  ")
"""Delimiters of tables that are aligned by spaces: any run of blanks; and a tab, or two spaces and more."""

LINES = 50
LONGEST_COMMENT = 1 << 16  # bytes of it that are looked at; `csv` takes no fields of more than 1 << 17
MOSTLY = 0.9  # share of the lines of an aligned table that have the same number of fields
_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?', re.IGNORECASE)
_SINGLE = re.compile(r"(?:^|[,;\t| ])'[^']*'(?=$|[,;\t| ])")
_DOUBLE = re.compile(r'(?:^|[,;\t|])"')
_GAP = re.compile(r"\t| {2,}")
_WORDS = {quote: re.compile(f"{quote}[^{quote}]*{quote}|[^ \\t]+") for quote in "\"'"}


class Dialect(NamedTuple):
    """How the lines of a text table are cut into fields."""

    delimiter: str  # a sign, or one of ALIGNED
    quote: str = '"'

    def records(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The fields of lines, without quotes and surrounding white space.

        Examples
        --------
        >>> list(Dialect(" ").records([' 1.5  "New York"'])), list(Dialect("  ").records(["New York   3"]))
        ([['1.5', 'New York']], [['New York', '3']])
        """
        if self.delimiter == " ":
            return ([word.strip(self.quote) for word in _WORDS[self.quote].findall(line.strip())] for line in lines)
        if self.delimiter == "  ":
            return ([field.strip() for field in _GAP.split(line.strip())] for line in lines)
        records = csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, skipinitialspace=True)
        return ([field.strip() for field in record] for record in records)

    def fields(self, line: str) -> list[str]:
        """The fields of one line."""
        return next(self.records([line]), [])


class Before(NamedTuple):
    """Lines before a table."""

    end: int = 0  # where the table begins
    lines: int = 0  # how many
    delimiter: str = ""  # what they say that it is, as Excel writes
    comments: tuple[tuple[int, str], ...] = ()  # number of each line from 0, and its text

    def named(self, dialect: Dialect) -> list[str]:
        """The fields of the last comment, which may be the names of the columns: `#id,a` as it is, `# id,a` without #.

        Examples
        --------
        >>> [Before(comments=((0, text),)).named(Dialect(",")) for text in ("# id, size", "#id,size")]
        [['id', 'size'], ['#id', 'size']]
        """
        text = self.comments[-1][1] if self.comments else ""
        text = text[1:] if text[1:2].isspace() else text
        return dialect.fields(text.strip())


def lines_before(text: bytes, at: int = 0) -> Before:
    r"""What comes before a table: a line of Excel that names the delimiter, and comments; none if nothing follows.

    Examples
    --------
    >>> lines_before(b"sep=;\n# made by a tool\na;b\n1;2\n")
    Before(end=23, lines=2, delimiter=';', comments=((1, '# made by a tool'),))
    """
    nothing = found = Before(at)
    number, delimiter, comments = 0, "", []
    while (end := text.find(b"\n", at) + 1) > 0:
        line = text[at:end].strip(b"\r\n ")
        if separator := _SEPARATOR.fullmatch(line):
            delimiter = separator[1].decode()
        elif line.startswith(b"#"):
            comments.append((number, _written(line[:LONGEST_COMMENT])))
        elif line.strip():
            return found
        number, at = number + 1, end
        if line:
            found = Before(at, number, delimiter, tuple(comments))
    return found if text[at:].strip() else nothing


def dialect_of(text: bytes, usual: str, names: Sequence[str] = ()) -> Dialect:
    r"""The sign between fields: that which divides the lines into the same number of fields, as many as possible.

    If no sign does, the fields may be aligned by spaces. Quotes are single ones if fields are in these and no others.

    Parameters
    ----------
    text : bytes
        How the file begins.
    usual : str
        What to take if nothing speaks for another.
    names : sequence of str, default=()
        Columns that the first line may have; then a delimiter that gives them is taken.

    Examples
    --------
    >>> [dialect_of(text, ",").delimiter for text in (b"a;b\n1,5;2,5\n", b"a|b, c\n1|2\n3|4\n", b"a\n1\n")]
    [';', '|', ',']
    >>> dialect_of(b"'a','b'\n'x','3'\n", ","), dialect_of(b"  1.5   3\n 10.5  12\n", ",")
    (Dialect(delimiter=',', quote="'"), Dialect(delimiter=' ', quote='"'))
    """
    lines = _written(text).lstrip("\ufeff").split("\n")
    lines = (lines[:-1] if len(lines) > 1 else lines)[:LINES]  # the last may be cut off
    lines = [line for line in lines if line.strip()]
    wanted, quote = set(names), _quote_of(lines)
    best, best_score = usual, (False, 0.0, 0)
    for delimiter in [usual, *(sign for sign in DELIMITERS if sign != usual)]:
        if delimiter in ALIGNED:
            continue
        records = [record for record in Dialect(delimiter, quote).records(lines) if record]
        if not records:
            continue
        widths = Counter(map(len, records))
        width, count = widths.most_common(1)[0]
        if width < 2:
            continue
        named = bool(wanted) and wanted <= set(records[0])
        score = (named, count / len(records) + (len(records[0]) in (width, width - 1)), width)
        if score > best_score:
            best, best_score = delimiter, score
    blank = best == "\t" and not best_score[0] and all("  " in line.strip() for line in lines)
    if blank:  # it may be one of the blanks between columns that are aligned
        first, *others = [len(fields) for fields in Dialect(" ", quote).records(lines)]
        blank = len({*others}) == 1 and first in (others[0], others[0] - 1)
    if best_score == (False, 0.0, 0) or blank:
        best = aligned_by(lines, quote) or best
    return Dialect(best, quote)


def aligned_by(lines: Sequence[str], quote: str = '"') -> str:
    """The one of ALIGNED that gives most lines the same number of fields, and several; "" if there is none.

    Examples
    --------
    >>> aligned_by(["a  b", "1 22"]), aligned_by(["name      n", "New York  1", "Rome     22"]), aligned_by(["a", "b"])
    (' ', '  ', '')
    """
    for delimiter in ALIGNED:
        widths = [len(fields) for fields in Dialect(delimiter, quote).records(lines)]
        width, count = Counter(widths).most_common(1)[0] if widths else (0, 0)
        if width > 1 and (count >= MOSTLY * len(widths) or set(widths[1:]) == {width}):
            return delimiter
    return ""


def _quote_of(lines: Sequence[str]) -> str:
    """The sign before and after fields that are in quotes."""
    single = sum(_SINGLE.search(line) is not None for line in lines)
    return "'" if 0 < len(lines) <= 2 * single and not any(map(_DOUBLE.search, lines)) else '"'


def title_lines(text: bytes, dialect: Dialect, names: Sequence[str] = ()) -> tuple[int, int]:
    r"""Bytes and number of the lines above a table that are no part of it, such as a title: they have fewer fields.

    Parameters
    ----------
    text : bytes
        How the file begins.
    dialect : Dialect
        How they are cut into fields.
    names : sequence of str, default=()
        Columns that the first line of the table has, if they are known.

    Examples
    --------
    >>> title_lines(b"Sales, 2023\n\na,b,c,d\n1,2,3,4\n1,2,3,4\n", Dialect(","))
    (13, 2)
    """
    lines = text.split(b"\n")[:-1][:LINES]  # the last may be cut off
    records = []
    for line in lines:
        if line.count(dialect.quote.encode()) % 2:  # a field of several lines, or a stray quote
            break
        records.append(dialect.fields(_written(line)))
    widths = Counter(len(record) for record in records if any(record))
    width, count = widths.most_common(1)[0] if widths else (0, 0)
    if width < 2 or 2 * count < widths.total():
        return 0, 0
    for number, record in enumerate(records):
        filled = [field for field in record if field]
        alone = len(filled) < 2 and width > 2 and not "".join(filled).replace(".", "").isdecimal()
        first = not set(names).isdisjoint(record) if names else len(record) >= max(2, width - 1) and not alone
        if first:
            return sum(len(line) + 1 for line in lines[:number]), number
    return 0, 0


def _written(text: bytes) -> str:
    """Text of lines. A carriage return within a line is white space, as for the reader; `csv` would refuse it."""
    return text.decode("utf-8", "replace").replace("\r", " ")


def is_header(
    first: Sequence[str], columns: Sequence[Texts], numeric: Sequence[bool], is_number: Sequence[bool]
) -> bool:
    """Whether the first record has the names of the columns below it.

    It does if it has text above a column of numbers. If no column tells, it does unless it has numbers, or its text is
    among the values below it.

    Parameters
    ----------
    first : sequence of str
        Its fields.
    columns : sequence of columns
        Text of the fields below it.
    numeric : sequence of bool
        Whether these are numbers.
    is_number : sequence of bool
        Whether the fields of the first record are.
    """
    if any(below and not above and field for field, below, above in zip(first, numeric, is_number, strict=True)):
        return True
    if any(is_number):
        return False
    again = sum(field in set(values) for field, values in zip(first, columns, strict=True))
    return 2 * again < len(first)
