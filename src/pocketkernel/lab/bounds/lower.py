"""The lower bound: what no learner that stores B rows and keeps |f| <= U can do better."""

import math

from pocketkernel.certificate.bound import IN_EXPECTATION, Bound, Condition, check
from pocketkernel.losses import LOSSES


def theorem_4(rows: int, *, budget: int, norm_bound: float, loss: str = "logistic") -> Bound:
    """Least regret on the `adversary`, in expectation, of any learner whose f is a sum over B stored rows, |f| <= U.

    The first line of the proof's last display, which is sharper than the printed 0.032 U T / sqrt(B) that follows from
    it. It holds for every decreasing convex loss, so for hinge loss, too. A learner that does not project (LKMBooks),
    that stores more than B rows (M-OMD-H with its archive) or none (Raker) is not bound by it.

    Parameters
    ----------
    rows : int
        T, at least 3 B.
    budget : int
        B.
    norm_bound : float
        U, below sqrt(3 B) / 5.
    loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        What is summed.

    Examples
    --------
    >>> bound = theorem_4(10_000, budget=100, norm_bound=3.0)
    >>> bound.printed < bound.value
    True
    """
    most = math.sqrt(3 * max(budget, 0)) / 5
    conditions = check(
        Condition("B >= 1", f"B = {budget}", budget >= 1),
        Condition("T >= 3 B", f"T = {rows}, 3 B = {3 * budget}", rows >= 3 * budget),
        Condition("0 < U < sqrt(3 B) / 5", f"U = {norm_bound:g}, sqrt(3 B) / 5 = {most:.4g}", 0 < norm_bound < most),
    )
    at = LOSSES[loss].value
    unknown, stored = at(0.0, 1.0), at(norm_bound / math.sqrt(budget), 1.0)
    later = rows - 3 * budget
    terms = {
        "first sight": 3 * budget * unknown,
        "not stored": later * 2 / 3 * unknown,
        "stored": later / 3 * stored,
        "competitor": -rows * at(norm_bound / math.sqrt(3 * budget), 1.0),
    }
    share = math.sqrt(3) / 10 + (math.sqrt(3) / 3 - 1) / 3
    printed = share * norm_bound * rows / math.sqrt(budget) if loss == "logistic" else None
    return Bound(terms, conditions, IN_EXPECTATION, printed)
