"""The report of a fleet: how its keys fare, and how they learn with age."""

import os
from collections.abc import Sequence

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


def write_fleet_report(
    path: str | os.PathLike[str],
    *,
    title: str,
    rows: Floats,
    mistakes: Floats,
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
        The HTML file; one that is there is replaced.
    title : str
        Of the page.
    rows, mistakes : arrays
        Of every key.
    by_age : two lists
        Rows and mistakes by the number of a row among those of its key: 1, 2 to 3, 4 to 7, and so on.
    slot_bytes, nbytes : int
        Bytes of a model, and of the whole fleet.
    slowest : Table
        Keys with the highest rates of mistakes.
    next_steps : list of Step, default=()
        What the reader may do next.
    """
    counted = rows >= FEW_ROWS
    rates = mistakes[counted] / rows[counted]
    total = 100 * mistakes.sum() / max(rows.sum(), 1)
    write_page(
        path,
        title=title,
        lead=f"{len(rows):,} keys, {int(rows.sum()):,} rows.",
        tiles=[
            Tile("mistakes", f"{total:.2f} %", "of all rows"),
            Tile("keys", f"{len(rows):,}", f"{int(counted.sum()):,} with {FEW_ROWS} rows or more"),
            Tile("bytes of a model", written(slot_bytes, "bytes")),
            Tile("bytes in all", written(nbytes, "bytes")),
        ],
        tables=[slowest],
        charts={"mistakes": [*_distribution(rates), *_ages(*by_age)]},
        next_steps=next_steps,
    )


def histogram(rates: Floats) -> tuple[Floats, Floats]:
    """Middles of the bins of rates of mistakes, in percent, and how many keys are in each."""
    counts, edges = np.histogram(100 * rates, bins=BINS, range=(0, 100))
    return (edges[1:] + edges[:-1]) / 2, counts.astype(np.float64)


def _distribution(rates: Floats) -> list[Chart]:
    if not len(rates):
        return []
    middles, counts = histogram(rates)
    series = [Series("keys", middles, counts)]
    return [Chart("Keys by their rate of mistakes", series, x_label="mistakes in %", y_label="keys")]


def _ages(rows: Sequence[int], wrong: Sequence[float]) -> list[Chart]:
    seen = np.array(rows, dtype=np.float64)
    used = seen > 0
    if used.sum() < 2:
        return []
    age = 2.0 ** np.arange(len(seen))[used]
    rate = 100 * np.array(wrong)[used] / seen[used]
    series = [Series("mistakes", age, rate)]
    return [Chart("Mistakes by the age of a key", series, x_label="rows of a key", y_label="mistakes in %", log_x=True)]
