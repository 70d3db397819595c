"""Learners beside peers from other packages, on the same permutations of the same rows.

Everyone goes through `progressive`: each row is scored before its label is used, one row at a time. Nobody is tuned.
Numbers are compared by the root mean square error.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel._scores import labels_of
from pocketkernel.evaluate import Record, Recorder, progressive, settings_of
from pocketkernel.evaluate.progressive import Progress
from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION, TASKS, found_task
from pocketkernel.lab.experiments.contestants import ALL, LEARNERS, PEERS, Contestant, Task
from pocketkernel.lab.experiments.outputs import write_outputs
from pocketkernel.lab.report import Cell as Value
from pocketkernel.lab.report import Column, Spread, Table
from pocketkernel.lab.streams import permute, scale
from pocketkernel.memory import parse_bytes
from pocketkernel.stream import SCALERS, blocks_of, gather

POINTS = 50
"""Of a curve, about."""

PEER_ROWS = 2000
"""A row takes most peers a millisecond."""

MOST_CLASSES = 100

ENDS = (Column("µs per row", 2, best="min"), Column("bytes"), Column("bytes counted"), Column("B or D"))
COLUMNS = {
    CLASSIFICATION: (
        Column("learner"), Column("rows"), Column("mistakes %", 2), Column("at first %", 2, best="min"), *ENDS,
    ),
    REGRESSION: (Column("learner"), Column("rows"), Column("RMSE"), Column("at first", best="min"), *ENDS),
}  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """The results of a comparison.

    Attributes
    ----------
    records : tuple of Record
        One for each contestant and permutation; those of a contestant have the same name.
    refused : dict
        Why a contestant did not run, by its name.
    table : Table
        Mean and standard deviation over permutations.
    task : {"classification", "regression"}
    """

    records: tuple[Record, ...]
    refused: dict[str, str]
    table: Table
    task: str = CLASSIFICATION

    def write(self, folder: str | Path, *, title: str = "Comparison", command: str = "") -> list[Path]:
        """Write compare.md, .tex, .csv, report.html and all records into a folder, and answer the files.

        The folder `records` has a folder for each contestant and permutation.
        """
        folder = Path(folder)
        files = write_outputs(
            folder,
            "compare",
            [self.table],
            flat=self.table,
            page="report.html",
            title=title,
            records=[] if self.task == REGRESSION else self.records,  # whose charts are of mistakes
            commands=[command] if command else [],
        )
        for record in self.records:
            record.write(folder / "records" / f"{record.settings['key']}-{record.settings['seed']}", format="csv")
        return [*files, folder / "records"]


def compare(
    X: Any,
    y: Any,
    *,
    learners: Sequence[str] = tuple(LEARNERS),
    peers: Sequence[str] | None = None,
    memory: int | str = "64KiB",
    permutations: int = 5,
    scaler: str | None = None,
    peer_rows: int = PEER_ROWS,
    source: str = "",
    report: Callable[[str, int, int], None] | None = None,
    task: str | None = None,
) -> Comparison:
    """Run learners and peers on the same permutations of some rows, one after the other.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.
    y : array of shape (n,)
        Labels, of 2 to 100 classes, or numbers. With more than 2 classes, only PocketClassifier, M-OMD-S
        (`MulticlassMOMDS`) and the peers take part; with numbers, PocketRegressor and the peers' regressors.
    learners : names, default=all
        Of `LEARNERS`.
    peers : names, default=None
        Of `PEERS`; None: those whose package is installed.
    memory : int or str, default="64KiB"
        Bytes for each learner. Peers do not take a number of bytes; RBFSampler gets about as many.
    permutations : int, default=5
        Random orders, at least 1: seeds 0, 1, ...
    scaler : {"standard", "minmax", "maxabs"}, default=None
        Online scaling of the permuted rows, the same for everyone.
    peer_rows : int, default=2000
        Most rows for every peer, because they are slow; 0: all. The table then has a column of everyone's mistakes on
        as many rows.
    source : str, default=""
        Where the rows came from, for the records.
    report : function, default=None
        Called as report(name, done, total) after every run.
    task : {"classification", "regression"}, default=None
        Whether labels are classes or numbers. None: numbers if they have many different values.

    Examples
    --------
    >>> from pocketkernel.lab.streams import digits
    >>> made = compare(*digits(), learners=["momds"], peers=["sgd"], permutations=2)
    >>> [row[0] for row in made.table.rows]
    ['M-OMD-S', 'SGDClassifier, standardised']
    """
    y = np.asarray(y)
    if task not in (None, *TASKS):
        raise ValueError(f"task={task!r} is unknown: use one of {', '.join(TASKS)}.")
    task = task or found_task(y)
    labels = _checked(X, y, permutations, scaler, task)
    chosen = dict(_chosen(learners, peers))
    if not chosen:
        raise ValueError("there is nothing to compare: choose at least one learner or peer.")
    nbytes = parse_bytes(memory)
    records: list[Record] = []
    refused: dict[str, str] = {}
    few = min(len(y), peer_rows or len(y))
    done = 0
    for seed in range(permutations):
        rows, order = _permuted(X, y, seed, scaler)
        for key, contestant in chosen.items():
            if key not in refused:
                length = few if key in PEERS else len(y)
                asked = Task(length, X.shape[1], labels, nbytes, seed)
                run = _run if task == CLASSIFICATION else _run_numbers
                try:
                    records.append(run(key, asked, rows[:length], order[:length], few=few, source=source))
                except RefusedError as refusal:
                    refused[key] = str(refusal)
            done += 1
            if report is not None:
                report(_name(contestant, task), done, permutations * len(chosen))
    if not records:
        raise ValueError(f"no learner or peer could be run: {'; '.join(dict.fromkeys(refused.values()))}")
    names = {_name(ALL[key], task): reason for key, reason in refused.items()}
    table = _table(chosen, records, refused, few=few, permutations=permutations, scaler=scaler, task=task)
    return Comparison(tuple(records), names, table, task)


def _name(contestant: Contestant, task: str) -> str:
    return contestant.names if task == REGRESSION and contestant.names else contestant.name


class RefusedError(ValueError):
    """A contestant that cannot run on such rows in such memory."""


def _run(key: str, task: Task, X: Any, y: Any, *, few: int, source: str) -> Record:
    contestant, labels = ALL[key], task.labels
    if contestant.two_classes and task.classes > 2:
        raise RefusedError(f"{contestant.name} supports only two classes, but there are {task.classes}.")
    try:  # a bad setting or too little memory is found out at the first row
        contestant.make(task).predict_then_learn(X[:1], y[:1], classes=labels)
    except ValueError as error:
        raise RefusedError(f"{contestant.name}: {error}") from error
    model, recorder, early = contestant.make(task), Recorder(), 0
    for progress in progressive(model, X, y, block=max(1, math.ceil(task.rows / POINTS)), classes=labels):
        recorder.add(model, progress)
        start = progress.rows - progress.window_rows
        if progress.rows <= few:
            early += progress.window_mistakes
        elif start < few:
            early += int(np.count_nonzero(labels_of(progress.scores[: few - start], labels) != y[start:few]))
    settings = settings_of(
        getattr(model, "model", model),
        name=contestant.name,
        source=source,
        seed=task.seed,
        key=key,
        early_mistakes=early,
    )
    return Record(settings, recorder.curve())


def _run_numbers(key: str, task: Task, X: Any, y: Any, *, few: int, source: str) -> Record:
    contestant = ALL[key]
    if contestant.numbers is None:
        raise RefusedError(f"{contestant.name} predicts classes, not numbers.")
    try:
        contestant.numbers(task).predict_then_learn(X[:1], y[:1])
    except ValueError as error:
        raise RefusedError(f"{_name(contestant, REGRESSION)}: {error}") from error
    model, recorder, seconds, squares = contestant.numbers(task), Recorder(), 0.0, np.empty(task.rows)
    size = max(1, math.ceil(task.rows / POINTS))
    for start in range(0, task.rows, size):
        part = slice(start, min(start + size, task.rows))
        began = perf_counter()
        answers = model.predict_then_learn(X[part], y[part])
        seconds += perf_counter() - began
        squares[part] = np.square(answers - y[part])
        recorder.add(model, Progress(part.stop, 0, part.stop - part.start, 0, seconds))
    settings = settings_of(
        getattr(model, "model", model),
        name=_name(contestant, REGRESSION),
        source=source,
        seed=task.seed,
        key=key,
        rmse=float(np.sqrt(squares.mean())),
        early_rmse=float(np.sqrt(squares[:few].mean())),
    )
    return Record(settings, recorder.curve())


def _checked(X: Any, y: Any, permutations: int, scaler: str | None, task: str) -> npt.NDArray[Any]:
    """The labels, none if they are numbers; or an error."""
    if permutations < 1:
        raise ValueError(f"permutations={permutations} is too small: use a positive integer.")
    if scaler is not None and scaler not in SCALERS:
        raise ValueError(f"scaler={scaler!r} is unknown: use one of {', '.join(SCALERS)}, or None.")
    if X.shape[0] != len(y):
        raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels: give one label per row.")
    if task == REGRESSION:
        if y.dtype.kind not in "iuf" or not np.isfinite(y).all():
            raise ValueError(
                "y has labels that are no finite numbers: leave such rows out, or use task='classification'."
            )
        return np.empty(0)
    labels = np.unique(y)
    if not 2 <= len(labels) <= MOST_CLASSES:
        raise ValueError(f"y has {len(labels)} different labels: use from 2 to {MOST_CLASSES}.")
    return labels


def _chosen(learners: Sequence[str], peers: Sequence[str] | None) -> list[tuple[str, Contestant]]:
    for names, known, kind in ((learners, LEARNERS, "learner"), (peers or (), PEERS, "peer")):
        for name in names:
            if name not in known:
                raise ValueError(f"{kind} {name!r} is unknown: choose from {', '.join(known)}.")
    if peers is None:
        peers = [key for key, peer in PEERS.items() if peer.installed]
    return [(key, ALL[key]) for key in dict.fromkeys([*learners, *peers])]


def _permuted(X: Any, y: Any, seed: int, scaler: str | None) -> tuple[Any, npt.NDArray[Any]]:
    blocks = permute(blocks_of(X, y, block=max(1, len(y))), seed, block=10_000)
    if scaler is not None:
        keeps_zeros = scaler == "maxabs"
        blocks = scale((block if keeps_zeros else block.dense() for block in blocks), SCALERS[scaler]())
    whole = gather(blocks)
    assert whole.y is not None
    return whole.X, whole.y


def _table(
    chosen: dict[str, Contestant],
    records: Sequence[Record],
    refused: dict[str, str],
    *,
    few: int,
    permutations: int,
    scaler: str | None,
    task: str,
) -> Table:
    lines: list[list[Value]] = []
    for key, contestant in chosen.items():
        mine = [record for record in records if record.settings["key"] == key]
        if not mine:
            lines.append([_name(contestant, task), *[None] * (len(COLUMNS[task]) - 1)])
            continue
        curves = [record.curve for record in mine]
        budget = mine[0].settings["budget"]
        if task == CLASSIFICATION:
            errors = [100 * curve.mistake_rate[-1] for curve in curves]
            early = [100 * record.settings["early_mistakes"] / few for record in mine]
        else:
            errors, early = ([record.settings[name] for record in mine] for name in ("rmse", "early_rmse"))
        lines.append([
            _name(contestant, task),
            int(curves[0].rows[-1]),
            Spread.of(errors),
            Spread.of(early),
            Spread.of([1e6 * curve.seconds[-1] / curve.rows[-1] for curve in curves]),
            max(int(curve.nbytes[-1]) for curve in curves),
            contestant.counted,
            budget if isinstance(budget, int) else None,
        ])  # fmt: skip
    repeated = f"Mean ± sd over {permutations} permutations" if permutations > 1 else "One permutation"
    notes = [
        f"{repeated} of the rows, {f'scaled online ({scaler})' if scaler else 'as they are'}. "
        "Every row is scored before its label is used, one at a time, on one core. Nothing is tuned.",
    ]
    if len({line[1] for line in lines if line[1] is not None}) > 1:
        notes.append(
            f"Peers are slow and ran only on the first {few:,} rows of each permutation; at first: "
            f"{'mistakes' if task == CLASSIFICATION else 'the error'} on those rows, for all."
        )
    if any(key in PEERS and key not in refused for key in chosen):
        notes.append(
            "bytes of peers: measured at the end, not a bound. River's time includes making a dict of each row."
        )
    notes += [f"Not run: {reason}" for reason in refused.values()]
    return Table("Comparison", COLUMNS[task], lines, "\n".join(notes))
