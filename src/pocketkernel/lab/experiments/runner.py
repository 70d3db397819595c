"""Runs cells, on all cores or on a cluster, and remembers what is finished.

Outcomes are lines of JSON, appended to one file by one process, a batch of cells at a time: a run that is killed loses
the batches that were under way, and the next run resumes from there.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from pocketkernel import __version__
from pocketkernel._optional import optional
from pocketkernel.lab.experiments.cells import Cell, Outcome, run_on
from pocketkernel.lab.experiments.data import fingerprint, load, locate
from pocketkernel.lab.experiments.published import published

BATCH_SECONDS = 0.3
"""Cells are sent to a worker in batches of about so much work: sending takes no time to speak of, a crash loses little.
"""

MICROSECONDS = {"M-OMD-S": 1.5, "M-OMD-H": 8.0, "LKMBooks": 1.5, "Raker": 4.0}
OTHERWISE = 6.0
"""Rough cost of a row with a budget of 400. Only batches and the expected time depend on it."""

Report = Callable[["Status"], None]


@dataclass(frozen=True)
class Status:
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Cells.
    kept : int
        Cells of `done` that were finished before this run.
    elapsed, left : float
        Seconds since the start, and about how many are to come; None before the first batch is back.
    """

    done: int
    total: int
    kept: int
    elapsed: float
    left: float | None


class Results:
    """The outcomes in a folder, made if it is not there.

    A cell is known by its description, the contents of its data set's file, and the version of the package.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / "cells.jsonl"

    def read(self) -> dict[str, Outcome]:
        """All outcomes, by what they belong to. A line that was cut off by a crash counts as not written."""
        found: dict[str, Outcome] = {}
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            try:
                record = json.loads(line)
                outcome = Outcome(**record.pop("outcome"))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
            found.setdefault(_key(record), outcome)
        return found

    def append(self, outcomes: Iterable[tuple[str, Outcome]]) -> None:
        """Add outcomes for good: in one write, and on the disk before this returns."""
        lines = [_key(json.loads(key) | {"outcome": asdict(outcome)}) + "\n" for key, outcome in outcomes]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b", buffering=0) as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    lines.insert(0, "\n")
            file.write("".join(lines).encode())
            os.fsync(file.fileno())


def _key(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True)


def run(
    cells: Iterable[Cell],
    results: str | Path,
    *,
    folder: str | Path | None = None,
    jobs: int = -1,
    backend: str = "loky",
    report: Report | None = None,
) -> dict[Cell, Outcome]:
    """Outcomes of cells: those in the results folder as they are, the others by running them.

    Parameters
    ----------
    cells : iterable of Cell
        What to run.
    results : path
        Folder of the outcomes.
    folder : path, default=None
        Where to look for the data sets' files before $POCKETKERNEL_DATA and the cache. Workers on other machines look
        in the same place.
    jobs : int, default=-1
        Workers; -1 means one per core.
    backend : str, default="loky"
        A backend of joblib: "loky" (processes), "threading", "dask" (the current client, or that of the scheduler in
        DASK_SCHEDULER_ADDRESS, or else a local cluster), or one registered with joblib.
    report : function of a Status, default=None
        Called at the start and after every batch.
    """
    cells = list(dict.fromkeys(cells))
    paths = {name: locate(name, folder) for name in dict.fromkeys(cell.data_set for cell in cells)}
    prints = {name: fingerprint(path) for name, path in paths.items()}
    keys = {
        cell: _key({"cell": cell.description, "data": prints[cell.data_set], "version": __version__}) for cell in cells
    }
    store = Results(results)
    known = store.read()
    found = {cell: known[keys[cell]] for cell in cells if keys[cell] in known}

    todo = batches(cell for cell in cells if cell not in found)
    work = sum(cost(cell) for batch in todo for cell in batch)
    began, kept, finished = time.perf_counter(), len(found), 0.0
    tell = report or (lambda status: None)
    tell(Status(kept, len(cells), kept, 0.0, None if todo else 0.0))
    calls = [(batch, paths[batch[0].data_set], prints[batch[0].data_set]) for batch in todo]
    for batch, outcomes in _in_parallel(calls, jobs, backend):
        store.append((keys[cell], outcome) for cell, outcome in zip(batch, outcomes, strict=True))
        found.update(zip(batch, outcomes, strict=True))
        finished += sum(cost(cell) for cell in batch)
        elapsed = time.perf_counter() - began
        left = elapsed * (work - finished) / finished if len(found) < len(cells) else 0.0
        tell(Status(len(found), len(cells), kept, elapsed, left))
    return {cell: found[cell] for cell in cells}


def run_batch(batch: Sequence[Cell], path: Path, contents: str) -> tuple[Sequence[Cell], list[Outcome]]:
    """Run cells of the same permutation of the same data set, which a worker reads only once."""
    if fingerprint(path) != contents:
        raise ValueError(f"{path} is not the file that the run was started with: workers need the same data.")
    first = batch[0]
    data = load(first.data_set, path.parent, first.dtype).permuted(first.permutation)
    return batch, [run_on(cell, data) for cell in batch]


def batches(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells in batches of the same permutation of the same data set, about BATCH_SECONDS each; long streams first."""
    groups: dict[tuple[str, int, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.data_set, cell.permutation, cell.dtype), []).append(cell)
    made: list[list[Cell]] = []
    for _, group in sorted(groups.items(), key=lambda item: (-_rows(item[0][0]), item[0])):
        seconds = float("inf")
        for cell in group:
            if seconds >= BATCH_SECONDS:
                made.append([])
                seconds = 0.0
            made[-1].append(cell)
            seconds += cost(cell)
    return made


def cost(cell: Cell) -> float:
    """Seconds that a cell is expected to take, roughly."""
    each = next((us for name, us in MICROSECONDS.items() if cell.learner.startswith(name)), OTHERWISE)
    doubles = 2 if cell.dtype == "float64" else 1
    return 1e-6 * _rows(cell.data_set) * each * doubles * (0.3 + 0.7 * cell.budget / 400)


def _rows(data_set: str) -> int:
    return next((cell.rows for cell in published() if cell.data_set == data_set), 1)


def _in_parallel(
    calls: Sequence[tuple[Any, ...]], jobs: int, backend: str
) -> Iterator[tuple[Sequence[Cell], list[Outcome]]]:
    """Results of `run_batch`, as soon as they are there."""
    if not calls:
        return
    with _cluster(backend, jobs), parallel_config(backend=backend, n_jobs=jobs):
        try:
            parallel = Parallel(return_as="generator_unordered", batch_size=1)
            rounds = [calls]
        except ValueError:  # a backend that answers only when all is done is asked for little at a time
            parallel = Parallel(batch_size=1)
            size = 4 * effective_n_jobs(jobs)
            rounds = [calls[start : start + size] for start in range(0, len(calls), size)]
        for some in rounds:
            yield from parallel(delayed(run_batch)(*call) for call in some)


def _cluster(backend: str, jobs: int) -> AbstractContextManager[Any]:
    """What has to be there while a backend is in use."""
    return _dask_client(jobs) if backend == "dask" else nullcontext()


@contextmanager
def _dask_client(jobs: int) -> Iterator[None]:
    dask = optional("dask", "the backend dask", "dask")
    distributed = optional("distributed", "the backend dask", "dask")
    try:
        distributed.get_client()
    except ValueError:
        address = dask.config.get("scheduler-address", None)
        local = {"n_workers": jobs if jobs > 0 else os.cpu_count(), "threads_per_worker": 1, "dashboard_address": None}
        with distributed.Client(address) if address else distributed.Client(**local):
            yield
    else:
        yield
