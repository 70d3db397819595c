"""`pocketkernel certify`: what a saved model proves about its regret."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from pocketkernel.cli.show import print_json, say
from pocketkernel.evaluate.pipeline import load_with_pipeline
from pocketkernel.report import Chart, Column, Series, Table, write_page

DELTAS = np.geomspace(1e-6, 0.5, 25)


def certify(
    model: Path,
    /,
    *,
    delta: float = 0.05,
    report: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Show the counters of a model, and the bound on its regret that they prove.

    The regret is the sum of the model's losses minus that of the best function of one kernel in hindsight. Only the
    model's counters are read. The output shows the theorem, the terms of the bound, which conditions fail, and what is
    not known.

    Parameters
    ----------
    model
        Folder of a run, or a model file.
    delta
        Probability that the bound fails.
    report
        Write an HTML page with tables, and a chart of the bound if there is one, to this file. Needs jinja2.
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
            lead=f"{certificate.learner} after {certificate.rounds:,} rows. {certificate.guarantee.against}",
            tables=tables_of(certificate),
            charts=None if certificate.value is None else {"more": [chart_of(learner, certificate)]},
            commands=[f"pocketkernel certify {file} --delta {delta:g}"],
        )
    if json:
        print_json({"file": str(file)} | certificate.to_dict())
    else:
        say(certificate)


def tables_of(certificate: Any) -> list[Table]:
    """Tables of the counters, the terms of the bound, and the conditions."""
    done: list[list[Any]] = [
        ["mistakes", float(certificate.mistakes)],
        [f"{certificate.loss} loss", certificate.cumulative_loss],
        ["removals", float(certificate.removals)],
    ]
    if certificate.value is not None:
        done += [[f"bound: {name}", term] for name, term in certificate.terms.items()]
        done += [["regret at most", certificate.value], ["least loss of any competitor", certificate.least_loss]]
    unknown = "; ".join(certificate.guarantee.unknown)
    counts = Table("Counts", [Column("what"), Column("so far", digits=1)], done, unknown and f"Not known: {unknown}.")
    conditions = [[one.text, one.numbers, "yes" if one.met else "no"] for one in certificate.guarantee.conditions]
    if not conditions:
        return [counts]
    columns = [Column("condition"), Column("here"), Column("met")]
    return [counts, Table(certificate.theorem or "Conditions", columns, conditions)]


def chart_of(learner: Any, certificate: Any) -> Chart:
    """The bound against the probability that it fails, with the loss."""
    bounds = [learner.certificate(float(delta)).value for delta in DELTAS]
    loss = np.full(len(DELTAS), certificate.cumulative_loss)
    return Chart(
        series=[
            Series("regret at most", DELTAS, [np.nan if bound is None else bound for bound in bounds]),
            Series("its own loss", DELTAS, loss, reference=True),
        ],
        title="The bound and its confidence",
        x_label="probability that it fails",
        note="A bound above the model's own loss is not informative. Gaps: a condition fails there.",
        log_x=True,
        markers=False,
    )
