"""What the readers of tables give to the encoder: rows of numbers, as they were parsed, and columns of text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pocketkernel.stream.errors import StreamError
from pocketkernel.stream.infer import Sample

SAMPLE = 1000  # rows that decide which columns are numbers
INFERRED = 10_000  # rows that decide what the columns are, if that is inferred

Floats = npt.NDArray[np.float64]
Texts = list[str | None]


class Schema(NamedTuple):
    """Names of the columns, and whether the first rows have nothing but numbers there."""

    names: list[str]
    numeric: list[bool]


@dataclass
class Table:
    """Some rows of a file."""

    file: str
    lines: npt.NDArray[np.int64]  # where each row is in the file, from 1
    names: Sequence[str]  # of the columns of numbers
    numbers: Floats  # a row each, which may be overwritten when the next table is read; NaN is missing
    texts: dict[str, Texts] = field(default_factory=dict)  # columns by name; None is missing
    unit: str = "line"  # what is counted by `lines`
    faults: list[StreamError] = field(default_factory=list)  # rows among them that could not be read

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, name: object) -> bool:
        return name in self.texts or name in self.names

    def columns(self, names: Sequence[str]) -> Floats:
        """These columns of numbers, in this order, row by row."""
        place_of = {name: place for place, name in enumerate(self.names)}
        places = [place_of[name] for name in names]
        first = min(places, default=0)
        if places == list(range(first, first + len(places))):  # as they are
            return self.numbers[:, first : first + len(places)]
        return np.take(self.numbers, places, axis=1)

    def column(self, name: str) -> Floats | Texts:
        """A column of either kind."""
        return self.texts[name] if name in self.texts else self.numbers[:, self.names.index(name)]

    def with_missing(self, kinds: dict[str, str]) -> "Table":
        """The same with further columns of numbers (n) or text (t) that have no values."""
        if not kinds:
            return self
        numbers = [name for name, kind in kinds.items() if kind == "n"]
        texts: dict[str, Texts] = {name: [None] * len(self) for name, kind in kinds.items() if kind == "t"}
        none = np.full((len(self), len(numbers)), np.nan)
        return replace(
            self,
            names=[*self.names, *numbers],
            numbers=np.concatenate([self.numbers, none], axis=1),
            texts=self.texts | texts,
        )

    def take(self, rows: slice | npt.NDArray[np.bool_], faults: list[StreamError]) -> "Table":
        """Some of the rows, with the faults that belong to them."""
        kept = np.arange(len(self))[rows].tolist()
        texts = {name: [values[row] for row in kept] for name, values in self.texts.items()}
        return replace(self, lines=self.lines[rows], numbers=self.numbers[rows], texts=texts, faults=faults)

    def without(self, faults: dict[int, StreamError]) -> "Table":
        """The same without some rows, of which it is told what is wrong."""
        good = np.ones(len(self), bool)
        good[list(faults)] = False
        return self.take(good, [faults[row] for row in sorted(faults)])

    def parts(self, most: int) -> Iterator["Table"]:
        """The same rows in tables of at most `most`."""
        if len(self) <= most:
            yield self
            return
        faults = list(self.faults)
        for start in range(0, len(self), most):
            part = slice(start, start + most)
            is_last = start + most >= len(self)
            mine = [fault for fault in faults if is_last or (fault.line or 0) <= self.lines[part][-1]]
            faults = faults[len(mine) :]
            yield self.take(part, mine)


class TableReader(Protocol):
    """One file of a format that has columns."""

    schema: Schema

    def sample(self) -> Sample:
        """Its first rows, from which the types of the columns are inferred."""
        ...

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Its rows; `kinds` has for each name whether it is a number (n), text (t) or skipped (-).

        `label` names the column of the labels, for advice.
        """
        ...


def side_by_side(columns: Sequence[Any], rows: int) -> Floats:
    """Columns of numbers as rows."""
    return np.column_stack(columns) if columns else np.empty((rows, 0))
