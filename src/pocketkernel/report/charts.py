"""Charts as plain descriptions, and those that records give. `svg.py` draws them for pages, `picture.py` into files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pocketkernel.evaluate.curve import Curve
from pocketkernel.evaluate.record import Record

Floats = npt.NDArray[np.float64]

MOST_POINTS = 600
"""Of a line: more than a picture has dots from left to right."""


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
        Number of its colour, so that a thing keeps it from chart to chart; None stands for its place in the chart.
    reference : bool, default=False
        A thin dashed grey line, such as a bound.
    """

    name: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    low: npt.ArrayLike | None = None
    high: npt.ArrayLike | None = None
    colour: int | None = None
    reference: bool = False

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(f"series {self.name!r} has only one end of a band: give low and high, or neither.")
        for name in ("x", "y", "low", "high"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.atleast_1d(np.asarray(value, dtype=np.float64)))
        shapes = {
            name: getattr(self, name).shape for name in ("x", "y", "low", "high") if getattr(self, name) is not None
        }
        if len(set(shapes.values())) > 1 or len(shapes["x"]) != 1:
            raise ValueError(f"series {self.name!r} needs arrays of equal length, not of shapes {shapes}.")


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over a common x axis, or areas upon each other. Made by `line_chart` or from records.

    Attributes
    ----------
    title, x_label, y_label, note : str
        The note is a sentence on what is shown.
    series : tuple of Series
        In the order of the legend.
    x_unit, y_unit : {"number", "percent", "bytes"}
        How numbers are written.
    log_x, log_y : bool
        Logarithmic axes.
    zero : bool
        A linear y axis of positive numbers begins at zero.
    markers : bool
        Every point is marked.
    stacked : bool
        Areas, each upon the one before, up to 1; else lines.
    """

    title: str
    series: tuple[Series, ...]
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    x_unit: str = "number"
    y_unit: str = "number"
    log_x: bool = False
    log_y: bool = False
    zero: bool = True
    markers: bool = False
    stacked: bool = False


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str = "",
    y_label: str = "",
    note: str = "",
    x_unit: str = "number",
    y_unit: str = "number",
    log_x: bool = False,
    log_y: bool = False,
    zero: bool = True,
    markers: bool = True,
) -> Chart:
    """Lines over a common x axis, such as mistakes against the budget for some learners.

    Parameters
    ----------
    series : list of Series
        The lines.
    title, x_label, y_label, note : str
        The note is a sentence on what is shown.
    x_unit, y_unit : {"number", "percent", "bytes"}, default="number"
        How numbers are written.
    log_x, log_y : bool, default=False
        Logarithmic axes.
    zero : bool, default=True
        A linear y axis of positive numbers begins at zero.
    markers : bool, default=True
        Every point is marked.

    Examples
    --------
    >>> budgets = [25, 100, 400]
    >>> half = Series("half", budgets, [0.31, 0.22, 0.18], low=[0.30, 0.21, 0.17], high=[0.32, 0.23, 0.19])
    >>> restart = Series("restart", budgets, [0.35, 0.26, 0.19])
    >>> chart = line_chart([half, restart], title="Mistakes", x_label="budget", y_unit="percent", log_x=True)
    >>> [one.name for one in chart.series]
    ['half', 'restart']
    """
    return Chart(title, tuple(series), x_label, y_label, note, x_unit, y_unit, log_x, log_y, zero=zero, markers=markers)


# ---- records --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Repetitions of one learner: records of the same name."""

    name: str
    records: tuple[Record, ...]
    colour: int

    @property
    def last(self) -> list[Record]:
        """The records that have a point at all."""
        return [record for record in self.records if len(record.curve)]


def grouped(records: Sequence[Record]) -> list[Group]:
    """Gather the repetitions of each learner, in order of appearance; by source, too, if there is more than one."""
    sources = {str(record.settings.get("source", "")) for record in records}
    groups: dict[str, list[Record]] = {}
    for record in records:
        name = str(record.settings.get("learner", "learner"))
        if len(sources) > 1:
            name = f"{name}, {record.settings.get('source', '')}"
        groups.setdefault(name, []).append(record)
    return [Group(name, tuple(members), colour) for colour, (name, members) in enumerate(groups.items())]


def charts_of(records: Sequence[Record]) -> dict[str, list[Chart]]:
    """All charts of some runs, by section: mistakes, kernels, buffer, loss, memory. Sections may be empty.

    Lines are means over the repetitions of a learner and bands reach one standard deviation to both sides.
    """
    groups = grouped(records)
    return {
        "mistakes": _full([mistake_chart(groups), window_chart(groups)]),
        "kernels": _full([weight_chart(group) for group in groups]),
        "buffer": _full([fill_chart(groups), removal_chart(groups)]),
        "loss": _full([loss_chart(groups)]),
        "memory": _full([memory_chart(groups)]),
    }


def mistake_chart(groups: Sequence[Group]) -> Chart:
    """Mistake rate since the start."""
    lines = [_mean(group, lambda curve: curve.mistake_rate) for group in groups]
    note = "Share of wrong answers since the start."
    return Chart("Mistake rate", _full_lines(lines), "rows", "mistakes", note, y_unit="percent")


def window_chart(groups: Sequence[Group]) -> Chart:
    """Mistake rate of the latest rows."""
    window = _window(groups)
    lines = [_mean(group, lambda curve: curve.window_mistake_rate(window)) for group in groups]
    note = f"Share of wrong answers in the latest {window:,} rows."
    return Chart("Recent mistake rate", _full_lines(lines), "rows", "mistakes", note, y_unit="percent")


def weight_chart(group: Group) -> Chart:
    """Weights of a learner's kernels, upon each other."""
    members = [record.curve for record in group.last if record.curve.kernels]
    members = [curve for curve in members if curve.kernels == members[0].kernels]
    lines = []
    if members:
        grid = _grid(members)
        for number, name in enumerate(members[0].kernels):
            weights = [np.interp(grid, curve.rows, curve.weights[:, number]) for curve in members]
            lines.append(Series(name, grid, np.mean(weights, axis=0), colour=number))
    # Hedge decides early, and fast: on a linear axis most of the picture would be one colour.
    early = bool(members) and grid[-1] >= 10 * grid[0]
    return Chart(group.name, _full_lines(lines), "rows", "weight", y_unit="percent", log_x=early, stacked=True)


def fill_chart(groups: Sequence[Group]) -> Chart:
    """How full the buffers are."""
    lines = [
        _mean(group, lambda curve, budget=budget: curve.stored / budget, most=1.0)  # type: ignore[misc]
        for group in _adding(groups)
        if (budget := group.last[0].settings.get("budget"))
    ]
    note = "Rows in the buffer as a share of the budget."
    return Chart("Buffer fill", _full_lines(lines), "rows", "of the budget", note, y_unit="percent")


def removal_chart(groups: Sequence[Group]) -> Chart:
    """How often a full buffer was halved or emptied."""
    lines = [_mean(group, lambda curve: curve.removals.astype(np.float64)) for group in _adding(groups)]
    highest = [float(np.max(line.y)) for line in lines]
    apart = min(highest, default=0) > 0 and max(highest) > 50 * min(highest)
    note = "How often a full buffer was halved or emptied, over all buffers."
    return Chart("Removals", _full_lines(lines), "rows", "removals", note, log_y=apart)


def loss_chart(groups: Sequence[Group]) -> Chart:
    """Cumulative loss."""
    lines = [_mean(group, lambda curve: curve.loss) for group in groups]
    note = "Sum of the losses since the start."
    return Chart("Cumulative loss", _full_lines(lines), "rows", "loss", note)


def memory_chart(groups: Sequence[Group]) -> Chart:
    """Bytes taken, and bytes promised."""
    lines = [_mean(group, lambda curve: np.where(curve.nbytes > 0, curve.nbytes, np.nan)) for group in groups]
    lines = [line for line in lines if np.any(np.isfinite(line.y))]
    promises = [record.settings.get("promised_bytes") for group in groups for record in group.records]
    if lines:
        ends = [float(end(np.concatenate([np.asarray(line.x) for line in lines]))) for end in (np.min, np.max)]
        for number in sorted({promise for promise in promises if isinstance(promise, int)})[:3]:
            lines.append(Series(f"promised: {number:,} bytes", ends, [number, number], reference=True))
    levels = [float(level) for line in lines for level in (np.nanmin(line.y), np.nanmax(line.y))]
    apart = bool(levels) and max(levels) > 20 * min(levels)
    close = bool(levels) and max(levels) < 2 * min(levels)
    note = "Bytes that the learner takes, all in all." + (" The axis does not begin at zero." if close else "")
    return Chart("Memory", _full_lines(lines), "rows", "bytes", note, y_unit="bytes", log_y=apart, zero=not close)


def _mean(group: Group, column: Callable[[Curve], npt.NDArray[np.floating]], most: float = np.inf) -> Series:
    """Mean of a column over a group's repetitions, with a band of one standard deviation from 0 up to the most."""
    curves = [record.curve for record in group.last]
    if not curves:
        return Series(group.name, [], [], colour=group.colour)
    grid = _grid(curves)
    values = np.array([np.interp(grid, curve.rows, column(curve)) for curve in curves])
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.mean(values, axis=0)
        if len(values) == 1:
            return Series(group.name, grid, mean, colour=group.colour)
        sd = np.std(values, axis=0, ddof=1)
        return Series(group.name, grid, mean, np.maximum(mean - sd, 0), np.minimum(mean + sd, most), group.colour)


def _grid(curves: Sequence[Curve]) -> Floats:
    """Rows at which all curves are known, and at least one has a point."""
    rows = np.unique(np.concatenate([curve.rows for curve in curves]))
    first, last = max(curve.rows[0] for curve in curves), min(curve.rows[-1] for curve in curves)
    rows = rows[(rows >= min(first, last)) & (rows <= last)]
    if len(rows) > MOST_POINTS:
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int))]
    return np.asarray(rows, dtype=np.float64)


def _window(groups: Sequence[Group]) -> int:
    """About a twentieth of the longest run, in whole blocks."""
    curves = [record.curve for group in groups for record in group.last]
    if not curves:
        return 1
    block = max(int(np.median(np.diff(curve.rows, prepend=0))) for curve in curves)
    return block * max(1, round(max(int(curve.rows[-1]) for curve in curves) / 20 / block))


def _adding(groups: Sequence[Group]) -> list[Group]:
    """Learners that have a buffer."""
    return [group for group in groups if any(record.curve.additions[-1] > 0 for record in group.last)]


def _full_lines(lines: Sequence[Series]) -> tuple[Series, ...]:
    return tuple(line for line in lines if np.any(np.isfinite(line.y)))


def _full(charts: Sequence[Chart]) -> list[Chart]:
    return [chart for chart in charts if chart.series]
