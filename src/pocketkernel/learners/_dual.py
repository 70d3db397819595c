"""What M-OMD-S proves about its regret, for two classes and for more."""

import math
from collections.abc import Sequence

from sklearn.utils import Bunch

from pocketkernel.certificate import Bound, Guarantee, dual_bound
from pocketkernel.certificate.certificate import ROUNDING
from pocketkernel.learners._recipe import Recipe


def dual_guarantee(
    recipe: Recipe, done: Bunch, evidence: Sequence[float], delta: float, functions: int = 1
) -> Guarantee:
    """The dual bound of a learner, from its `diagnostics_` and its evidence."""
    U = float(recipe.norm_bound)
    linear, unmerged, steepest, weight, *gammas = evidence
    dual = dual_bound(
        float(done.cumulative_loss),
        linear,
        unmerged=unmerged,
        steepest=steepest,
        gammas=gammas,
        norms=done.norms.tolist(),
        rate=recipe.step * U / math.sqrt(recipe.budget),
        weight=weight,
        loss=recipe.loss,
        functions=functions,
        delta=delta,
    )
    terms = {"slopes times scores": dual.linear} | {name: U * term for name, term in dual.terms}
    of_each = "" if functions == 1 else " (of the functions of all classes together)"
    return Guarantee(
        theorem="The dual bound",
        against=(
            f"The regret is relative to every function of norm at most U = {U:.4g}{of_each} of any kernel; for other "
            f"norms it changes by {dual.slope:,.1f} per unit. It holds at all times at once, also if rows react to the "
            "learner."
        ),
        bound=Bound(terms, (), f"with probability at least {1 - delta:.4g}"),
        unknown=(ROUNDING,),
        anyway=dual.anyway(U),
        dual=dual,
    )
