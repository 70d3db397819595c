"""A run: a stream through a learner into a folder, which can be killed at any moment and gone on with.

    stream -> scaler -> learner -> recorder        Run
    what was asked for, as plain values            Job
    record, model, pipeline, checkpoint            run_job

The folder of a run has `record.json` and `curve.csv` (or `.parquet`), `model.safetensors`, and `pipeline.json`, which
tells how rows were encoded and scaled. While it is under way it may have `checkpoint.npz`: everything that a run has
learned after some block, replaced in one step. A run that goes on from there does what it would have done without the
interruption, bit by bit; only the seconds are others, and `resumed_at` in the settings says after which rows.
"""

import hashlib
import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from pocketkernel import learners, model_file
from pocketkernel._files import write_atomically
from pocketkernel.evaluate.pipeline import MODEL, PIPELINE, Pipeline, ready
from pocketkernel.evaluate.progressive import Progress, follow
from pocketkernel.evaluate.record import Record, Recorder, settings_of
from pocketkernel.stream import SCALERS, Block, Scaler, Stream, gather, open_stream, permutation
from pocketkernel.stream.errors import StreamError
from pocketkernel.stream.files import STDIN, Source, find, standard_input

CHECKPOINT = "checkpoint.npz"
READER = "pocketkernel reader"
"""Name of the thread that reads ahead."""
READING = ("format", "delimiter", "header", "columns")


class RunError(ValueError):
    """A folder that holds something else than this run, or a checkpoint that cannot be used."""


def learner_class(name: str) -> Any:
    """The class of a learner by its name, in small or capital letters, with or without hyphens and "classifier".

    Examples
    --------
    >>> learner_class("m-omd-s").__name__, learner_class("pocket").__name__
    ('MOMDS', 'PocketClassifier')
    """
    plain = name.lower().replace("-", "").replace("_", "").removesuffix("classifier")
    known = {each.lower().removesuffix("classifier"): each for each in learners.__all__}
    if plain not in known:
        raise ValueError(f"learner={name!r} is unknown: use one of {', '.join(sorted(known))}.")
    return getattr(learners, known[plain])


# ---- what was asked for ---------------------------------------------------------------------------------------------


@dataclass
class Job:
    r"""A run as it is asked for.

    Parameters
    ----------
    source : path, glob, list of paths, "-" or binary file
        What to read.
    learner : str, default="pocket"
        Name of a learner, in small or capital letters.
    parameters : dict
        Of its constructor.
    reading : dict
        Of `open_stream`, but for source and block.
    scale : {None, "standard", "minmax", "maxabs"}, default=None
        How to scale, each row by those before it.
    permute : int, default=None
        Seed of a permutation, for files that fit in memory.
    rows : int, default=None
        Stop after so many.
    block : int, default=4096
        Rows per block.

    Examples
    --------
    >>> import io
    >>> rows = io.BytesIO(b"+1 1:2\n-1 1:-2\n" * 500)
    >>> job = Job(rows, parameters={"memory": "16KiB", "random_state": 0}, block=100)
    >>> run = job.start()
    >>> for progress in run.steps():
    ...     pass
    >>> progress.rows, progress.mistake_rate < 0.05
    (1000, True)
    """

    source: Source
    learner: str = "pocket"
    parameters: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    scale: str | None = None
    permute: int | None = None
    rows: int | None = None
    block: int = 4096

    @property
    def name(self) -> str:
        """Name of the source, without folders."""
        if isinstance(self.source, str | os.PathLike):
            return "stdin" if self.source == STDIN else Path(self.source).name
        return Path(getattr(self.source, "name", "stream") if hasattr(self.source, "read") else self._paths()[0]).name

    def repeatable(self) -> bool:
        """Whether the rows can be read again: not from a pipe."""
        return bool(self._paths())

    def fingerprint(self) -> str:
        """A text that two runs have in common only if they give the same results."""
        files: list[Any] = [
            [str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in self._paths()
        ]
        asked = {
            "files": files or [self.name],
            "learner": learner_class(self.learner).__name__,
            "parameters": {name: repr(value) for name, value in self.parameters.items() if value is not None},
            "reading": {name: repr(value) for name, value in self.reading.items() if value is not None},
            "scale": self.scale,
            "permute": self.permute,
            "rows": self.rows,
            "block": self.block,
            "version": model_file.LIBRARY_VERSION,
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def start(self) -> "Run":
        """Open the stream and build the learner."""
        class_ = learner_class(self.learner)
        known = class_._get_param_names()
        for name in self.parameters:
            if name not in known:
                raise ValueError(f"{name} is no parameter of {class_.__name__}, which has {', '.join(known)}.")
        if self.scale is not None and self.scale not in SCALERS:
            raise ValueError(f"scale={self.scale!r} is unknown: use one of {', '.join(SCALERS)}.")
        for name, number, least in (("rows", self.rows, 1), ("permute", self.permute, 0)):
            if number is not None and number < least:
                raise ValueError(f"{name}={number} is too small: use a whole number from {least} up.")
        source: Source = self.source
        if source == STDIN:
            # Not through Python's buffer: a thread that waits for it would hold its lock when the program is to end.
            source = cast(BinaryIO, getattr(standard_input(), "raw", sys.stdin.buffer))
        most = self.rows if self.permute is None else None  # of permuted rows, those are the first that come out
        stream = open_stream(source, block=self.block, rows=most, **self.reading)
        scaler = None if self.scale is None else SCALERS[self.scale]()
        return Run(stream, class_(**self.parameters), scaler=scaler, permute=self.permute, rows=self.rows, job=self)

    def _paths(self) -> list[Path]:
        if self.source == STDIN or hasattr(self.source, "read"):
            return []
        if isinstance(self.source, str | os.PathLike):
            path = Path(self.source)
            if path.exists() and not path.is_file():
                return []  # a folder is refused when it is opened; a named pipe must not be opened twice
        return find(self.source).paths


# ---- reading ahead --------------------------------------------------------------------------------------------------


def ahead(blocks: Iterator[Block], depth: int = 2) -> Generator[Block, None, None]:
    """The same blocks, read by a thread of its own while the learner, which leaves Python alone, works on the last.

    Parameters
    ----------
    blocks : iterator of Block
        It is used in that thread alone.
    depth : int, default=2
        Blocks that may wait.
    """
    queue: Queue[Block | BaseException | None] = Queue(depth)
    stop = Event()

    def put(item: Block | BaseException | None) -> bool:
        while not stop.is_set():
            with suppress(Full):
                queue.put(item, timeout=0.1)
                return True
        return False

    def read() -> None:
        try:
            if all(put(block) for block in blocks):
                put(None)
        except BaseException as error:
            put(error)

    Thread(target=read, name=READER, daemon=True).start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()


# ---- a run under way ------------------------------------------------------------------------------------------------


class Run:
    """A stream on its way through a learner. Made by `Job.start`.

    Attributes
    ----------
    stream, model, scaler, recorder
        Its parts.
    progress : Progress or None
        After the latest block.
    total : int or None
        Rows there will be, if that is known.
    resumed_at : list of int
        Rows after which the run went on from a checkpoint.
    """

    def __init__(
        self,
        stream: Stream,
        model: Any,
        *,
        scaler: Scaler | None = None,
        permute: int | None = None,
        rows: int | None = None,
        job: Job | None = None,
    ) -> None:
        self.stream, self.model, self.scaler, self.job = stream, model, scaler, job
        self.recorder = Recorder()
        self.progress: Progress | None = None
        self.total = rows
        self.resumed_at: list[int] = []
        self._permute, self._rows = permute, rows
        self._classes: npt.NDArray[Any] | None = None
        if stream.classes is not None:
            self._classes = np.unique(np.array(stream.classes))

    def steps(self) -> Iterator[Progress]:
        """Go through the stream, from where the run is; answers after every block."""
        with closing(ahead(self._blocks(self.progress.rows if self.progress else 0))) as blocks:
            yield from self._learn(blocks)

    def _learn(self, blocks: Iterator[Block]) -> Iterator[Progress]:
        first = next(blocks, None)
        if first is None:
            if self.progress is None:
                raise StreamError("at least one row", "none", file=self.stream.name)
            return
        if self._classes is None:
            self._classes = self._found(first)
        self._check_classes()
        self._tell_horizon()
        labelled = (self._row_and_label(block) for block in chain([first], blocks))
        for progress in follow(self.model, labelled, self._classes, after=self.progress):
            self.progress = progress
            self.recorder.add(self.model, progress)
            yield progress

    def pipeline(self) -> Pipeline:
        """How rows have been encoded and scaled so far."""
        reading = {} if self.job is None else {n: v for n, v in self.job.reading.items() if n in READING}
        encoding = None if self.stream.encoding is None else self.stream.encoding.to_dict()
        reading["format"] = self.stream.format
        return Pipeline(self.stream.n_features, self.stream.feature_names, encoding, self.scaler, reading)

    def record(self, **more: Any) -> Record:
        """How the run has gone, with `more` for its settings."""
        skipped = self.stream.skipped
        more = {
            "scale": None if self.scaler is None else self.scaler.kind,
            "permute": self._permute,
            "rows": self._rows,
            "block": self.stream.block,
            "format": self.stream.format,
            "skipped": {"rows": skipped.count, "first": [str(report) for report in skipped.reports]},
            "resumed_at": self.resumed_at,
            **more,
        }
        return Record(settings_of(self.model, **more), self.recorder.curve())

    # ---- rows -------------------------------------------------------------------------------------------------------

    def _blocks(self, start: int) -> Iterator[Block]:
        blocks = self.stream.blocks(start) if self._permute is None else self._permuted(start)
        left = None if self._rows is None else self._rows - start
        for block in blocks:
            if left is not None and len(block) >= left:
                if left:
                    yield block[:left]
                return
            left = None if left is None else left - len(block)
            yield block

    def _permuted(self, start: int) -> Iterator[Block]:
        assert self._permute is not None
        whole = gather(self.stream.blocks())
        order = permutation(len(whole), self._permute)
        self.total = len(order) if self._rows is None else min(self._rows, len(order))
        for at in range(start, len(order), self.stream.block):
            yield whole.take(order[at : at + self.stream.block])

    def _row_and_label(self, block: Block) -> tuple[Any, npt.NDArray[Any]]:
        assert block.y is not None and self._classes is not None
        known = np.isin(block.y, self._classes)
        if not known.all():
            new, shown = block.y[np.argmin(known)], ", ".join(map(plain_label, self._classes))
            where = f", row {int(np.argmin(known)) + 1} from there" if block.line else ""
            raise StreamError(
                f"one of the classes {shown}, which the first {self.stream.block:,} rows have (give all by classes=)",
                plain_label(new) + where,
                file=block.file,
                line=block.line,
            )
        if self.scaler is None:
            return block.X, block.y
        return self.scaler.transform_then_learn(ready(block, self.scaler)), block.y

    def _found(self, first: Block) -> npt.NDArray[Any]:
        if first.y is None:
            raise ValueError("the stream has no labels, and learning needs them: give label=.")
        found = np.unique(first.y)
        if len(found) < 2:
            raise StreamError(
                "two classes or more among the first rows (give all by classes=, or permute=SEED a sorted file)",
                f"only {plain_label(found[0])} in {len(first):,} rows",
                file=first.file,
            )
        return found

    def _check_classes(self) -> None:
        assert self._classes is not None
        if len(self._classes) > 2 and not self.model._multiclass:
            shown = ", ".join(map(plain_label, self._classes[:5])) + (" ..." if len(self._classes) > 5 else "")
            raise ValueError(
                f"{type(self.model).__name__} tells two classes apart, and there are {len(self._classes)}: {shown}; "
                "use learner=pocket or multiclassmomds."
            )

    def _tell_horizon(self) -> None:
        """LKMBooks must know how many rows there will be; those of files can be counted."""
        if "horizon" not in self.model.get_params(deep=False) or self.model.horizon is not None:
            return
        if self.total is None and self.job is not None and self.job.repeatable():
            self.total = sum(len(block) for block in open_stream(self.job.source, **self.job.reading).blocks())
        if self.total is None:
            raise ValueError(
                f"{type(self.model).__name__} must know how many rows a pipe will have: give horizon=N, or rows=N."
            )
        self.model.horizon = self.total

    # ---- checkpoints ------------------------------------------------------------------------------------------------

    def to_bytes(self, fingerprint: str = "") -> bytes:
        """Everything that the run has learned after its latest block: an .npz file without pickles."""
        assert self.progress is not None and self._classes is not None
        state = self.recorder.state()
        arrays = {f"recorder.{name}": value for name, value in state.items() if isinstance(value, np.ndarray)}
        about = {
            "fingerprint": fingerprint,
            "rows": self.progress.rows,
            "mistakes": self.progress.mistakes,
            "seconds": self.progress.seconds,
            "total": self.total,
            "resumed_at": self.resumed_at,
            "recorder": {name: value for name, value in state.items() if not isinstance(value, np.ndarray)},
        }
        if self.scaler is not None:
            arrays |= {f"scaler.{name}": value for name, value in self.scaler.get_state().items()}
        arrays |= {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
            "model": np.frombuffer(self.model.to_bytes(), np.uint8),
            "classes": self._classes,
        }
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()

    def restore(self, data: bytes, fingerprint: str = "") -> None:
        """Go on from what `to_bytes` gave."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                kept = {name: arrays[name] for name in arrays.files}
            about = json.loads(kept["about"].tobytes())
        except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise RunError(f"the checkpoint is damaged ({error}): begin again with force.") from None
        if about["fingerprint"] != fingerprint:
            raise RunError(
                "the checkpoint is of a run with other options, files or another version: repeat that command to go "
                "on, or begin again with force."
            )
        self.model = type(self.model).from_bytes(kept["model"].tobytes())
        self.recorder = Recorder.restore(about["recorder"] | _those("recorder.", kept))
        if self.scaler is not None:
            self.scaler.set_state(_those("scaler.", kept))
        self._classes = kept["classes"]
        self.total = about["total"]
        self.resumed_at = [*about["resumed_at"], about["rows"]]
        # The encoding is not kept: the stream reads and encodes the rows that it leaves out, and learns it again.
        self.progress = Progress(about["rows"], about["mistakes"], 0, 0, about["seconds"], np.empty(0))


def _those(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def plain_label(label: Any) -> str:
    """A label as people write it: 1, not 1.0.

    Examples
    --------
    >>> plain_label(np.float64(-1.0)), plain_label(0.5), plain_label("ham")
    ('-1', '0.5', 'ham')
    """
    label = label.item() if isinstance(label, np.generic) else label
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


# ---- a run into a folder --------------------------------------------------------------------------------------------


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
) -> Run:
    """Do a run and write what comes of it into a folder.

    Parameters
    ----------
    job : Job
        What to do.
    folder : path
        Where to; made if need be. A finished run in it that was a different one is an error.
    checkpoint : int, default=None
        Write a checkpoint after every so many rows, rounded up to whole blocks. A checkpoint that is already there is
        gone on from; one of a different run is an error.
    force : bool, default=False
        Throw away a different run or its checkpoint.
    record_format : {"csv", "parquet"}, default="csv"
        Of the curve.
    command : str, default=""
        A command line that does it again, for the record.
    begun, step : callables, default=None
        Called with the run when it begins, and after every block.

    Returns
    -------
    Run
    """
    folder = Path(folder)
    if checkpoint is not None and checkpoint < 1:
        raise ValueError(f"checkpoint={checkpoint} is too small: use a number of rows from 1 up.")
    if checkpoint is not None and not job.repeatable():
        raise ValueError(
            "checkpoint: standard input and pipes cannot be read again, so the run could not go on: give a file."
        )
    fingerprint = job.fingerprint()
    file = folder / CHECKPOINT
    _check_folder(folder, job, fingerprint, force)
    run = job.start()
    if file.exists():
        try:
            run.restore(file.read_bytes(), fingerprint)
        except RunError as error:
            if not force:
                raise RunError(f"{file}: {error}") from None
            file.unlink()
            run = job.start()
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if begun:
        begun(run)
    next_checkpoint = _after(run, checkpoint)
    stale = force
    try:
        for progress in run.steps():
            if stale:  # not before it is known that this run can be done
                _clear(folder)
                stale = False
            if next_checkpoint is not None and progress.rows >= next_checkpoint:
                write_atomically(file, run.to_bytes(fingerprint))
                next_checkpoint = _after(run, checkpoint)
            if step:
                step(run)
    except BaseException:
        if made:
            with suppress(OSError):  # there is a checkpoint in it
                folder.rmdir()
        raise
    model = run.model.to_bytes()
    write_atomically(folder / MODEL, model)
    run.pipeline().write(folder / PIPELINE, model)
    seed = job.parameters.get("random_state")
    record = run.record(source=job.name, seed=seed, command=command, fingerprint=fingerprint)
    record.write(folder, format=record_format)
    file.unlink(missing_ok=True)
    _sweep(folder)
    return run


def _after(run: Run, every: int | None) -> int | None:
    done = run.progress.rows if run.progress else 0
    return None if every is None else (done // every + 1) * every


def _check_folder(folder: Path, job: Job, fingerprint: str, force: bool) -> None:
    """Leave a finished run alone unless it is the same, or may be thrown away."""
    _sweep(folder)
    try:
        settings = json.loads((folder / "record.json").read_bytes())["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if force:
        return
    if settings.get("fingerprint") != fingerprint:
        raise RunError(
            f"{folder} holds a finished run that was a different one: give another folder, or begin again with force."
        )
    if not job.repeatable():
        raise RunError(
            f"{folder} holds a finished run, and a pipe may bring other rows: give another folder, or begin again "
            "with force."
        )


def _clear(folder: Path) -> None:
    """Remove the results of another run."""
    for name in ("record.json", "curve.csv", "curve.parquet", MODEL, PIPELINE, "report.html"):
        (folder / name).unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what a killed process had not finished writing."""
    for left in folder.glob(".pocketkernel-*.tmp"):
        with suppress(OSError):
            left.unlink()
