"""Whether a budget of O(ln T) is enough: an easy stream, where it is, and a hard one, where it is not.

The paper's second question. Both learners get B = ceil(10 ln T) rows and run on streams of growing length T.

*Easy.* Four squares in the plane, labelled crosswise, so that no line divides them and one of the five kernels does,
with a margin. The competitor is the sum of that kernel over the centres, with norm U = sqrt(B).

*Hard.* The adversary of Theorem 4 for this B, one linear kernel, U just below sqrt(3 B) / 5, against the best f.

On the easy stream the competitor's hinge loss is 0 and the regret of M-OMD-H does not grow at all. Logistic loss is
never 0: with |f| <= U it is at least T ln(1 + exp(-U)), so U has to grow with T for it to be o(T), and with
U = O(sqrt(B)) = O(sqrt(ln T)) it is T exp(-O(sqrt(ln T))), more in the end than any power of T below 1. That the regret
of M-OMD-S grows more slowly than T, but not like ln T, is in the nature of this loss.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import MOMDH, MOMDS
from pocketkernel.experiments.outputs import write_outputs
from pocketkernel.kernels import PAPER_KERNELS, Gaussian, Linear
from pocketkernel.report import Chart, Column, Series, Spread, Table, line_chart, write_figure
from pocketkernel.report.tables import Cell
from pocketkernel.theory import adversary, adversary_competitor, regret_curve, slope
from pocketkernel.theory._losses import loss_values
from pocketkernel.theory._rows import gram as kernel_matrix

ROWS = (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
CENTRES = np.array([[2.0, 2.0], [-2.0, -2.0], [2.0, -2.0], [-2.0, 2.0]])
SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
LEARNERS = {"M-OMD-S": (MOMDS, "logistic"), "M-OMD-H": (MOMDH, "hinge")}


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
    stream : {"easy", "hard"}
        Which.
    learner : str
        Who.
    rows, budget : int
        T, and B = ceil(10 ln T).
    regret : Spread
        Against the competitor.
    competitor_loss : float
        L, mean.
    removals : float
        Of all kernels, mean.
    """

    stream: str
    learner: str
    rows: int
    budget: int
    regret: Spread
    competitor_loss: float
    removals: float


@dataclass(frozen=True)
class Learnability:
    """All points, and how they were made."""

    points: tuple[LengthPoint, ...]
    repetitions: int

    @property
    def slopes(self) -> dict[tuple[str, str], float]:
        """Slope of log Reg against log T, by stream and learner."""
        return {
            place: slope([p.rows for p in points], [p.regret.mean for p in points])
            for place, points in self._lines().items()
        }

    @property
    def tables(self) -> list[Table]:
        """Slopes, and all points."""
        columns = [Column("stream"), Column("learner"), Column("T"), Column("B"), Column("regret", 1)]
        columns += [Column("L", 1), Column("Reg / T", 5), Column("removals", 1)]
        rows: list[list[Cell]] = [
            [
                p.stream,
                p.learner,
                p.rows,
                p.budget,
                p.regret,
                p.competitor_loss,
                p.regret.mean / p.rows,
                p.removals,
            ]
            for p in self.points
        ]
        note = (
            f"Mean ± sd over {self.repetitions} streams and seeds, float32, step 1, B = ceil(10 ln T).\n"
            "easy: four squares, labelled crosswise; five Gaussians; U = sqrt(B).\n"
            "hard: the adversary of Theorem 4 for this B; linear kernel; U = 0.98 sqrt(3 B) / 5.\n"
            "M-OMD-S: logistic loss. M-OMD-H: hinge loss."
        )
        slopes: list[list[Cell]] = [[*place, value] for place, value in self.slopes.items()]
        heads = [Column("stream"), Column("learner"), Column("slope", 3)]
        return [
            Table("Slope of regret against T", heads, slopes, block=0),
            Table("Regret with B = ceil(10 ln T)", columns, rows, note, block=0),
        ]

    @property
    def chart(self) -> Chart:
        """Regret against the length of the stream, both logarithmic."""
        lines = [
            Series(
                f"{stream}, {learner}: {self.slopes[stream, learner]:.2f}",
                [p.rows for p in points],
                [p.regret.mean for p in points],
            )
            for (stream, learner), points in self._lines().items()
        ]
        ends = [min(p.rows for p in self.points), max(p.rows for p in self.points)]
        lines.append(Series("T / 100", ends, [end / 100 for end in ends], reference=True))
        return line_chart(
            lines,
            title="Regret with a budget of 10 ln T, and slopes",
            x_label="rows T",
            y_label="regret",
            note="Each point is a run of its own, with B = ceil(10 ln T). The legend gives slopes.",
            log_x=True,
            log_y=True,
        )

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables, page and picture; answers the files."""
        files = write_outputs(
            folder,
            "learnability",
            self.tables,
            flat=self.tables[1],
            page="learnability.html",
            title="Learning with a budget of O(ln T)",
            lead=f"Streams of {self.points[0].rows:,} to {self.points[-1].rows:,} rows, {self.repetitions} runs each.",
            charts=[self.chart],
        )
        write_figure(self.chart, Path(folder) / "learnability.svg", height=3.8)
        return [*files, Path(folder) / "learnability.svg"]

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
        T.
    repetitions : int, default=3
        Streams and seeds.

    Examples
    --------
    >>> made = learnability(rows=(300, 3000), repetitions=1)
    >>> made.slopes["easy", "M-OMD-H"] < 0.3 < 0.8 < made.slopes["hard", "M-OMD-H"]
    True
    """
    points = []
    for stream, run in {"easy": _easy, "hard": _hard}.items():
        for learner in LEARNERS:
            for T in rows:
                B = math.ceil(10 * math.log(T))
                made = [run(learner, T, B, seed) for seed in range(repetitions)]
                regret, loss, removals = zip(*made, strict=True)
                points.append(
                    LengthPoint(
                        stream, learner, T, B, Spread.of(regret), float(np.mean(loss)), float(np.mean(removals))
                    )
                )
    return Learnability(tuple(points), repetitions)


def _easy(learner: str, T: int, B: int, seed: int) -> tuple[float, float, int]:
    make, loss = LEARNERS[learner]
    U, kernel = math.sqrt(B), Gaussian(1.0)
    X, y = crossed_squares(T, seed=seed)
    norm = math.sqrt(SIGNS @ kernel_matrix(CENTRES, CENTRES, kernel) @ SIGNS)
    f = U / norm * (kernel_matrix(X, CENTRES, kernel) @ SIGNS)
    return _outcome(
        make(kernels=PAPER_KERNELS, budget=B, norm_bound=U, random_state=seed), X, y, loss_values(loss, f, y)
    )


def _hard(learner: str, T: int, B: int, seed: int) -> tuple[float, float, int]:
    make, loss = LEARNERS[learner]
    U = 0.98 * math.sqrt(3 * B) / 5
    X, y = adversary(T, budget=B, seed=seed)
    best = adversary_competitor(X, y, norm_bound=U, loss=loss)
    return _outcome(make(kernels=Linear(), budget=B, norm_bound=U, random_state=seed), X, y, best)


def _outcome(model: MOMDS | MOMDH, X: Any, y: Any, losses: Any) -> tuple[float, float, int]:
    """Regret, the competitor's loss, removals."""
    curve = regret_curve(model, X, y, losses, points=2)
    return float(curve.regret[-1]), float(curve.competitor_loss[-1]), int(model.diagnostics_.removals)
