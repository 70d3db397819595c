"""`pocketkernel certify`: what a saved model proves about itself."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from pocketkernel.cli.show import print_json, say
from pocketkernel.evaluate import Record, RecordError
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
    shows the terms of the bound, which conditions fail, and what is not known. About a regressor, only the coverage of
    its intervals is proved.

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
        if report is not None:
            raise ValueError(f"{file} is a {type(learner).__name__}: there is nothing to draw, leave out --report.")
        _of_regressor(learner, model, file, json)
        return
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


_COVERAGE = (
    "over any rows, whatever the stream does, the share of labels outside the intervals differs from the one asked for "
    "by at most (change of the interval's bound) / (step x rows), if every interval is made when the rows before it "
    "have been learned"
)


def _of_regressor(learner: Any, model: Path, file: Path, as_json: bool) -> None:
    """What is proved about a regressor, and what its run has measured."""
    rounds, measured = learner.diagnostics_["rounds"], None
    if model.is_dir():
        with suppress(RecordError):
            measured = Record.read(model).results.get("interval")
    if as_json:
        name = type(learner).__name__
        print_json({"file": str(file), "learner": name, "rounds": rounds, "proved": _COVERAGE, "interval": measured})
        return
    say(f"{file}: a {type(learner).__name__} after {rounds:,} rows.")
    say(f"Proved: {_COVERAGE}. Nothing is proved about its errors, nor about its regret.")
    if measured and measured["coverage"] is not None:
        asked, inside = measured["asked"], measured["coverage"]
        say(f"Measured in its run: {inside:.2%} of the labels were inside its {asked:.0%} intervals.")
