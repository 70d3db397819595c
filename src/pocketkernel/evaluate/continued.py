"""A finished run that goes on with further files, as if they had been part of it."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pocketkernel import learners, model_file
from pocketkernel._fields import Fields
from pocketkernel.evaluate.arrivals import room_of
from pocketkernel.evaluate.checkpoint import PROGRESS, SECTION, resume
from pocketkernel.evaluate.delayed import joined
from pocketkernel.evaluate.job import Job
from pocketkernel.evaluate.pipeline import Pipeline
from pocketkernel.evaluate.record import read_settings
from pocketkernel.evaluate.run import Run, RunError
from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION
from pocketkernel.model_file import ModelFileError
from pocketkernel.stored import read
from pocketkernel.stream import SCALERS, Stream
from pocketkernel.stream.files import STDIN, Source


@dataclass
class Continued(Job):
    """Further files for the run in a folder; a `Job` whose learner, reading and scaling are those of that run.

    Parameters
    ----------
    folder : path, default="."
        The folder of the run.
    on_error : {"raise", "skip"}, default=None
        How to handle rows that cannot be read. None: as in the run.
    delayed : path or "-", default=None
        A table with ids and labels that arrived later; the files have the rows.
    window : int, default=10_000
        Rows that wait for their label.
    again : bool, default=False
        Whether files may be learned that have been learned before.
    """

    folder: Path = Path()
    on_error: str | None = None
    delayed: Source | None = None
    window: int = 10_000
    again: bool = False

    def fingerprint(self) -> str:
        """A text that is the same for two runs only if they give the same results."""
        asked = {
            "files": self.files() or [self.name],
            "base": hashlib.sha256(self._progress().read_bytes()).hexdigest(),
            "delayed": None if self.delayed is None else [str(self.delayed), self.window],
            "block": self.block,
            "version": model_file.LIBRARY_VERSION,
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def repeatable(self) -> bool:
        """Whether the rows can be read again: not from a pipe."""
        return super().repeatable() and self.delayed is None

    def start(self) -> Run:
        """Open the files, and take up the run where it ended."""
        path = self._progress()
        try:
            contents = read(path)
            given = Fields(contents.sections.get(SECTION), SECTION)
            pipeline = Pipeline.of(contents)
            if pipeline is None:
                raise ModelFileError("it does not contain how to read rows")
            model, _ = learners.restored(contents)
        except ModelFileError as error:
            reason = str(error).removesuffix(".")
            raise RunError(f"{path} is damaged ({reason}): start again with `pocketkernel run`.") from None
        stream = self._stream(pipeline, model)
        stream.reserve(room_of(model))
        scaler = None if pipeline.scaler is None else SCALERS[pipeline.scaler.kind]()
        task = CLASSIFICATION if hasattr(model, "classes_") else REGRESSION
        count = (lambda: 0) if self.repeatable() else None
        run = Run(stream, model, task=task, scaler=scaler, reading=pipeline.reading | pipeline.asked, count=count)
        run.goes_on(resume(run, contents, given, path), read_settings(self.folder).get("schema"))
        if self.delayed is None and not self.again and self.mark() in [mark for _, mark in run.sources if mark]:
            raise RunError(f"{self.name} has been learned already: learn it again with force.")
        return run

    def _stream(self, pipeline: Pipeline, model: Any) -> Stream:
        lenient = pipeline.encoding is not None and pipeline.encoding["words"]
        options: dict[str, Any] = {"on_error": self.on_error or ("skip" if lenient else "raise")}
        if self.delayed is not None:
            if self.delayed == STDIN == self.source:
                raise ValueError("rows and delayed labels cannot both come from standard input: use a file for one.")
            rows = pipeline.open(self.opened_source(), block=self.block, learn=True, **options)
            return joined(rows, self.delayed, self.window)
        if pipeline.encoding is None and hasattr(model, "classes_"):
            options["classes"] = model.classes_.tolist()
        return pipeline.open(self.opened_source(), block=self.block, labels=True, learn=True, **options)

    def _progress(self) -> Path:
        path = self.folder / PROGRESS
        if not path.exists():
            what = "is not the folder of a finished run" if self.folder.is_dir() else "does not exist"
            raise FileNotFoundError(f"{self.folder} {what}: there is no {PROGRESS} in it.")
        return path
