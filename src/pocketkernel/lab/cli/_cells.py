"""The common part of `tables` and `ablation`: their options and their output."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from pocketkernel.cli.errors import UsageError
from pocketkernel.cli.options import Count
from pocketkernel.cli.show import print_json, say
from pocketkernel.lab.catalogue import NAMES
from pocketkernel.lab.cli._progress import duration
from pocketkernel.lab.experiments.paper import QUICK
from pocketkernel.lab.experiments.writing import plain
from pocketkernel.lab.report import Table

QUICK_PERMUTATIONS = 2


def _workers(_: type, jobs: int) -> None:
    if jobs == 0:
        raise ValueError("Must not be 0: use 1 or more, or -1 for one per core.")


def _known(_: type, names: list[str] | None) -> None:
    for name in names or ():
        if name not in NAMES:
            raise ValueError(f"{name} is not a data set of the paper: choose from {', '.join(NAMES)}.")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Which runs, and how.

    Parameters
    ----------
    out
        Folder for the tables and for the results of all runs, cells.jsonl.
    from_
        Folder to search first for the data sets, NAME.svm.xz; then $POCKETKERNEL_DATA, then the downloads.
    data_sets
        Data sets of the paper; by default all eight, with --quick two small ones.
    permutations
        Number of random orders of each data set; by default 10 for the tables and 5 for the ablation, with --quick 2.
    dtype
        Precision of the learners.
    jobs
        Number of workers; -1 means one per core.
    backend
        How the workers run: processes, threads, or a dask cluster.
    quick
        Two small data sets and two permutations, in less than a minute.
    json
        Print the results as JSON instead of tables.
    """

    out: Path = Path("paper")
    from_: Annotated[Path | None, Parameter("--from")] = None
    data_sets: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="", validator=_known)] = None
    permutations: Count = None
    dtype: Literal["float32", "float64"] = "float32"
    jobs: Annotated[int, Parameter(validator=_workers)] = -1
    backend: Literal["loky", "threading", "dask"] = "loky"
    quick: Annotated[bool, Parameter(negative="")] = False
    json: Annotated[bool, Parameter(negative="")] = False

    def chosen(self) -> Sequence[str]:
        """Data sets: names that were given take precedence over --quick."""
        return list(dict.fromkeys(self.data_sets)) if self.data_sets else (QUICK if self.quick else NAMES)

    def repeats(self, usual: int) -> int:
        """Permutations."""
        return self.permutations or (QUICK_PERMUTATIONS if self.quick else usual)

    def running(self, usual: int) -> dict[str, Any]:
        """Arguments of the library's function."""
        return {
            "folder": self.from_,
            "data_sets": self.chosen(),
            "permutations": self.repeats(usual),
            "dtype": self.dtype,
            "jobs": self.jobs,
            "backend": self.backend,
        }

    def lead(self, usual: int) -> str:
        """A short description of what was run."""
        return f"{len(self.chosen())} data sets, {self.repeats(usual)} permutations, {self.dtype}"

    def command(self, verb: str, usual: int, more: Sequence[str] = ()) -> str:
        """The command line that repeats it, without options that have no effect."""
        names = [] if tuple(self.chosen()) == NAMES else ["--data-sets", *self.chosen()]
        repeats = ["--permutations", str(self.repeats(usual)), "--dtype", self.dtype]
        return shlex.join(["pocketkernel", "lab", verb, *names, *repeats, *more])

    def show(
        self,
        tables: Sequence[Table],
        remarks: Sequence[str],
        data: dict[str, Any],
        files: Sequence[Path],
        seconds: float,
    ) -> None:
        """Print tables and remarks, or the data as JSON."""
        if self.json:
            print_json(data | {"seconds": round(seconds, 3), "files": [str(path) for path in files]})
            return
        for table in tables:
            say(plain(table), end="\n\n")
        for remark in remarks:
            say(remark)
        say(f"{duration(seconds)} in total, written to {files[0].parent}: {', '.join(path.name for path in files)}")


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Report in one line what the user can fix about the folder."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UsageError(f"--out {out} cannot be written to: {error.strerror}.") from error
