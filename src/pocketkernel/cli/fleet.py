"""`pocketkernel fleet`: one model for each key."""

import csv
import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import App, Group, Parameter
from rich.live import Live
from rich.table import Table as Grid

from pocketkernel._scores import labels_of
from pocketkernel._text import plain
from pocketkernel.cli.options import File, Learning, Reading, at_least, source_of
from pocketkernel.cli.predict import harmless
from pocketkernel.cli.schema import show_schema
from pocketkernel.cli.show import err, print_json
from pocketkernel.cli.show import out as out_console
from pocketkernel.evaluate.job import takes_missing
from pocketkernel.evaluate.run import plain_label
from pocketkernel.evaluate.task import CLASSIFICATION
from pocketkernel.fleet import Fleet
from pocketkernel.fleet.feed import Counts, Feed, pipeline_in
from pocketkernel.report.fleet import FEW_ROWS, histogram, write_fleet_report
from pocketkernel.report.page import Step
from pocketkernel.report.tables import Column, Table

REPORT = "report.html"
RESULTS = Group("Results", sort_key=4)
FLEET = Group("Fleet", sort_key=1)

fleet = App(name="fleet", help="One model for each key: learn keyed events, predict, inspect.")


@fleet.command
def run(
    *files: File,
    key: Annotated[str, Parameter(group=FLEET)],
    base: Annotated[Literal["shared"] | None, Parameter(group=FLEET)] = None,
    max_keys: Annotated[int | None, Parameter(group=FLEET, validator=at_least(1))] = None,
    learner: Annotated[str, Parameter(group="Learner")] = "pocket",
    task: Annotated[Literal["classification", "regression"] | None, Parameter(group="Learner")] = None,
    learning: Learning = Learning(memory="4KiB"),  # noqa: B008  (frozen)
    rows: Annotated[int | None, Parameter(group=FLEET, validator=at_least(1))] = None,
    block: Annotated[int, Parameter(group=FLEET, validator=at_least(1))] = 4096,
    sync_every: Annotated[int, Parameter(group=FLEET, validator=at_least(1))] = 10_000,
    reading: Reading = Reading(),  # noqa: B008
    out: Annotated[Path, Parameter(group=RESULTS)] = Path("fleet"),
    report: Annotated[bool, Parameter(group=RESULTS)] = True,
    json: Annotated[bool, Parameter(group=RESULTS, negative=())] = False,
) -> None:
    """Learn keyed events row by row, each in the model of its key; every row is scored before its label is used.

    The fleet is kept in a folder. It can be interrupted or killed at any time: the same command resumes it exactly.

    Parameters
    ----------
    files
        Files, globs, or - for standard input.
    key
        Column with the key of each row.
    base
        "shared": new keys begin with a copy of a model that learns the rows of all keys.
    max_keys
        Most keys in memory; those used least recently are kept in the folder.
    learner
        What each model is; see `pocketkernel run`.
    task
        Whether labels are classes or numbers. By default numbers if they have many different values.
    rows
        Stop after this number of rows.
    block
        Number of rows that are learned at once.
    sync_every
        Rows after which what was learned is written to disk.
    out
        Folder of the fleet.
    report
        Write report.html, a page about the fleet.
    json
        Print the results as one JSON document.
    """
    console, began = err(), perf_counter()
    feed = Feed(
        source_of(files),
        key=key,
        folder=out,
        learner=learner,
        parameters=learning.parameters(learner),
        reading=reading.options(takes_missing=takes_missing(learner)),
        task=task,
        base=base,
        max_keys=max_keys,
        rows=rows,
        block=block,
        sync_every=sync_every,
    )
    resumed = feed.counts.rows
    try:
        if feed.stream.inferred is not None and not json and resumed == 0:
            show_schema(console, feed.stream, feed.task)
        with Live(console=console, transient=True, refresh_per_second=4) as live:
            for counts in feed.steps():
                speed = (counts.rows - resumed) / max(perf_counter() - began, 1e-9)
                live.update(_panel(feed.fleet, counts, feed.task, speed))
        results = figures(feed.fleet, feed.counts, feed.task)
        if report:
            _write_report(out / REPORT, feed.fleet, feed.counts, out)
    finally:
        feed.close()
    results |= {"folder": str(out), "resumed_at": resumed, "seconds": perf_counter() - began}
    if json:
        print_json(results)
    else:
        _show(results)


@fleet.command
def predict(
    folder: Path,
    *files: File,
    block: Annotated[int, Parameter(validator=at_least(1))] = 4096,
    escape_formulas: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Predict keyed rows with the model of each key; write one line of CSV per row with key, label and score.

    Unknown keys are answered by the base of the fleet.

    Parameters
    ----------
    folder
        Folder of the fleet.
    files
        Files, globs, or - for standard input.
    block
        Number of rows that are scored at once.
    escape_formulas
        Put ' before keys and labels that a spreadsheet would treat as a formula; see `pocketkernel predict`.
    """
    pipeline = pipeline_in(folder)

    def shown(text: Any) -> str:
        text = harmless(str(text)) if escape_formulas else str(text)
        return plain(text) if sys.stdout.isatty() else text

    with Fleet.load(folder) as loaded:
        classes = getattr(loaded.blank(), "classes_", None)
        writer = csv.writer(sys.stdout, lineterminator="\n")
        several = classes is not None and len(classes) > 2
        titles = (
            [shown(f"score of {plain_label(one)}") for one in classes] if several and classes is not None else ["score"]
        )
        writer.writerow(["key", "label", *titles] if classes is not None else ["key", "value"])
        for part in pipeline.open(source_of(files), block=block).blocks():
            if part.ids is None:
                raise ValueError(f"{part.file} has no column with keys.")
            if classes is None:
                writer.writerows(zip(map(shown, part.ids), loaded.predict(part.ids, part.X).tolist(), strict=True))
                continue
            scores = loaded.decision_function(part.ids, part.X)
            keys, labels = map(shown, part.ids), [shown(plain_label(label)) for label in labels_of(scores, classes)]
            numbers = scores.tolist() if several else [[score] for score in scores.tolist()]
            writer.writerows([one, label, *some] for one, label, some in zip(keys, labels, numbers, strict=True))


@fleet.command
def inspect(
    folder: Path,
    *,
    top: Annotated[int, Parameter(validator=at_least(1))] = 10,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Show what a fleet has become: keys, bytes, mistakes, the keys that learn slowest, a histogram of rates.

    Parameters
    ----------
    folder
        Folder of a fleet, or a file that `Fleet.export` wrote.
    top
        How many of the keys with the highest rates of mistakes to show.
    json
        Print one JSON document.
    """
    with Fleet.load(folder) as loaded:
        task = CLASSIFICATION if hasattr(loaded.blank(), "classes_") else "regression"
        counts = Counts.of(loaded.offset) if isinstance(loaded.offset, dict) else None
        results = figures(loaded, counts, task, top)
    if json:
        print_json(results)
    else:
        _show(results)


# ---- figures --------------------------------------------------------------------------------------------------------


def figures(loaded: Fleet, counts: Counts | None, task: str | None, top: int = 10) -> dict[str, Any]:
    """What is said about a fleet."""
    tally = loaded.tally()
    rows, mistakes = tally["rounds"].astype(float), tally["mistakes"].astype(float)
    counted = rows >= FEW_ROWS
    found: dict[str, Any] = {
        "keys": len(loaded),
        "evictions": loaded.evicted,
        "rows": int(loaded.clock if counts is None else counts.rows),
        "bytes_of_a_model": loaded.slot_bytes,
        "bytes": loaded.nbytes,
        "rows_of_a_key": {name: float(np.quantile(rows, q)) for name, q in _QUANTILES.items()} if len(rows) else {},
    }
    if task != CLASSIFICATION:
        found["rmse"] = None if counts is None or not counts.rows else float(np.sqrt(counts.wrong / counts.rows))
        return found
    found["mistakes"] = int(mistakes.sum() if counts is None else counts.wrong)
    found["mistake_rate"] = found["mistakes"] / max(found["rows"], 1)
    rates = mistakes[counted] / rows[counted]
    order = np.argsort(-rates, kind="stable")[:top]
    keys = tally["keys"][counted]
    found["slowest"] = [
        {"key": plain(str(keys[n])), "rows": int(rows[counted][n]), "mistake_rate": float(rates[n])} for n in order
    ]
    middles, numbers = histogram(rates)
    found["histogram"] = [[float(middle), int(number)] for middle, number in zip(middles, numbers, strict=True)]
    return found


_QUANTILES = {"least": 0.0, "median": 0.5, "largest": 1.0}


def _panel(loaded: Fleet, counts: Counts, task: str | None, speed: float) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    wrong = (
        f"{100 * counts.wrong / max(counts.rows, 1):.2f} % mistakes"
        if task == CLASSIFICATION
        else f"root mean square error {np.sqrt(counts.wrong / max(counts.rows, 1)):.4g}"
    )
    grid.add_row(f"{counts.rows:,} rows", f"{len(loaded):,} keys", wrong, f"{speed:,.0f} rows/s")
    return grid


def _show(results: dict[str, Any]) -> None:
    console = out_console()
    grid = Grid.grid(padding=(0, 2))
    grid.add_row(
        "keys", f"{results['keys']:,}" + (f", {results['evictions']:,} evictions" if results["evictions"] else "")
    )
    grid.add_row("rows", f"{results['rows']:,}")
    grid.add_row("bytes", f"{results['bytes_of_a_model']:,} a model, {results['bytes']:,} in all")
    if "mistake_rate" in results:
        grid.add_row("mistakes", f"{100 * results['mistake_rate']:.2f} %")
    elif results.get("rmse") is not None:
        grid.add_row("root mean square error", f"{results['rmse']:.4g}")
    if "folder" in results:
        grid.add_row("folder", plain(results["folder"]))
    console.print(grid)
    bars = [(middle, number) for middle, number in results.get("histogram", []) if number]
    if bars:
        console.print(f"\nKeys with {FEW_ROWS} rows or more, by their rate of mistakes:")
        most = max(number for _, number in bars)
        for middle, number in bars:
            console.print(
                f"  {middle - 2.5:3.0f}-{middle + 2.5:3.0f} %  {'█' * max(1, round(40 * number / most))} {number:,}"
            )
    if results.get("slowest"):
        console.print("\nHighest rates of mistakes:")
        for one in results["slowest"]:
            console.print(f"  {100 * one['mistake_rate']:5.1f} %  {one['rows']:>8,} rows  {one['key']}", markup=False)


def _write_report(path: Path, loaded: Fleet, counts: Counts, folder: Path) -> None:
    tally = loaded.tally()
    slowest = figures(loaded, counts, CLASSIFICATION)["slowest"]
    rows = [[one["key"], one["rows"], 100 * one["mistake_rate"]] for one in slowest]
    write_fleet_report(
        path,
        title=f"Fleet {folder.name}",
        rows=tally["rounds"].astype(np.float64),
        mistakes=tally["mistakes"].astype(np.float64),
        by_age=(counts.rows_by_age, counts.wrong_by_age),
        slot_bytes=loaded.slot_bytes,
        nbytes=loaded.nbytes,
        slowest=Table("Keys with the highest rates of mistakes", ["key", "rows", Column("mistakes %", 1)], rows),
        next_steps=[
            Step("Predict further rows", f"pocketkernel fleet predict {folder} more.csv"),
            Step("Look at all keys", f"pocketkernel fleet inspect {folder} --top 50"),
        ],
    )
