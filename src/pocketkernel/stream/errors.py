"""Errors in a stream, and the count of skipped rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from pocketkernel._text import plain

OnError = Literal["raise", "skip", "mark"]
KEPT = 10


class StreamError(ValueError):
    """A row that cannot be read.

    Parameters
    ----------
    expected : str
        What should have been there.
    found : str, default=""
        What was there.
    file : str, default=""
        Name of the file.
    line : int, default=None
        Line of the file, from 1; of a file without lines, the row.
    column : int, default=None
        Byte of the line, from 1; of a field, its name says more.
    field : str, default=""
        Name of the column of the table.
    unit : str, default="line"
        What `line` counts.
    advice : str, default=""
        What to do about it.

    Examples
    --------
    >>> raise StreamError("a number", "'x'", file="a.csv", line=3, column=5, field="age")
    Traceback (most recent call last):
    pocketkernel.stream.errors.StreamError: a.csv, line 3, column 'age': expected a number, found 'x'
    """

    def __init__(
        self,
        expected: str,
        found: str = "",
        *,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        field: str = "",
        unit: str = "line",
        advice: str = "",
    ) -> None:
        self.expected, self.found, self.advice = expected, found, advice
        self.file, self.line, self.column, self.field, self.unit = file, line, column, field, unit
        self.texts: dict[str, str | None] = {}  # of the row's columns, where it is marked and they could be read
        super().__init__(expected)

    def __reduce__(self) -> tuple[object, ...]:
        place = {name: getattr(self, name) for name in ("file", "line", "column", "field", "unit", "advice")}
        return _again, (self.expected, self.found, place)

    def __str__(self) -> str:
        where = [self.file] if self.file else []
        where += [f"{self.unit} {self.line}"] if self.line is not None else []
        if self.field:
            where.append(f"column {self.field!r}")
        elif self.column is not None:
            where.append(f"byte {self.column}")
        place = ", ".join(where)
        return plain(
            f"{place}: expected {self.expected}"
            + (f", found {self.found}" if self.found else "")
            + (f" ({self.advice})" if self.advice else "")
        )


def _again(expected: str, found: str, place: dict[str, object]) -> StreamError:
    return StreamError(expected, found, **place)  # type: ignore[arg-type]


def advice_on_text(field: str, label: str | None) -> str:
    """What to do about text in a column of numbers, which may be that of the labels."""
    if field == label:
        return "if the labels are text, list all of them in classes="
    return "if the column has categories, list it in categorical="


TRAINED = "the model was trained on numbers there: correct the value, or leave such rows out with on_error='skip'"
"""Advice on rows for a model, whose columns are what they are."""


@dataclass
class Skipped:
    """Rows that were skipped, and why.

    Attributes
    ----------
    advice : str
        What to do about rows that an option of the reader would make readable, if that cannot be changed.
    count : int
        How many.
    reports : list of StreamError
        The first ten.
    marked : list of StreamError
        With "mark", all since the list was emptied, for somebody who gives every row an answer.
    """

    on_error: OnError = "raise"
    advice: str = ""
    count: int = 0
    reports: list[StreamError] = field(default_factory=list)
    marked: list[StreamError] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def report(self, error: StreamError) -> None:
        """Raise the error, or count it."""
        error.advice = error.advice and (self.advice or error.advice)
        if self.on_error == "raise":
            raise error
        with self._lock:  # rows are read and learned in different threads
            self.count += 1
            if len(self.reports) < KEPT:
                self.reports.append(error)
            if self.on_error == "mark":
                self.marked.append(error)

    def take_marked(self) -> list[StreamError]:
        """The errors that were marked since this was called."""
        taken, self.marked = self.marked, []
        return taken


def expected_number(field: str, label: str | None, usual: str = "a finite number") -> str:
    """What should be in a column of numbers, which may be that of the labels."""
    return "a label that is a number, as in the first rows" if field == label else usual


def shown(text: bytes | str) -> str:
    """A short form of what was found."""
    text = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
    return repr(text if len(text) <= 40 else text[:37] + "...")


def listed(names: Sequence[str]) -> str:
    """The first names of columns, each in a short form.

    Examples
    --------
    >>> listed(["a", "b" * 50])
    'a, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...'
    """
    return ", ".join(name if len(name) <= 40 else name[:37] + "..." for name in names[:20]) + ", ..." * (
        len(names) > 20
    )
