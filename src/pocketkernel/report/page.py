"""A page: one HTML file that needs nothing else, neither files nor a network nor scripts."""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from pocketkernel._files import write_atomically
from pocketkernel._optional import optional
from pocketkernel.report.charts import Chart
from pocketkernel.report.style import chart_style, resource
from pocketkernel.report.svg import figure
from pocketkernel.report.tables import Table

SECTIONS = {
    "mistakes": ("Mistakes", ""),
    "kernels": ("Kernel weights", "Share of each kernel in the mixture, against the number of rows."),
    "buffer": ("Buffer", ""),
    "loss": ("Loss and memory", ""),
    "more": ("More", ""),
}
"""Heading and note of each section of charts, in the order of the page."""


class Tile(NamedTuple):
    """A headline number."""

    name: str
    value: str
    note: str = ""


def write_page(
    path: str | os.PathLike[str],
    *,
    title: str,
    lead: str = "",
    tiles: Sequence[Tile] = (),
    tables: Iterable[Table] = (),
    charts: Mapping[str, Sequence[Chart]] | None = None,
    repeated: bool = False,
    settings: Iterable[Table] = (),
    commands: Iterable[str] = (),
    versions: str = "",
) -> None:
    """Write a page of tables and charts; a file that is there is replaced. Needs jinja2.

    The lead is a sentence below the title. Charts go by section: mistakes, kernels, buffer, loss, more. `repeated`
    tells whether lines are means, and bands standard deviations: a note says so. `commands` are command lines that do
    it again, and `versions` what they did it with.
    """
    jinja2 = optional("jinja2", "a report", "report")
    safe = optional("markupsafe", "a report", "report").Markup
    charts = charts or {}
    areas = max((len(chart.series) for some in charts.values() for chart in some if chart.stacked), default=0)
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = page.from_string(resource("page.html")).render(
        title=title,
        lead=lead,
        version=version("pocketkernel"),
        style=safe(chart_style(areas) + resource("page.css")),
        tiles=tiles,
        tables=[safe(table.to_html()) for table in tables],
        sections=[_section(key, charts[key], safe) for key in SECTIONS if charts.get(key)],
        repeated=repeated,
        settings=[safe(table.to_html()) for table in settings],
        commands=[command for command in dict.fromkeys(commands) if command],
        versions=versions,
    )
    write_atomically(path, text.encode("utf-8", "replace"))


def _section(key: str, charts: Sequence[Chart], safe: Any) -> dict[str, Any]:
    title, note = SECTIONS[key]
    small = key == "kernels" and len(charts) > 2
    figures = [safe(figure(chart, f"{key}-{n}", small=small)) for n, chart in enumerate(charts)]
    return {"key": key, "title": title, "note": note, "small": small, "figures": figures}
