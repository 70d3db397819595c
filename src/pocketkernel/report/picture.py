"""A chart as an SVG file that stands by itself: the picture of the page, with title and legend inside."""

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path

from pocketkernel._files import write_atomically
from pocketkernel.report.charts import Chart
from pocketkernel.report.style import chart_style
from pocketkernel.report.svg import SIZE, drawing, key_of

TITLE, LINE, GAP, KEY = 24, 18, 14, 28
"""Heights of the title and of a line of the legend; the space between entries; the width of a key."""
LETTER = 6.2
"""Width of a letter of the legend, about."""
LONGEST = 60
FONT = 'font-family="system-ui, sans-serif" font-size="11"'


def write_picture(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Draw a chart into a file that ends in .svg.

    Examples
    --------
    >>> write_picture(charts_of(Record.read("run"))["mistakes"][0], "mistakes.svg")  # doctest: +SKIP
    """
    if Path(path).suffix.lower() != ".svg":
        raise ValueError(f"path={os.fspath(path)!r} does not end in .svg.")
    write_atomically(path, picture(chart).encode("utf-8", "replace"))


def picture(chart: Chart) -> str:
    """Draw a chart as the text of an SVG document.

    Examples
    --------
    >>> from pocketkernel.report import Chart, Series
    >>> text = picture(Chart("Mistakes", [Series("a & b", [1, 2, 3], [0.3, 0.2, 0.1])]))
    >>> text.startswith("<svg xmlns="), text.count("a &amp; b") > 0
    (True, True)
    """
    width, height = SIZE
    drawn, legend = "".join(drawing(chart, "chart", width, height)), list(_legend(chart, width))
    total = TITLE + height + (legend[-1][1] + LINE if legend else 0)
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" {FONT}>',
            f"<style>{escape(chart_style(len(chart.series) if chart.stacked else 0), quote=False)}</style>",
            f'<rect width="{width}" height="{total}" fill="var(--card)"/><g class="chart">',
            f'<text x="12" y="17" style="font-size: 13px; font-weight: 600">{escape(chart.title)}</text>',
            f'<svg y="{TITLE}" width="{width}" height="{height}">{drawn}</svg>',
            *(f'<g transform="translate({x:.0f},{TITLE + height + y})">{entry}</g>' for x, y, entry in legend),
            "</g></svg>\n",
        ]
    )


def _legend(chart: Chart, width: int) -> Iterator[tuple[float, int, str]]:
    """Place and drawing of each entry, in lines that fit the width."""
    x, y = 12.0, 0
    for one in chart.series:
        name = one.name if len(one.name) <= LONGEST else one.name[: LONGEST - 2] + " …"
        room = KEY + LETTER * len(name)
        if x > 12 and x + room > width:
            x, y = 12.0, y + LINE
        yield x, y, f'{key_of(one, chart)}<text x="{KEY}" y="10">{escape(name)}</text>'
        x += room + GAP
