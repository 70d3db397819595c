"""`pocketkernel run`: learn a file or a pipe; write a record, a model and a report."""

import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from pocketkernel._text import plain
from pocketkernel.cli.errors import faults
from pocketkernel.cli.measures import details, sentence
from pocketkernel.cli.options import (
    RESULTS,
    File,
    Learning,
    Outputs,
    Reading,
    Scale,
    Seed,
    at_least,
    command_line,
    defaults,
    source_of,
)
from pocketkernel.cli.schema import show_schema, tell_absent
from pocketkernel.cli.show import err, print_json, prose
from pocketkernel.cli.show import out as out_console
from pocketkernel.cli.watch import Watch, figures_of, panel
from pocketkernel.evaluate import Job, Record, Run, run_job
from pocketkernel.evaluate.checkpoint import PROGRESS
from pocketkernel.evaluate.interrupt import Interrupt
from pocketkernel.evaluate.job import takes_missing
from pocketkernel.evaluate.pipeline import MODEL
from pocketkernel.evaluate.recorder import kernel_names
from pocketkernel.evaluate.run import plain_label
from pocketkernel.evaluate.task import CLASSIFICATION
from pocketkernel.memory import ONLY_LINEAR
from pocketkernel.report import Step, write_report
from pocketkernel.stream.files import ENDINGS, STDIN, SUFFIXES
from pocketkernel.stream.table import INFERRED

REPORT = "report.html"
BLOCK = 4096
STREAM = Group("Stream", sort_key=1)


def run(
    *files: File,
    learner: Annotated[str, Parameter(group="Learner")] = "pocket",
    task: Annotated[Literal["classification", "regression"] | None, Parameter(group="Learner")] = None,
    learning: Learning = Learning(),  # noqa: B008  (frozen)
    scale: Annotated[Scale, Parameter(group=STREAM)] = "none",
    permute: Annotated[Seed | None, Parameter(group=STREAM)] = None,
    rows: Annotated[int | None, Parameter(group=STREAM, validator=at_least(1))] = None,
    block: Annotated[int, Parameter(group=STREAM, validator=at_least(1))] = BLOCK,
    reading: Reading = Reading(),  # noqa: B008
    out: Annotated[Path | None, Parameter(group=RESULTS)] = None,
    force: Annotated[bool, Parameter(group=RESULTS, negative=())] = False,
    outputs: Outputs = Outputs(),  # noqa: B008
) -> None:
    """Learn a file or a pipe row by row; each row is scored before its label is used.

    Writes a folder with the record of the run (record.json and curve.csv or curve.parquet), the model including how to
    read rows for it (model.safetensors), and report.html.

    Parameters
    ----------
    files
        Files, globs, or - for standard input; plain or compressed (gzip, bzip2, xz, zstd), or alone in a zip or tar.
    learner
        pocket; or one of the paper's: momds, momdh, sharedmomdh, lkmbooks, raker, multiclassmomds for more than two
        classes.
    task
        Whether labels are classes or numbers. By default numbers if they have many different values.
    scale
        Scale each column using the rows before.
    permute
        Shuffle the rows with this seed, after encoding them in the order of the file. They must fit in memory.
    rows
        Stop after this number of rows.
    block
        Number of rows that are learned at once.
    out
        Folder for the results. By default it is named after the first file, such as a9a.run.
    force
        Discard the results of another run in the folder.
    """
    job = Job(
        source_of(files),
        learner,
        learning.parameters(learner),
        reading.options(takes_missing=takes_missing(learner)),
        None if scale == "none" else scale,
        permute,
        rows,
        block,
        task,
    )
    folder = Path(default_folder(files)) if out is None else out
    command = command_of(
        files, learner, learning, reading, task=task, scale=scale, permute=permute, rows=rows, block=block
    )
    carry_out(job, folder, command, outputs, force=force)


def carry_out(job: Job, folder: Path, command: str, outputs: Outputs, *, force: bool) -> None:
    """Do a run, show it, and write its results; after Ctrl-C, say how to resume."""
    console = err()
    began = perf_counter()
    with (
        Watch(console, job.name) as watch,
        Interrupt(lambda: prose(console, _STOPPING)) as interrupt,
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message=ONLY_LINEAR, category=UserWarning)  # it is said below
        started: list[Run] = []
        told = 0

        def begun(run: Run) -> None:
            nonlocal told
            started.append(run)
            told = tell_absent(run.stream)
            if run.progress is None and run.stream.inferred is not None and not outputs.json:
                show_schema(console, run.stream, run.task)
            if run.progress is None and not outputs.json and (planned := run.planned()) and planned.shortage:
                prose(console, planned.shortage)
            watch.begun(run)
            interrupt.arm()  # not before: rows of a pipe may be awaited until here

        try:
            done = run_job(
                job,
                folder,
                checkpoint=outputs.checkpoint,
                force=force,
                record_format=outputs.record_format or ("parquet" if find_spec("pyarrow") else "csv"),
                command=command,
                begun=begun,
                step=watch.step,
                finished=(lambda run: _write_report(run, folder, job.name)) if outputs.report else None,
                stop=interrupt.pressed,
            )
        except KeyboardInterrupt:
            if not started and not job.repeatable():
                prose(console, _NOTHING_YET)
            raise
        tell_absent(done.stream, told)
        speed = watch.speed(done)
    names = [MODEL, PROGRESS, "record.json", *sorted(path.name for path in folder.glob("curve.*"))]
    names += [REPORT] if outputs.report else []
    if outputs.json:
        seconds = {"seconds": done.progress.seconds if done.progress else 0.0, "wall_seconds": perf_counter() - began}
        print_json(results(done) | seconds | {"rows_per_second": speed, "folder": str(folder), "files": names})
    else:
        _show(done, job.name, speed, f"{folder}: {', '.join(names)}")
        if done.results.get("rows"):
            _end(done, folder)
    if done.interrupted:
        prose(console, _how_to_resume(job, folder, done))
        raise interrupt.error()


_STOPPING = "Interrupted: stops within about a second and saves. Ctrl-C again: end at once, without saving."
_NOTHING_YET = (
    f"Nothing was learned: columns are inferred from the first {INFERRED:,} rows of a pipe, or from all rows if there "
    "are fewer. With --strict nothing is inferred."
)


def _how_to_resume(job: Job, folder: Path, done: Run) -> str:
    rows = done.progress.rows if done.progress else 0
    if job.repeatable():
        return f"Saved after row {rows:,}: repeat the command to resume."
    learned = "all rows that were read have been learned"
    if done.dropped:
        learned = f"{done.dropped:,} rows that were read after it have not been learned"
    return f"Saved after row {rows:,} ({learned}): continue with `pocketkernel learn {shlex.quote(str(folder))} -`."


def default_folder(files: tuple[str, ...]) -> str:
    """Default folder of a run, named after its first file.

    Examples
    --------
    >>> default_folder(("data/a9a.svm.xz",)), default_folder(("-",)), default_folder(("day*.csv",))
    ('a9a.run', 'stdin.run', 'day_.run')
    """
    if files[0] == STDIN:
        return "stdin.run"
    name = Path(files[0]).name
    while ending := next(filter(name.endswith, ENDINGS), ""):
        name = name.removesuffix(ending)
    for ending in (suffix for some in SUFFIXES.values() for suffix in some):
        name = name.removesuffix(ending)
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name) + ".run"


def command_of(files: tuple[str, ...], learner: str, learning: Learning, reading: Reading, **options: Any) -> str:
    """A command line that repeats the run."""
    chosen = {**vars(learning), **options, **vars(reading)}
    usual = {**vars(Learning()), **defaults(run), **vars(Reading())}
    return command_line(["pocketkernel", "run", *files, "--learner", learner], chosen, usual)


def _write_report(run: Run, folder: Path, name: str) -> None:
    record = Record.read(folder)
    *before, _ = [source for source, _ in run.sources] or [name]  # in a run that went on, other files come first
    files = before[:1] + ([f"{len(before)} more"] if len(before) > 1 else [name])
    title = f"{record.settings['learner']} on {' and '.join(files)}"
    certificate = run.model.certificate() if run.task == CLASSIFICATION else None
    steps = _next_steps(folder, record)
    write_report(folder / REPORT, record, title=title, next_steps=steps, certificate=certificate)


def _next_steps(folder: Path, record: Record) -> list[Step]:
    """Two commands: what to do with the model; or first of all to shuffle a sorted file."""
    model = shlex.quote(str(folder))
    predict = Step("Predict the rows of another file:", f"pocketkernel predict {model} NEW-FILE > predictions.csv")
    if record.results.get("warnings"):
        again = f"{record.settings['command']} --permute=0 --out {model}-shuffled"
        return [Step("Run again with the rows in random order:", again), predict]
    return [predict, Step("Continue with the next file:", f"pocketkernel learn {model} NEXT-FILE")]


def _show(done: Run, name: str, speed: float, files: str) -> None:
    console, skipped = out_console(), done.stream.skipped
    console.print(panel(done, name, speed, None))
    for part in details(done.results):
        console.print(part, soft_wrap=False)
    if skipped.count:
        rows = done.progress.rows if done.progress else 0
        share = skipped.count / (skipped.count + rows)
        first = f"; the first {len(skipped.reports)}" if skipped.count > len(skipped.reports) else ""
        console.print(f"Rows that could not be used and were skipped: {skipped.count:,} ({share:.2%}){first}:")
        for fault in faults(skipped.reports):
            prose(console, f"  {fault}")
    prose(console, files)


def _end(done: Run, folder: Path) -> None:
    """The last lines: how the run has gone in one sentence, and what to do next, which is to be copied."""
    console = out_console()
    prose(console, sentence(done.results), style="bold")
    steps = [] if done.interrupted else _next_steps(folder, Record.read(folder))
    for before, step in zip(("Next: ", "      "), steps, strict=False):
        console.print(before + plain(step.command, kept=""), markup=False, soft_wrap=True)


def results(done: Run) -> dict[str, Any]:
    """The results of a run, except times and paths."""
    progress, model = done.progress, done.model
    assert progress is not None
    labels = {"classes": [plain_label(label) for label in model.classes_]} if done.task == CLASSIFICATION else {}
    mistakes = {"mistakes": progress.mistakes, "mistake_rate": progress.mistake_rate} if labels else {}
    return {
        **figures_of(model),
        "task": done.task,
        "rows": progress.rows,
        **mistakes,
        **labels,
        "metrics": {name: value for name, value in done.results.items() if name != "curve"},
        "kernels": [
            {"kernel": kernel, "weight": weight}
            for kernel, weight in zip(kernel_names(model), model.kernel_weights_.tolist(), strict=True)
        ],
        "skipped": done.stream.skipped.count,
        "schema": done.schema,
        "resumed_at": done.resumed_at,
        "interrupted": done.interrupted,
    }
