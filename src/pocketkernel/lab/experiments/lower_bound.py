"""Every learner on the stream of the lower bound: how regret falls as the budget grows.

Theorem 4 says that against its adversary no learner that stores B rows and keeps |f| <= U gets below U L / sqrt(B), up
to a constant. Here U is the same for all budgets and every basis vector comes equally often, so that only B changes;
then regret over L should fall like 1 / sqrt(B), and a slope of -1/2 in the chart is as good as it gets.

M-OMD-S meets the conditions of the theorem. The others do not quite, and are shown beside it: M-OMD-H has hinge loss
(which has such a bound, too) and an archive besides its buffer; LKMBooks and Raker do not project, and Raker stores no
rows at all. Raker has Gaussian kernels only: it gets one of width 1/4, under which basis vectors are orthogonal up to
exp(-16), and as many frequencies as the others have rows. Each learner has three step sizes. The one with the least
regret counts, by hindsight, among those that end with |f| <= U; else an unbounded f would be compared with a bounded
one, and win.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pocketkernel import MOMDH, MOMDS, LKMBooks, Raker
from pocketkernel.kernels import Gaussian, Linear
from pocketkernel.lab.bounds import theorem_4
from pocketkernel.lab.experiments.outputs import write_outputs
from pocketkernel.lab.report import Cell, Column, Spread, Table
from pocketkernel.lab.theory import adversary, adversary_competitor, regret_curve, slope
from pocketkernel.report import Chart, Series

BUDGETS = (25, 50, 100, 200, 400, 800, 1600)
REPEATS = 40
"""Rows of the stream over B."""

Make = Callable[[int, float, int, float, int], Any]

LEARNERS: dict[str, tuple[str, tuple[float, ...], Make]] = {
    "M-OMD-S": (
        "logistic",
        (0.5, 1.0, 2.0),
        lambda B, U, T, step, seed: MOMDS(kernels=Linear(), budget=B, norm_bound=U, step=step, random_state=seed),
    ),
    "M-OMD-H": (
        "hinge",
        (0.25, 0.5, 1.0),
        lambda B, U, T, step, seed: MOMDH(
            kernels=Linear(), budget=B, norm_bound=U, step=step, reservoir=2, horizon=T, random_state=seed
        ),
    ),
    "LKMBooks": (
        "logistic",
        (8.0, 12.0, 16.0),
        lambda B, U, T, step, seed: LKMBooks(kernels=Linear(), budget=B, horizon=T, step=step, random_state=seed),
    ),
    "Raker": (
        "logistic",
        (0.4, 0.6, 0.8),
        lambda B, U, T, step, seed: Raker(
            kernels=Gaussian(0.25), features=B, rate=step / math.sqrt(T), regularization=0.0005, random_state=seed
        ),
    ),
}
"""Loss, step sizes (Raker: the rate times sqrt(T)), and how to make one from B, U, T, step and seed."""


@dataclass(frozen=True)
class BudgetPoint:
    """A learner at one budget, with its best step.

    Attributes
    ----------
    learner, loss : str
        Who, and what is summed.
    budget, rows : int
        B and T.
    step : float
        The best step of those that end with |f| <= U.
    norm : float
        |f| at the end, the largest.
    regret : Spread
        Against the best f with |f| <= U.
    competitor_loss : float
        L of that f, mean.
    least : float
        What Theorem 4 says, for this loss.
    """

    learner: str
    loss: str
    budget: int
    rows: int
    step: float
    norm: float
    regret: Spread
    competitor_loss: float
    least: float


@dataclass(frozen=True)
class LowerBound:
    """All points, and how they were made."""

    points: tuple[BudgetPoint, ...]
    norm_bound: float
    repetitions: int

    @property
    def slopes(self) -> dict[str, float]:
        """Slope of log(Reg / L) against log B, by learner; and that of the bound, by loss."""
        fitted = {name: _slope(points, "regret") for name, points in self._by("learner").items()}
        return fitted | {f"Theorem 4, {loss}": _slope(points, "least") for loss, points in self._by("loss").items()}

    @property
    def tables(self) -> list[Table]:
        """Slopes, and all points."""
        columns = [Column("learner"), Column("loss"), Column("B"), Column("T"), Column("step"), Column("norm", 2)]
        columns += [Column("regret", 1), Column("L", 1), Column("Reg sqrt(B) / (U L)", 3), Column("Theorem 4", 1)]
        rows: list[list[Cell]] = [
            [
                p.learner,
                p.loss,
                p.budget,
                p.rows,
                p.step,
                p.norm,
                p.regret,
                p.competitor_loss,
                self._constant(p),
                p.least,
            ]
            for p in self.points
        ]
        note = (
            f"Mean ± sd over {self.repetitions} streams and seeds, U = {self.norm_bound:.3g}, float32. Regret against "
            "the best f with |f| <= U, in closed form.\n"
            "Theorem 4 binds learners whose f is a sum over B stored rows with |f| <= U: M-OMD-S. M-OMD-H stores its "
            "archive besides, LKMBooks does not project, Raker has a Gaussian of width 1/4 and stores no rows."
        )
        slopes: list[list[Cell]] = [[name, value] for name, value in self.slopes.items()]
        return [
            Table("Slope of Reg / L against B", [Column("learner"), Column("slope", 3)], slopes, block=0),
            Table("Regret on the adversary", columns, rows, note, block=0),
        ]

    @property
    def chart(self) -> Chart:
        """Regret over the competitor's loss against the budget, both logarithmic, with the bound."""
        lines = []
        for name, points in self._by("learner").items():
            mean = [p.regret.mean / p.competitor_loss for p in points]
            lines.append(Series(f"{name}, slope {self.slopes[name]:.2f}", [p.budget for p in points], mean))
        smooth = self._by("loss").get("logistic", [])
        least = [p.least / p.competitor_loss for p in smooth]
        lines.append(Series("Theorem 4", [p.budget for p in smooth], least, reference=True))
        return Chart(
            series=lines,
            title="Regret on the adversary",
            x_label="budget B",
            y_label="Reg / L",
            note="L is the competitor's loss. The bound is that of logistic loss; M-OMD-H (hinge loss) has its own.",
            log_x=True,
            log_y=True,
        )

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables, page and picture; return the files."""
        lead = f"Budgets {self.points[0].budget} to {self.points[-1].budget:,}, U = {self.norm_bound:.3g}."
        return write_outputs(
            folder,
            "lower_bound",
            self.tables,
            flat=self.tables[1],
            page="lower_bound.html",
            title="The lower bound, and how close learners come to it",
            lead=lead,
            picture=self.chart,
        )

    def _by(self, name: str) -> dict[str, list[BudgetPoint]]:
        """Points by learner or by loss, one for each budget."""
        groups: dict[str, dict[int, BudgetPoint]] = {}
        for point in self.points:
            groups.setdefault(getattr(point, name), {}).setdefault(point.budget, point)
        return {key: list(points.values()) for key, points in groups.items()}

    def _constant(self, point: BudgetPoint) -> float:
        return point.regret.mean * math.sqrt(point.budget) / (self.norm_bound * point.competitor_loss)


def lower_bound(
    *,
    budgets: Sequence[int] = BUDGETS,
    repeats: int = REPEATS,
    norm_bound: float | None = None,
    repetitions: int = 2,
    learners: Sequence[str] = tuple(LEARNERS),
) -> LowerBound:
    """Run the learners on the adversary of each budget.

    Parameters
    ----------
    budgets : list of int, default=25, 50, ..., 1600
        B.
    repeats : int, default=40
        Rows of a stream over B, at least 3.
    norm_bound : float, default=None
        U, below sqrt(3 B) / 5 for every B; None means 98% of that of the least budget.
    repetitions : int, default=2
        Streams and seeds.
    learners : list of str, default=all
        Of `LEARNERS`.

    Examples
    --------
    >>> made = lower_bound(budgets=(10, 40), repetitions=1, learners=["M-OMD-S"])
    >>> [point.regret.mean > point.least for point in made.points]
    [True, True]
    """
    U = 0.98 * math.sqrt(3 * min(budgets)) / 5 if norm_bound is None else norm_bound
    points = [_point(name, B, repeats * B, U, repetitions) for name in learners for B in budgets]
    return LowerBound(tuple(points), U, repetitions)


def _point(name: str, B: int, T: int, U: float, repetitions: int) -> BudgetPoint:
    loss, steps, make = LEARNERS[name]
    least = theorem_4(T, budget=B, norm_bound=U, loss=loss).value
    regrets, norms = np.empty((2, len(steps), repetitions))
    losses = []
    for seed in range(repetitions):
        X, y = adversary(T, budget=B, seed=seed)
        best = adversary_competitor(X, y, norm_bound=U, loss=loss)
        losses.append(best.sum())
        for n, step in enumerate(steps):
            model = make(B, U, T, step, seed)
            regrets[n, seed] = regret_curve(model, X, y, best, points=2).regret[-1]
            norms[n, seed] = model.diagnostics_.norms[0]
    too_large = norms.max(axis=1) > 1.001 * U
    n = 0 if too_large.all() else int(np.argmin(np.where(too_large, np.inf, regrets.mean(axis=1))))
    regret, norm = Spread.of(regrets[n].tolist()), float(norms[n].max())
    return BudgetPoint(name, loss, B, T, steps[n], norm, regret, float(np.mean(losses)), least)


def _slope(points: Sequence[BudgetPoint], what: str) -> float:
    values = [point.least if what == "least" else point.regret.mean for point in points]
    return slope(
        [point.budget for point in points],
        [value / point.competitor_loss for value, point in zip(values, points, strict=True)],
    )
