"""How a text table is written, judged by its first lines: the delimiter, and whether they have the names."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from pocketkernel.stream.values import Texts

DELIMITERS = ",;\t|"
LINES = 50
LONGEST_COMMENT = 1 << 16  # bytes of it that are looked at; `csv` takes no fields of more than 1 << 17
_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?', re.IGNORECASE)


class Before(NamedTuple):
    """Lines before a table."""

    end: int = 0  # where the table begins
    lines: int = 0  # how many
    delimiter: str = ""  # what they say that it is, as Excel writes
    comments: tuple[tuple[int, str], ...] = ()  # number of each line from 0, and its text

    def named(self, delimiter: str) -> list[str]:
        """The fields of the last comment, which may be the names of the columns: `#id,a` as it is, `# id,a` without #.

        Examples
        --------
        >>> Before(comments=((0, "# id, size"),)).named(","), Before(comments=((0, "#id,size"),)).named(",")
        (['id', 'size'], ['#id', 'size'])
        """
        text = self.comments[-1][1] if self.comments else ""
        text = text[1:] if text[1:2].isspace() else text
        return [field.strip() for field in _fields(text.strip(), delimiter)]


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


def delimiter_of(text: bytes, usual: str, names: Sequence[str] = ()) -> str:
    r"""The sign between fields: that which divides the lines into the same number of fields, as many as possible.

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
    >>> delimiter_of(b"a;b\n1,5;2,5\n", ","), delimiter_of(b"a|b, c\n1|2\n3|4\n", ","), delimiter_of(b"a\n1\n", ",")
    (';', '|', ',')
    """
    lines = _written(text).lstrip("\ufeff").split("\n")
    lines = (lines[:-1] if len(lines) > 1 else lines)[:LINES]  # the last may be cut off
    lines = [line for line in lines if line.strip()]
    wanted = set(names)
    best, best_score = usual, (False, 0.0, 0)
    for delimiter in [usual, *(sign for sign in DELIMITERS if sign != usual)]:
        records = [record for record in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if record]
        if not records:
            continue
        widths = Counter(map(len, records))
        width, count = widths.most_common(1)[0]
        if width < 2:
            continue
        named = bool(wanted) and wanted <= {field.strip() for field in records[0]}
        score = (named, count / len(records) + (len(records[0]) in (width, width - 1)), width)
        if score > best_score:
            best, best_score = delimiter, score
    if best_score == (False, 0.0, 0) and len({len(line.split(" ")) for line in lines}) == 1 and " " in lines[0]:
        return " "
    return best


def title_lines(text: bytes, delimiter: str, names: Sequence[str] = ()) -> tuple[int, int]:
    r"""Bytes and number of the lines above a table that are no part of it, such as a title: they have fewer fields.

    Parameters
    ----------
    text : bytes
        How the file begins.
    delimiter : str
        The sign between fields.
    names : sequence of str, default=()
        Columns that the first line of the table has, if they are known.

    Examples
    --------
    >>> title_lines(b"Sales, 2023\n\na,b,c,d\n1,2,3,4\n1,2,3,4\n", ","), title_lines(b"a,b\n1,2\n3,4\n", ",")
    ((13, 2), (0, 0))
    """
    lines = text.split(b"\n")[:-1][:LINES]  # the last may be cut off
    records = []
    for line in lines:
        if line.count(b'"') % 2:  # a field of several lines, or a stray quote
            break
        records.append([field.strip() for field in _fields(_written(line), delimiter)])
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


def _fields(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != " "), [])


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
