"""Charts as plain descriptions. `svg.py` draws them for pages, `picture.py` into files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True, eq=False)
class Series:
    """A line of a chart.

    Parameters
    ----------
    name : str
        In the legend.
    x, y : arrays of float, of equal length
        NaN and infinity leave gaps.
    low, high : arrays of float, default=None
        Ends of the band around the line.
    colour : int, default=None
        Number of its colour, so that a thing keeps it from chart to chart; None means its place in the chart.
    reference : bool, default=False
        A thin dashed grey line, such as a bound.
    scattered : bool, default=False
        Points that no line joins.
    """

    name: str
    x: Any  # array-like when it is given, an array afterwards; so are the others
    y: Any
    low: Any = None
    high: Any = None
    colour: int | None = None
    reference: bool = False
    scattered: bool = False

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(f"series {self.name!r} has only one end of a band: give low and high, or neither.")
        given = {name: getattr(self, name) for name in ("x", "y", "low", "high") if getattr(self, name) is not None}
        arrays = {name: np.atleast_1d(np.asarray(value, dtype=np.float64)) for name, value in given.items()}
        shapes = {name: array.shape for name, array in arrays.items()}
        if len(set(shapes.values())) > 1 or len(shapes["x"]) != 1:
            raise ValueError(f"series {self.name!r} needs arrays of equal length, not of shapes {shapes}.")
        vars(self).update(arrays)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not np.any(np.isfinite(self.y))


class Mark(NamedTuple):
    """Something that happened at a place of the x axis."""

    x: float
    text: str


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over a common x axis, or stacked areas.

    Parameters
    ----------
    title : str
        What it shows.
    series : list of Series
        In the order of the legend.
    x_label, y_label, note : str
        The note is a sentence on what is shown.
    x_unit, y_unit : {"number", "percent", "bytes"}, default="number"
        How numbers are written.
    log_x, log_y : bool, default=False
        Logarithmic axes.
    zero : bool, default=True
        A linear y axis of positive numbers begins at zero.
    markers : bool, default=True
        Every point is marked.
    stacked : bool, default=False
        Areas, each on top of the one before, up to 1; otherwise lines.
    marks : list of Mark, default=()
        Vertical lines where something happened.

    Examples
    --------
    >>> budgets = [25, 100, 400]
    >>> half = Series("half", budgets, [0.31, 0.22, 0.18], low=[0.30, 0.21, 0.17], high=[0.32, 0.23, 0.19])
    >>> restart = Series("restart", budgets, [0.35, 0.26, 0.19])
    >>> chart = Chart("Mistakes", [half, restart], x_label="budget", y_unit="percent", log_x=True)
    >>> [one.name for one in chart.series]
    ['half', 'restart']
    """

    title: str
    series: Sequence[Series]
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    x_unit: str = "number"
    y_unit: str = "number"
    log_x: bool = False
    log_y: bool = False
    zero: bool = True
    markers: bool = True
    stacked: bool = False
    marks: Sequence[Mark] = ()
