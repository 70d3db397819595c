"""What a model proves about itself, as tables and as a chart."""

from typing import Any

import numpy as np

from pocketkernel.certificate import Certificate
from pocketkernel.report.charts import Chart, Series
from pocketkernel.report.tables import Column, Table


def certificate_tables(certificate: Certificate) -> list[Table]:
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
        *([] if certificate.removals is None else [["removals", float(certificate.removals)]]),
        *([f"regret against {name}", regret] for name, regret in told.experts),
    ]
    if certificate.value is not None:
        if len(certificate.terms) > 1:
            done += [[f"bound: {name}", term] for name, term in certificate.terms.items()]
        done += [["regret at most", certificate.value], ["least loss of any competitor", certificate.least_loss]]
    unknown = f" Not known: {'; '.join(told.unknown)}." if told.unknown else ""
    columns = [Column("what"), Column("so far", digits=1)]
    tables.append(Table("Regret", columns, done, told.against + unknown))
    if told.conditions:
        conditions = [[one.text, one.numbers, "yes" if one.met else "no"] for one in told.conditions]
        columns = [Column("condition"), Column("here"), Column("met")]
        tables.append(Table(certificate.theorem or "Conditions", columns, conditions))
    return tables


def certificate_charts(certificate: Certificate) -> list[Chart]:
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
