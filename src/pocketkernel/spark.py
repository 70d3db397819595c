"""Fleets on Apache Spark: one model per key, learned by Structured Streaming with exactly-once state, or in batch.

Keys are divided into buckets by their hash. The rows of a bucket in a micro-batch go through one `Fleet` in one call.
Spark's state store keeps for each bucket what a `FolderStore` keeps on disk: a snapshot (the states of all its models
without headers), and the rows learned since. A micro-batch only appends its rows; when these take more bytes than the
snapshot, the next snapshot replaces both. A worker process that has the fleet of a bucket in memory from the
micro-batch before uses it; otherwise it reads the snapshot and repeats the rows, which gives the same bits.

Needs ``pip install 'pocketkernel[spark]'`` and Java 17 or later.
"""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pocketkernel._optional import optional
from pocketkernel._scores import labels_of
from pocketkernel.fleet import Fleet, records
from pocketkernel.learners import OnlineKernelClassifier, OnlineLearner

optional("pyspark", "pocketkernel.spark", "spark")

from pyspark.sql import DataFrame, GroupedData, functions  # noqa: E402
from pyspark.sql.streaming.stateful_processor import StatefulProcessor  # noqa: E402
from pyspark.sql.types import (  # noqa: E402
    ArrayType,
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

BUCKET = "_bucket"
PART = 2**20
"""Largest value in the state store, in bytes."""

MOST_HELD = 2**30
"""Bytes of the fleets that a worker process keeps in memory from one micro-batch to the next, at most."""

_SNAPSHOT, _ROWS = 0, 1
_PIECES = StructType([StructField("kind", IntegerType()), StructField("data", BinaryType())])
_MARK = StructType(
    [StructField("token", BinaryType()), StructField("bytes", LongType()), StructField("new", LongType())]
)


@dataclass(frozen=True)
class KeyedModels:
    """What is learned from a stream of events: a model of this kind for each key.

    Parameters
    ----------
    learner : estimator
        What each model is, such as ``PocketClassifier(memory="4KiB", random_state=0)``. Its `random_state` must be a
        number, so that every worker builds the same models.
    key, label : str
        Columns with the key (string, binary or integer) and the label (or the number to predict).
    features : list of str
        Columns with the numbers of a row, in order.
    order : str
        Column that orders the rows of a key, such as a timestamp or an offset. Rows of a micro-batch are learned in
        this order, so that a repeated micro-batch gives the same bits.
    classes : list of labels
        All labels of a classifier.
    buckets : int, default=64
        Into how many buckets keys are divided. It cannot be changed for an existing checkpoint. Choose it so that a
        bucket's models take some megabytes: ``keys * slot_bytes / 8 MB`` or so, and at least a few per core.
    base : None or "shared", default=None
        What a new key begins with; "shared" means a model that has learned all rows of its bucket.
    """

    learner: OnlineLearner
    key: str
    label: str
    features: Sequence[str]
    order: str
    classes: Any = None
    buckets: int = 64
    base: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(getattr(self.learner, "random_state", None), int):
            raise ValueError("learner needs random_state=<a number>: every worker must build the same models.")
        if self.buckets < 1:
            raise ValueError(f"buckets={self.buckets!r} is too small: use 1 or more.")
        self.fleet()  # what is wrong is said here, not by a worker

    def fleet(self, store: Any = None) -> Fleet:
        """A new fleet of such models."""
        return Fleet(
            self.learner, features=len(self.features), classes=self.classes, base=self.base, store=store, n_jobs=1
        )

    # ---- streams ----------------------------------------------------------------------------------------------------

    def learn_stream(self, events: DataFrame) -> DataFrame:
        """Answer every event of a streaming DataFrame, then learn it.

        Returns a streaming DataFrame with the key, the order, `prediction` and `score`, made before the label was used.
        Start it with a checkpoint: after any failure it continues from there, with the same answers and models.
        """
        return self._grouped(events).transformWithStateInPandas(
            statefulProcessor=_Bucket(self),
            outputStructType=self._answers(events),
            outputMode="Append",
            timeMode="None",
        )

    def models(self, states: DataFrame, keys: Sequence[Any] | None = None) -> dict[Any, OnlineLearner]:
        """Models from a checkpoint's state, as ordinary estimators; of all keys, or of some.

        `states` is what Spark's state data source reads of a query with `learn_stream`:
        ``spark.read.format("statestore").option("stateVarName", "pieces").load(checkpoint)``.
        """
        found = {}
        rows = states.selectExpr(f"key.{BUCKET} as bucket", "list_element.kind as kind", "list_element.data as data")
        parts: dict[int, list[tuple[int, bytes]]] = {}
        for row in rows.toLocalIterator():
            parts.setdefault(row["bucket"], []).append((row["kind"], bytes(row["data"])))
        for bucket in parts.values():
            fleet = self.fleet()
            _restore(fleet, bucket)
            found.update({key: fleet[key] for key in fleet if keys is None or key in keys})
        return found

    # ---- batch ------------------------------------------------------------------------------------------------------

    def learn_batch(self, events: DataFrame) -> DataFrame:
        """Answer and learn all events of an ordinary DataFrame; returns the answers, as `learn_stream`."""
        return self._grouped(events).applyInPandas(_whole_bucket(self, answers=True), self._answers(events))

    def fit_batch(self, events: DataFrame) -> DataFrame:
        """Learn all events of an ordinary DataFrame; returns a row for each key, with its model's file in `model`."""
        schema = StructType([events.schema[self.key], StructField("model", BinaryType())])
        return self._grouped(events).applyInPandas(_whole_bucket(self, answers=False), schema)

    def _grouped(self, events: DataFrame) -> GroupedData:
        columns = [*dict.fromkeys([self.key, self.order, self.label, *self.features])]
        missing = [name for name in columns if name not in events.columns]
        if missing:
            raise ValueError(f"events has no column {missing[0]!r}: it has {', '.join(events.columns)}.")
        bucket = functions.pmod(functions.xxhash64(self.key), functions.lit(self.buckets)).cast("int")
        return events.select(bucket.alias(BUCKET), *columns).groupBy(BUCKET)

    def _answers(self, events: DataFrame) -> StructType:
        is_classifier = isinstance(self.learner, OnlineKernelClassifier)
        several = is_classifier and len(self.classes) > 2
        return StructType(
            [
                events.schema[self.key],
                events.schema[self.order],
                StructField("prediction", events.schema[self.label].dataType if is_classifier else DoubleType()),
                StructField("score", ArrayType(DoubleType()) if several else DoubleType()),
            ]
        )

    def _learn(self, fleet: Fleet, rows: pd.DataFrame) -> pd.DataFrame:
        """Learn some rows; the answers."""
        rows = rows.sort_values([self.order, self.key], kind="stable")
        X = rows[list(self.features)].to_numpy(dtype=np.float64)
        scores = fleet.predict_then_learn(rows[self.key], np.ascontiguousarray(X), rows[self.label].to_numpy())
        is_classifier = isinstance(self.learner, OnlineKernelClassifier)
        return pd.DataFrame(
            {
                self.key: rows[self.key],
                self.order: rows[self.order],
                "prediction": labels_of(scores, np.unique(self.classes)) if is_classifier else scores,
                "score": list(scores) if scores.ndim == 2 else scores,
            }
        )


# ---- the state of a bucket ------------------------------------------------------------------------------------------


class _Pieces:
    """A store that only collects what was learned, for the state store of Spark."""

    due: ClassVar[bool] = False
    is_mine: ClassVar[bool] = True
    path = None

    def __init__(self) -> None:
        self._changes: list[Any] = []

    def lock(self) -> None:
        """There is no configuration to compare with."""

    def open(self, fleet: Fleet, configuration: bytes) -> None:
        """Nothing is kept here."""

    def check_process(self) -> None:
        """Any process may use it."""

    def close(self) -> None:
        """Nothing is open."""

    def append(self, change: Any, models: Any) -> None:
        """Collect a change."""
        self._changes.append(change)

    def has(self, change: Any) -> bool:
        """Whether a change was collected last."""
        return bool(self._changes) and self._changes[-1] is change

    def taken(self) -> bytes:
        """What was collected since."""
        pieces = [part for change in self._changes for piece in change.pieces for part in piece]
        self._changes.clear()
        return b"".join(pieces)


def _restore(fleet: Fleet, parts: list[tuple[int, bytes]]) -> None:
    """Bring a new fleet to the state that these parts keep."""
    snapshot = b"".join(data for kind, data in parts if kind == _SNAPSHOT)
    if snapshot:
        records.read_snapshot(fleet, io.BytesIO(snapshot), len(snapshot))
    records.repeat(fleet, (data for kind, data in parts if kind == _ROWS))


class _Bucket(StatefulProcessor):
    """One bucket of keys in a streaming query."""

    # Of the buckets that this worker process has learned: their last token, and the fleet as it was then.
    _known: ClassVar[dict[tuple[str, int], tuple[bytes, Fleet, _Pieces]]] = {}

    def __init__(self, models: KeyedModels) -> None:
        self._models = models
        self._query = os.urandom(8).hex()

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._parts = handle.getListState("pieces", _PIECES)
        self._mark = handle.getValueState("mark", _MARK)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        """Learn the rows of a micro-batch."""
        bucket = (self._query, int(key[0]))
        mark = self._mark.get()
        # A token is drawn for every write, so a fleet in memory is used only if it is the one that was committed.
        token, size, new = (bytes(mark[0]), mark[1], mark[2]) if mark else (b"", 0, 0)
        held = self._known.pop(bucket, None)
        if held is None or held[0] != token:
            pieces = _Pieces()
            fleet = self._models.fleet(pieces)
            if mark:
                _restore(fleet, [(kind, bytes(data)) for kind, data in self._parts.get()])
        else:
            _, fleet, pieces = held
        batch = [some for some in rows if len(some)]
        if not batch:
            return
        answers = self._models._learn(fleet, pd.concat(batch, ignore_index=True))
        data = pieces.taken()
        new += len(data)
        if new > max(size, PART):
            file = io.BytesIO()
            records.write_snapshot(fleet, file, {})
            whole = file.getvalue()
            size, new = len(whole), 0
            self._parts.put([(_SNAPSHOT, whole[at : at + PART]) for at in range(0, len(whole), PART)])
        else:
            self._parts.appendValue((_ROWS, data))
        token = os.urandom(16)
        self._mark.update((token, size, new))
        self._known[bucket] = (token, fleet, pieces)
        while (
            len(self._known) > 1 and sum(len(held[1]) * held[1].slot_bytes for held in self._known.values()) > MOST_HELD
        ):
            del self._known[next(iter(self._known))]
        yield answers

    def close(self) -> None:
        """Nothing is open."""


def _whole_bucket(models: KeyedModels, *, answers: bool) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """What learns all rows of a bucket at once."""

    def learn(rows: pd.DataFrame) -> pd.DataFrame:
        fleet = models.fleet()
        answered = models._learn(fleet, rows)
        if answers:
            return answered
        return pd.DataFrame({models.key: list(fleet), "model": [fleet[key].to_bytes() for key in fleet]})

    return learn
