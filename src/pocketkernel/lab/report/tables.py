"""Tables with means and deviations, in which the best are marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pocketkernel import report


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
class Column(report.Column):
    """A column of a table.

    Parameters
    ----------
    name : str
        Heading.
    digits : int, default=None
        Decimals of its numbers; None means four significant digits.
    best : {"min", "max"}, default=None
        Which of its numbers is set in bold.
    signed : bool, default=False
        Positive numbers have a plus sign.
    """

    best: str | None = None
    signed: bool = False

    def text(self, cell: Any) -> str:
        """A cell for people: a word, a number, a mean with its deviation, or nothing for None."""
        if isinstance(cell, Spread):
            sd = "" if cell.sd is None else f" ± {super().text(cell.sd)}"
            return self.text(cell.mean) + sd
        sign = self.signed and isinstance(cell, int | float) and math.isfinite(cell) and not np.signbit(cell)
        return ("+" if sign else "") + super().text(cell)


@dataclass(frozen=True)
class Table(report.Table):
    """A table of the report whose cells may also be a `Spread`, and which marks the best numbers.

    Parameters
    ----------
    block : int, default=None
        Number of the column, from 0, whose equal cells make neighbouring rows a block, such as one of a data set: each
        block has a best number of its own. None means one block.

    Examples
    --------
    >>> columns = ["learner", Column("mistakes %", digits=2, best="min"), "B"]
    >>> table = Table("Digits", columns, [["M-OMD-S", Spread(8.2, 0.14), 400], ["Raker", Spread(9.31, 0.2), 400]])
    >>> "8.20 ± 0.14" in table.to_html()
    True
    """

    block: int | None = None

    @property
    def headings(self) -> list[Column]:  # type: ignore[override]
        """The columns, all of them as `Column`."""
        return [column if isinstance(column, Column) else Column(str(column)) for column in self.columns]

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
                texts.append([(column.text(cell), number(cell) == value is not None) for cell, column, value in cells])
        return texts


def _best(cells: Sequence[Cell], which: str | None) -> float | None:
    numbers = [found for cell in cells if (found := number(cell)) is not None and math.isfinite(found)]
    if which is None or len(numbers) < 2:
        return None
    return min(numbers) if which == "min" else max(numbers)


def number(cell: Cell) -> float | None:
    """What a cell counts as; None for words."""
    if isinstance(cell, Spread):
        return float(cell.mean)
    return None if cell is None or isinstance(cell, str) else float(cell)
