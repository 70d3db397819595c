"""Ablation of M-OMD: what is removed from a full buffer, one buffer or K, and the number of examples.

*Removal.* The paper compares dropping half of a full buffer (M-OMD-S: the older half, M-OMD-H: the newer one) with
dropping all of it (restart). The third way is a sliding window: only the oldest example is dropped. A learner reports
which of them it supports.

*Buffers.* M-OMD-S with one buffer for all kernels is compared with two learners with a buffer for each kernel in the
same number of bytes: the same learner (`KBuffers`), and M-OMD-H, which has the hinge loss and uses a part for its
archive.

All with step c = 1, not tuned, on budgets from 25 to 1600.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pocketkernel import MOMDH, MOMDS
from pocketkernel.lab.catalogue import NAMES
from pocketkernel.lab.experiments.cells import Cell, Setting
from pocketkernel.lab.experiments.k_buffers import KBuffers
from pocketkernel.lab.experiments.runner import Report, run
from pocketkernel.lab.report import Cell as Value
from pocketkernel.lab.report import Column, Spread, Table

BUDGETS = (25, 50, 100, 200, 400, 800, 1600)
REMOVALS = {"half": "half", "restart": "restart", "oldest": "keep newest"}
"""What `removal` can be, and what the tables call it."""

ONE_BUFFER, K_BUFFERS, OWN_BUFFERS = "M-OMD-S", "K buffers", "M-OMD-H in the bytes of M-OMD-S"
STEP: Setting = (("step", 1.0),)


@dataclass(frozen=True)
class Point:
    """A point of a curve.

    Attributes
    ----------
    study : {"removal", "buffers"}
        What is compared.
    data_set, learner, removal : str
        Where, who, and how a full buffer is emptied.
    budget : int
        B; in the study of buffers that of M-OMD-S, whose bytes the others get.
    stored : int
        B of each buffer.
    buffers : int
        1, or one per kernel.
    nbytes : int
        Memory of the learner.
    mistakes : Spread
        Rate in percent.
    removals : Spread
        How often a buffer was emptied, mean over the learner's buffers.
    refused : str
        Why there is nothing to measure: the bytes are too few for the learner.
    """

    study: str
    data_set: str
    learner: str
    removal: str
    budget: int
    stored: int
    buffers: int
    nbytes: int
    mistakes: Spread
    removals: Spread
    refused: str = ""


@dataclass(frozen=True)
class Ablation:
    """All points, and how they were made."""

    points: tuple[Point, ...]
    permutations: int
    dtype: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The points as flat dictionaries, for plots."""
        flat = []
        for point in self.points:
            record = asdict(point)
            for name in ("mistakes", "removals"):
                mean, sd = record.pop(name)
                record |= {f"{name}_mean": mean, f"{name}_sd": sd}
            flat.append(record)
        return flat

    @property
    def flat(self) -> Table:
        """All points in one table, for programs."""
        columns = [field.name for field in fields(Point)]
        return Table("Ablation", columns, [[getattr(point, name) for name in columns] for point in self.points])

    @property
    def tables(self) -> list[Table]:
        """One table for what a full buffer drops, one for the number of buffers."""
        return [self._removal_table(), self._buffers_table()]

    def _removal_table(self) -> Table:
        points = [point for point in self.points if point.study == "removal"]
        by_place = {(p.data_set, p.learner, p.budget, p.removal): p for p in points}
        there = [removal for removal in REMOVALS if any(p.removal == removal for p in points)]
        columns = [Column("data set"), Column("learner"), Column("B")]
        for removal in there:
            columns += [Column(f"{REMOVALS[removal]}: mistakes %", 2), Column(f"{REMOVALS[removal]}: removals", 1)]
        rows: list[list[Value]] = []
        for data_set, learner, budget in dict.fromkeys(place[:3] for place in by_place):
            row: list[Value] = [data_set, learner, budget]
            for removal in there:
                point = by_place.get((data_set, learner, budget, removal))
                row += [point.mistakes, point.removals.mean] if point else [None, None]
            rows.append(row)
        notes = [
            self._how(),
            "half: M-OMD-S drops the older half of its buffer, M-OMD-H the newer half of a kernel's buffer. restart: "
            "the whole buffer is dropped (the archive of M-OMD-H stays).",
            "removals: number of removals per buffer, mean over the kernels of M-OMD-H.",
        ]
        if "oldest" in there:
            notes.insert(2, "keep newest: only the oldest example is dropped, at every addition once full.")
        else:
            notes.append("keep newest, where only the oldest example is dropped, is not supported by the learners.")
        return Table("What a full buffer drops", columns, rows, "\n".join(notes), block=0)

    def _buffers_table(self) -> Table:
        points = [point for point in self.points if point.study == "buffers"]
        by_place = {(p.data_set, p.budget, p.learner): p for p in points}
        columns = [Column("data set"), Column("bytes")]
        for name in ("one buffer", "K buffers", "M-OMD-H"):
            columns += [Column(f"{name}: B"), Column(f"{name}: mistakes %", 2), Column(f"{name}: removals", 1)]
        rows: list[list[Value]] = []
        for data_set, budget in dict.fromkeys(place[:2] for place in by_place):
            row: list[Value] = [data_set, by_place[data_set, budget, ONE_BUFFER].nbytes]
            for learner in (ONE_BUFFER, K_BUFFERS, OWN_BUFFERS):
                point = by_place[data_set, budget, learner]
                row += [None] * 3 if point.refused else [point.stored, point.mistakes, point.removals.mean]
            rows.append(row)
        notes = [
            self._how(),
            "bytes: what M-OMD-S needs with its B; the others use the largest B that fits. K buffers: one M-OMD-S per "
            "kernel, each learning from its own score, mixed as M-OMD-S mixes its kernels. M-OMD-H has the hinge loss "
            "and an archive. Empty: the learner does not fit. removals: per buffer.",
        ]
        title = "One buffer for all kernels compared with one per kernel, in the same bytes"
        return Table(title, columns, rows, "\n".join(notes), block=0)

    def _how(self) -> str:
        return f"Mean ± sd over {self.permutations} permutations of the raw rows, {self.dtype}, step c = 1, not tuned."


def ablation(
    results: str | Path,
    *,
    folder: str | Path | None = None,
    data_sets: Sequence[str] = NAMES,
    budgets: Sequence[int] = BUDGETS,
    permutations: int = 5,
    dtype: str = "float32",
    jobs: int = -1,
    backend: str = "loky",
    report: Report | None = None,
) -> Ablation:
    """Compare removals, numbers of buffers and budgets; runs only what is not yet in the results folder.

    Parameters
    ----------
    budgets : whole numbers from 2 up, default=25, 50, ..., 1600
        B.
    permutations : int, default=5
        Repetitions, at least 1.
    results, folder, data_sets, dtype, jobs, backend, report
        As in `tables`.
    """
    for name in data_sets:
        if name not in NAMES:
            raise ValueError(f"data set {name!r} is not in the paper: choose from {', '.join(NAMES)}.")
    if permutations < 1:
        raise ValueError(f"permutations={permutations} is too small: use a positive integer.")
    offered = {"M-OMD-S": removals(MOMDS), "M-OMD-H": removals(MOMDH)}
    kinds = [("removal", learner, removal) for learner, has in offered.items() for removal in has]
    kinds += [("buffers", learner, "half") for learner in (ONE_BUFFER, K_BUFFERS, OWN_BUFFERS)]
    plan = {
        (study, data_set, learner, removal, budget): [
            Cell(data_set, learner, _loss(learner), budget, _setting(removal), permutation, dtype)
            for permutation in range(permutations)
        ]
        for data_set in data_sets
        for study, learner, removal in kinds
        for budget in budgets
    }
    cells = [cell for repetitions in plan.values() for cell in repetitions]
    outcomes = run(cells, results, folder=folder, jobs=jobs, backend=backend, report=report)
    points = []
    for place, repetitions in plan.items():
        made = [outcomes[cell] for cell in repetitions]
        buffers = 1 if place[2] == ONE_BUFFER else KBuffers.K
        points.append(
            Point(
                *place,
                stored=made[0].budget,
                buffers=buffers,
                nbytes=made[0].nbytes,
                mistakes=Spread.of([outcome.mistake_rate for outcome in made]),
                removals=Spread.of([outcome.removals / buffers for outcome in made]),
                refused=made[0].refused,
            )
        )
    return Ablation(tuple(points), permutations, dtype)


def removals(learner: type) -> list[str]:
    """Which of the ways to empty a buffer a learner offers.

    Examples
    --------
    >>> removals(MOMDS)[:2]
    ['half', 'restart']
    """
    return [way for way in REMOVALS if _offers(learner, way)]


def _offers(learner: type, removal: str) -> bool:
    try:
        learner(budget=2, removal=removal).partial_fit(np.zeros((1, 1)), [1], classes=[-1, 1])
    except ValueError:
        return False
    return True


def _loss(learner: str) -> str:
    return "hinge" if learner.startswith("M-OMD-H") else "logistic"


def _setting(removal: str) -> Setting:
    return STEP if removal == "half" else (*STEP, ("removal", removal))
