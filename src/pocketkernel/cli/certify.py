"""`pocketkernel certify`: what a saved model proves about its regret."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pocketkernel.cli._show import print_json
from pocketkernel.evaluate.pipeline import load_with_pipeline


def certify(model: Path, /, *, delta: float = 0.05, json: Annotated[bool, Parameter(negative=())] = False) -> None:
    """Show what a model has done, and what that proves about its regret.

    Regret is the sum of its losses less that of the best function of one kernel in hindsight. Only the model's counters
    are read. It says which theorem holds, what the bound is made of, which conditions fail, and what is not known.

    Parameters
    ----------
    model
        Folder of a run, or a model file.
    delta
        Probability with which the bound may fail.
    json
        Print everything as one JSON document.
    """
    learner, _, file = load_with_pipeline(model)
    certificate = learner.certificate(delta)
    if json:
        print_json({"file": str(file)} | certificate.to_dict())
    else:
        print(certificate)
