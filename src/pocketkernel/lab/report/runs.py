"""Pages that compare runs: those of the same learner are repetitions, shown as mean and standard deviation."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.evaluate.record import Record
from pocketkernel.lab.report.tables import Cell, Column, Spread, Table, number
from pocketkernel.report import Chart, Series, write_page
from pocketkernel.report import charts_of as charts_of_one
from pocketkernel.report.page import Tile
from pocketkernel.report.run import (
    COLUMNS,
    MOST_POINTS,
    flat_settings,
    memory_chart,
    name_of,
    results_of,
    tiles_of,
    versions_of,
    window_of,
)


def write_report(
    path: str | os.PathLike[str],
    records: Sequence[Record] = (),
    *,
    title: str = "Report",
    lead: str | None = None,
    tables: Sequence[Table] = (),
    charts: Sequence[Chart] = (),
    commands: Iterable[str] = (),
) -> None:
    """Write a report of some runs, of some tables and charts, or of all of these.

    Parameters
    ----------
    path : path
        The HTML file; one that is there is replaced.
    records : list of Record, default=()
        Runs. Those of the same learner are repetitions, shown as mean and standard deviation.
    title : str, default="Report"
        Of the page.
    lead : str, default=None
        A sentence below the title; None means one on the records.
    tables : list of Table, default=()
        Shown after the table of results.
    charts : list of Chart, default=()
        Shown after those of the records.
    commands : list of str, default=()
        Command lines that do it again, besides those in the records.

    Examples
    --------
    >>> write_report("report.html", [Record.read("run")], title="Digits")  # doctest: +SKIP
    """
    groups = grouped(records)
    write_page(
        path,
        title=title,
        lead=_lead(records) if lead is None else lead,
        tiles=_tiles([group for group in groups if group.last]),
        tables=[*([result_table(records, title="")] if records else []), *tables],
        charts=charts_of(records) | {"more": list(charts)},
        repeated=any(len(group.last) > 1 for group in groups),
        settings=settings_tables(groups),
        commands=[*commands, *(str(record.settings.get("command") or "") for record in records)],
        versions=_joined(_distinct(map(versions_of, records))),
    )


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
        name = name_of(record)
        if len(sources) > 1:
            name = f"{name}, {record.settings.get('source', '')}"
        groups.setdefault(name, []).append(record)
    return [Group(name, tuple(members), colour) for colour, (name, members) in enumerate(groups.items())]


# ---- charts ---------------------------------------------------------------------------------------------------------


def charts_of(records: Sequence[Record]) -> dict[str, list[Chart]]:
    """All charts of some runs, by section: mistakes, kernels, buffer, loss. Sections may be empty.

    Lines are means over the repetitions of a learner and bands reach one standard deviation to both sides.
    """
    groups = [group for group in grouped(records) if group.last]
    longest = [max((record.curve for record in group.last), key=lambda curve: curve.rows[-1]) for group in groups]
    window = max(map(window_of, longest), default=1)
    promises = [record.settings.get("promised_bytes") for record in records]
    sections: dict[str, list[Chart]] = {"mistakes": [], "kernels": [], "buffer": [], "loss": []}
    drawn = [[charts_of_one(record, window) for record in group.last] for group in groups]
    for section, charts in sections.items():
        lines: dict[str, list[Series]] = {}
        looks: dict[str, Chart] = {}
        for group, runs in zip(groups, drawn, strict=True):
            found: dict[str, list[Chart]] = {}
            for chart in (chart for run in runs for chart in run[section]):
                found.setdefault(group.name if chart.stacked else chart.title, []).append(chart)
            for title, same in found.items():
                if section == "kernels":
                    charts.append(_mean_areas(title, same))
                else:
                    look = looks.setdefault(title, same[0])
                    lines.setdefault(title, []).append(_mean(group, same, 1.0 if look.y_unit == "percent" else np.inf))
        for title, look in looks.items():
            charts.append(_together(look, lines[title], promises))
    return sections


def _together(look: Chart, lines: Sequence[Series], promises: Sequence[Any]) -> Chart:
    """A chart of several learners that looks like one of them."""
    if look.title == "Memory":
        return memory_chart(lines, promises)
    highest = [float(np.max(line.y)) for line in lines]
    apart = look.title == "Removals" and min(highest) > 0 and max(highest) > 50 * min(highest)
    return replace(look, series=lines, log_y=apart)


def _mean(group: Group, charts: Sequence[Chart], most: float) -> Series:
    """Mean of a group's lines, with a band of one standard deviation from 0 up to the most."""
    grid, values = _on_grid([chart.series[0] for chart in charts])
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.mean(values, axis=0)
        if len(values) == 1:
            return Series(group.name, grid, mean, colour=group.colour)
        sd = np.std(values, axis=0, ddof=1)
        return Series(group.name, grid, mean, np.maximum(mean - sd, 0), np.minimum(mean + sd, most), group.colour)


def _mean_areas(name: str, charts: Sequence[Chart]) -> Chart:
    """Mean weights of the runs that have the kernels of the first."""
    names = [one.name for one in charts[0].series]
    charts = [chart for chart in charts if [one.name for one in chart.series] == names]
    areas = []
    for k, kernel in enumerate(names):
        grid, values = _on_grid([chart.series[k] for chart in charts])
        areas.append(Series(kernel, grid, np.mean(values, axis=0), colour=k))
    return replace(charts[0], title=name, series=areas)


def _on_grid(lines: Sequence[Series]) -> tuple[npt.NDArray[np.float64], list[npt.NDArray[np.float64]]]:
    """Rows at which all lines are known and at least one has a point, and the lines there."""
    xs = [np.asarray(line.x) for line in lines]
    rows = np.unique(np.concatenate(xs))
    first, last = max(x[0] for x in xs), min(x[-1] for x in xs)
    rows = rows[(rows >= min(first, last)) & (rows <= last)]
    if len(rows) > MOST_POINTS:
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int))]
    return rows, [np.interp(rows, x, np.asarray(line.y)) for x, line in zip(xs, lines, strict=True)]


# ---- numbers --------------------------------------------------------------------------------------------------------


def result_table(records: Sequence[Record], title: str = "Results") -> Table:
    """How each learner ended: mean and standard deviation over its repetitions.

    Columns that nobody has a number for are left out.
    """
    columns = [Column("learner"), Column("runs"), Column("rows")]
    columns += [Column(one.name, one.digits, "min" if name == "mistakes %" else None) for name, one in COLUMNS.items()]
    rows = [_result(group) for group in grouped(records)]
    kept = [n for n in range(len(columns)) if n < 4 or any(_known(row[n]) for row in rows)]
    return Table(title, [columns[n] for n in kept], [[row[n] for n in kept] for row in rows])


def _result(group: Group) -> list[Cell]:
    found = [results_of(record) for record in group.last]
    if not found:
        return [group.name, len(group.records), 0, *[None] * len(COLUMNS)]
    row: list[Cell] = [group.name, len(group.records), max(one["rows"] for one in found)]
    for name in COLUMNS:
        values = [one[name] for one in found if one[name] is not None]
        whole = all(isinstance(value, int) for value in values)
        row.append(None if not values else max(values) if whole else Spread.of(values))
    return row


def _known(cell: Cell) -> bool:
    value = number(cell)
    return value is not None and not math.isnan(value)


def _tiles(groups: Sequence[Group]) -> list[Tile]:
    """Headline numbers, of the learner with the fewest mistakes if there are more."""
    if not groups:
        return []
    rates = {group.name: np.mean([results_of(one)["mistakes %"] for one in group.last]) for group in groups}
    best, *others = sorted(groups, key=lambda group: rates[group.name])
    first, *more = tiles_of(best.last, best.name)
    if not others:
        return [first, *more]
    following = Tile("next best", f"{rates[others[0].name]:.2f}\u202f%", others[0].name)
    return [first._replace(name="fewest mistakes"), following, *more]


def settings_tables(groups: Sequence[Group]) -> list[Table]:
    """What was the same in all runs, and what was not, by learner."""
    flat = {group.name: [flat_settings(record.settings) for record in group.records] for group in groups}
    keys = list(dict.fromkeys(key for runs in flat.values() for run in runs for key in run))
    keys = [key for key in keys if key not in ("command", "learner", "when")]
    common: list[list[str | None]] = []
    rest: list[list[str | None]] = []
    for key in keys:
        values = [_distinct(run[key] for run in runs if key in run) for runs in flat.values()]
        if all(value == values[0] for value in values):
            common.append([key, _joined(values[0])])
        else:
            rest.append([key, *map(_joined, values)])
    times = sorted(run["when"] for runs in flat.values() for run in runs if "when" in run)
    if times:
        common.append(["when", " to ".join(dict.fromkeys([times[0], times[-1]]))])
    tables = [Table("The same for all" if rest else "", ["setting", "value"], common)] if common else []
    return tables + ([Table("By learner", ["setting", *flat], rest)] if rest else [])


def _lead(records: Sequence[Record]) -> str:
    sources = _distinct(str(record.settings.get("source") or "") for record in records)
    days = sorted(_distinct(str(record.settings.get("when") or "")[:10] for record in records))
    runs = f"{len(records)} runs" if len(records) != 1 else "1 run"
    when = " to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""
    return " · ".join(part for part in (_joined(sources), runs if records else "", when) if part)


def _joined(values: Sequence[str]) -> str:
    few = values if len(values) <= 6 else [*values[:3], "…", values[-1]]
    return "; ".join(few) + (f" ({len(values)} values)" if len(values) > 6 else "")


def _distinct(texts: Iterable[Any]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
