"""What the readers of tables give to the encoder: named columns of numbers or of text."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pocketkernel.stream.errors import StreamError

SAMPLE = 1000  # rows that are looked at to tell numbers from text

Column = npt.NDArray[np.float64] | list[str | None]  # missing: NaN, or None


class Schema(NamedTuple):
    """Names of the columns, and whether the first rows have nothing but numbers there."""

    names: list[str]
    numeric: list[bool]


@dataclass
class Table:
    """Some rows of a file.

    Attributes
    ----------
    file : str
    lines : array of shape (n,)
        Where each row is in the file, from 1.
    columns : dict
        Values by name.
    unit : str
        What is counted by `lines`.
    faults : list of StreamError
        Rows among them that could not be read, to be reported in order of lines with what else is wrong.
    """

    file: str
    lines: npt.NDArray[np.int64]
    columns: dict[str, Column]
    unit: str = "line"
    faults: list[StreamError] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.lines)

    def without(self, faults: dict[int, StreamError]) -> "Table":
        """The same without some rows, of which it is told what is wrong."""
        good = np.ones(len(self), bool)
        good[list(faults)] = False
        columns = {name: chosen(values, good) for name, values in self.columns.items()}
        return replace(self, lines=self.lines[good], columns=columns, faults=[faults[row] for row in sorted(faults)])

    def parts(self, most: int) -> Iterator["Table"]:
        """The same rows in tables of at most `most`."""
        if len(self) <= most:
            yield self
            return
        faults = list(self.faults)
        for start in range(0, len(self), most):
            part = slice(start, start + most)
            lines = self.lines[part]
            is_last = start + most >= len(self)
            mine = [fault for fault in faults if is_last or (fault.line or 0) <= lines[-1]]
            faults = faults[len(mine) :]
            columns = {name: values[part] for name, values in self.columns.items()}
            yield replace(self, lines=lines, columns=columns, faults=mine)


def chosen(values: Column, good: npt.NDArray[np.bool_]) -> Column:
    """The values of some rows."""
    if good.all():
        return values
    return values[good] if isinstance(values, np.ndarray) else [v for v, g in zip(values, good, strict=True) if g]


class TableReader(Protocol):
    """One file of a format that has columns."""

    schema: Schema

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` tells of each name whether it is a number (n), text (t) or not wanted (-).

        `label` names the column of the labels, for advice.
        """
        ...
