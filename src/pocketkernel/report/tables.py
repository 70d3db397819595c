"""Tables: one type, written as Markdown, LaTeX, CSV or HTML."""

import csv
import io
import math
import re
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
    >>> print(table.to_markdown())
    | learner | mistakes % | B |
    |---|---:|---:|
    | M-OMD-S | **8.20 ± 0.14** | 400 |
    | Raker | 9.31 ± 0.20 | 400 |
    >>> print(table.to_csv(), end="")
    learner,mistakes %,mistakes % sd,B
    M-OMD-S,8.2,0.14,400
    Raker,9.31,0.2,400
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

    def to_text(self) -> str:
        """As plain text for a terminal, with the title above and without the note; the best are marked by a star."""
        head = [[(column.name, False) for column in self._columns]]
        texts = [[f"{text}*" if bold else text for text, bold in row] for row in head + self._formatted()]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        places = [f"{'>' if numeric else '<'}{width}" for width, numeric in zip(widths, self._numeric(), strict=True)]
        lines = ["  ".join(map(format, row, places)).rstrip() for row in texts]
        return "\n".join([self.title, *lines] if self.title else lines)

    def to_markdown(self) -> str:
        """As a table of GitHub's Markdown, without the title."""
        head = [_markdown(column.name) for column in self._columns]
        rule = ["---:" if numeric else "---" for numeric in self._numeric()]
        body = [
            [f"**{_markdown(text)}**" if bold else _markdown(text) for text, bold in row] for row in self._formatted()
        ]
        lines = [f"| {' | '.join(cells)} |" for cells in (head, *body)]
        return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])

    def to_latex(self, label: str = "") -> str:
        r"""As a LaTeX table for the package booktabs.

        Parameters
        ----------
        label : str, default=""
            What ``\ref`` names.
        """
        cells = iter(self._formatted())
        body = []
        for rows in self._blocks():
            body += [r"    \midrule"]
            for _ in rows:
                texts = [rf"\textbf{{{_latex(text)}}}" if bold else _latex(text) for text, bold in next(cells)]
                body.append(f"    {' & '.join(texts)} \\\\")
        lines = [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_latex(self.title)}}}",
            *([rf"  \label{{{label}}}"] if label else []),
            rf"  \begin{{tabular}}{{{''.join('r' if numeric else 'l' for numeric in self._numeric())}}}",
            r"    \toprule",
            f"    {' & '.join(_latex(column.name) for column in self._columns)} \\\\",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            *([rf"  \par\smallskip {_latex(self.note)}"] if self.note else []),
            r"\end{table}",
        ]
        return "\n".join(lines)

    def to_csv(self) -> str:
        """As CSV, numbers to the last bit; a column with deviations becomes two."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        spread = [any(isinstance(row[n], Spread) for row in self.rows) for n in range(len(self.columns))]
        head = [[column.name, f"{column.name} sd"] if two else [column.name] for column, two in self._pairs(spread)]
        writer.writerow([name for names in head for name in names])
        for row in self.rows:
            cells: list[str] = []
            for cell, two in zip(row, spread, strict=True):
                mean, sd = cell if isinstance(cell, Spread) else (cell, None)
                cells += [_exact(mean), _exact(sd)] if two else [_exact(mean)]
            writer.writerow(cells)
        return file.getvalue()

    def to_html(self) -> str:
        """As an HTML table with the title as its caption."""
        numeric = [' class="n"' if numeric else "" for numeric in self._numeric()]
        head = "".join(
            f'<th scope="col"{style}>{escape(column.name)}</th>'
            for column, style in zip(self._columns, numeric, strict=True)
        )
        body = []
        for row in self._formatted():
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

    # ---- parts ------------------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> list[Column]:
        return [Column(column) if isinstance(column, str) else column for column in self.columns]

    def _pairs(self, flags: Sequence[bool]) -> list[tuple[Column, bool]]:
        return list(zip(self._columns, flags, strict=True))

    def _numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [
            any(isinstance(row[n], int | float | Spread) for row in self.rows)
            and not any(isinstance(row[n], str) for row in self.rows)
            for n in range(len(self.columns))
        ]

    def _blocks(self) -> list[list[Sequence[Cell]]]:
        key = self.block
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: None if key is None else row[key])]

    def _formatted(self) -> list[list[tuple[str, bool]]]:
        """Text of each cell, and whether it is the best of its column in its block."""
        texts = []
        for rows in self._blocks():
            best = [_best([row[n] for row in rows], column.best) for n, column in enumerate(self._columns)]
            for row in rows:
                cells = zip(row, self._columns, best, strict=True)
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


def _exact(cell: str | int | float | None) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    return repr(int(cell)) if isinstance(cell, int) else repr(float(cell))


def _markdown(text: str) -> str:
    """Text in which Markdown sees no mark-up."""
    text = re.sub(r"([\\`*_\[\]|~])", r"\\\1", " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "∞": r"$\infty$", NOT_A_NUMBER: "--", "µ": r"$\mu$",
    **{letter: f"\\{letter}" for letter in "{}$&#%_"},
}  # fmt: skip


def _latex(text: str) -> str:
    """Text in which LaTeX sees no commands."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


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
