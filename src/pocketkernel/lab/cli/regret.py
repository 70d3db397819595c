"""`pocketkernel lab regret`: a learner compared with the best function of one kernel in hindsight."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from pocketkernel.cli.errors import UsageError
from pocketkernel.cli.options import (
    File,
    Learning,
    Reading,
    Scale,
    Seed,
    at_least,
    command_line,
    source_of,
)  # fmt: skip
from pocketkernel.cli.show import err, print_json, say
from pocketkernel.evaluate.job import make_learner
from pocketkernel.kernels import Gaussian
from pocketkernel.lab.cli._progress import duration
from pocketkernel.lab.cli._two_classes import read_two_classes
from pocketkernel.lab.experiments.writing import plain
from pocketkernel.lab.report import Cell, Column, Table, write_report
from pocketkernel.lab.theory import RegretStudy, study_regret
from pocketkernel.lab.theory.study import LANDMARKS
from pocketkernel.learners import is_multiclass
from pocketkernel.report import Chart, Series

ROWS = 5000


def regret(
    *files: File,
    learner: Annotated[str, Parameter(group="Learner")] = "momds",
    learning: Learning = Learning(),  # noqa: B008  (frozen)
    kernel: float | None = None,
    norm_bound: float | None = None,
    rows: Annotated[int, Parameter(validator=at_least(2))] = ROWS,
    landmarks: Annotated[int, Parameter(validator=at_least(1))] = LANDMARKS,
    scale: Scale = "none",
    permute: Seed | None = None,
    reading: Reading = Reading(),  # noqa: B008
    report: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Measure a learner's regret on a file with two classes.

    The regret is the sum of its losses minus that of the best function of one kernel with norm at most U, in hindsight,
    which is found up to a stated gap. For M-OMD-S, M-OMD-H and SharedMOMDH the output also shows the parts of the
    regret in the proofs and the bound that they give for the counts of this run; for the first two also the effect of
    removals.

    Parameters
    ----------
    files
        Files, globs, or - for standard input; plain or compressed (gzip, bzip2, xz, zstd), or alone in a zip or tar.
    learner
        momds, momdh, sharedmomdh, lkmbooks or raker.
    kernel
        Width of the competitor's Gaussian, one of the learner's. By default the one with the smallest loss.
    norm_bound
        U of the competitor. By default the learner's, or the square root of its budget if it has none.
    rows
        Use this number of rows from the start, or of the permutation.
    landmarks
        Number of rows that represent the competitor; more make the gap smaller and take longer.
    scale
        Scale each column using the rows before.
    permute
        Shuffle the rows with this seed first. The whole file must fit in memory.
    report
        Write an HTML page with tables and the curve to this file.
    json
        Print everything as one JSON document.
    """
    began = time.perf_counter()
    made = make_learner(learner, learning.parameters(learner))
    if is_multiclass(made):
        raise UsageError(
            f"{type(made).__name__} is a multiclass learner: use momds, momdh, sharedmomdh, lkmbooks or raker."
        )
    if type(made).__name__ == "LKMBooks" and made.horizon is None:
        made.set_params(horizon=rows)
    X, y = read_two_classes(source_of(files), rows, reading.options(), permute=permute, scale=scale)
    with err().status("running"):
        study = study_regret(
            made,
            X,
            y,
            kernel=None if kernel is None else Gaussian(kernel),
            norm_bound=norm_bound,
            landmarks=landmarks,
        )
    name = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
    table = table_of(name, study)
    if report is not None:
        given: dict[str, Any] = {"kernel": kernel, "norm_bound": norm_bound, "rows": rows, "landmarks": landmarks}
        given |= {"scale": scale, "permute": permute}
        usual: dict[str, Any] = {"kernel": None, "norm_bound": None, "rows": ROWS, "landmarks": LANDMARKS}
        usual |= {"scale": "none", "permute": None}
        write_report(
            report,
            title=f"Regret of {study.certificate.learner} on {name}",
            lead=f"{len(y):,} rows, {X.shape[1]} columns. {said(study)}",
            tables=[table, conditions_table(study)] if study.conditions else [table],
            charts=[chart_of(study)],
            commands=[
                command_line(
                    ["pocketkernel", "lab", "regret", *files, "--learner", learner],
                    {**vars(learning), **given, **vars(reading)},
                    {**vars(Learning()), **usual, **vars(Reading())},
                )
            ],
        )
    seconds = time.perf_counter() - began
    if json:
        print_json(facts(study) | {"seconds": round(seconds, 3), "report": report and str(report)})
        return
    say(plain(table))
    for condition in study.conditions:
        if not condition.met:
            say(f"{condition}.")
    say(said(study))
    say(duration(seconds) + (f", written to {report}" if report else ""))


def facts(study: RegretStudy) -> dict[str, Any]:
    """What was found, as JSON can hold it."""
    best, curve, parts, harm = study.competitor, study.curve, study.parts, study.harm
    return {
        "learner": study.certificate.learner,
        "rows": int(curve.rows[-1]),
        "loss": best.loss_name,
        "own_loss": float(curve.own_loss[-1]),
        "competitor": {
            "kernel": f"{best.kernel.family} {best.kernel.parameter:g}",
            "norm_bound": best.norm_bound,
            "loss": best.loss,
            "lower_bound": best.lower_bound,
        },
        "regret": float(curve.regret[-1]),
        "regret_at_most": float(curve.own_loss[-1]) - best.lower_bound,
        "T1": None if parts is None else parts.advice,
        "T2": None if parts is None else parts.kernel,
        "removals": None if harm is None else harm.removals,
        "xi": None if harm is None else harm.xi,
        "removals_harmless": None if harm is None else harm.harmless,
        "theorem": study.certificate.theorem,
        "bound": None if study.bound is None else float(study.bound[-1]),
        "conditions": [{"condition": one.text, "numbers": one.numbers, "met": one.met} for one in study.conditions],
        "curve": {
            "rows": curve.rows.tolist(),
            "regret": curve.regret.tolist(),
            "bound": None if study.bound is None else study.bound.tolist(),
        },
    }


def table_of(name: str, study: RegretStudy) -> Table:
    """The sums, and their parts."""
    best, curve, parts, harm = study.competitor, study.curve, study.parts, study.harm
    lines: list[list[Cell]] = [
        [f"loss of {study.certificate.learner}", float(curve.own_loss[-1]), f"{best.loss_name} loss"],
        [
            "loss of the competitor",
            best.loss,
            f"{best.kernel.family} {best.kernel.parameter:g}, U = {best.norm_bound:g}",
        ],
        ["regret", float(curve.regret[-1]), f"at most {best.gap:,.1f} more compared with the best function"],
    ]
    if parts is not None:
        lines += [
            ["T1, expert advice", parts.advice, "compared with the competitor's kernel alone"],
            ["T2, the kernel", parts.kernel, "of that kernel compared with the competitor"],
        ]
    if harm is not None:
        lines += [
            ["removals |J|", harm.removals, "of that kernel"],
            ["xi", harm.xi, "how far each removal moved away from the competitor, divided by U^2"],
            ["xi |J|", harm.xi * harm.removals, f"Theorems 2 and 5 require at most 1: {_yes(harm.harmless)}"],
        ]
    if study.bound is not None:
        lines.append(["bound", float(study.bound[-1]), str(study.certificate.theorem)])
    return Table(
        f"{name}: regret after {curve.rows[-1]:,} rows",
        [Column("what"), Column("sum", digits=2), Column("which")],
        lines,
        block=0,
    )


def conditions_table(study: RegretStudy) -> Table:
    """Which conditions hold."""
    lines: list[list[Cell]] = [[one.text, one.numbers, _yes(one.met)] for one in study.conditions]
    return Table("Conditions of the theorem", ["condition", "numbers", "holds"], lines, block=0)


def said(study: RegretStudy) -> str:
    """What the numbers come to, in a sentence or two."""
    if study.bound is None:
        return "No bound on the regret of this learner is proved."
    failing = sum(not one.met for one in study.conditions)
    value, own = float(study.bound[-1]), float(study.curve.own_loss[-1])
    worth = "which is informative" if value < own else "which is not informative: it is above the own loss"
    conditions = f"Conditions of the theorem that fail: {failing}. " if failing else ""
    return f"{conditions}The bound for the counts of this run is {value:,.0f}, {worth}."


def _yes(so: bool) -> str:
    return "yes" if so else "no"


def chart_of(study: RegretStudy) -> Chart:
    """Reg(t), the bound over it, and the own loss, which is a bound, too."""
    curve = study.curve
    lines = [Series("regret", curve.rows, np.where(curve.regret > 0, curve.regret, np.nan))]
    if study.bound is not None:
        lines.append(Series("bound", curve.rows, study.bound))
    lines.append(Series("own loss", curve.rows, curve.own_loss, reference=True))
    return Chart(
        series=lines,
        title="Regret so far",
        x_label="rows",
        y_label="sum of losses",
        note="Compared with the best function after all rows; nothing is drawn where the regret is below 0."
        + (" A bound above the learner's own loss is not informative." if study.bound is not None else ""),
        log_x=True,
        log_y=True,
    )
