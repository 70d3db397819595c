"""The common part of `lower-bound` and `learnability`: their options and their output."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from pocketkernel.cli.options import Count, at_least
from pocketkernel.cli.show import print_json, say
from pocketkernel.lab.cli._cells import writing
from pocketkernel.lab.cli._progress import duration
from pocketkernel.lab.experiments.writing import plain
from pocketkernel.lab.report import Spread


def several(least: int) -> Any:
    """Whole numbers, as many as are given."""
    return Parameter(consume_multiple=True, negative="", validator=at_least(least))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Claim:
    """How much is run.

    Parameters
    ----------
    out
        Folder for tables and charts.
    repetitions
        Number of streams and seeds; fewer with --quick.
    quick
        A smaller experiment that takes seconds.
    json
        Print the results as JSON instead of tables.
    """

    out: Path = Path("theory")
    repetitions: Count = None
    quick: Annotated[bool, Parameter(negative="")] = False
    json: Annotated[bool, Parameter(negative="")] = False

    def show(self, made: Any, began: float) -> None:
        """Write the files and print the tables, or JSON."""
        with writing(self.out):
            files = made.write(self.out)
        seconds = time.perf_counter() - began
        if self.json:
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
            say(plain(table), end="\n\n")
        say(f"{duration(seconds)}, written to {self.out}: {', '.join(path.name for path in files)}")


def _names(table: Any) -> list[str]:
    return [getattr(column, "name", column) for column in table.columns]


def _plain(cell: Any) -> Any:
    return cell._asdict() if isinstance(cell, Spread) else cell
