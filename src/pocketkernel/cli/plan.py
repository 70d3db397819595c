"""`pocketkernel plan`: what a memory budget buys."""

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from pocketkernel.cli.options import Count, Learning
from pocketkernel.cli.show import print_json, say
from pocketkernel.evaluate.job import learner_class
from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION


def plan(
    columns: Count,
    /,
    *,
    classes: Count = None,
    regression: Annotated[bool, Parameter(negative=())] = False,
    learner: str = "pocket",
    learning: Learning | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Show the exact size of a learner before it has seen a row, and what its memory buys.

    Parameters
    ----------
    columns
        Number of columns of a row, after encoding.
    classes
        Number of classes, by default 2.
    regression
        Plan for numbers instead of classes.
    learner
        Name of the learner.
    json
        Print everything as one JSON document.
    """
    class_ = learner_class(learner, REGRESSION if regression else CLASSIFICATION)
    parameters = (learning or Learning()).parameters(learner)
    planned = class_.plan(columns, n_classes=classes, **{k: v for k, v in parameters.items() if k != "random_state"})
    if json:
        print_json(asdict(planned) | {"headroom": planned.headroom})
    else:
        say(planned)
        if planned.shortage:
            say(planned.shortage)
