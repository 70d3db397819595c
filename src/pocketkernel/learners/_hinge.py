"""What the proof of Theorem 1 implies for the two hinge learners."""

from collections.abc import Callable

from sklearn.utils import Bunch

from pocketkernel.certificate import Bound, Condition, Guarantee
from pocketkernel.certificate.certificate import ROUNDING, STOPPING, WEIGHTS, guarantee_of
from pocketkernel.learners._recipe import Recipe


def hinge_guarantee(recipe: Recipe, done: Bunch, theorem: str, bound_of: Callable[[int], Bound]) -> Guarantee:
    """The largest of the bounds of all kernels, so that it holds against each of them."""
    U = float(recipe.norm_bound)
    conditions = (
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
    if not all(condition.met for condition in conditions):
        return Guarantee(theorem, against, None, conditions, unknown)

    def worst() -> Bound:
        return max((bound_of(i) for i in range(len(recipe.kernels))), key=lambda bound: bound.value)

    # No score of the competitor exceeds its norm, which is above 1: there is no loss that it has in any case.
    return guarantee_of(worst, conditions, theorem=theorem, against=against, unknown=unknown)
