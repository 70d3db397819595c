"""`pocketkernel theory`: the experiments behind the paper's claims about memory."""

import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from pocketkernel.cli._cell_progress import duration
from pocketkernel.cli._errors import UsageError
from pocketkernel.cli._show import err, print_json
from pocketkernel.lab import experiments
from pocketkernel.lab.experiments.learnability import ROWS
from pocketkernel.lab.experiments.lower_bound import BUDGETS
from pocketkernel.report.tables import Spread

QUICK_BUDGETS = (25, 50, 100, 200)
QUICK_ROWS = (10_000, 31_623, 100_000)

theory = App(name="theory", help="What the paper proves about memory, on streams that are made for it.")

Out = Annotated[Path, Parameter("--out")]
Quick = Annotated[bool, Parameter("--quick", negative="")]
Json = Annotated[bool, Parameter("--json", negative="")]
Repetitions = Annotated[int | None, Parameter("--repetitions", validator=Number(gte=1))]


@theory.command(name="lower-bound")
def lower_bound(
    *,
    out: Out = Path("theory"),
    budgets: Annotated[
        list[int] | None, Parameter("--budgets", consume_multiple=True, negative="", validator=Number(gte=2))
    ] = None,
    repetitions: Repetitions = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Run all learners on the stream of the lower bound, as the budget grows.

    Writes lower_bound.md, .tex, .csv, .html and .svg. Takes a minute.

    Parameters
    ----------
    out
        Folder for tables and pictures.
    budgets
        Examples that a learner may store; 25, 50, ..., 1600 if not given, up to 200 with --quick.
    repetitions
        Streams and seeds; 2 if not given, 1 with --quick.
    quick
        Less of everything, in seconds.
    json
        Print the results as JSON instead of tables.
    """
    began = time.perf_counter()
    with err().status("running"):
        made = experiments.lower_bound(
            budgets=budgets or (QUICK_BUDGETS if quick else BUDGETS), repetitions=repetitions or (1 if quick else 2)
        )
    _finish(made, out, json, began)


@theory.command
def learnability(
    *,
    out: Out = Path("theory"),
    rows: Annotated[
        list[int] | None, Parameter("--rows", consume_multiple=True, negative="", validator=Number(gte=1000))
    ] = None,
    repetitions: Repetitions = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Run M-OMD-S and M-OMD-H with a budget of O(ln T) on easy and on hard streams of growing length.

    Writes learnability.md, .tex, .csv, .html and .svg. Takes a few minutes.

    Parameters
    ----------
    out
        Folder for tables and pictures.
    rows
        Lengths of the streams; 1000, 3162, ..., 1000000 if not given, 10000 to 100000 with --quick.
    repetitions
        Streams and seeds; 3 if not given, 1 with --quick.
    quick
        Less of everything, in seconds.
    json
        Print the results as JSON instead of tables.
    """
    began = time.perf_counter()
    with err().status("running"):
        made = experiments.learnability(
            rows=rows or (QUICK_ROWS if quick else ROWS), repetitions=repetitions or (1 if quick else 3)
        )
    _finish(made, out, json, began)


def _finish(made: Any, out: Path, json: bool, began: float) -> None:
    try:
        files = made.write(out)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UsageError(f"--out {out} cannot be written to: {error.strerror}.") from error
    seconds = time.perf_counter() - began
    if json:
        tables = [
            {
                "title": table.title,
                "lines": [dict(zip(_names(table), map(_plain, row), strict=True)) for row in table.rows],
            }
            for table in made.tables
        ]
        print_json({"tables": tables, "seconds": round(seconds, 3), "files": [str(path) for path in files]})
        return
    for table in made.tables:
        print(table.to_text(), end="\n\n")
    print(f"{duration(seconds)}, written to {out}: {', '.join(path.name for path in files)}")


def _names(table: Any) -> list[str]:
    return [getattr(column, "name", column) for column in table.columns]


def _plain(cell: Any) -> Any:
    return cell._asdict() if isinstance(cell, Spread) else cell
