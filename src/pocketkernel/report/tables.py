"""Tables: words and numbers, written as HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from pocketkernel.report.axes import written


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        Heading.
    digits : int, default=None
        Decimals of its numbers; None means four significant digits.
    """

    name: str
    digits: int | None = None

    def text(self, cell: Any) -> str:
        """A cell for people: a word, a number, or nothing for None."""
        if cell is None or isinstance(cell, str):
            return cell or ""
        if not math.isfinite(cell):
            return written(cell)
        if isinstance(cell, int):
            return f"{cell:,}"
        return f"{cell:.4g}" if self.digits is None else f"{cell:,.{self.digits}f}"


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
        Cells: words, numbers or None.
    note : str, default=""
        A sentence below.

    Examples
    --------
    >>> table = Table("Digits", ["learner", Column("mistakes %", digits=2)], [["M-OMD-S", 8.2], ["Raker", 9.314]])
    >>> '<td class="n">9.31</td>' in table.to_html()
    True
    """

    title: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"a row of table {self.title!r} has {len(row)} cells, not {len(self.columns)}: {row!r}."
                )

    @property
    def headings(self) -> list[Column]:
        """The columns, all of them as `Column`."""
        return [Column(column) if isinstance(column, str) else column for column in self.columns]

    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        columns = [[row[n] for row in self.rows if row[n] is not None] for n in range(len(self.columns))]
        return [bool(cells) and not any(isinstance(cell, str) for cell in cells) for cells in columns]

    def formatted(self) -> list[list[tuple[str, bool]]]:
        """Text of each cell, and whether it is set in bold."""
        return [
            [(column.text(cell), False) for cell, column in zip(row, self.headings, strict=True)] for row in self.rows
        ]

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
