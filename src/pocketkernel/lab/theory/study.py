"""A learner on a stream against the best function of one kernel: its regret, row by row, beside what theorems say."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pocketkernel.certificate import (
    Certificate,
    Condition,
    dual_bound,
    shared_buffer_afterwards,
    theorem_1_afterwards,
)
from pocketkernel.kernels import Kernel
from pocketkernel.lab.theory.competitor import Competitor, best_in_ball
from pocketkernel.lab.theory.losses import loss_of, loss_values
from pocketkernel.lab.theory.regret import Decomposition, RegretCurve, RemovalHarm, decompose, removal_harm
from pocketkernel.lab.theory.rows import Floats, check_data
from pocketkernel.lab.theory.trace import Trace, trace
from pocketkernel.learners import MOMDH, MOMDS, SharedMOMDH, recipe_of

LANDMARKS = 500
FEW_LANDMARKS = 150
"""To choose a kernel by."""


@dataclass(frozen=True, eq=False)
class RegretStudy:
    """Regret of a run, and the notes on it.

    Attributes
    ----------
    certificate : Certificate
        Of the learner at the end.
    competitor : Competitor
        The function that the regret is measured against; its `gap` is the most that the regret could be higher.
    curve : RegretCurve
        Reg(t).
    bound : array or None
        What is proved at the rows of the curve, from the counts of the run up to there; None if there is nothing.
    parts : Decomposition or None
        T1 and T2; None unless M-OMD-S, M-OMD-H or SharedMOMDH ran.
    harm : RemovalHarm or None
        |J_i| and xi_i; None unless M-OMD-S or M-OMD-H ran.

    The conditions of the theorem are those of the certificate; that of the theorems which depend on the algorithm is
    `harm.harmless`.
    """

    certificate: Certificate
    competitor: Competitor
    curve: RegretCurve
    bound: Floats | None
    parts: Decomposition | None
    harm: RemovalHarm | None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Of the theorem."""
        return self.certificate.guarantee.conditions


def study_regret(
    learner: Any,
    X: Any,
    y: Any,
    *,
    kernel: Kernel | None = None,
    norm_bound: float | None = None,
    landmarks: int = LANDMARKS,
    points: int = 60,
) -> RegretStudy:
    """Run a learner over a stream, and compare it with the best function of one kernel in hindsight.

    Parameters
    ----------
    learner : learner
        One that has not learned yet, with hinge or logistic loss.
    X : array or sparse matrix of shape (T, d)
        The stream.
    y : array of shape (T,)
        Labels -1 and 1.
    kernel : Kernel, default=None
        One of the learner's; None means the one whose best function loses least, as far as a few landmarks tell.
    norm_bound : float, default=None
        U of the competitor; None means the learner's, or sqrt(B) if it has none.
    landmarks : int, default=500
        Rows to express the competitor by.
    points : int, default=60
        Of the curve.

    Examples
    --------
    >>> from pocketkernel import MOMDS, gaussians
    >>> from pocketkernel.stream import known_kernel
    >>> X, y = known_kernel(500)
    >>> study = study_regret(MOMDS(budget=50, kernels=gaussians([1, 4]), random_state=0), X, y)
    >>> bool(0 < study.curve.regret[-1] < study.bound[-1])
    True
    """
    rows, labels = check_data(X, y)
    name = loss_of(learner)
    run = trace(learner, rows, labels) if isinstance(learner, MOMDS | MOMDH | SharedMOMDH) else None
    scores = learner.predict_then_learn(rows, labels, classes=[-1, 1]) if run is None else run.scores
    made = recipe_of(learner)
    U = norm_bound or (made.norm_bound if hasattr(learner, "norm_bound") else math.sqrt(made.budget))
    if kernel is None:
        kernel = _best_kernel(rows, labels, made.kernels, U, name)
    elif kernel not in made.kernels:
        raise ValueError(
            f"kernel={kernel!r} is not one of the learner's kernels: use one of {', '.join(map(repr, made.kernels))}."
        )
    best = best_in_ball(rows, labels, kernel, U, name, landmarks=min(landmarks, len(labels)))  # type: ignore[arg-type]
    f, i = best.decision_function(rows), made.kernels.index(kernel)
    at = np.unique(np.geomspace(1, len(labels), max(points, 2)).round().astype(np.int64))
    own = np.cumsum(loss_values(name, scores, labels))
    curve = RegretCurve(at, own[at - 1], np.cumsum(loss_values(name, f, labels))[at - 1])
    certificate = learner.certificate()
    if run is None or made.norm_bound < U:
        return RegretStudy(certificate, best, curve, None, None, None)
    harm = None if run.removals is None else removal_harm(run, f, i)
    return RegretStudy(certificate, best, curve, _bounds(learner, run, i, curve), decompose(run, f, i), harm)


def _best_kernel(rows: Any, labels: Floats, kernels: Sequence[Kernel], U: float, loss: Any) -> Kernel:
    """The kernel whose function of least loss, expressed by a few rows, has the least."""
    few = min(FEW_LANDMARKS, len(labels))
    if len(kernels) == 1:
        return kernels[0]
    found = [
        best_in_ball(rows, labels, kernel, U, loss, landmarks=few, all_pairs=False, tolerance=1e-3).loss
        for kernel in kernels
    ]
    return kernels[int(np.argmin(found))]


def _bounds(learner: MOMDS | MOMDH | SharedMOMDH, run: Trace, i: int, curve: RegretCurve) -> Floats | None:
    """What the proof says after each of the curve's rows; None if it does not apply."""
    made, J = recipe_of(learner), np.cumsum(run.removed[:, i])
    if learner.certificate().value is None:
        return None

    def after(t: int, own: float) -> float:
        if isinstance(learner, MOMDS):
            linear, unmerged, steepest, weight, *gammas = run.evidence[t - 1].tolist()
            rate = made.step * made.norm_bound / math.sqrt(made.budget)
            bound = dual_bound(
                own,
                linear,
                unmerged=unmerged,
                steepest=steepest,
                gammas=gammas,
                norms=run.norms[t - 1].tolist(),
                rate=rate,
                weight=weight,
                loss=run.loss,
            )
            return bound.regret(made.norm_bound)
        counts: dict[str, Any] = {
            "errors": float(run.errors[t - 1, i]),
            "removals": int(J[t - 1]),
            "rows": t,
            "kernels": len(made.kernels),
            "budget": made.budget,
            "norm_bound": made.norm_bound,
            "step": made.step,
        }
        if isinstance(learner, SharedMOMDH):
            return shared_buffer_afterwards(own, spent=float(run.evidence[t - 1, i]), **counts).value
        full = int(run.hurt_while_full[:t, i].sum())
        return theorem_1_afterwards(own, full_rounds=full, eager=made.removal == "eager", **counts).value

    return np.array([after(int(t), float(own)) for t, own in zip(curve.rows, curve.own_loss, strict=True)])
