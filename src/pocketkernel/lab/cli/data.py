"""`pocketkernel lab data`: the paper's data sets."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich import box
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from pocketkernel.cli.errors import UsageError
from pocketkernel.cli.show import err, escape, out, print_json
from pocketkernel.lab import catalogue
from pocketkernel.lab.catalogue import CATALOGUE, Checked, DataError

data = App(name="data", help="List, download and check the paper's data sets.", help_epilogue="")

Folder = Annotated[Path | None, Parameter(name="--from")]
Json = Annotated[bool, Parameter(negative=())]


@data.command(name="list")
def list_(*, folder: Folder = None, json: Json = False) -> None:
    """Show the data sets, and where local copies are.

    Parameters
    ----------
    folder
        Look here before $POCKETKERNEL_DATA and the cache.
    json
        Print one JSON document.
    """
    found: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "rows": entry.rows,
            "features": entry.features,
            "positives": entry.positives,
            "source": entry.page,
            "note": entry.note,
            "file": _located(entry.name, folder),
        }
        for entry in CATALOGUE.values()
    ]
    if json:
        print_json(found)
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("name", style="cyan", no_wrap=True)
    for heading in ("rows", "features", "positives"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("local copy or source", overflow="fold")
    for one in found:
        numbers = (f"{one[name]:,}" for name in ("rows", "features", "positives"))
        table.add_row(one["name"], *numbers, escape(one["file"] or one["source"]))
    out().print(table)


@data.command
def get(*names: str, to: Path | None = None, mirror: str | None = None, json: Json = False) -> None:
    """Download data sets from their official sites and check them. Interrupted downloads are resumed.

    Parameters
    ----------
    names
        Names such as a9a; by default all.
    to
        Folder for the files. By default the cache.
    mirror
        URL of a folder with the same files as the official sites.
    json
        Print one JSON document.
    """
    wanted = [catalogue.entry(name).name for name in names] or list(CATALOGUE)
    console = err()
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    found = []
    with bars:
        for name in wanted:
            task = bars.add_task(name, total=None)

            def show(done: int, total: int | None, task: Any = task) -> None:
                bars.update(task, completed=done, total=total)

            found.append(catalogue.get(name, to, mirror=mirror, progress=show))
            bars.remove_task(task)
    _report(found, json)


@data.command
def check(*names: str, folder: Folder = None, exact: bool = False, json: Json = False) -> None:
    """Count rows, columns and labels of local copies, and compare them with the catalogue.

    Also shows whether the text has the SHA-256 of the copy that was used for the documented results.

    Parameters
    ----------
    names
        Names such as a9a; by default all local copies.
    folder
        Look here before $POCKETKERNEL_DATA and the cache.
    exact
        Refuse a file whose text has another SHA-256 than that copy.
    json
        Print one JSON document.
    """
    wanted = [catalogue.entry(name).name for name in names] or [name for name in CATALOGUE if _located(name, folder)]
    if folder is not None:
        wanted = [name for name in wanted if names or Path(_located(name, folder) or "").parent == folder]
        for name in wanted:
            if Path(_located(name, folder) or "").parent != folder:
                raise DataError(f"{name} is not in {folder}.")
    if not wanted:
        places = ", ".join(map(str, [folder] if folder else catalogue.folders()))
        raise UsageError(f"there is no data set in {places}: use --from, or 'pocketkernel lab data get NAME'.")
    _report([catalogue.check(name, folder, exact=exact) for name in wanted], json)


def _located(name: str, folder: Path | None) -> str | None:
    try:
        return str(catalogue.locate(name, folder))
    except DataError:
        return None


def _report(found: list[Checked], json: bool) -> None:
    if json:
        print_json([{**vars(one), "path": str(one.path), "same_as_measured": _is_measured(one)} for one in found])
        return
    console = out()
    for one in found:
        counts = f"{one.rows:,} rows, {one.features:,} columns, {one.positives:,} positives"
        copy = (
            "the copy used for the documented results" if _is_measured(one) else f"another copy, SHA-256 {one.sha256}"
        )
        console.print(f"[green]ok[/] {escape(str(one.path))}: {counts}; {copy}")


def _is_measured(one: Checked) -> bool:
    """Whether a file has the bytes that the documented results come from."""
    return any(one.sha256 == entry.sha256 for entry in CATALOGUE.values())
