"""`pocketkernel paper`: the paper's tables and an ablation, resumable."""

import json as json_
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from pocketkernel.cli._cell_progress import CellProgress, duration
from pocketkernel.cli._errors import UsageError
from pocketkernel.lab import experiments
from pocketkernel.lab.experiments.ablation import BUDGETS
from pocketkernel.lab.experiments.outputs import ablation_charts, paper_charts, write_outputs
from pocketkernel.lab.experiments.paper import QUICK
from pocketkernel.lab.experiments.published import NAMES
from pocketkernel.report import Table

QUICK_PERMUTATIONS = 2
QUICK_BUDGETS = (25, 100, 400)


def _workers(type_: Any, jobs: int) -> None:
    if jobs == 0:
        raise ValueError("Must not be 0: use 1 or more, or -1 for one per core.")


paper = App(
    name="paper", help="Repeat the paper's experiments, or go on with them: finished parts are never run again."
)

Name = Literal["mushrooms", "phishing", "magic04", "a9a", "w8a", "SUSY", "ijcnn1", "cod-rna"]
Out = Annotated[Path, Parameter("--out")]
From = Annotated[Path | None, Parameter("--from")]
DataSets = Annotated[list[Name] | None, Parameter("--data-sets", consume_multiple=True, negative="")]
Permutations = Annotated[int | None, Parameter("--permutations", validator=Number(gte=1))]
DType = Annotated[Literal["float32", "float64"], Parameter("--dtype")]
Jobs = Annotated[int, Parameter("--jobs", validator=_workers)]
Backend = Annotated[Literal["loky", "threading", "dask", "ray"], Parameter("--backend")]
Quick = Annotated[bool, Parameter("--quick", negative="")]
Json = Annotated[bool, Parameter("--json", negative="")]
Budgets = Annotated[
    list[int] | None, Parameter("--budgets", consume_multiple=True, negative="", validator=Number(gte=2))
]


@paper.command
def tables(
    *,
    out: Out = Path("paper"),
    from_: From = None,
    data_sets: DataSets = None,
    permutations: Permutations = None,
    dtype: DType = "float32",
    jobs: Jobs = -1,
    backend: Backend = "loky",
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Make the paper's two tables of results, beside what was published.

    Writes tables.md, tables.tex, tables.csv and report.html. Killed at any moment, the same command goes on.

    Parameters
    ----------
    out
        Folder for the tables and for the outcomes of all runs, cells.jsonl.
    from_
        Where to look for the data sets first, as NAME.svm.xz; then $POCKETKERNEL_DATA, then what was downloaded.
    data_sets
        Which of the paper's data sets; all eight if not given.
    permutations
        Random orders of each data set; 10 if not given, 2 with --quick.
    dtype
        Precision of the learners.
    jobs
        Workers; -1 stands for one per core.
    backend
        How they run: processes, threads, or a cluster of dask or ray.
    quick
        Two small data sets and two permutations, in less than a minute.
    json
        Print the results as JSON instead of tables.
    """
    chosen, repeats = _chosen(data_sets, permutations, quick, 10)
    began = time.perf_counter()
    with _users_errors(out), CellProgress("paper tables") as report:
        made = experiments.tables(
            out,
            folder=from_,
            data_sets=chosen,
            permutations=repeats,
            dtype=dtype,
            jobs=jobs,
            backend=backend,
            report=report,
        )
    agreement = made.agreement()
    met = _met(agreement)
    with _users_errors(out):
        files = write_outputs(
            out,
            "tables",
            made.tables,
            flat=made.flat,
            page="report.html",
            title="The paper's tables",
            lead=f"{len(chosen)} data sets, {repeats} permutations, {dtype}; {report.summary}. {met}",
            charts=paper_charts(made),
            commands=[_command("tables", chosen, repeats, dtype)],
        )
    counts = {name: {"met": found, "of": total} for name, (found, total) in agreement.items()}
    seconds = time.perf_counter() - began
    if json:
        _dump({"agreement": counts, "lines": made.records}, files, seconds)
    else:
        _show(made.short, [met, f"{report.summary}."], files, seconds)


@paper.command
def ablation(
    *,
    out: Out = Path("paper"),
    from_: From = None,
    data_sets: DataSets = None,
    budgets: Budgets = None,
    permutations: Permutations = None,
    dtype: DType = "float32",
    jobs: Jobs = -1,
    backend: Backend = "loky",
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Compare what a full buffer drops, one buffer with one per kernel, and budgets.

    Writes ablation.md, ablation.tex, ablation.csv and ablation.html. Killed at any moment, the same command goes on.

    Parameters
    ----------
    out
        Folder for the tables and for the outcomes of all runs, cells.jsonl.
    from_
        Where to look for the data sets first, as NAME.svm.xz; then $POCKETKERNEL_DATA, then what was downloaded.
    data_sets
        Which of the paper's data sets; all eight if not given.
    budgets
        Examples that a buffer holds; 25, 50, ..., 1600 if not given, 25, 100, 400 with --quick.
    permutations
        Random orders of each data set; 5 if not given, 2 with --quick.
    dtype
        Precision of the learners.
    jobs
        Workers; -1 stands for one per core.
    backend
        How they run: processes, threads, or a cluster of dask or ray.
    quick
        Two small data sets, two permutations and three budgets.
    json
        Print the results as JSON instead of tables.
    """
    chosen, repeats = _chosen(data_sets, permutations, quick, 5)
    sizes = budgets or (QUICK_BUDGETS if quick else BUDGETS)
    began = time.perf_counter()
    with _users_errors(out), CellProgress("paper ablation") as report:
        made = experiments.ablation(
            out,
            folder=from_,
            data_sets=chosen,
            budgets=sizes,
            permutations=repeats,
            dtype=dtype,
            jobs=jobs,
            backend=backend,
            report=report,
        )
    with _users_errors(out):
        files = write_outputs(
            out,
            "ablation",
            made.tables,
            flat=made.flat,
            page="ablation.html",
            title="What the parts of M-OMD are worth",
            lead=f"{len(chosen)} data sets, {repeats} permutations, {dtype}; {report.summary}.",
            charts=ablation_charts(made),
            commands=[_command("ablation", chosen, repeats, dtype, ["--budgets", *map(str, sizes)])],
        )
    seconds = time.perf_counter() - began
    if json:
        _dump({"points": made.records}, files, seconds)
    else:
        _show(made.tables, [f"{report.summary}."], files, seconds)


# ---- parts -----------------------------------------------------------------------------------------------------------


def _chosen(
    data_sets: Sequence[str] | None, permutations: int | None, quick: bool, usual: int
) -> tuple[Sequence[str], int]:
    """What was asked for by name goes before what --quick stands for."""
    names = list(dict.fromkeys(data_sets)) if data_sets else (QUICK if quick else NAMES)
    return names, permutations or (QUICK_PERMUTATIONS if quick else usual)


def _met(agreement: dict[str, tuple[int, int]]) -> str:
    texts = {name: f"{met} of {total}" for name, (met, total) in agreement.items()}
    return (
        f"Within 2 published sd: {texts['tuned']} cells tuned as in the paper, {texts['honest']} tuned honestly; "
        f"Raker with the right widths: {texts['Raker, right widths']}."
    )


def _command(verb: str, data_sets: Sequence[str], permutations: int, dtype: str, more: Sequence[str] = ()) -> str:
    """The command line that does it again, without what changes nothing."""
    names = [] if tuple(data_sets) == NAMES else ["--data-sets", *data_sets]
    return shlex.join(
        ["pocketkernel", "paper", verb, *names, "--permutations", str(permutations), "--dtype", dtype, *more]
    )


def _show(made: Sequence[Table], remarks: Sequence[str], files: Sequence[Path], seconds: float) -> None:
    for table in made:
        print(table.to_text(), end="\n\n")
    for remark in remarks:
        print(remark)
    print(f"{duration(seconds)} in all, written to {files[0].parent}: {', '.join(path.name for path in files)}")


def _dump(data: dict[str, Any], files: Sequence[Path], seconds: float) -> None:
    whole = data | {"seconds": round(seconds, 3), "files": [str(path) for path in files]}
    print(json_.dumps(whole, indent=2))


@contextmanager
def _users_errors(out: Path) -> Iterator[None]:
    """What the user can mend is told in a line."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UsageError(f"--out {out} cannot be written to: {error.strerror}.") from error
