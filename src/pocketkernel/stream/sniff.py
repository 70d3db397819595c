"""How a text table is written, judged by its first lines: the delimiter, and whether they have the names."""

import csv
from collections import Counter
from collections.abc import Sequence

from pocketkernel.stream.values import Texts

DELIMITERS = ",;\t|"
LINES = 50


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
    lines = text.decode("utf-8", "replace").lstrip("\ufeff").splitlines()
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
    return best


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
