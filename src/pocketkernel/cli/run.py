"""`pocketkernel run`: a file or a pipe through a learner; a record, a model and a report come out."""

from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from pocketkernel._text import plain
from pocketkernel.cli.errors import describe
from pocketkernel.cli.options import File, Learning, Reading, Scale, Seed, at_least, command_line, source_of
from pocketkernel.cli.show import err, print_json
from pocketkernel.cli.show import out as out_console
from pocketkernel.cli.watch import Watch, figures_of, panel
from pocketkernel.evaluate import Job, Record, Run, run_job
from pocketkernel.evaluate.pipeline import MODEL
from pocketkernel.evaluate.recorder import kernel_names
from pocketkernel.evaluate.run import plain_label
from pocketkernel.stream.files import STDIN, SUFFIXES

REPORT = "report.html"
BLOCK = 4096
RESULTS = Group("Results", sort_key=4)
STREAM = Group("Stream", sort_key=1)


def run(
    *files: File,
    learner: Annotated[str, Parameter(group="Learner")] = "pocket",
    learning: Learning = Learning(),  # noqa: B008  (frozen)
    scale: Annotated[Scale, Parameter(group=STREAM)] = "none",
    permute: Annotated[Seed | None, Parameter(group=STREAM)] = None,
    rows: Annotated[int | None, Parameter(group=STREAM, validator=at_least(1))] = None,
    block: Annotated[int, Parameter(group=STREAM, validator=at_least(1))] = BLOCK,
    reading: Reading = Reading(),  # noqa: B008
    out: Annotated[Path | None, Parameter(group=RESULTS)] = None,
    checkpoint: Annotated[int | None, Parameter(group=RESULTS, validator=at_least(1))] = None,
    force: Annotated[bool, Parameter(group=RESULTS, negative=())] = False,
    record_format: Annotated[Literal["parquet", "csv"] | None, Parameter(group=RESULTS)] = None,
    report: Annotated[bool | None, Parameter(group=RESULTS)] = None,
    json: Annotated[bool, Parameter(group=RESULTS, negative=())] = False,
) -> None:
    """Learn a file or a pipe row by row, each row scored before its label is used.

    Writes into a folder: the record of the run (record.json and curve.csv or curve.parquet), the model with how rows
    are read for it (model.safetensors), and report.html.

    Parameters
    ----------
    files
        Files, globs, or - for standard input; plain, or compressed by gzip, bzip2 or xz.
    learner
        pocket; or one of the paper's: momds, momdh, lkmbooks, raker, multiclassmomds for more than two classes.
    scale
        Scale each column by the rows before.
    permute
        Put the rows, encoded in the order of the file, in random order by this seed. They must fit in memory.
    rows
        Stop after so many.
    block
        Rows that are learned in one go.
    out
        Folder of the results. Otherwise named after the first file, such as a9a.run.
    checkpoint
        Keep everything after every so many rows: killed at any moment, the same command goes on from there.
    force
        Throw away what another run left in the folder.
    record_format
        Of the curve. Parquet if pyarrow is installed, else CSV.
    report
        Write report.html. Done if jinja2 is installed.
    json
        Print the results as one JSON document.
    """
    job = Job(
        source_of(files),
        learner,
        learning.parameters(learner),
        reading.options(),
        None if scale == "none" else scale,
        permute,
        rows,
        block,
    )
    folder = Path(default_folder(files)) if out is None else out
    with_report = find_spec("jinja2") is not None if report is None else report
    if with_report and find_spec("jinja2") is None:
        raise ModuleNotFoundError("--report needs jinja2: pip install 'pocketkernel[report]'.", name="jinja2")
    console = err()
    began = perf_counter()
    with Watch(console, job.name) as watch:
        done = run_job(
            job,
            folder,
            checkpoint=checkpoint,
            force=force,
            record_format=record_format or ("parquet" if find_spec("pyarrow") else "csv"),
            command=command_of(files, learner, learning, reading, scale=scale, permute=permute, rows=rows, block=block),
            begun=watch.begun,
            step=watch.step,
            finished=(lambda _: _write_report(folder, job.name)) if with_report else None,
        )
        speed = watch.speed(done)
    if not with_report and report is None:
        console.print("no report.html: it needs jinja2, pip install 'pocketkernel[report]'")
    names = [MODEL, "record.json", *sorted(path.name for path in folder.glob("curve.*"))]
    names += [REPORT] if with_report else []
    if json:
        seconds = {"seconds": done.progress.seconds if done.progress else 0.0, "wall_seconds": perf_counter() - began}
        print_json(results(done) | seconds | {"rows_per_second": speed, "folder": str(folder), "files": names})
    else:
        _show(done, job.name, speed, f"{folder}: {', '.join(names)}")


def default_folder(files: tuple[str, ...]) -> str:
    """Folder of a run, named after its first file.

    Examples
    --------
    >>> default_folder(("data/a9a.svm.xz",)), default_folder(("-",)), default_folder(("day*.csv",))
    ('a9a.run', 'stdin.run', 'day_.run')
    """
    if files[0] == STDIN:
        return "stdin.run"
    name = Path(files[0]).name
    for ending in (".gz", ".bz2", ".xz", *(suffix for some in SUFFIXES.values() for suffix in some)):
        name = name.removesuffix(ending)
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name) + ".run"


def command_of(files: tuple[str, ...], learner: str, learning: Learning, reading: Reading, **options: Any) -> str:
    """A command line that does the same again."""
    chosen = {**vars(learning), **options, **vars(reading)}
    usual = {**vars(Learning()), "scale": "none", "permute": None, "rows": None, "block": BLOCK, **vars(Reading())}
    return command_line(["pocketkernel", "run", *files, "--learner", learner], chosen, usual)


def _write_report(folder: Path, name: str) -> None:
    from pocketkernel.report import write_report  # noqa: PLC0415  (charts are drawn by it alone)

    record = Record.read(folder)
    write_report(folder / REPORT, record, title=f"{record.settings['learner']} on {name}")


def _show(done: Run, name: str, speed: float, files: str) -> None:
    console, skipped = out_console(), done.stream.skipped
    console.print(panel(done, name, speed, None))
    if skipped.count:
        console.print(f"{skipped.count:,} lines cannot be read and were left out:")
        for fault in skipped.reports:
            console.print(f"  {describe(fault)}", markup=False)
    console.print(plain(files), markup=False)


def results(done: Run) -> dict[str, Any]:
    """What came out of a run, but for times and places."""
    progress, model = done.progress, done.model
    assert progress is not None
    return {
        **figures_of(model),
        "rows": progress.rows,
        "mistakes": progress.mistakes,
        "mistake_rate": progress.mistake_rate,
        "classes": [plain_label(label) for label in model.classes_],
        "kernels": [
            {"kernel": kernel, "weight": weight}
            for kernel, weight in zip(kernel_names(model), model.kernel_weights_.tolist(), strict=True)
        ],
        "skipped": done.stream.skipped.count,
        "resumed_at": done.resumed_at,
    }
