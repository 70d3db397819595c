"""`pocketkernel lab compare`: learners and peers on the same permutations of a file."""

import json as json_
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from pocketkernel.cli.errors import UsageError
from pocketkernel.cli.options import File, Reading
from pocketkernel.cli.show import err, say
from pocketkernel.evaluate.task import REGRESSION
from pocketkernel.lab.cli._progress import duration
from pocketkernel.lab.experiments.compare import PEER_ROWS, Comparison
from pocketkernel.lab.experiments.compare import compare as compare_all
from pocketkernel.lab.experiments.contestants import LEARNERS
from pocketkernel.lab.experiments.writing import plain
from pocketkernel.lab.report import Spread
from pocketkernel.stream import Skipped, gather, open_stream

Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]


def compare(
    file: File,
    /,
    *,
    learners: Names = None,
    peers: Names = None,
    memory: str = "64KiB",
    permutations: Annotated[int, Parameter(validator=Number(gte=1))] = 5,
    scale: Literal["none", "standard", "minmax", "maxabs"] = "none",
    rows: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    peer_rows: Annotated[int, Parameter(validator=Number(gte=0))] = PEER_ROWS,
    task: Literal["classification", "regression"] | None = None,
    reading: Reading = Reading(),  # noqa: B008
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Compare learners, and peers from River and scikit-learn, on the same permutations of a file.

    The file must fit in memory. Every row is scored before its label is used.

    Parameters
    ----------
    file
        Rows and labels: LIBSVM text, CSV, TSV, Parquet, Arrow or JSON lines, plain or compressed; - is standard input.
    learners
        Learners to compare: pocket, momds, momdh, sharedmomdh, lkmbooks and raker; by default all. Only pocket predicts
        numbers.
    peers
        Peers to compare: river-logistic, river-tree, river-forest, sgd and rbf-sgd, or none; by default all that are
        installed. Of numbers, their regressors. Rows for river-logistic, sgd and rbf-sgd are standardised.
    memory
        Bytes for each learner.
    permutations
        Number of random orders of the rows.
    scale
        Online scaling, using the rows before each row.
    rows
        Use only this number of rows from the start of the file.
    peer_rows
        Maximum number of rows for each peer, because they are slow; 0 for all.
    task
        Whether labels are classes or numbers. By default numbers if they have many different values.
    out
        Folder for compare.md, compare.tex, compare.csv, report.html and the records of all runs.
    json
        Print the results as JSON instead of a table.
    """
    began = time.perf_counter()
    console = err()
    X, y, skipped = _read(file, rows, **reading.options())
    if skipped.count:
        console.print(f"{skipped.count:,} rows were skipped, the first: {skipped.reports[0]}", markup=False)
    with console.status("starting") as status:
        made = compare_all(
            X,
            y,
            learners=learners or tuple(LEARNERS),
            peers=None if peers is None else [peer for peer in peers if peer != "none"],
            memory=memory,
            permutations=permutations,
            scaler=None if scale == "none" else scale,
            peer_rows=peer_rows,
            source=file,
            task=task,
            report=lambda name, done, total: status.update(f"{done} of {total} runs, {name} was the latest"),
        )
    files = [] if out is None else made.write(out, title=f"Comparison on {Path(file).name}", command=_command())
    seconds = time.perf_counter() - began
    if json:
        print(json_.dumps(_plain(made, files, seconds), indent=2))
        return
    say(f"{file}: {X.shape[0]:,} rows, {X.shape[1]} columns")
    say(plain(made.table).partition("\n")[2])
    say(made.table.note)
    say(duration(seconds) + (f", written to {out}: {', '.join(path.name for path in files)}" if files else ""))


def _read(file: str, rows: int | None, **options: Any) -> tuple[Any, Any, Skipped]:
    stream = open_stream(file, rows=rows, **options)
    whole = gather(stream.blocks())
    if whole.y is None:
        raise UsageError(f"{file} has no labels: set their column with --label.")
    return whole.X, whole.y, stream.skipped


def _command() -> str:
    return shlex.join(["pocketkernel", *sys.argv[1:]])


def _plain(made: Comparison, files: list[Path], seconds: float) -> dict[str, Any]:
    errors = ("rmse", "rmse_at_first") if made.task == REGRESSION else ("mistakes_percent", "at_first_percent")
    names = ("learner", "rows", *errors, "microseconds_per_row", "bytes", "bytes_counted", "budget")
    lines = []
    for row in made.table.rows:
        values = [value._asdict() if isinstance(value, Spread) else value for value in row]
        lines.append(dict(zip(names, values, strict=True)))
    return {
        "task": made.task,
        "results": lines,
        "refused": made.refused,
        "notes": made.table.note.splitlines(),
        "seconds": round(seconds, 3),
        "files": [str(path) for path in files],
    }
