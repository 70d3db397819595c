"""Feeding a fleet from files: rows with a key, learned in order, resumed exactly where the store ends."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from pocketkernel import learners, model_file
from pocketkernel._fields import Check, Fields, is_count, is_number, list_of
from pocketkernel._files import write_atomically
from pocketkernel._scores import labels_of
from pocketkernel.evaluate.job import learner_class, make_learner
from pocketkernel.evaluate.pipeline import PIPELINE, READING, Pipeline
from pocketkernel.evaluate.task import CLASSIFICATION, found_task, seen_task
from pocketkernel.fleet._database import FILE
from pocketkernel.fleet._fleet import Fleet
from pocketkernel.fleet._store import FolderStore
from pocketkernel.fleet.errors import FleetStoreError
from pocketkernel.learners import budget_name
from pocketkernel.stored import read
from pocketkernel.stream import Block, StreamError, open_stream

PIPELINE_FILE = "pipeline.pk"
LEAST = (2, 21)
"""Powers of two from which the KiB of a model are chosen."""

AGES = 24
"""Rows of a key are counted by their number among the rows of that key: 1, 2 to 3, 4 to 7, and so on."""


@dataclass
class Counts:
    """What a fleet has got wrong so far, of all keys together."""

    rows: int = 0
    wrong: float = 0.0  # mistakes, or the sum of the squared errors
    rows_by_age: list[int] = field(default_factory=lambda: [0] * AGES)
    wrong_by_age: list[float] = field(default_factory=lambda: [0.0] * AGES)

    def add(self, ages: Any, wrong: Any) -> None:
        """Count some rows, by how many rows of its key came before each."""
        bins = np.minimum(np.log2(ages + 1.0).astype(np.int64), AGES - 1)
        self.rows += len(ages)
        self.wrong += float(wrong.sum())
        for bin_ in np.unique(bins).tolist():
            self.rows_by_age[bin_] += int((bins == bin_).sum())
            self.wrong_by_age[bin_] += float(wrong[bins == bin_].sum())

    @classmethod
    def of(cls, offset: Any) -> Self:
        """The counts that were stored with the last rows."""
        if offset is None:
            return cls()
        if not isinstance(offset, dict) or offset.keys() != asdict(cls()).keys():
            raise FleetStoreError("this fleet was not fed by `pocketkernel fleet run`, so it cannot be resumed by it.")
        given = Fields(offset, "the offset")
        by_age: Callable[[Check], Check] = lambda check: lambda value: list_of(check)(value) and len(value) == AGES  # noqa: E731
        return cls(
            given.take("rows", is_count),
            given.take("wrong", is_number),
            given.take("rows_by_age", by_age(is_count)),
            given.take("wrong_by_age", by_age(is_number)),
        )


class Feed:
    """A stream on its way into a fleet.

    Parameters
    ----------
    source : path, glob, list of paths, "-" or binary file
        What to read.
    key : str
        Column with the key of each row.
    folder : path
        Store of the fleet. If there is one already, rows that it has learned are read but not learned again.
    learner, parameters
        Name of a learner, and parameters of its constructor. Without memory and budget, a model has the least memory, a
        power of two from 4 KiB on, that leaves room for kernels beside the linear model.
    reading : dict
        Further options of `open_stream`.
    task, base, max_keys, rows, block, sync_every
        As for `Job`, `Fleet` and `FolderStore`.

    Attributes
    ----------
    plan : Plan
        What each model is.
    planned : bool
        Whether its memory was chosen here.
    """

    def __init__(
        self,
        source: Any,
        *,
        key: str,
        folder: Path,
        learner: str = "pocket",
        parameters: dict[str, Any] | None = None,
        reading: dict[str, Any] | None = None,
        task: str | None = None,
        base: str | None = None,
        max_keys: int | None = None,
        rows: int | None = None,
        block: int = 4096,
        sync_every: int = 10_000,
    ) -> None:
        reading = {**(reading or {}), "strict": False, "id": key}
        self.stream = open_stream(source, block=block, rows=rows, **reading)
        self._key = key
        task = task or seen_task(self.stream)
        if task == CLASSIFICATION:
            self.stream.adopt_classes()  # rows of other classes are left out, and reported
        blocks = self._with_keys(self.stream.blocks())
        first = next(blocks, None)
        if first is None:
            none = StreamError("at least one row", "none", file=self.stream.name)
            raise next(iter(self.stream.skipped.reports), none)
        if first.y is None:
            raise ValueError(f"{self.stream.name} has no labels, and learning needs them: give --label.")
        self._blocks = chain([first], blocks)
        self.task = task or found_task(first.y)
        classes = None
        if self.task == CLASSIFICATION:
            classes = np.unique(first.y) if self.stream.classes is None else np.array(self.stream.classes)
        given = dict(parameters or {})
        room = {"n_classes": len(classes)} if classes is not None and len(classes) > 1 else {}
        class_ = learner_class(learner, self.task)
        self.planned = not given.keys() & {"memory", budget_name(class_)}
        if self.planned:
            given["memory"] = least_memory(class_, self.stream.n_features, given, **room)
        model = make_learner(learner, given, self.task)
        self.plan = model.plan(self.stream.n_features, **room)
        self.folder = folder
        self.fleet = Fleet(
            model,
            features=self.stream.n_features,
            classes=classes,
            store=FolderStore(folder, sync_every=sync_every),
            base=base,
            max_keys=max_keys,
        )
        self._reading = {name: value for name, value in reading.items() if name in READING}
        self.classes = None if classes is None else np.unique(classes)
        self.counts = Counts.of(self.fleet.offset)
        self._resumed = self.counts.rows
        self._ages: Counter[str] = Counter()

    def steps(self) -> Iterator[Counts]:
        """Learn block by block; yields after each."""
        passed = 0
        for block in self._blocks:
            start = min(max(self._resumed - passed, 0), len(block))
            passed += len(block)
            self._ages.update((block.ids or [])[:start])
            if start < len(block):
                self._learn(block[start:])
                yield self.counts

    def _with_keys(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """The same without rows that have no key, which are reported like others that cannot be used."""
        for block in blocks:
            keys = block.ids or []
            missing = keys.count("")
            for _ in range(missing):
                self.stream.skipped.report(StreamError("a key", "nothing", file=block.file, field=self._key))
            some = block if missing == 0 else block.take(np.flatnonzero([key != "" for key in keys]))
            if len(some) > 0:
                yield some

    def _learn(self, block: Block) -> None:
        keys, y = block.ids, block.y
        assert keys is not None
        assert y is not None
        ages = np.empty(len(keys), dtype=np.int64)
        for row, key in enumerate(keys):
            ages[row] = self._ages[key]
            self._ages[key] += 1

        def counted(scores: Any) -> dict[str, Any]:
            answers = scores if self.classes is None else labels_of(scores, self.classes)
            self.counts.add(ages, (answers - y) ** 2 if self.classes is None else answers != y)
            return asdict(self.counts)

        self.fleet.predict_then_learn(keys, block.X, y, offset=counted)

    def close(self) -> None:
        """Write how rows were read, and release the store."""
        with ExitStack() as held:
            held.callback(self.fleet.close)
            encoding = None if self.stream.encoding is None else self.stream.encoding.to_dict()
            reading = {**self._reading, **self.stream.dialect, "format": self.stream.format}
            section, arrays = Pipeline(self.stream.n_features, encoding, None, reading).written()
            contents = replace(learners.contents_of(self.fleet.blank()), sections={PIPELINE: section}, arrays=arrays)
            write_atomically(self.folder / PIPELINE_FILE, model_file.encode(contents), follow=False)


def least_memory(class_: Any, columns: int, parameters: dict[str, Any], **room: int) -> str:
    """The least memory, a power of two of KiB, in which a learner of such rows has more than its linear model.

    Examples
    --------
    >>> from pocketkernel import PocketClassifier
    >>> least_memory(PocketClassifier, 3, {}), least_memory(PocketClassifier, 31, {"random_state": 0})
    ('4KiB', '8KiB')
    """
    others = {name: value for name, value in parameters.items() if name != "random_state"}
    for memory in (f"{1 << power}KiB" for power in range(*LEAST)):
        with suppress(ValueError):  # too little
            if class_.plan(columns, memory, **room, **others).budget > 0:
                return memory
    return memory


def pipeline_in(folder: Path) -> Pipeline:
    """How the rows of a fleet in a folder are read."""
    path = folder / PIPELINE_FILE
    if not path.exists():
        if (folder / FILE).exists():
            raise FileNotFoundError(
                f"{path} is missing: `pocketkernel fleet run` was killed; the same command resumes it."
            )
        raise FileNotFoundError(f"{folder} has no {PIPELINE_FILE}: it is not the folder of `pocketkernel fleet run`.")
    with model_file.naming(path):
        pipeline = Pipeline.of(read(path))
    if pipeline is None:
        raise FleetStoreError(f"{path} does not contain how to read rows.")
    return pipeline
