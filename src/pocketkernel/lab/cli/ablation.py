"""`pocketkernel lab ablation`: an ablation of M-OMD, resumable."""

import time
from typing import Annotated

from cyclopts import Parameter

from pocketkernel.cli.options import at_least
from pocketkernel.lab import experiments
from pocketkernel.lab.cli._cells import Experiment, writing
from pocketkernel.lab.cli._progress import CellProgress
from pocketkernel.lab.experiments.ablation import BUDGETS
from pocketkernel.lab.experiments.outputs import ablation_charts, write_outputs

PERMUTATIONS = 5
QUICK_BUDGETS = (25, 100, 400)

Budgets = Annotated[list[int] | None, Parameter(consume_multiple=True, negative="", validator=at_least(2))]


def ablation(*, experiment: Experiment = Experiment(), budgets: Budgets = None) -> None:  # noqa: B008  (frozen)
    """Compare ways to empty a full buffer, one buffer with one per kernel, and budgets.

    Writes ablation.md, ablation.tex, ablation.csv and ablation.html. It can be interrupted at any time: the same
    command resumes it, and no finished part is run again.

    Parameters
    ----------
    budgets
        Numbers of examples per buffer; by default 25, 50, ..., 1600, with --quick 25, 100, 400.
    """
    began = time.perf_counter()
    out = experiment.out
    sizes = budgets or (QUICK_BUDGETS if experiment.quick else BUDGETS)
    with writing(out), CellProgress("lab ablation") as report:
        made = experiments.ablation(out, budgets=sizes, report=report, **experiment.running(PERMUTATIONS))
    with writing(out):
        files = write_outputs(
            out,
            "ablation",
            made.tables,
            flat=made.flat,
            page="ablation.html",
            title="Ablation of M-OMD",
            lead=f"{experiment.lead(PERMUTATIONS)}; {report.summary}.",
            charts=ablation_charts(made),
            commands=[experiment.command("ablation", PERMUTATIONS, ["--budgets", *map(str, sizes)])],
        )
    seconds = time.perf_counter() - began
    experiment.show(made.tables, [f"{report.summary}."], {"points": made.records}, files, seconds)
