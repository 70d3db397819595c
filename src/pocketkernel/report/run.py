"""The report of a run: headline numbers, results, charts and settings of a record."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pocketkernel.certificate import Certificate, meaning, mistake_rate, recent_mistake_rate
from pocketkernel.evaluate.curve import Curve
from pocketkernel.evaluate.record import Record
from pocketkernel.report import results as measures
from pocketkernel.report.axes import written
from pocketkernel.report.certificate import certificate_charts, certificate_tables
from pocketkernel.report.charts import Chart, Series
from pocketkernel.report.page import Part, Step, Tile, write_page
from pocketkernel.report.pieces import Bars
from pocketkernel.report.tables import Column, Table

MOST_POINTS = 600
"""Of a line: more than a picture has dots from left to right."""

UNSHOWN = ("command", "learner", "class", "fingerprint", "schema")
"""Settings that a page shows elsewhere, or that only programs read."""

PLAIN = {
    "promised_bytes": "memory limit (bytes)",
    "budget": "frequencies or rows that fit",
    "level": "instructions of the processor",
    "features": "columns of the model",
    "seed": "random seed",
    "block": "rows learned at once",
    "when": "time (UTC)",
    "random_state": "random state",
    "n_classes": "room for classes",
    "class_weight": "weights of classes",
    "n_jobs": "threads",
    "lag": "uses the last labels",
    "resumed_at": "resumed after rows",
    "permute": "shuffled with seed",
    "skipped: rows": "rows skipped",
    "skipped: first": "first rows skipped",
    "dropped": "rows read but not learned",
    "dtype": "precision",
}
"""Names of settings, as people read them."""

SCHEMA_ROWS = 60
"""Columns of a file that a page lists: the label, then the first ones."""

FEW_POINTS = 8
"""A curve of fewer says little: the kernel weights at its end are shown instead."""

DELTA = 0.05
"""Probability that an interval for the rate of mistakes fails."""

COLUMNS = {
    "mistakes %": Column("mistakes %", digits=2),
    "loss per row": Column("loss per row", digits=4),
    "budget": Column("budget"),
    "bytes": Column("bytes"),
    "µs per row": Column("µs per row", digits=2),
    "removals": Column("removals", digits=1),
}
"""Results of a run, and how they are written."""


def write_report(
    path: str | os.PathLike[str],
    record: Record,
    *,
    title: str = "Report",
    next_steps: Sequence[Step] = (),
    certificate: Certificate | None = None,
) -> None:
    """Write a page about a run.

    Parameters
    ----------
    path : path
        The HTML file; an existing one is replaced.
    record : Record
        The run.
    title : str, default="Report"
        Of the page.
    next_steps : list of Step, default=()
        What the reader may do next.
    certificate : Certificate, default=None
        What the model proves about its regret at the end.

    Examples
    --------
    >>> write_report("report.html", Record.read("run"), title="Digits")  # doctest: +SKIP
    """
    settings, results, name = record.settings, record.results, name_of(record)
    flat = [[PLAIN.get(key, key), value] for key, value in flat_settings(settings).items() if key not in UNSHOWN]
    charts: dict[str, Sequence[Chart | Part]] = {**charts_of(record)}
    tiles = tiles_of([record], name) if len(record.curve) else []
    if results:
        # Those of the pass itself are finer than the curve, and have baselines; memory is a headline number.
        charts |= measures.parts_of(results, name) | {"loss": []}
        if 0 < len(record.curve) < FEW_POINTS and record.curve.kernels:
            weights = zip(record.curve.kernels, record.curve.weights[-1].tolist(), strict=True)
            charts["kernels"] = [Bars("Kernel weights at the end", list(weights))]
        tiles = [*measures.tiles_of(results), *(tile for tile in tiles if tile.name in ("rows", "bytes"))]
        table = measures.baseline_table(results, name)
    else:
        found = results_of(record)
        columns = [column for column in COLUMNS.values() if found.get(column.name) is not None]
        row = [name, found.get("rows", 0), *(found[column.name] for column in columns)]
        table = Table("", [Column("learner"), Column("rows"), *columns], [row])
    if settings.get("schema"):
        charts["schema"] = [schema_table(settings["schema"])]
    if certificate is not None and (certificate.value is not None or certificate.guarantee.experts):
        # The page has the rate of mistakes already, and its curve.
        charts["proved"] = [*certificate_tables(certificate)[1:], *certificate_charts(certificate)]
    write_page(
        path,
        title=title,
        lead=" · ".join(filter(None, [str(settings.get("source") or ""), str(settings.get("when") or "")[:10]])),
        tiles=tiles,
        warnings=[*results.get("warnings", ()), *results.get("remarks", ())],
        tables=[table, *([] if results.get("task") == "regression" else intervals_of(record.curve))],
        charts=charts,
        next_steps=next_steps,
        settings=[Table("", ["setting", "value"], flat)] if flat else [],
        commands=[str(settings.get("command") or "")],
        versions=versions_of(record),
    )


def schema_table(columns: Sequence[dict[str, Any]]) -> Table:
    """What became of each column of the file."""
    ordered = sorted(columns, key=lambda one: one["role"] != "label")
    rows = [[one["name"], one["role"], one["encoded"], one["examples"]] for one in ordered[:SCHEMA_ROWS]]
    left = len(columns) - len(rows)
    note = f"{left:,} more columns are not shown." if left else ""
    return Table("", ["column of the file", "role", "encoded as", "examples"], rows, note)


def name_of(record: Record) -> str:
    """Name of the learner."""
    return str(record.settings.get("learner", "learner"))


def versions_of(record: Record) -> str:
    """What it ran with."""
    versions = record.settings.get("versions")
    return ", ".join(f"{key} {value}" for key, value in versions.items()) if isinstance(versions, dict) else ""


# ---- numbers --------------------------------------------------------------------------------------------------------


def results_of(record: Record) -> dict[str, Any]:
    """How a run ended, by the names of COLUMNS, and its rows; what is not known is None. Nothing without a point."""
    curve, budget = record.curve, record.settings.get("budget")
    if not len(curve):
        return {}
    rows = int(curve.rows[-1])
    return {
        "rows": rows,
        "mistakes %": float(100 * curve.mistake_rate[-1]),
        "loss per row": None if np.isnan(curve.loss[-1]) else float(curve.loss[-1] / rows),
        "budget": budget if isinstance(budget, int) else None,
        "bytes": int(curve.nbytes[-1]) or None,
        "µs per row": float(1e6 * curve.seconds[-1] / rows),
        "removals": float(curve.removals[-1]) if curve.additions[-1] else None,
    }


def tiles_of(records: Sequence[Record], name: str) -> list[Tile]:
    """Headline numbers of a run, or means of its repetitions, which all have points."""
    found, curves = [results_of(record) for record in records], [record.curve for record in records]
    rates, times = ([one[key] for one in found] for key in ("mistakes %", "µs per row"))
    note = name
    if len(records) > 1:
        note += f", ±\u00a0{np.std(rates, ddof=1):.2f} over {len(records)}\u00a0runs"
    tiles = [
        Tile("mistakes", f"{np.mean(rates):.2f}\u202f%", note),
        Tile("rows", f"{max(one['rows'] for one in found):,}", f"{np.mean(times):,.2f} µs each"),
    ]
    nbytes = max(one["bytes"] or 0 for one in found)
    if nbytes:
        promised = records[0].settings.get("promised_bytes")
        note = f"of {promised:,} promised" if isinstance(promised, int) else written(nbytes, "bytes")
        tiles.append(Tile("bytes", f"{nbytes:,}", note))
    if curves[0].kernels and all(curve.kernels == curves[0].kernels for curve in curves):
        weights = np.mean([curve.weights[-1] for curve in curves], axis=0)
        place = int(np.argmax(weights))
        tiles.append(Tile("heaviest kernel", f"{100 * weights[place]:.1f}\u202f%", curves[0].kernels[place]))
    return tiles


def flat_settings(settings: dict[str, Any], before: str = "") -> dict[str, str]:
    """Settings without nesting, as text."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= flat_settings(value, "" if key == "parameters" else f"{key}: ")
        elif value not in (None, "", []):
            parts = value if isinstance(value, list) else [value]
            flat[before + key] = ", ".join(
                part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts
            )
    return flat


def intervals_of(curve: Curve) -> list[Table]:
    """What the counts prove about the rate of mistakes, since the start and since a restart. Empty without a point."""
    if not len(curve):
        return []
    rows, mistakes = int(curve.rows[-1]), int(curve.mistakes[-1])
    found = {"all": mistake_rate(mistakes, rows, DELTA)}
    # The restart is at the first point from a power of two on: no result has a say in that.
    start = int(np.searchsorted(curve.rows, 2 ** max(rows.bit_length() - 2, 0)))
    if start < len(curve) - 1:
        before = {"mistakes_before": int(curve.mistakes[start]), "rounds_before": int(curve.rows[start])}
        found["latest"] = recent_mistake_rate(mistakes, rows, **before, delta=DELTA)
    lines = [[name, one.rounds, *(100 * part for part in (one.rate, one.low, one.high))] for name, one in found.items()]
    columns = [Column("mistakes, %", digits=2), Column("at least", digits=2), Column("at most", digits=2)]
    return [Table("What is proved about mistakes", [Column("rows"), Column("count"), *columns], lines, meaning(DELTA))]


# ---- charts ---------------------------------------------------------------------------------------------------------


def charts_of(record: Record, window: int | None = None) -> dict[str, list[Chart]]:
    """Charts of a run by section: mistakes, kernels, buffer, loss. Sections may be empty.

    `window` is the number of rows over which recent mistakes are counted; None means that of `window_of`.
    """
    curve, budget = record.curve, record.settings.get("budget")
    if not len(curve):
        return {}
    window = window_of(curve) if window is None else window
    at = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), MOST_POINTS)).astype(int))

    def line(title: str, y: Any, label: str, note: str, unit: str = "number") -> Chart:
        series = Series(name_of(record), curve.rows[at], np.asarray(y, np.float64)[at])
        return Chart(title, [series], "rows", label, note, y_unit=unit, markers=False)

    recent = f"Share of wrong predictions in the latest {window:,} rows."
    proved = [mistake_rate(int(m), int(t), DELTA) for m, t in zip(curve.mistakes[at], curve.rows[at], strict=True)]
    ends = [
        Series("at least, 95 %", curve.rows[at], [one.low for one in proved], reference=True),
        Series("at most, 95 %", curve.rows[at], [one.high for one in proved], reference=True),
    ]
    note = "Share of wrong predictions since the start, and its interval, which holds at all times at once."
    rate = line("Mistake rate", curve.mistake_rate, "mistakes", note, "percent")
    mistakes = [
        replace(rate, series=[*rate.series, *ends]),
        line("Recent mistake rate", curve.window_mistake_rate(window), "mistakes", recent, "percent"),
    ]
    buffer = []
    if curve.additions[-1]:
        if budget:
            note = "Rows in the buffer as a share of the budget."
            buffer.append(line("Buffer fill", curve.stored / budget, "of the budget", note, "percent"))
        note = "How often a full buffer was halved or emptied, over all buffers."
        buffer.append(line("Removals", curve.removals, "removals", note))
    loss = line("Cumulative loss", curve.loss, "loss", "Sum of the losses since the start.")
    taken = line("Memory", np.where(curve.nbytes > 0, curve.nbytes, np.nan), "bytes", "", "bytes")
    memory = memory_chart(taken.series, [record.settings.get("promised_bytes")])
    areas = [Series(name, curve.rows[at], curve.weights[at, k], colour=k) for k, name in enumerate(curve.kernels)]
    # Hedge decides early, and fast: on a linear axis most of the picture would be one colour.
    early = bool(curve.rows[-1] >= 10 * curve.rows[0])
    kernels = Chart(
        name_of(record), areas, "rows", "weight", y_unit="percent", log_x=early, markers=False, stacked=True
    )
    sections = {"mistakes": mistakes, "kernels": [kernels], "buffer": buffer, "loss": [loss, memory]}
    return {
        key: [chart for chart in charts if not all(one.is_empty for one in chart.series)]
        for key, charts in sections.items()
    }


def memory_chart(lines: Sequence[Series], promises: Sequence[Any]) -> Chart:
    """Bytes taken, and bytes promised."""
    lines = [line for line in lines if not line.is_empty]
    if lines:
        ends = [float(end(np.concatenate([np.asarray(line.x) for line in lines]))) for end in (np.min, np.max)]
        for number in sorted({promise for promise in promises if isinstance(promise, int)})[:3]:
            lines.append(Series(f"promised: {number:,} bytes", ends, [number, number], reference=True))
    levels = [float(level) for line in lines for level in (np.nanmin(line.y), np.nanmax(line.y))]
    apart = bool(levels) and max(levels) > 20 * min(levels)
    close = bool(levels) and max(levels) < 2 * min(levels)
    note = "Total bytes of the learner." + (" The axis does not begin at zero." if close else "")
    return Chart("Memory", lines, "rows", "bytes", note, y_unit="bytes", log_y=apart, zero=not close, markers=False)


def window_of(curve: Curve) -> int:
    """About a twentieth of a run, in whole blocks."""
    block = int(np.median(np.diff(curve.rows, prepend=0)))
    return block * max(1, round(int(curve.rows[-1]) / 20 / block))
