"""`pocketkernel certify`: what a saved model proves about itself."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pocketkernel.cli.show import print_json, say
from pocketkernel.evaluate.pipeline import load_with_pipeline
from pocketkernel.report import certificate_charts, certificate_tables, write_page


def certify(
    model: Path,
    /,
    *,
    delta: float = 0.05,
    report: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Show what the counters of a model prove: its rate of mistakes, and a bound on its regret.

    Intervals for the rate of mistakes hold at all times at once, for all rows and for the latest. The regret is the sum
    of the model's losses minus that of the best competitor in hindsight. Only the model's counters are read. The output
    shows the terms of the bound, which conditions fail, and what is not known.

    Parameters
    ----------
    model
        Folder of a run, or a model file.
    delta
        Probability that an interval fails, or that the bound does.
    report
        Write an HTML page with tables, and a chart of the bound if there is one, to this file.
    json
        Print everything as one JSON document.
    """
    learner, _, file = load_with_pipeline(model)
    if not hasattr(learner, "certificate"):
        raise ValueError(f"{file} is a {type(learner).__name__}: nothing is proved about the regret of such a model.")
    certificate = learner.certificate(delta)
    if report is not None:
        write_page(
            report,
            title=f"Certificate of {file}",
            lead=f"{certificate.learner} after {certificate.rounds:,} rows.",
            tables=certificate_tables(certificate),
            charts={"proved": certificate_charts(certificate)},
            commands=[f"pocketkernel certify {file} --delta {delta:g}"],
        )
    if json:
        print_json({"file": str(file)} | certificate.to_dict())
    else:
        say(certificate)
