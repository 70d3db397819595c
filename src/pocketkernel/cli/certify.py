"""`pocketkernel certify`: what a saved model proves about itself."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from pocketkernel.certificate import Certificate
from pocketkernel.cli.show import print_json, say
from pocketkernel.evaluate.pipeline import load_with_pipeline
from pocketkernel.report import Chart, Column, Series, Table, write_page


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
            lead=f"{certificate.learner} after {certificate.rounds:,} rows. {certificate.guarantee.against}",
            tables=tables_of(certificate),
            charts={"more": charts} if (charts := charts_of(certificate)) else None,
            commands=[f"pocketkernel certify {file} --delta {delta:g}"],
        )
    if json:
        print_json({"file": str(file)} | certificate.to_dict())
    else:
        say(certificate)


def tables_of(certificate: Certificate) -> list[Table]:
    """Tables of the counters, of the rate of mistakes, of the bound, and of its conditions."""
    told = certificate.guarantee
    rates = {"all": certificate.mistake_rate, "latest": certificate.recent_mistake_rate}
    tables = [
        Table(
            "Mistakes",
            [Column("rows"), Column("count"), *(Column(name, digits=2) for name in ("rate, %", "at least", "at most"))],
            [[name, one.rounds, 100 * one.rate, 100 * one.low, 100 * one.high] for name, one in rates.items()],
        )
    ]
    done: list[list[Any]] = [
        [f"{certificate.loss} loss", certificate.cumulative_loss],
        ["removals", float(certificate.removals)],
        *([f"regret against {name}", regret] for name, regret in told.experts),
    ]
    if certificate.value is not None:
        done += [[f"bound: {name}", term] for name, term in certificate.terms.items()]
        done += [["regret at most", certificate.value], ["least loss of any competitor", certificate.least_loss]]
    unknown = "; ".join(told.unknown)
    columns = [Column("what"), Column("so far", digits=1)]
    tables.append(Table("Regret", columns, done, unknown and f"Not known: {unknown}."))
    if told.conditions:
        conditions = [[one.text, one.numbers, "yes" if one.met else "no"] for one in told.conditions]
        columns = [Column("condition"), Column("here"), Column("met")]
        tables.append(Table(certificate.theorem or "Conditions", columns, conditions))
    return tables


def charts_of(certificate: Certificate) -> list[Chart]:
    """The least loss of competitors against their norm, if it is known."""
    dual = certificate.guarantee.dual
    if dual is None:
        return []
    norms = np.geomspace(0.1, max(1.5 * dual.informative_up_to, 1.0), 60)
    proved = np.maximum([dual.own_loss - dual.regret(norm) for norm in norms.tolist()], 0.0)
    return [
        Chart(
            series=[
                Series("least loss, proved", norms, proved),
                Series("in any case", norms, [dual.anyway(norm) for norm in norms.tolist()]),
                Series("its own loss", norms, np.full(len(norms), dual.own_loss), reference=True),
            ],
            title="Least loss of any competitor, by its norm",
            x_label="norm of the competitor",
            y_label="sum of losses",
            note="No function of any kernel has a smaller loss than the higher of the first two lines.",
            log_x=True,
            markers=False,
        )
    ]
