"""What the proof of Theorem 1 implies for the two hinge learners."""

from collections.abc import Callable
from typing import Any

from sklearn.utils import Bunch

from pocketkernel.certificate import Bound, Condition, ConditionError, Guarantee
from pocketkernel.certificate.certificate import ROUNDING, STOPPING, WEIGHTS
from pocketkernel.learners._recipe import Recipe


def changes(done: Bunch, removals: int) -> int:
    """How often a function was changed otherwise than by steps on new rows.

    Whatever the later passes of a fit did to it, its distance from a competitor grew by no more than at a removal: both
    are within U. Weights of kernels do not follow these passes, so nothing else of the proof changes.
    """
    return removals + (int(done.repeats) > 0)


def hinge_guarantee(
    recipe: Recipe, done: Bunch, theorem: str, bound: Callable[..., Bound], counts: Callable[[int], dict[str, Any]]
) -> Guarantee:
    """The largest of the bounds of all kernels, so that it holds against each of them.

    `bound` computes that of a kernel, for which it needs `counts` of it besides what both learners have.
    """
    U = float(recipe.norm_bound)
    conditions: tuple[Condition, ...] = (
        Condition("U > 1", f"U = {U:g}", U > 1),
        Condition("M > 1", f"M = {recipe.reservoir}", recipe.reservoir > 1),
        Condition("archive not overflowed", f"overflowed = {done.overflowed}", int(done.overflowed) == 0),
    )
    against = (
        f"The regret is relative to every function of norm at most U = {U:.4g} of any kernel: the largest of the "
        "kernels' bounds is shown. It is about the expectation over the learner's random draws, so one run gives an "
        "estimate of the bound, not a bound with a confidence level; delta is not used."
    )
    unknown = (
        "expectations: the counts of this run are used instead, and its own loss instead of the competitor's",
        WEIGHTS,
        ROUNDING,
        STOPPING,
    )

    def of_kernel(i: int) -> Bound:
        return bound(
            float(done.cumulative_loss),
            errors=float(done.alignment_proxy[i]),
            rows=int(done.rounds),
            kernels=len(recipe.kernels),
            budget=recipe.budget,
            norm_bound=recipe.norm_bound,
            step=recipe.step,
            **counts(i),
        )

    worst = None
    if all(condition.met for condition in conditions):
        try:
            worst = max(map(of_kernel, range(len(recipe.kernels))), key=lambda bound: bound.value)
        except ConditionError as error:
            conditions = (*error.conditions, *conditions)
    # No score of the competitor exceeds its norm, which is above 1: there is no loss that it has in any case.
    return Guarantee(theorem, against, worst, conditions, unknown)
