"""The complete state of a run after some block, as a model file. A run that is resumed from it gives the same bits.

The section `progress` has the progress of the run; arrays hold its curve, its metrics, some rows, and the state of its
scaler. The encoding is not saved: when a run is resumed, the stream reads and encodes the earlier rows again.
"""

import os
from copy import copy
from dataclasses import replace

import numpy as np

from pocketkernel import learners, model_file
from pocketkernel._fields import Fields, is_count, is_dict, is_number, is_text, list_of, optional
from pocketkernel.evaluate.arrivals import Arrivals, room_of
from pocketkernel.evaluate.events import MOST_EVENTS, is_event
from pocketkernel.evaluate.pipeline import PIPELINE, Pipeline, scaler_arrays, scaler_of
from pocketkernel.evaluate.progressive import Progress
from pocketkernel.evaluate.recorder import Recorder, kernel_names
from pocketkernel.evaluate.reservoir import Reservoir
from pocketkernel.evaluate.run import Run, RunError
from pocketkernel.evaluate.task import CLASSIFICATION, TASKS
from pocketkernel.model_file import Contents, ModelFileError, below
from pocketkernel.stored import decode, read

CHECKPOINT = "checkpoint.safetensors"
PROGRESS = "progress.safetensors"
"""The same at the end of a run, with the pipeline: what is needed to go on with further files."""

SECTION = "progress"


def to_bytes(run: Run, fingerprint: str, *, pipeline: bool = False) -> bytes:
    """The run after its latest block, as a file; with its pipeline, if other files are to follow."""
    assert run.progress is not None
    recorder = run.recorder.state()
    curve = {f"curve.{name}": value for name, value in recorder.items() if isinstance(value, np.ndarray)}
    assert run.metrics is not None
    metrics = {f"metrics.{name}": array for name, array in run.metrics.state().items()}
    metrics |= {f"reservoir.{name}": array for name, array in run.reservoir.state().items()}
    section = {
        "fingerprint": fingerprint,
        "task": run.task,
        "events": list(map(list, run.events)),
        "rows": run.progress.rows,
        "mistakes": run.progress.mistakes,
        "seconds": run.progress.seconds,
        "total": run.total,
        "resumed_at": run.resumed_at,
        "recorder": {name: value for name, value in recorder.items() if not isinstance(value, np.ndarray)},
        "scaler": run.scaler and run.scaler.kind,
        "sources": run.sources,
    }
    sections = {SECTION: section} | ({PIPELINE: run.pipeline().written()[0]} if pipeline else {})
    arrays = curve | metrics | scaler_arrays(run.scaler)
    data = model_file.encode(replace(learners.contents_of(run.model), sections=sections, arrays=arrays))
    _read_back(run, data)
    return data


def _read_back(run: Run, data: bytes) -> None:
    """Refuse bytes that could not be read again: they must not replace a file that can be."""
    again = copy(run)
    again.reservoir = Reservoir(run.stream.n_features)
    try:
        contents = decode(data)
        given = Fields(contents.sections[SECTION], SECTION)
        given.take("fingerprint", is_text)
        _restore(again, contents, given)
        Pipeline.of(contents)
    except ModelFileError as error:
        reason = str(error).removesuffix(".")
        raise RunError(
            f"nothing was written, as it could not be read again ({reason}): this is a defect of pocketkernel, please "
            "report it."
        ) from None


def restore(run: Run, path: str | os.PathLike[str], fingerprint: str) -> None:
    """Resume a run that has not started from a checkpoint. RunError if that is not possible."""
    try:
        contents = read(path)
        given = Fields(contents.sections.get(SECTION), SECTION)
        same = given.take("fingerprint", is_text) == fingerprint
        if same:
            _restore(run, contents, given)
    except ModelFileError as error:
        reason = str(error).removesuffix(".")
        raise RunError(f"{path}: the checkpoint is damaged ({reason}): start again with force.") from None
    if not same:
        raise RunError(
            f"{path}: the checkpoint belongs to a run with other options, files or another version: repeat that "
            "command to resume it, or start again with force."
        )


def resume(run: Run, contents: Contents, given: Fields, path: str | os.PathLike[str]) -> int:
    """Take up a finished run; the number of rows that it has learned."""
    try:
        given.take("fingerprint", is_text)
        _restore(run, contents, given)
    except ModelFileError as error:
        reason = str(error).removesuffix(".")
        raise RunError(f"{path} is damaged ({reason}): start again with `pocketkernel run`.") from None
    assert run.progress is not None
    return run.progress.rows


def _restore(run: Run, contents: Contents, given: Fields) -> None:
    run.decide(given.take("task", lambda value: value in TASKS and run.task in (None, value)))
    events = given.take("events", lambda value: list_of(is_event)(value) and len(value) <= MOST_EVENTS)
    rows = given.take("rows", lambda value: is_count(value) and value > 0)
    mistakes = given.take("mistakes", lambda value: is_count(value) and value <= rows)
    seconds = given.take("seconds", lambda value: is_number(value) and value >= 0)
    total = given.take("total", optional(is_count))
    resumed_at = given.take("resumed_at", list_of(is_count))
    recorder = Recorder.restore(given.take("recorder", is_dict) | below("curve.", contents.arrays))
    kind = given.take("scaler", lambda value: value == (run.scaler and run.scaler.kind))
    sources = given.take("sources", list_of(list_of(is_text)))
    if any(len(one) != 2 for one in sources):
        raise ModelFileError("progress.sources are not pairs.")
    given.end()
    model, extra = learners.restored(contents)
    if type(model) is not type(run.model) or extra:
        raise ModelFileError(f"its model is not a {type(run.model).__name__}")
    if model.n_features_in_ != run.stream.n_features or model.diagnostics_["rounds"] != rows:
        raise ModelFileError("its model has learned other rows")
    curve = recorder.curve()
    if curve.kernels != kernel_names(model) or [*curve.rows[-1:], *curve.mistakes[-1:]] != [rows, mistakes]:
        raise ModelFileError("its curve is of other rows or kernels")
    run.scaler = scaler_of(kind, contents.arrays, run.stream.n_features)
    run.model, run.recorder, run.events = model, recorder, [learners.Event(*event) for event in events]
    if run.task == CLASSIFICATION:
        run.classes = Arrivals(learners.labels_by_place(model), room_of(model))
    run.metrics = run.new_metrics()
    run.metrics.restore(below("metrics.", contents.arrays))
    run.reservoir.restore(below("reservoir.", contents.arrays))
    run.sources = sources
    if run.metrics.rows != rows or run.reservoir.seen[0] != rows:
        raise ModelFileError("its metrics are of other rows")
    try:
        if len(kept := run.reservoir.rows()):
            model.predict(kept)
    except ValueError as error:
        raise ModelFileError(f"its sample of rows is impossible: {error}") from None
    run.total, run.resumed_at = total, [*resumed_at, rows]
    run.progress = Progress(rows, mistakes, 0, 0, seconds)
