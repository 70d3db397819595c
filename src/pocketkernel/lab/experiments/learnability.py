"""Whether a budget of O(ln T) is enough: an easy stream, where it is, and a hard one, where it is not.

The paper's second question, on streams of growing length T.

*Easy.* Four squares in the plane, labelled crosswise, so that no line divides them and one of the five kernels does,
with a margin. B = ceil(10 ln T); the competitor is the sum of that kernel over the centres, with norm U = sqrt(B).

*Hard.* The adversary of Theorem 4 for this B, one linear kernel, U just below sqrt(3 B) / 5, against the best f.

On the easy stream the competitor's hinge loss is 0 and the regret of M-OMD-H does not grow at all. M-OMD-S needs a loss
with |l'| <= G2 l, which is never 0: ln l falls by at most G2 per unit of the score, so a function of norm U loses at
least l(0) T exp(-G2 U). U has to grow with T for that to be o(T), and U = sqrt(B) is more than Theorem 3 allows.

*Easy, Theorem 3.* The same squares for M-OMD-S, with all conditions of the theorem met: B = ceil(100 ln T), U =
sqrt(B') / 8, the paper's step 2, and besides the Gaussians a polynomial kernel of degree 2, whose x1 x2 / |x|^2 divides
the squares with the margins that so small a U needs. L is o(T) because U grows, and the regret is to follow
U L / sqrt(B). But with U <= sqrt(B') / (8 G2) and B = O(ln T) every L is at least T exp(-O(sqrt(ln T))), more in the
end than any power of T below 1: what the theorem promises here is o(T), and never a slope that stays below 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import MOMDH, MOMDS, SharedMOMDH
from pocketkernel.kernels import PAPER_KERNELS, Gaussian, Linear, Polynomial
from pocketkernel.lab.bounds import theorem_3, theorem_3_delta
from pocketkernel.lab.experiments.outputs import write_outputs
from pocketkernel.lab.report import Cell, Column, Spread, Table
from pocketkernel.lab.theory import adversary, adversary_competitor, regret_curve, slope
from pocketkernel.lab.theory.losses import loss_values
from pocketkernel.lab.theory.rows import gram
from pocketkernel.learners import recipe_of
from pocketkernel.report import Chart, Series

ROWS = (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
CENTRES = np.array([[2.0, 2.0], [-2.0, -2.0], [2.0, -2.0], [-2.0, 2.0]])
SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
LEARNERS = {
    "M-OMD-S": (MOMDS, "logistic"),
    "M-OMD-H": (MOMDH, "hinge"),
    "M-OMD-H, shared": (SharedMOMDH, "hinge"),
}
FAILURE = 0.05
"""Probability with which Theorem 3 may fail."""


def crossed_squares(rows: int, *, seed: int = 0) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rows spread evenly over four squares of side 1 around (2, 2), (-2, -2), labelled 1, and (2, -2), (-2, 2).

    Examples
    --------
    >>> X, y = crossed_squares(100)
    >>> bool(np.all(np.sign(X[:, 0] * X[:, 1]) == y))
    True
    """
    choices, scatter = np.random.default_rng(seed).spawn(2)
    square = choices.integers(4, size=rows)
    return CENTRES[square] + scatter.uniform(-0.5, 0.5, size=(rows, 2)), SIGNS[square].astype(np.int64)


@dataclass(frozen=True)
class LengthPoint:
    """A learner on a stream of one length.

    Attributes
    ----------
    stream : {"easy", "easy, Theorem 3", "hard"}
        Which.
    learner : str
        Who.
    rows, budget : int
        T and B.
    norm_bound : float
        U.
    regret : Spread
        Against the competitor.
    competitor_loss : float
        L, mean.
    removals : float
        Of all kernels, mean.
    bound : float or None
        What Theorem 3 says, where its conditions hold.
    """

    stream: str
    learner: str
    rows: int
    budget: int
    norm_bound: float
    regret: Spread
    competitor_loss: float
    removals: float
    bound: float | None

    @property
    def constant(self) -> float | None:
        """Regret over U L / sqrt(B); None if L is 0."""
        unit = self.norm_bound * self.competitor_loss / math.sqrt(self.budget)
        return self.regret.mean / unit if unit > 0 else None


@dataclass(frozen=True)
class Learnability:
    """All points, and how they were made."""

    points: tuple[LengthPoint, ...]
    repetitions: int

    @property
    def slopes(self) -> dict[tuple[str, str], float]:
        """Slope of log Reg against log T, by stream and learner."""
        return {place: _slope(points) for place, points in self._lines().items()}

    @property
    def tables(self) -> list[Table]:
        """Slopes, and all points."""
        columns = [Column("stream"), Column("learner"), Column("T"), Column("B"), Column("U", 2), Column("regret", 1)]
        columns += [Column("L", 1), Column("Reg / T", 5), Column("Reg sqrt(B) / (U L)", 3)]
        columns += [Column("removals", 1), Column("Theorem 3", 0)]
        rows: list[list[Cell]] = [
            [
                p.stream,
                p.learner,
                p.rows,
                p.budget,
                p.norm_bound,
                p.regret,
                p.competitor_loss,
                p.regret.mean / p.rows,
                p.constant,
                p.removals,
                p.bound,
            ]
            for p in self.points
        ]
        note = (
            f"Mean ± sd over {self.repetitions} streams and seeds, float32.\n"
            "easy: four squares, labelled crosswise; five Gaussians; B = ceil(10 ln T), U = sqrt(B), step 1.\n"
            "easy, Theorem 3: the same squares; five Gaussians and a polynomial; B = ceil(100 ln T), U = sqrt(B') / 8, "
            "step 2: all conditions of the theorem hold.\n"
            "hard: the adversary of Theorem 4 for this B; linear kernel; B = ceil(10 ln T), U = 0.98 sqrt(3 B) / 5.\n"
            "M-OMD-S: logistic loss. M-OMD-H: hinge loss."
        )
        slopes: list[list[Cell]] = []
        for place, points in self._lines().items():
            late = _late(points)
            fits = (_slope(points), _slope(late), slope([p.rows for p in late], [p.competitor_loss for p in late]))
            slopes.append([*place, *(None if math.isnan(fit) else fit for fit in fits)])
        heads = [Column("stream"), Column("learner"), Column("slope", 3), Column("of the last decade", 3)]
        return [
            Table("Slope of regret against T", [*heads, Column("of L, last decade", 3)], slopes, block=0),
            Table("Regret with a budget of O(ln T)", columns, rows, note, block=0),
        ]

    @property
    def chart(self) -> Chart:
        """Regret against the length of the stream, both logarithmic."""
        lines = [
            Series(
                f"{stream}, {learner}: {round(_slope(_late(points)), 2) + 0.0:.2f}",
                [p.rows for p in points],
                [p.regret.mean for p in points],
            )
            for (stream, learner), points in self._lines().items()
        ]
        ends = [min(p.rows for p in self.points), max(p.rows for p in self.points)]
        lines.append(Series("T / 100", ends, [end / 100 for end in ends], reference=True))
        return Chart(
            series=lines,
            title="Regret with a budget of O(ln T)",
            x_label="rows T",
            y_label="regret",
            note="Each point is a run of its own. The legend gives the slopes of the last decade.",
            log_x=True,
            log_y=True,
        )

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables, page and picture; return the files."""
        return write_outputs(
            folder,
            "learnability",
            self.tables,
            flat=self.tables[1],
            page="learnability.html",
            title="Learning with a budget of O(ln T)",
            lead=f"Streams of {self.points[0].rows:,} to {self.points[-1].rows:,} rows, {self.repetitions} runs each.",
            picture=self.chart,
        )

    def _lines(self) -> dict[tuple[str, str], list[LengthPoint]]:
        lines: dict[tuple[str, str], list[LengthPoint]] = {}
        for point in self.points:
            lines.setdefault((point.stream, point.learner), []).append(point)
        return lines


def learnability(*, rows: Sequence[int] = ROWS, repetitions: int = 3) -> Learnability:
    """Run M-OMD-S and M-OMD-H on streams of these lengths.

    Parameters
    ----------
    rows : list of int, default=1000, 3162, ..., 1000000
        T, at least 1000, in ascending order.
    repetitions : int, default=3
        Streams and seeds.

    Examples
    --------
    >>> made = learnability(rows=(1000, 4000), repetitions=1)
    >>> made.slopes["easy", "M-OMD-H"] < 0.3 < 0.8 < made.slopes["hard", "M-OMD-H"]
    True
    """
    points = []
    for stream, (run, names) in _STREAMS.items():
        for learner in names:
            for T in rows:
                made = [run(learner, T, seed) for seed in range(repetitions)]
                loss = float(np.mean([one.loss for one in made]))
                points.append(
                    LengthPoint(
                        stream,
                        learner,
                        T,
                        made[0].budget,
                        made[0].norm_bound,
                        Spread.of([one.regret for one in made]),
                        loss,
                        float(np.mean([one.removals for one in made])),
                        made[0].bound(loss) if made[0].bound else None,
                    )
                )
    return Learnability(tuple(points), repetitions)


def _slope(points: Sequence[LengthPoint]) -> float:
    return slope([p.rows for p in points], [p.regret.mean for p in points])


def _late(points: Sequence[LengthPoint]) -> list[LengthPoint]:
    """Those of the last decade."""
    return [point for point in points if point.rows >= points[-1].rows / 10.01]


# ---- the streams -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """What came out of one stream; `bound` takes the competitor's loss."""

    budget: int
    norm_bound: float
    regret: float
    loss: float
    removals: int
    bound: Callable[[float], float] | None = None


def _easy(learner: str, T: int, seed: int) -> _Run:
    make, loss = LEARNERS[learner]
    B, kernel = math.ceil(10 * math.log(T)), Gaussian(1.0)
    U = math.sqrt(B)
    X, y = crossed_squares(T, seed=seed)
    norm = math.sqrt(SIGNS @ gram(CENTRES, CENTRES, kernel) @ SIGNS)
    f = U / norm * (gram(X, CENTRES, kernel) @ SIGNS)
    return _run(make(kernels=PAPER_KERNELS, budget=B, norm_bound=U, random_state=seed), X, y, loss_values(loss, f, y))


def _easy_3(_: str, T: int, seed: int) -> _Run:
    B, kernels = math.ceil(100 * math.log(T)), (*PAPER_KERNELS, Polynomial(2))
    # delta, and with it B', depends on U through the logarithm of a variance: a U that is too large is safe there.
    delta = theorem_3_delta(FAILURE, rows=T, norm_bound=math.sqrt(B) / 8)
    U = math.sqrt(B // 2 * 2 - 4 / 3 * math.log(1 / delta)) / 8
    X, y = crossed_squares(T, seed=seed)
    f = U * math.sqrt(2) * X[:, 0] * X[:, 1] / np.square(X).sum(axis=1)  # of norm U in the polynomial's space

    def bound(loss: float) -> float:
        return theorem_3(loss, rows=T, kernels=len(kernels), budget=B, norm_bound=U, delta=delta).value

    model = MOMDS(kernels=kernels, budget=B, norm_bound=U, step=2.0, random_state=seed)
    return replace(_run(model, X, y, loss_values("logistic", f, y)), bound=bound)


def _hard(learner: str, T: int, seed: int) -> _Run:
    make, loss = LEARNERS[learner]
    B = math.ceil(10 * math.log(T))
    U = 0.98 * math.sqrt(3 * B) / 5
    X, y = adversary(T, budget=B, seed=seed)
    best = adversary_competitor(X, y, norm_bound=U, loss=loss)
    return _run(make(kernels=Linear(), budget=B, norm_bound=U, random_state=seed), X, y, best)


def _run(model: MOMDS | MOMDH | SharedMOMDH, X: Any, y: Any, losses: Any) -> _Run:
    curve = regret_curve(model, X, y, losses, points=2)
    return _Run(
        model.budget_,
        recipe_of(model).norm_bound,
        float(curve.regret[-1]),
        float(curve.competitor_loss[-1]),
        int(model.diagnostics_.removals),
    )


_STREAMS: dict[str, tuple[Callable[[str, int, int], _Run], tuple[str, ...]]] = {
    "easy": (_easy, ("M-OMD-H", "M-OMD-H, shared", "M-OMD-S")),
    "easy, Theorem 3": (_easy_3, ("M-OMD-S",)),
    "hard": (_hard, ("M-OMD-H", "M-OMD-H, shared", "M-OMD-S")),
}
