"""`pocketkernel lab lower-bound`: the lower bound for learners with bounded memory."""

import time
from typing import Annotated

from pocketkernel.cli.show import err
from pocketkernel.lab import experiments
from pocketkernel.lab.cli._claims import Claim, several
from pocketkernel.lab.experiments.lower_bound import BUDGETS

QUICK_BUDGETS = (25, 50, 100, 200)


def lower_bound(*, claim: Claim = Claim(), budgets: Annotated[list[int] | None, several(2)] = None) -> None:  # noqa: B008
    """Run all learners on the stream of the lower bound, as the budget grows.

    Writes lower_bound.md, .tex, .csv, .html and .svg. Takes a minute.

    Parameters
    ----------
    budgets
        Numbers of examples that a learner may store; by default 25, 50, ..., 1600, with --quick up to 200.
    """
    began = time.perf_counter()
    quick = claim.quick
    with err().status("running"):
        made = experiments.lower_bound(
            budgets=budgets or (QUICK_BUDGETS if quick else BUDGETS),
            repetitions=claim.repetitions or (1 if quick else 2),
        )
    claim.show(made, began)
