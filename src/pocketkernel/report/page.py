"""A page: one HTML file that needs nothing else, neither files nor a network nor scripts."""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

import jinja2
import markupsafe

from pocketkernel._files import write_atomically
from pocketkernel.report.charts import Chart
from pocketkernel.report.style import chart_style, resource
from pocketkernel.report.svg import figure
from pocketkernel.report.tables import Table

SECTIONS = {
    "mistakes": ("Mistakes", ""),
    "errors": ("Errors", ""),
    "classes": ("Classes", ""),
    "probabilities": ("Probabilities", ""),
    "columns": ("Influence of columns", ""),
    "schema": ("How the columns are read", ""),
    "kernels": ("Kernel weights", "Share of each kernel in the mixture."),
    "buffer": ("Buffer", ""),
    "loss": ("Loss and memory", ""),
    "proved": ("What is proved about the regret", ""),
    "more": ("More", ""),
}
"""Heading and note of each section of charts, in the order of the page."""


class Part(Protocol):
    """A part of a page that writes itself."""

    def to_html(self) -> str:
        """As HTML."""


class Step(NamedTuple):
    """What to do next: a sentence and a command line."""

    text: str
    command: str


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
    warnings: Sequence[str] = (),
    tables: Iterable[Table] = (),
    charts: Mapping[str, Sequence[Chart | Part]] | None = None,
    repeated: bool = False,
    settings: Iterable[Table] = (),
    next_steps: Sequence[Step] = (),
    commands: Iterable[str] = (),
    versions: str = "",
) -> None:
    """Write a page of tables and charts; an existing file is replaced.

    The lead is a sentence below the title; `warnings` stand out below the headline numbers. Charts and other parts go
    by section, see SECTIONS. `repeated`: lines are means and bands standard deviations, and a note says so.
    `commands` are command lines that do it again, and `versions` what they did it with.
    """
    safe = markupsafe.Markup
    charts = charts or {}
    drawn = [part for some in charts.values() for part in some if isinstance(part, Chart)]
    areas = max((len(chart.series) for chart in drawn if chart.stacked), default=0)
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = page.from_string(resource("page.html")).render(
        title=title,
        lead=lead,
        version=version("pocketkernel"),
        style=safe(chart_style(areas) + resource("page.css")),
        tiles=tiles,
        warnings=warnings,
        tables=[safe(table.to_html()) for table in tables],
        sections=[_section(key, charts[key], safe) for key in SECTIONS if charts.get(key)],
        repeated=repeated,
        settings=[safe(table.to_html()) for table in settings],
        next_steps=next_steps,
        commands=[command for command in dict.fromkeys(commands) if command],
        versions=versions,
    )
    write_atomically(path, text.encode("utf-8", "replace"), follow=False)


def _section(key: str, parts: Sequence[Chart | Part], safe: Any) -> dict[str, Any]:
    title, note = SECTIONS[key]
    small = key == "kernels" and len(parts) > 2
    charts = [part for part in parts if isinstance(part, Chart)]
    figures = [safe(figure(chart, f"{key}-{n}", small=small)) for n, chart in enumerate(charts)]
    others = [safe(part.to_html()) for part in parts if not isinstance(part, Chart)]
    return {"key": key, "title": title, "note": note, "small": small, "figures": figures, "others": others}
