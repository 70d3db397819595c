"""`pocketkernel fleet`: one model for each key."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import App, Group, Parameter
from rich.live import Live
from rich.table import Table as Grid

from pocketkernel._text import plain
from pocketkernel.cli.errors import faults
from pocketkernel.cli.options import RESULTS, File, Learning, Reading, at_least, source_of
from pocketkernel.cli.predict import Answers, answers, harmless, tell_skipped, titles_of, write_csv
from pocketkernel.cli.schema import show_schema
from pocketkernel.cli.show import data_out, err, print_json, prose
from pocketkernel.cli.show import out as out_console
from pocketkernel.evaluate.job import takes_missing
from pocketkernel.evaluate.task import CLASSIFICATION
from pocketkernel.fleet import Fleet, FleetStoreError, copies
from pocketkernel.fleet.feed import PIPELINE_FILE, Counts, Feed, pipeline_in
from pocketkernel.report.fleet import ERROR, FEW_ROWS, MISTAKES, histogram, write_fleet_report
from pocketkernel.report.page import Step
from pocketkernel.report.tables import Column, Table
from pocketkernel.stream import Stream

REPORT = "report.html"
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
    learning: Learning = Learning(),  # noqa: B008  (frozen)
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
    Without --memory, a model has the least that leaves room for kernels, from 4KiB on.

    Parameters
    ----------
    files
        Files, globs, or - for standard input.
    key
        Column with the key of each row, which is read as text. Rows without a key are skipped.
    base
        "shared": new keys begin with a copy of a model that learns the rows of all keys.
    max_keys
        Maximum number of keys in memory; those used least recently are moved to the folder.
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
        if not json and resumed == 0:
            prose(console, _what_it_buys(feed))
        with Live(console=console, transient=True, refresh_per_second=4) as live:
            for counts in feed.steps():
                speed = (counts.rows - resumed) / max(perf_counter() - began, 1e-9)
                live.update(_panel(feed.fleet, counts, feed.task, speed))
        results = figures(feed.fleet, feed.counts, feed.task)
        if report:
            _write_report(feed.fleet, feed.counts, out, feed.task, results["slowest"])
    finally:
        feed.close()
    skipped = feed.stream.skipped
    results |= {
        "skipped": skipped.count,
        "memory": feed.plan.memory,
        "folder": str(out),
        "resumed_at": resumed,
        "seconds": perf_counter() - began,
    }
    if json:
        print_json(results)
    else:
        _show(results)
    if skipped.count:
        console.print(f"Rows that could not be used and were skipped: {skipped.count:,}", markup=False)
        for fault in faults(skipped.reports[:1]):
            prose(console, fault)


def _what_it_buys(feed: Feed) -> str:
    """The memory of each model, and what is in it."""
    plan = feed.plan
    memory = f"{plan.nbytes if plan.memory is None else plan.memory:,} bytes for each key"
    if plan.shortage:
        return f"Memory: {memory}. {plan.shortage}"
    columns = f"{plan.n_features:,} column{'s' if plan.n_features > 1 else ''}"
    chosen = f" (the least with room for kernels in {columns}; --memory changes it)" if feed.planned else ""
    bought = [f"{name} ({number:,} {unit})" for name, number, unit in plan.experts]
    what = "rows" if plan.budget_name == "budget" else "frequencies"
    return f"Memory: {memory}{chosen}. It buys {', '.join(bought) or f'{plan.budget:,} {what}'}."


@fleet.command
def predict(
    folder: Path,
    *files: File,
    on_error: Literal["raise", "skip"] | None = None,
    block: Annotated[int, Parameter(validator=at_least(1))] = 4096,
    continues: Annotated[bool, Parameter(negative=())] = False,
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
    on_error
        Lines that cannot be read: stop with an error, which is the default, or skip and count them.
    block
        Number of rows that are scored at once.
    continues
        Each row is the next one of its key: the last labels of the key help to predict it, where they help at all.
    escape_formulas
        Put ' before keys and labels that a spreadsheet would treat as a formula; see `pocketkernel predict`.
    """
    pipeline = pipeline_in(folder)
    with Fleet.load(folder) as loaded:
        model = loaded.blank()
        stream = pipeline.open(source_of(files), block=block, on_error=on_error)
        blocks = _answers(loaded, stream, getattr(model, "classes_", None), continues)
        write_csv(data_out(), ["key", *titles_of(model)], blocks, harmless if escape_formulas else str)
    tell_skipped(stream)


def _answers(loaded: Fleet, stream: Stream, classes: Any, continues: bool) -> Iterator[Answers]:
    for part in stream.blocks():
        if part.ids is None:
            raise ValueError(f"{part.file} has no column with keys.")
        yield part.ids, *answers(loaded, part.ids, part.X, classes=classes, continues=continues)


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


@fleet.command
def backup(folder: Path, into: Path) -> None:
    """Copy a fleet into a new folder, also while `pocketkernel fleet run` learns: everything that it has committed.

    Parameters
    ----------
    folder
        Folder of the fleet.
    into
        Folder to write.
    """
    copies.backup(folder, into)
    if (folder / PIPELINE_FILE).exists():
        shutil.copy(folder / PIPELINE_FILE, into)


@fleet.command
def check(folder: Path) -> None:
    """Read all of a fleet, and tell everything that is wrong with it; exit status 1 if anything is.

    Parameters
    ----------
    folder
        Folder of the fleet.
    """
    _tell(*copies.check(folder))


@fleet.command
def repair(folder: Path, into: Path) -> None:
    """Write what is sound of a damaged fleet into a new folder, and tell what is not; exit status 1 if anything is not.

    Parameters
    ----------
    folder
        Folder of the fleet.
    into
        Folder to write.
    """
    found, faults = copies.repair(folder, into)
    if (folder / PIPELINE_FILE).exists():
        shutil.copy(folder / PIPELINE_FILE, into)
    _tell(found, faults)


def _tell(found: Fleet, faults: list[str]) -> None:
    for line in faults:
        err().print(line, markup=False, soft_wrap=True)
    of = f"{len(found):,} keys in memory after {found.clock:,} rows, {found.evicted:,} evictions"
    if faults:
        raise FleetStoreError(f"{len(faults)} faults, listed above; sound are {of}")
    out_console().print(f"sound: {of}", markup=False)


# ---- figures --------------------------------------------------------------------------------------------------------


def figures(loaded: Fleet, counts: Counts | None, task: str | None, top: int = 10) -> dict[str, Any]:
    """What is said about a fleet."""
    keys, rows, wrong = of_keys(loaded, task)
    found: dict[str, Any] = {
        "keys": len(loaded),
        "evictions": loaded.evicted,
        "rows": int(loaded.clock if counts is None else counts.rows),
        "bytes_of_a_model": loaded.slot_bytes,
        "bytes": loaded.nbytes,
        "rows_of_a_key": {name: float(np.quantile(rows, q)) for name, q in _QUANTILES.items()} if len(rows) else {},
    }
    total = float(wrong.sum() if counts is None else counts.wrong)
    if task == CLASSIFICATION:
        found["mistakes"] = int(total)
        found["mistake_rate"] = total / max(found["rows"], 1)
    else:
        found["rmse"] = float(np.sqrt(total / max(found["rows"], 1)))
    measure, name = (MISTAKES, "mistake_rate") if task == CLASSIFICATION else (ERROR, "rmse")
    counted = rows >= FEW_ROWS
    keys, rows = keys[counted], rows[counted]
    each = measure.of(rows, wrong[counted])
    unit = 100 if measure is MISTAKES else 1
    found["slowest"] = [
        {"key": plain(str(keys[n])), "rows": int(rows[n]), name: float(each[n]) / unit}
        for n in np.argsort(-each, kind="stable")[:top]
    ]
    edges, numbers = histogram(measure, each)
    found["histogram"] = [
        [float(low) / unit, float(high) / unit, int(number)]
        for low, high, number in zip(edges, edges[1:], numbers, strict=False)
    ]
    return found


def of_keys(loaded: Fleet, task: str | None) -> tuple[Any, Any, Any]:
    """Keys in memory, their rows, and the sum of what was wrong: mistakes, or squared errors."""
    tally = loaded.tally()
    wrong = tally["mistakes" if task == CLASSIFICATION else "cumulative_loss"]
    return tally["keys"], tally["rounds"].astype(float), wrong.astype(float)


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
    else:
        grid.add_row("root mean square error", f"{results['rmse']:.4g}")
    if "folder" in results:
        grid.add_row("folder", plain(results["folder"]))
    console.print(grid)
    is_rate = "mistake_rate" in results
    bars = [bar for bar in results["histogram"] if bar[2]]
    if bars:
        console.print(f"\nKeys with {FEW_ROWS} rows or more, by their {'rate of mistakes' if is_rate else 'error'}:")
        most = max(number for _, _, number in bars)
        for low, high, number in bars:
            between = f"{100 * low:3.0f}-{100 * high:3.0f} %" if is_rate else f"{low:8.3g} to {high:8.3g}"
            console.print(f"  {between}  {'█' * max(1, round(40 * number / most))} {number:,}")
    if results["slowest"]:
        console.print(f"\nHighest {'rates of mistakes' if is_rate else 'errors'}:")
        for one in results["slowest"]:
            figure = f"{100 * one['mistake_rate']:5.1f} %" if is_rate else f"{one['rmse']:8.4g}"
            console.print(f"  {figure}  {one['rows']:>8,} rows  {one['key']}", markup=False)


def _write_report(loaded: Fleet, counts: Counts, folder: Path, task: str | None, slowest: list[dict[str, Any]]) -> None:
    _, rows, wrong = of_keys(loaded, task)
    is_rate = task == CLASSIFICATION
    measure, name, digits = (MISTAKES, "rates of mistakes", 1) if is_rate else (ERROR, "errors", 4)
    table = [[one["key"], one["rows"], 100 * one["mistake_rate"] if is_rate else one["rmse"]] for one in slowest]
    write_fleet_report(
        folder / REPORT,
        title=f"Fleet {folder.name}",
        measure=measure,
        rows=rows,
        wrong=wrong,
        evictions=loaded.evicted,
        by_age=(counts.rows_by_age, counts.wrong_by_age),
        slot_bytes=loaded.slot_bytes,
        nbytes=loaded.nbytes,
        slowest=Table(f"Keys with the highest {name}", ["key", "rows", Column(measure.title, digits)], table),
        next_steps=[
            Step("Predict further rows", f"pocketkernel fleet predict {folder} more.csv"),
            Step("Look at all keys", f"pocketkernel fleet inspect {folder} --top 50"),
        ],
    )
