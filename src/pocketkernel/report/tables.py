"""Tables: one type, written as HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pocketkernel.evaluate.record import Record
from pocketkernel.report.axes import NOT_A_NUMBER
from pocketkernel.report.charts import Group, grouped


class Spread(NamedTuple):
    """A mean and the standard deviation around it; None if that is not known."""

    mean: float
    sd: float | None = None

    @classmethod
    def of(cls, values: npt.ArrayLike) -> "Spread":
        """Mean and standard deviation (divided by n - 1) of some repetitions.

        Examples
        --------
        >>> Spread.of([1.0, 2.0, 3.0])
        Spread(mean=2.0, sd=1.0)
        """
        numbers = np.asarray(values, dtype=np.float64).ravel()
        if not len(numbers):
            return cls(math.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = float(np.mean(numbers))
            return cls(mean, float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None)


Cell = str | int | float | Spread | None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        Heading.
    digits : int, default=None
        Decimals of its numbers; None stands for four significant digits.
    best : {"min", "max"}, default=None
        Which of its numbers is set in bold.
    signed : bool, default=False
        Positive numbers have a plus sign.
    """

    name: str
    digits: int | None = None
    best: str | None = None
    signed: bool = False


@dataclass(frozen=True)
class Table:
    """A table of words and numbers.

    Parameters
    ----------
    title : str
        What it shows.
    columns : list of Column or str
        Headings.
    rows : list of lists
        Cells: words, numbers, `Spread` or None.
    note : str, default=""
        A sentence below.
    block : int, default=None
        Number of the column, from 0, whose equal cells make neighbouring rows a block, such as one of a data set: each
        block has a best number of its own. None stands for one block.

    Examples
    --------
    >>> columns = ["learner", Column("mistakes %", digits=2, best="min"), "B"]
    >>> table = Table("Digits", columns, [["M-OMD-S", Spread(8.2, 0.14), 400], ["Raker", Spread(9.31, 0.2), 400]])
    >>> "8.20 ± 0.14" in table.to_html()
    True
    """

    title: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    block: int | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"a row of table {self.title!r} has {len(row)} cells, not {len(self.columns)}: {row!r}."
                )

    def to_html(self) -> str:
        """As an HTML table with the title as its caption."""
        numeric = [' class="n"' if numeric else "" for numeric in self.numeric()]
        head = "".join(
            f'<th scope="col"{style}>{escape(column.name)}</th>'
            for column, style in zip(self.headings, numeric, strict=True)
        )
        body = []
        for row in self.formatted():
            cells = [
                f"<td{style}>{f'<strong>{escape(text)}</strong>' if bold else escape(text)}</td>"
                for (text, bold), style in zip(row, numeric, strict=True)
            ]
            cells[0] = cells[0].replace("<td", '<th scope="row"', 1).removesuffix("</td>") + "</th>"
            body.append(f"<tr>{''.join(cells)}</tr>")
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(self.title)}">{table}</div>{note}'

    # ---- parts, for those who write a table in another form ----------------------------------------------------------

    @property
    def headings(self) -> list[Column]:
        """The columns, all of them as `Column`."""
        return [Column(column) if isinstance(column, str) else column for column in self.columns]

    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [
            any(isinstance(row[n], int | float | Spread) for row in self.rows)
            and not any(isinstance(row[n], str) for row in self.rows)
            for n in range(len(self.columns))
        ]

    def blocks(self) -> list[list[Sequence[Cell]]]:
        """Rows by block."""
        key = self.block
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: None if key is None else row[key])]

    def formatted(self) -> list[list[tuple[str, bool]]]:
        """Text of each cell, and whether it is the best of its column in its block."""
        texts = []
        for rows in self.blocks():
            best = [_best([row[n] for row in rows], column.best) for n, column in enumerate(self.headings)]
            for row in rows:
                cells = zip(row, self.headings, best, strict=True)
                texts.append(
                    [(_text(cell, column), _number(cell) == value is not None) for cell, column, value in cells]
                )
        return texts


def _best(cells: Sequence[Cell], which: str | None) -> float | None:
    numbers = [number for cell in cells if (number := _number(cell)) is not None and math.isfinite(number)]
    if which is None or len(numbers) < 2:
        return None
    return min(numbers) if which == "min" else max(numbers)


def _number(cell: Cell) -> float | None:
    if isinstance(cell, Spread):
        return float(cell.mean)
    return None if cell is None or isinstance(cell, str) else float(cell)


def _text(cell: Cell, column: Column) -> str:
    """A cell for people."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Spread):
        mean = _text(cell.mean, column)
        return mean if cell.sd is None else f"{mean} ± {_text(cell.sd, Column(column.name, column.digits))}"
    if not math.isfinite(cell):
        return NOT_A_NUMBER if math.isnan(cell) else "∞" if cell > 0 else "-∞"
    sign = "+" if column.signed else ""
    if isinstance(cell, int):
        return f"{cell:{sign},}"
    return f"{cell:{sign}.4g}" if column.digits is None else f"{cell:{sign},.{column.digits}f}"


# ---- records --------------------------------------------------------------------------------------------------------


def result_table(records: Sequence[Record], title: str = "Results") -> Table:
    """How each learner ended: mean and standard deviation over its repetitions.

    Columns that nobody has a number for are left out.
    """
    columns = [
        Column("learner"),
        Column("runs"),
        Column("rows"),
        Column("mistakes %", digits=2, best="min"),
        Column("loss per row", digits=4),
        Column("budget"),
        Column("bytes"),
        Column("µs per row", digits=2),
        Column("removals", digits=1),
    ]
    rows = [_result(group) for group in grouped(records)]
    kept = [n for n in range(len(columns)) if n < 4 or any(_known(row[n]) for row in rows)]
    return Table(title, [columns[n] for n in kept], [[row[n] for n in kept] for row in rows])


def _result(group: Group) -> list[Cell]:
    ends = group.last
    if not ends:
        return [group.name, len(group.records), 0, *[None] * 6]
    curves = [record.curve for record in ends]
    rows = np.array([curve.rows[-1] for curve in curves])
    loss = Spread.of([curve.loss[-1] / n for curve, n in zip(curves, rows, strict=True)])
    nbytes = max(int(curve.nbytes[-1]) for curve in curves)
    budget = ends[0].settings.get("budget")
    adding = any(curve.additions[-1] for curve in curves)
    return [
        group.name,
        len(group.records),
        int(rows.max()),
        Spread.of([100 * curve.mistake_rate[-1] for curve in curves]),
        None if math.isnan(loss.mean) else loss,
        budget if isinstance(budget, int) else None,
        nbytes or None,
        Spread.of([1e6 * curve.seconds[-1] / n for curve, n in zip(curves, rows, strict=True)]),
        Spread.of([float(curve.removals[-1]) for curve in curves]) if adding else None,
    ]


def _known(cell: Cell) -> bool:
    number = _number(cell)
    return number is not None and not math.isnan(number)
