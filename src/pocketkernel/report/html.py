"""A report: one HTML file that needs nothing else, neither files nor a network nor scripts."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from pocketkernel._files import write_atomically
from pocketkernel._optional import optional
from pocketkernel.evaluate.record import Record
from pocketkernel.report.axes import written
from pocketkernel.report.charts import Chart, Group, charts_of, grouped
from pocketkernel.report.style import chart_style, resource
from pocketkernel.report.svg import figure
from pocketkernel.report.tables import Spread, Table, result_table

_SECTIONS = {
    "mistakes": ("Mistakes", ""),
    "kernels": ("Kernel weights", "Share of each kernel in the mixture, after so many rows."),
    "buffer": ("Buffer", ""),
    "loss": ("Loss and memory", ""),
    "more": ("More", ""),
}


@dataclass(frozen=True)
class Tile:
    """A headline number."""

    name: str
    value: str
    note: str = ""


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

    Needs jinja2.

    Parameters
    ----------
    path : path
        The HTML file; one that is there is replaced.
    records : list of Record, default=()
        Runs. Those of the same learner are repetitions, shown as mean and standard deviation.
    title : str, default="Report"
        Of the page.
    lead : str, default=None
        A sentence below the title; None stands for one on the records.
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
    jinja2 = optional("jinja2", "a report", "report")
    safe = optional("markupsafe", "a report", "report").Markup
    groups = grouped(records)
    sections = charts_of(records)
    sections["loss"] += sections.pop("memory")
    sections["more"] = list(charts)
    kernels = max((len(record.curve.kernels) for record in records), default=0)
    results = [result_table(records, title="")] if records else []
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = page.from_string(resource("page.html")).render(
        title=title,
        lead=_lead(records) if lead is None else lead,
        version=version("pocketkernel"),
        style=safe(chart_style(kernels) + resource("page.css")),
        tiles=tiles_of(groups),
        tables=[safe(table.to_html()) for table in (*results, *tables)],
        sections=[_section(key, some, safe) for key, some in sections.items() if some],
        repeated=any(len(group.last) > 1 for group in groups),
        settings=[safe(table.to_html()) for table in settings_tables(groups)],
        commands=_distinct([*commands, *(str(record.settings.get("command") or "") for record in records)]),
        versions=_versions(records),
    )
    write_atomically(path, text.encode("utf-8", "replace"))


def _section(key: str, charts: Sequence[Chart], safe: Any) -> dict[str, Any]:
    title, note = _SECTIONS[key]
    small = key == "kernels" and len(charts) > 2
    figures = [safe(figure(chart, f"{key}-{n}", small=small)) for n, chart in enumerate(charts)]
    return {"key": key, "title": title, "note": note, "small": small, "figures": figures}


def tiles_of(groups: Sequence[Group]) -> list[Tile]:
    """Headline numbers, of the learner with the fewest mistakes if there are more."""
    groups = [group for group in groups if group.last]
    if not groups:
        return []
    rates = {group.name: Spread.of([100 * record.curve.mistake_rate[-1] for record in group.last]) for group in groups}
    best = min(groups, key=lambda group: rates[group.name].mean)
    rate, curves = rates[best.name], [record.curve for record in best.last]
    spread = "" if rate.sd is None else f", ±\u00a0{rate.sd:.2f} over {len(curves)}\u00a0runs"
    heading = "mistakes" if len(groups) == 1 else "fewest mistakes"
    tiles = [Tile(heading, f"{rate.mean:.2f}\u202f%", best.name + spread)]
    if len(groups) > 1:
        others = sorted((group for group in groups if group is not best), key=lambda group: rates[group.name].mean)
        tiles.append(Tile("next best", f"{rates[others[0].name].mean:.2f}\u202f%", others[0].name))
    rows = max(int(curve.rows[-1]) for curve in curves)
    time = float(np.mean([1e6 * curve.seconds[-1] / curve.rows[-1] for curve in curves]))
    tiles.append(Tile("rows", f"{rows:,}", f"{time:,.2f} µs each"))
    nbytes = max(int(curve.nbytes[-1]) for curve in curves)
    if nbytes:
        promised = best.last[0].settings.get("promised_bytes")
        note = f"of {promised:,} promised" if isinstance(promised, int) else written(nbytes, "bytes")
        tiles.append(Tile("bytes", f"{nbytes:,}", note))
    if curves[0].kernels and all(curve.kernels == curves[0].kernels for curve in curves):
        weights = np.mean([curve.weights[-1] for curve in curves], axis=0)
        place = int(np.argmax(weights))
        tiles.append(Tile("heaviest kernel", f"{100 * weights[place]:.1f}\u202f%", curves[0].kernels[place]))
    return tiles


def settings_tables(groups: Sequence[Group]) -> list[Table]:
    """What was the same in all runs, and what was not, by learner."""
    flat = {group.name: [_flat(record.settings) for record in group.records] for group in groups}
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


def _flat(settings: dict[str, Any], before: str = "") -> dict[str, str]:
    """Settings without nesting, as text."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= _flat(value, "" if key == "parameters" else f"{key}: ")
        elif value not in (None, "", []):
            parts = value if isinstance(value, list) else [value]
            flat[before + key] = ", ".join(
                part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts
            )
    return flat


def _joined(values: Sequence[str]) -> str:
    few = values if len(values) <= 6 else [*values[:3], "…", values[-1]]
    return "; ".join(few) + (f" ({len(values)} values)" if len(values) > 6 else "")


def _lead(records: Sequence[Record]) -> str:
    sources = _distinct(str(record.settings.get("source") or "") for record in records)
    days = sorted(_distinct(str(record.settings.get("when") or "")[:10] for record in records))
    runs = f"{len(records)} runs" if len(records) != 1 else "1 run"
    when = " to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""
    return " · ".join(part for part in (_joined(sources), runs if records else "", when) if part)


def _versions(records: Sequence[Record]) -> str:
    versions = [record.settings.get("versions") for record in records]
    texts = (", ".join(f"{key} {value}" for key, value in each.items()) for each in versions if isinstance(each, dict))
    return _joined(_distinct(texts))


def _distinct(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
