"""A run into a folder, which can be interrupted at any time and resumed.

The folder has `record.json` and `curve.csv` (or `.parquet`), and `model.safetensors`, which also contains how rows were
encoded and scaled. An unfinished run may have `checkpoint.safetensors`, its complete state after some block, which is
replaced atomically. A resumed run gives the same bits as an uninterrupted one; only the seconds differ, and
`resumed_at` in the settings has the row counts at which it was resumed.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pocketkernel._files import write_atomically
from pocketkernel.evaluate.checkpoint import CHECKPOINT, PROGRESS, restore, to_bytes
from pocketkernel.evaluate.continued import Continued
from pocketkernel.evaluate.job import Job
from pocketkernel.evaluate.lock import locked
from pocketkernel.evaluate.order import remedy, shuffled, warnings_of
from pocketkernel.evaluate.pipeline import MODEL
from pocketkernel.evaluate.record import RECORD, RecordError, read_settings
from pocketkernel.evaluate.remarks import linear_only_remark, remarks_of
from pocketkernel.evaluate.run import Run, RunError


def run_job(
    job: Job,
    folder: str | os.PathLike[str],
    *,
    checkpoint: int | None = None,
    force: bool = False,
    record_format: str = "csv",
    command: str = "",
    begun: Callable[[Run], None] | None = None,
    step: Callable[[Run], None] | None = None,
    finished: Callable[[Run], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Do a run and write its results into a folder.

    Parameters
    ----------
    job : Job
        What to do.
    folder : path
        Created if necessary. It is an error if it contains a different finished run, or if another process is running
        there.
    checkpoint : int, default=None
        Write a checkpoint each time this number of rows has been learned, rounded up to whole blocks or parts of them.
        If there is a checkpoint of this run, it is resumed; one of a different run is an error.
    force : bool, default=False
        Discard a different run or its checkpoint.
    record_format : {"csv", "parquet"}, default="csv"
        Format of the curve.
    command : str, default=""
        A command line that repeats the run, for the record.
    begun, step, finished : callables, default=None
        Called with the run when it starts, after every block, and when everything is written.
    stop : callable, default=None
        Whether to stop after the present block, or part of one if rows take long. What was learned is then written as
        at the end, with a checkpoint if the rows can be read again: the same call resumes the run. If the run goes on
        with further files, there is only the checkpoint.

    Returns
    -------
    Run
    """
    folder = Path(folder)
    if checkpoint is not None and checkpoint < 1:
        raise ValueError(f"checkpoint={checkpoint} is too small: use a positive number of rows.")
    if checkpoint is not None and not job.repeatable():
        raise ValueError(
            "checkpoint: standard input and pipes cannot be read again, so the run could not be resumed: use a file."
        )
    fingerprint = job.fingerprint()
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            try:
                _check_folder(folder, job, fingerprint, force)
            except RunError:
                if job.repeatable():
                    job.start()  # what is wrong with the command itself is said first
                raise
            run = _begun(job, folder / CHECKPOINT, fingerprint, force)
            if begun:
                begun(run)
            stale = force and not isinstance(job, Continued)
            next_checkpoint = _after(run, checkpoint)
            for progress in run.steps(stop):
                if stale:  # not before it is known that this run can be done
                    _clear(folder)
                    stale = False
                if next_checkpoint is not None and progress.rows >= next_checkpoint:
                    write_atomically(folder / CHECKPOINT, to_bytes(run, fingerprint), follow=False)
                    next_checkpoint = _after(run, checkpoint)
                if step:
                    step(run)
            _finish(job, run, folder, fingerprint, record_format=record_format, command=command, finished=finished)
    except BaseException:
        if made:
            with suppress(OSError):  # there is a checkpoint in it
                folder.rmdir()
        raise
    return run


def _finish(
    job: Job,
    run: Run,
    folder: Path,
    fingerprint: str,
    *,
    record_format: str,
    command: str,
    finished: Callable[[Run], None] | None,
) -> None:
    """Write the results of a run, and a checkpoint if it was interrupted and can be resumed."""
    goes_on, resumable = isinstance(job, Continued), run.interrupted and job.repeatable()
    if resumable:
        write_atomically(folder / CHECKPOINT, to_bytes(run, fingerprint), follow=False)
    if not (resumable and goes_on):  # the results of before stay: the rest is learned from them
        if run.results and not run.interrupted and not goes_on:
            _look_at_the_order(job, run)
        if run.results:
            weighted = getattr(run.model, "class_weight", None) is not None
            leaks = [] if run.stream.inferred is None else run.stream.inferred.leaks
            run.results["remarks"] = [*leaks, *linear_only_remark(run.model), *remarks_of(run.results, weighted)]
        run.sources.append([job.name, job.mark()])
        seed = job.parameters.get("random_state")
        record = run.record(source=job.name, seed=seed, command=command, fingerprint=fingerprint)
        progress = to_bytes(run, fingerprint, pipeline=True)  # before anything is replaced: it is read back
        write_atomically(folder / MODEL, run.to_bytes(), follow=False)
        write_atomically(folder / PROGRESS, progress, follow=False)
        record.write(folder, format=record_format)
        if finished:
            finished(run)
    if not resumable:
        (folder / CHECKPOINT).unlink(missing_ok=True)
    _sweep(folder)


def _look_at_the_order(job: Job, run: Run) -> None:
    """Add to the results what the order of the rows does to them."""
    warnings = run.results["warnings"] = warnings_of(run.results)
    if warnings and job.permute is None:
        run.results["shuffled"] = None
        with suppress(KeyboardInterrupt):  # ends the second pass only: the run itself is complete
            run.results["shuffled"] = shuffled(job, run)
        warnings += remedy(run.results["shuffled"])


def _begun(job: Job, checkpoint: Path, fingerprint: str, force: bool) -> Run:
    """The run at its first row, or where its checkpoint was written."""
    run = job.start()
    if checkpoint.exists():
        try:
            restore(run, checkpoint, fingerprint)
        except RunError:
            if not force:
                raise
            checkpoint.unlink()
            return job.start()
    return run


def _after(run: Run, every: int | None) -> int | None:
    done = run.progress.rows if run.progress else 0
    return None if every is None else (done // every + 1) * every


def _check_folder(folder: Path, job: Job, fingerprint: str, force: bool) -> None:
    """Refuse to replace a finished run unless it is the same or may be discarded."""
    _sweep(folder)
    if force or isinstance(job, Continued):
        return
    try:
        settings = read_settings(folder)
    except RecordError as error:
        if not (folder / RECORD).exists():
            return
        raise RunError(f"{error} Use another folder, or start again with force.") from None
    if settings.get("fingerprint") != fingerprint:
        raise RunError(f"{folder} contains a different finished run: use another folder, or start again with force.")
    if not job.repeatable():
        raise RunError(
            f"{folder} contains a finished run, and a pipe may have other rows: use another folder, or start again "
            "with force."
        )


def _clear(folder: Path) -> None:
    """Remove the results of another run."""
    for name in (RECORD, "curve.csv", "curve.parquet", MODEL, PROGRESS, "report.html"):
        (folder / name).unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what a killed process had not finished writing."""
    for left in folder.glob(".pocketkernel-*.tmp"):
        with suppress(OSError):
            left.unlink()
