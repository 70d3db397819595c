"""`pocketkernel lab tables`: the paper's two tables of results, resumable."""

import time

from pocketkernel.lab import experiments
from pocketkernel.lab.cli._cells import Experiment, writing
from pocketkernel.lab.cli._progress import CellProgress
from pocketkernel.lab.experiments.outputs import paper_charts, write_outputs

PERMUTATIONS = 10


def tables(*, experiment: Experiment = Experiment()) -> None:  # noqa: B008  (frozen)
    """Reproduce the paper's two tables of results, beside the published values.

    Writes tables.md, tables.tex, tables.csv and report.html. It can be interrupted at any time: the same command
    resumes it, and no finished part is run again.
    """
    began = time.perf_counter()
    out = experiment.out
    with writing(out), CellProgress("lab tables") as report:
        made = experiments.tables(out, report=report, **experiment.running(PERMUTATIONS))
    agreement = made.agreement()
    met = _met(agreement)
    with writing(out):
        files = write_outputs(
            out,
            "tables",
            made.tables,
            flat=made.flat,
            page="report.html",
            title="The paper's tables",
            lead=f"{experiment.lead(PERMUTATIONS)}; {report.summary}. {met}",
            charts=paper_charts(made),
            commands=[experiment.command("tables", PERMUTATIONS)],
        )
    counts = {name: {"met": found, "of": total} for name, (found, total) in agreement.items()}
    data = {"agreement": counts, "lines": made.records}
    experiment.show(made.short, [met, f"{report.summary}."], data, files, time.perf_counter() - began)


def _met(agreement: dict[str, tuple[int, int]]) -> str:
    texts = {name: f"{met} of {total}" for name, (met, total) in agreement.items()}
    return (
        f"Within 2 published sd: {texts['tuned']} cells tuned as in the paper, {texts['honest']} tuned honestly; "
        f"Raker with the correct widths: {texts['Raker, right widths']}."
    )
