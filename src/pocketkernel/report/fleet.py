"""The report of a fleet: how well its keys are predicted, and how that changes with their age."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.report.axes import written
from pocketkernel.report.charts import Chart, Series
from pocketkernel.report.page import Step, Tile, write_page
from pocketkernel.report.tables import Table

BINS = 20
FEW_ROWS = 20
"""Keys with fewer rows are left out where rates of keys are compared: theirs are mostly chance."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """How the rows of a fleet are judged.

    Parameters
    ----------
    name, unit : str
        Such as "mistakes" and "%".
    of : function
        The figure of some rows, from their number and the sum of what was wrong.
    """

    name: str
    unit: str
    of: Callable[[Any, Any], Any]

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} {self.unit}".rstrip()


MISTAKES = Measure("mistakes", "%", lambda rows, wrong: 100 * wrong / rows)
ERROR = Measure("root mean square error", "", lambda rows, wrong: np.sqrt(wrong / rows))


def write_fleet_report(
    path: str | os.PathLike[str],
    *,
    title: str,
    measure: Measure,
    rows: Floats,
    wrong: Floats,
    evictions: int,
    by_age: tuple[Sequence[int], Sequence[float]],
    slot_bytes: int,
    nbytes: int,
    slowest: Table,
    next_steps: Sequence[Step] = (),
) -> None:
    """Write a page about a fleet.

    Parameters
    ----------
    path : path
        The HTML file; an existing one is replaced.
    title : str
        Of the page.
    measure : Measure
        How rows are judged.
    rows, wrong : arrays
        Of every key in memory: how many rows, and the sum of what was wrong with them.
    evictions : int
        How many times a key was evicted.
    by_age : two lists
        Rows and the sums of what was wrong, of all keys, by the number of a row among those of its key: 1, 2 to 3, 4 to
        7, and so on.
    slot_bytes, nbytes : int
        Bytes of a model, and of the whole fleet.
    slowest : Table
        Keys with the highest rates of mistakes, or errors.
    next_steps : list of Step, default=()
        What the reader may do next.
    """
    counted = rows >= FEW_ROWS
    charts = [*_distribution(measure, rows[counted], wrong[counted]), *_ages(measure, *by_age)]
    total, all_rows = float(measure.of(max(sum(by_age[0]), 1), sum(by_age[1]))), sum(by_age[0])
    left = f" in memory after {evictions:,} evictions" if evictions else ""
    write_page(
        path,
        title=title,
        lead=f"{len(rows):,} keys{left}, {all_rows:,} rows.",
        tiles=[
            Tile(measure.name, f"{total:.2f} %" if measure is MISTAKES else f"{total:.4g}", "of all rows"),
            Tile("keys", f"{len(rows):,}", f"{int(counted.sum()):,} with {FEW_ROWS} rows or more"),
            Tile("bytes of a model", written(slot_bytes, "bytes")),
            Tile("bytes in all", written(nbytes, "bytes")),
        ],
        tables=[slowest],
        charts={"mistakes" if measure is MISTAKES else "errors": charts},
        next_steps=next_steps,
    )


def histogram(measure: Measure, figures: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Edges of the bins of the figures of keys, and how many keys are in each bin."""
    most = 100.0 if measure is MISTAKES else float(figures.max(initial=0.0)) or 1.0
    counts, edges = np.histogram(figures, bins=BINS, range=(0, most))
    return edges, counts


def _distribution(measure: Measure, rows: Floats, wrong: Floats) -> list[Chart]:
    if not len(rows):
        return []
    edges, counts = histogram(measure, measure.of(rows, wrong))
    series = [Series("keys", (edges[1:] + edges[:-1]) / 2, counts)]
    name = "rate of mistakes" if measure is MISTAKES else measure.name
    return [Chart(f"Keys by their {name}", series, x_label=measure.title, y_label="keys")]


def _ages(measure: Measure, rows: Sequence[int], wrong: Sequence[float]) -> list[Chart]:
    seen = np.array(rows, dtype=np.float64)
    used = seen > 0
    if used.sum() < 2:
        return []
    age = 2.0 ** np.arange(len(seen))[used]
    series = [Series(measure.name, age, measure.of(seen[used], np.array(wrong)[used]))]
    title = f"{measure.name.capitalize()} by the age of a key"
    return [Chart(title, series, x_label="rows of a key", y_label=measure.title, log_x=True)]
