"""Measured regret: its curve against a competitor, and the parts that the paper's proofs bound separately."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.lab.theory.losses import loss_of, loss_values
from pocketkernel.lab.theory.rows import Floats
from pocketkernel.lab.theory.trace import Trace
from pocketkernel.losses import LOSSES

# ---- curves ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Regret after some numbers of rows.

    Attributes
    ----------
    rows : array of int
        Rows so far.
    regret : array of float
        The learner's losses less the competitor's, summed over them.
    own_loss, competitor_loss : array of float
        Both sums.
    """

    rows: npt.NDArray[np.int64]
    own_loss: Floats
    competitor_loss: Floats

    @property
    def regret(self) -> Floats:
        """Reg(t)."""
        return self.own_loss - self.competitor_loss

    def slope(self, since: float = 0.1) -> float:
        """Slope of log Reg(t) against log t, by least squares from this share of the rows on; NaN if Reg(t) <= 0 there.

        1 is a regret that grows like the stream, 1/2 one that grows like its root.
        """
        late = self.rows >= since * self.rows[-1]
        return slope(self.rows[late], self.regret[late])


def regret_curve(
    learner: Any, X: Any, y: Any, competitor: Any, *, points: int = 100, loss: str | None = None
) -> RegretCurve:
    """Run a learner over a stream and compare it with a competitor.

    Parameters
    ----------
    learner : learner
        Its `predict_then_learn` is called once.
    X, y
        The stream; labels -1 and 1.
    competitor : array of shape (rows,), or a fitted model
        The competitor's losses, row by row; or what has a `decision_function`, whose losses are then taken.
    points : int, default=100
        Of the curve, evenly spaced in the logarithm of the rows.
    loss : {"logistic", "hinge", "smooth_hinge"}, default=None
        What is summed; None means the loss that the learner minimises.

    Examples
    --------
    >>> from pocketkernel import MOMDS, kernels
    >>> from pocketkernel.lab.theory import adversary, adversary_competitor
    >>> X, y = adversary(6000, budget=50)
    >>> model = MOMDS(kernels=kernels.Linear(), budget=50, norm_bound=2.0, random_state=0)
    >>> curve = regret_curve(model, X, y, adversary_competitor(X, y, norm_bound=2.0))
    >>> bool(curve.regret[-1] > 0), bool(0.9 < curve.slope() < 1.1)
    (True, True)
    """
    y = np.asarray(y)
    loss = loss_of(learner) if loss is None else loss
    own = loss_values(loss, learner.predict_then_learn(X, y, classes=[-1, 1]), y)
    theirs = competitor_losses(competitor, X, y, loss)
    rows = np.unique(np.geomspace(1, len(y), max(points, 2)).round().astype(np.int64))
    return RegretCurve(rows, np.cumsum(own)[rows - 1], np.cumsum(theirs)[rows - 1])


def competitor_losses(competitor: Any, X: Any, y: Any, loss: str) -> Floats:
    """Losses of a competitor, row by row: given as such, or those of a model's decision function."""
    if hasattr(competitor, "decision_function"):
        return loss_values(loss, competitor.decision_function(X), y)
    losses = np.asarray(competitor, dtype=np.float64)
    if losses.shape != (len(y),):
        raise ValueError(f"competitor has losses of shape {losses.shape}, but there are {len(y)} rows.")
    return losses


def slope(x: Any, y: Any) -> float:
    """Slope of log y against log x by least squares; NaN unless all y are positive.

    Examples
    --------
    >>> round(slope([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(y) < 2 or np.any(y <= 0):
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


# ---- the parts of the proofs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decomposition:
    """Regret as at most the sum of two parts, for one kernel.

    Attributes
    ----------
    regret : float
        Reg(f).
    advice : float
        T1 of the proofs: what is lost against the kernel's own scores.
    kernel : float
        T2: what the kernel's scores lose against the competitor.
    slack : float
        What the convexity of the loss gives away, at least 0: T1 + T2 - Reg(f).
    """

    regret: float
    advice: float
    kernel: float

    @property
    def slack(self) -> float:
        """T1 + T2 - Reg(f)."""
        return self.advice + self.kernel - self.regret


def decompose(run: Trace, competitor_scores: Any, kernel: int) -> Decomposition:
    """Split regret into the part of expert advice and that of one kernel, as the proofs of Theorems 1 and 3 do.

    M-OMD-H: T1 = sum_t [sum_j p_tj l(f_tj) - l(f_ti)] and T2 = sum over rounds with l(f_ti) > 0 of l(f_ti) - l(f).
    M-OMD-S: T1 = sum_t l'(f_t) (f_t - f_ti) and T2 = sum_t l'(f_t) (f_ti - f).

    Parameters
    ----------
    run : Trace
        What `trace` gives.
    competitor_scores : array of shape (T,)
        f(x_t).
    kernel : int
        i, the kernel of the competitor.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> from pocketkernel.stream import known_kernel
    >>> X, y = known_kernel(500)
    >>> from pocketkernel.lab.theory import trace
    >>> parts = decompose(trace(MOMDS(budget=20, random_state=0), X, y), 2.0 * y, 1)
    >>> bool(parts.slack >= 0)
    True
    """
    f = np.asarray(competitor_scores, dtype=np.float64)
    own, mine = loss_values(run.loss, run.scores, run.y), run.kernel_scores[:, kernel]
    theirs = loss_values(run.loss, f, run.y)
    if run.loss == "hinge":
        losses = loss_values("hinge", run.kernel_scores, run.y[:, None])
        advice = np.sum(run.weights * losses, axis=1) - losses[:, kernel]
        part = np.where(run.y * mine < 1, losses[:, kernel] - theirs, 0.0)
    else:
        derivative = LOSSES[run.loss].derivative
        g = np.array([derivative(u, y) for u, y in zip(run.scores, run.y, strict=True)])
        advice, part = g * (run.scores - mine), g * (mine - f)
    return Decomposition(float(np.sum(own - theirs)), float(advice.sum()), float(part.sum()))


@dataclass(frozen=True)
class RemovalHarm:
    """How far removals moved a kernel's hypothesis away from a competitor.

    Attributes
    ----------
    removals : int
        |J_i|.
    moved : float
        Lambda_i, the sum of |rest - f|^2 - |f_i - f|^2 over the removals; negative if they brought it nearer.
    norm_bound : float
        U.
    xi : float
        Lambda_i / (U^2 |J_i|); 0 if there was no removal.
    harmless : bool
        xi |J_i| <= 1, what Theorems 2 and 5 ask for.
    """

    removals: int
    moved: float
    norm_bound: float

    @property
    def xi(self) -> float:
        """Lambda_i / (U^2 |J_i|)."""
        return self.moved / (self.norm_bound**2 * self.removals) if self.removals else 0.0

    @property
    def harmless(self) -> bool:
        """Whether xi |J_i| <= 1."""
        return self.moved <= self.norm_bound**2


def removal_harm(run: Trace, competitor_scores: Any, kernel: int) -> RemovalHarm:
    """Measure xi_i, by which Theorems 2 and 5 depend on the algorithm.

    |g - f|^2 = |g|^2 - 2 <g, f> + |f|^2, and <g, f> = sum_j a_j f(x_j) for g = sum_j a_j kappa(x_j, .): only f's scores
    are needed.

    Parameters
    ----------
    run : Trace
        What `trace` gives.
    competitor_scores : array of shape (T,)
        f(x_t); f in the space of the kernel.
    kernel : int
        i.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> from pocketkernel.stream import known_kernel
    >>> X, y = known_kernel(500)
    >>> from pocketkernel.lab.theory import trace
    >>> harm = removal_harm(trace(MOMDS(budget=20, random_state=0), X, y), np.zeros(500), 1)
    >>> harm.removals > 0, harm.xi < 4
    (True, True)
    """
    if run.removals is None:
        raise ValueError("SharedMOMDH does not record what its removals change: trace MOMDS or MOMDH.")
    f = np.asarray(competitor_scores, dtype=np.float64)
    moved = [
        one.norms2[1] - one.norms2[0] - 2 * float((one.after - one.before) @ f[one.places])
        for one in run.removals
        if one.kernel == kernel
    ]
    return RemovalHarm(len(moved), float(np.sum(moved)), run.norm_bound)
