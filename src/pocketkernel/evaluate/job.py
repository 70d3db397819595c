"""The description of a run, in plain values."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from pocketkernel import learners, model_file
from pocketkernel.evaluate.arrivals import room_of
from pocketkernel.evaluate.run import Run
from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION, TASKS, found_task, seen_task
from pocketkernel.stream import SCALERS, open_stream
from pocketkernel.stream.files import STDIN, Source, find, standard_input
from pocketkernel.stream.infer import Guess
from pocketkernel.stream.places import LAYOUT
from pocketkernel.stream.schema import Room


def learner_class(name: str, task: str = CLASSIFICATION) -> Any:
    """The class of a learner by its name, case-insensitive, with or without hyphens and "classifier".

    Examples
    --------
    >>> learner_class("m-omd-s").__name__, learner_class("pocket").__name__
    ('MOMDS', 'PocketClassifier')
    >>> learner_class("pocket", "regression").__name__
    'PocketRegressor'
    """
    plain = name.lower().replace("-", "").replace("_", "").removesuffix("classifier")
    if plain == "pocketregressor" or (plain == "pocket" and task == REGRESSION):
        return learners.PocketRegressor
    if task == REGRESSION:
        raise ValueError(f"learner={name!r} predicts classes, not numbers: use learner=pocket for task='regression'.")
    known = {
        each.lower().removesuffix("classifier"): each
        for each in learners.__all__
        if issubclass(getattr(learners, each), learners.OnlineKernelClassifier)
    }
    if plain not in known:
        raise ValueError(f"learner={name!r} is unknown: use one of {', '.join(sorted(known))}.")
    return getattr(learners, known[plain])


def make_learner(name: str, parameters: Mapping[str, Any], task: str = CLASSIFICATION) -> Any:
    """A learner of that name with these parameters; all of them must be its own."""
    class_ = learner_class(name, task)
    known = class_._get_param_names()
    for parameter in parameters:
        if parameter not in known:
            raise ValueError(f"{parameter} is not a parameter of {class_.__name__}: choose from {', '.join(known)}.")
    made = class_(**parameters)
    made.plan(1)  # refuses wrong values before anything is read
    return made


def takes_missing(name: str) -> bool:
    """Whether the learner of this name can handle NaN."""
    return bool(learner_class(name)().__sklearn_tags__().input_tags.allow_nan)


def room_in_a_row(model: Any, task: str | None, regressor: Callable[[], Any]) -> Room | None:
    """What fits into a row, for a learner whose kernels need memory as well.

    `regressor` makes the one for labels that are numbers, if the task is not known.
    """
    if not hasattr(model, "room"):
        return None

    def room(others: int, least: int, label: Guess | None) -> Any:
        values = np.zeros(0) if label is None else label.values()
        if (task or found_task(values)) == REGRESSION:
            return regressor().room(others, least)
        return model.room(others, least, n_classes=max(2, room_of(model) or len(np.unique(values))))

    return room


@dataclass
class Job:
    r"""The description of a run.

    Parameters
    ----------
    source : path, glob, list of paths, "-" or binary file
        What to read.
    learner : str, default="pocket"
        Name of a learner, case-insensitive.
    parameters : dict
        Parameters of its constructor.
    reading : dict
        Options of `open_stream`, except source and block.
    scale : {None, "standard", "minmax", "maxabs"}, default=None
        How to scale each row, using the rows before it.
    permute : int, default=None
        Seed of a permutation, for files that fit in memory.
    rows : int, default=None
        Stop after this number of rows.
    block : int, default=4096
        Rows per block.
    task : {None, "classification", "regression"}, default=None
        Whether labels are classes or numbers; None means that the learner, or else the first block, tells.

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
    task: str | None = None

    @property
    def name(self) -> str:
        """Name of the source, without folders."""
        if isinstance(self.source, str | os.PathLike):
            return "stdin" if self.source == STDIN else Path(self.source).name
        return Path(getattr(self.source, "name", "stream") if hasattr(self.source, "read") else self._paths()[0]).name

    def repeatable(self) -> bool:
        """Whether the rows can be read again: not from a pipe."""
        return bool(self._paths())

    def files(self) -> list[Any]:
        """Path, size and time of each file; none of a pipe."""
        return [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in self._paths()]

    def mark(self) -> str:
        """A text that is the same for the same files; empty for a pipe."""
        files = self.files()
        return hashlib.sha256(json.dumps(files).encode()).hexdigest() if files else ""

    def fingerprint(self) -> str:
        """A text that is the same for two runs only if they give the same results."""
        asked = {
            "files": self.files() or [self.name],
            "learner": learner_class(self.learner, self._known_task() or CLASSIFICATION).__name__,
            "task": self._known_task(),
            "parameters": {name: repr(value) for name, value in self.parameters.items() if value is not None},
            "reading": {name: repr(value) for name, value in self.reading.items() if value is not None},
            "scale": self.scale,
            "permute": self.permute,
            "rows": self.rows,
            "block": self.block,
            "version": [model_file.LIBRARY_VERSION, LAYOUT],
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def start(self) -> Run:
        """Open the stream and build the learner."""
        task = self._known_task()
        model = make_learner(self.learner, self.parameters, task or CLASSIFICATION)
        if self.scale is not None and self.scale not in SCALERS:
            raise ValueError(f"scale={self.scale!r} is unknown: use one of {', '.join(SCALERS)}.")
        for name, number, least in (("rows", self.rows, 1), ("permute", self.permute, 0)):
            if number is not None and number < least:
                raise ValueError(f"{name}={number} is too small: use an integer of at least {least}.")
        source = self.opened_source()
        most = self.rows if self.permute is None else None  # of permuted rows, those are the first that come out
        stream = open_stream(
            source, block=self.block, rows=most, room=room_in_a_row(model, task, self._regressor), **self.reading
        )
        if not self.reading.get("strict", True):
            task = task or seen_task(stream)
            if task == CLASSIFICATION and self.permute is None:
                stream.adopt_classes()
        stream.reserve(room_of(model))
        scaler = None if self.scale is None else SCALERS[self.scale]()
        run = Run(
            stream,
            model,
            task=self._known_task(),
            regressor=self._regressor,
            scaler=scaler,
            permute=self.permute,
            rows=self.rows,
            reading=self.reading,
            count=self._count if self.repeatable() else None,
        )
        if task is not None:
            run.decide(task)
        return run

    def opened_source(self) -> Source:
        """The source; standard input without Python's buffer, whose lock a waiting thread would hold at the end."""
        if self.source == STDIN:
            return cast(BinaryIO, getattr(standard_input(), "raw", sys.stdin.buffer))
        return self.source

    def _regressor(self) -> Any:
        return make_learner(self.learner, self.parameters, REGRESSION)

    def _known_task(self) -> str | None:
        """Whether labels are classes or numbers, as far as it can be known without reading them."""
        if self.task is not None and self.task not in TASKS:
            raise ValueError(f"task={self.task!r} is unknown: use one of {', '.join(TASKS)}.")
        if self.task is not None:
            return self.task
        if issubclass(learner_class(self.learner), learners.PocketRegressor):
            return REGRESSION
        is_open = learner_class(self.learner) is learners.PocketClassifier and not self.reading.get("classes")
        return None if is_open else CLASSIFICATION

    def _count(self) -> int:
        return sum(len(block) for block in open_stream(self.source, **self.reading).blocks())

    def _paths(self) -> list[Path]:
        if self.source == STDIN or hasattr(self.source, "read"):
            return []
        if isinstance(self.source, str | os.PathLike):
            path = Path(self.source)
            if path.exists() and not path.is_file():
                return []  # a folder is refused when it is opened; a named pipe must not be opened twice
        return find(self.source).paths
