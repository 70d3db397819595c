"""Charts as PNG, SVG or PDF for papers, by matplotlib. The caller's backend and style are left alone."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from pocketkernel._files import write_atomically
from pocketkernel._optional import optional
from pocketkernel.evaluate.record import Record
from pocketkernel.report.axes import Axis
from pocketkernel.report.charts import Chart, charts_of
from pocketkernel.report.html import ramp
from pocketkernel.report.svg import COLOURS, axes_of

PALETTE = ("#2a78d6", "#eb6834", "#1baf7a", "#d99400", "#d9609a", "#007a1f", "#6a52c7", "#d33a3a")
_STYLES = ("-", "--", ":", "-.")


def write_figure(
    chart: Chart, path: str | os.PathLike[str], *, width: float = 4.8, height: float = 3.0, dpi: int = 200
) -> None:
    """Draw a chart into a file.

    Needs matplotlib.

    Parameters
    ----------
    chart : Chart
        What to draw.
    path : path
        Its suffix says how: .png, .svg or .pdf.
    width, height : float, default=4.8, 3.0
        Inches.
    dpi : int, default=200
        Dots per inch of a PNG.

    Examples
    --------
    >>> write_figure(charts_of([Record.read("run")])["mistakes"][0], "mistakes.svg")  # doctest: +SKIP
    """
    path = Path(path)
    format = path.suffix.removeprefix(".").lower()
    if format not in ("png", "svg", "pdf"):
        raise ValueError(f"path={os.fspath(path)!r} does not end in .png, .svg or .pdf.")
    matplotlib = optional("matplotlib", "a figure", "report")
    figures = optional("matplotlib.figure", "a figure", "report")
    # Names are shown as they are, never read as formulas; text in an SVG stays text; the same chart, the same bytes.
    style = {"text.parse_math": False, "text.usetex": False, "svg.fonttype": "none", "svg.hashsalt": "pocketkernel"}
    dates = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context(style):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        _draw(figure.add_subplot(), chart)
        if chart.series:
            figure.legend(loc="outside lower center", fontsize="small", frameon=False, ncols=_legend_columns(chart))
        file = io.BytesIO()
        figure.savefig(file, format=format, dpi=dpi, metadata=dates[format])
    write_atomically(path, file.getvalue())


def write_figures(
    records: Sequence[Record], folder: str | os.PathLike[str], formats: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Draw all charts of some runs into a folder, which is made if need be; answers the files.

    Parameters
    ----------
    records : list of Record
        Runs, as for `write_report`.
    folder : path
        Where to.
    formats : list of {"png", "svg", "pdf"}, default=("png", "svg")
        How.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for section, charts in charts_of(records).items():
        for number, chart in enumerate(charts, start=1):
            for format in formats:
                paths.append(folder / f"{section}-{number}.{format}")
                write_figure(chart, paths[-1])
    return paths


def _draw(axes: Any, chart: Chart) -> None:
    x_axis, y_axis = axes_of(chart)
    colours = ramp(len(chart.series)) if chart.stacked else PALETTE
    if chart.stacked and chart.series:
        heights = [np.nan_to_num(np.asarray(one.y, dtype=float), posinf=0.0, neginf=0.0) for one in chart.series]
        axes.stackplot(chart.series[0].x, *heights, colors=colours, labels=[_name(one.name) for one in chart.series])
    for place, one in enumerate(() if chart.stacked else chart.series):
        number = place if one.colour is None else one.colour
        colour = "#666666" if one.reference else colours[number % COLOURS]
        line = "--" if one.reference else _STYLES[number // COLOURS % len(_STYLES)]
        y = np.asarray(one.y, dtype=float)
        alone = chart.markers or np.count_nonzero(np.isfinite(y)) == 1
        axes.plot(
            one.x,
            np.where(np.isfinite(y) & ((y > 0) | (not chart.log_y)), y, np.nan),
            line,
            color=colour,
            linewidth=1.0 if one.reference else 1.5,
            marker="o" if alone and not one.reference else "",
            markersize=3.5,
            label=_name(one.name),
        )
        if one.low is not None:
            axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.18, linewidth=0)
    for axis, which in ((x_axis, "x"), (y_axis, "y")):
        _set_axis(axes, axis, which)
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend_columns(chart: Chart) -> int:
    """As many as fit side by side, at a guess."""
    longest = max(len(_name(one.name)) for one in chart.series)
    return max(1, min(len(chart.series), 60 // (longest + 6)))


def _set_axis(axes: Any, axis: Axis, which: str) -> None:
    if axis.log:
        getattr(axes, f"set_{which}scale")("log")
        getattr(axes, f"{which}axis").minorticks_off()
    ticks = axis.ticks()
    getattr(axes, f"set_{which}ticks")(ticks, [axis.label(tick) for tick in ticks])
    getattr(axes, f"set_{which}lim")(axis.low, axis.high)


def _name(text: str) -> str:
    """A legend's text; matplotlib would hide one that begins with an underscore."""
    text = shorten(text, 40, placeholder=" …")
    return f" {text}" if text.startswith("_") else text
