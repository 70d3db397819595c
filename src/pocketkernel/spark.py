"""Fleets on Apache Spark: one model per key, learned by Structured Streaming with exactly-once state, or in batch.

Keys are divided into buckets by their hash. The rows of a bucket in a micro-batch go through one `Fleet` in one call.
Spark's state store keeps for each bucket the configuration, a snapshot (the states of all its models without headers),
and the rows learned since, in records that are chained as those of a `FolderStore`. A micro-batch only appends its
rows; when these take more bytes than the snapshot, the next snapshot replaces both. A worker process that has the
fleet of a bucket in memory from the micro-batch before uses it; otherwise it reads the snapshot and repeats the rows,
which gives the same bits.

Needs ``pip install 'pocketkernel[spark]'`` and Java 17 or later.
"""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pocketkernel._json import canonical, parse
from pocketkernel._optional import optional
from pocketkernel._scores import labels_of
from pocketkernel.fleet import Fleet, FleetStoreError, records
from pocketkernel.learners import OnlineKernelClassifier, OnlineLearner

optional("pyspark", "pocketkernel.spark", "spark")

from pyspark.sql import Column, DataFrame, GroupedData, functions  # noqa: E402
from pyspark.sql.streaming.stateful_processor import StatefulProcessor  # noqa: E402
from pyspark.sql.types import (  # noqa: E402
    ArrayType,
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

BUCKET = "_bucket"
PART = 2**20
"""Largest value in the state store, in bytes."""

MOST_HELD = 2**30
"""Bytes of the fleets that a worker process keeps in memory from one micro-batch to the next, at most."""

STATE_FORMAT = 2

_SNAPSHOT, _ROWS, _MORE, _CONFIGURATION = 0, 1, 2, 3  # parts of the state; _MORE goes on with the rows before
_CHAIN = 16  # bytes before the rows
_PIECES = StructType([StructField("kind", IntegerType()), StructField("data", BinaryType())])
_MARK = StructType(
    [StructField("token", BinaryType()), StructField("bytes", LongType()), StructField("new", LongType())]
)
_ANSWERS = ("prediction", "score")


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
        if type(self.buckets) is not int or self.buckets < 1:
            raise ValueError(f"buckets={self.buckets!r} is not a number of buckets: use 1 or more.")
        if self.key == self.order:
            raise ValueError(f"key and order are both {self.key!r}: rows of one key need an order of their own.")
        for name in (self.key, self.order):
            if name in _ANSWERS:
                raise ValueError(f"the column {name!r} has the name of an answer: rename it.")
        self.fleet()  # what is wrong is said here, not by a worker

    def configuration(self) -> dict[str, Any]:
        """What gives the bits of a state their meaning, by name."""
        columns = {"key": self.key, "label": self.label, "order": self.order, "features": list(self.features)}
        return self.fleet().configuration() | columns | {"buckets": self.buckets, "state format": STATE_FORMAT}

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
        answers = self._grouped(events).transformWithStateInPandas(
            statefulProcessor=_Bucket(self),
            outputStructType=self._answers(events),
            outputMode="Append",
            timeMode="None",
        )
        return self._told(answers, events)

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
            _restore(fleet, bucket, self.configuration())
            found.update({key: fleet[key] for key in fleet if keys is None or key in keys})
        return found

    # ---- batch ------------------------------------------------------------------------------------------------------

    def learn_batch(self, events: DataFrame) -> DataFrame:
        """Answer and learn all events of an ordinary DataFrame; returns the answers, as `learn_stream`."""
        answers = self._grouped(events).applyInPandas(_whole_bucket(self, answers=True), self._answers(events))
        return self._told(answers, events)

    def fit_batch(self, events: DataFrame) -> DataFrame:
        """Learn all events of an ordinary DataFrame; returns a row for each key, with its model's file in `model`."""
        schema = StructType([StructField("key", events.schema[self.key].dataType), StructField("model", BinaryType())])
        models = self._grouped(events).applyInPandas(_whole_bucket(self, answers=False), schema)
        return models.withColumnRenamed("key", self.key)

    def _grouped(self, events: DataFrame) -> GroupedData:
        columns = [*dict.fromkeys([self.key, self.order, self.label, *self.features])]
        missing = [name for name in columns if name not in events.columns]
        if missing:
            raise ValueError(f"events has no column {missing[0]!r}: it has {', '.join(events.columns)}.")
        # Within, columns have names of their own: any name may be that of a column, with dots, too.
        order = _column(self.order)
        if _is_instant(events, self.order):  # pandas would get local time, which clocks that go back repeat
            order = functions.unix_micros(order)
        parts = [_column(self.key).alias("key"), order.alias("order"), _column(self.label).alias("label")]
        parts += [_column(name).alias(f"x{n}") for n, name in enumerate(self.features)]
        bucket = functions.pmod(functions.xxhash64(_column(self.key)), functions.lit(self.buckets)).cast("int")
        return events.select(bucket.alias(BUCKET), *parts).groupBy(BUCKET)

    def _answers(self, events: DataFrame) -> StructType:
        is_classifier = isinstance(self.learner, OnlineKernelClassifier)
        several = is_classifier and len(self.classes) > 2
        order = LongType() if _is_instant(events, self.order) else events.schema[self.order].dataType
        return StructType(
            [
                StructField("key", events.schema[self.key].dataType),
                StructField("order", order),
                StructField("prediction", events.schema[self.label].dataType if is_classifier else DoubleType()),
                StructField("score", ArrayType(DoubleType()) if several else DoubleType()),
            ]
        )

    def _told(self, answers: DataFrame, events: DataFrame) -> DataFrame:
        """Answers, under the names of the caller's columns."""
        order = functions.col("order")
        if _is_instant(events, self.order):
            order = functions.timestamp_micros(order)
        return answers.select(functions.col("key").alias(self.key), order.alias(self.order), *_ANSWERS)

    def _learn(self, fleet: Fleet, rows: pd.DataFrame) -> pd.DataFrame:
        """Learn some rows; the answers."""
        for part, name in (("key", self.key), ("order", self.order)):
            missing = int(rows[part].isna().sum())
            if missing:
                raise ValueError(f"{missing} of {len(rows)} events have no {name!r}: leave them out before.")
        rows = rows.sort_values(["order", "key"], kind="stable")
        X = rows[[f"x{n}" for n in range(len(self.features))]].to_numpy(dtype=np.float64)
        scores = fleet.predict_then_learn(rows["key"], np.ascontiguousarray(X), rows["label"].to_numpy())
        is_classifier = isinstance(self.learner, OnlineKernelClassifier)
        return pd.DataFrame(
            {
                "key": rows["key"],
                "order": rows["order"],
                "prediction": labels_of(scores, np.unique(self.classes)) if is_classifier else scores,
                "score": list(scores) if scores.ndim == 2 else scores,
            }
        )


def _column(name: str) -> Column:
    """A column by its name, which may have dots."""
    return functions.col("`" + name.replace("`", "``") + "`")


def _is_instant(events: DataFrame, name: str) -> bool:
    return isinstance(events.schema[name].dataType, TimestampType)


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

    def commit(self, *, whole: bool) -> None:
        """Spark commits."""

    def end(self) -> None:
        """Nothing is open."""

    def has(self, change: Any) -> bool:
        """Whether a change was collected last."""
        return bool(self._changes) and self._changes[-1] is change

    def taken(self) -> bytes:
        """What was collected since."""
        pieces = [part for change in self._changes for piece in change.pieces for part in piece]
        self._changes.clear()
        return b"".join(pieces)


def _restore(fleet: Fleet, parts: list[tuple[int, bytes]], configuration: dict[str, Any]) -> bytes:
    """Bring a new fleet to the state that these parts keep; the chain of their last record."""
    stored = b"".join(data for kind, data in parts if kind == _CONFIGURATION)
    there = parse(stored.decode()) if stored else {"state format": 1}
    configuration = parse(canonical(configuration))
    odd = sorted(name for name in there.keys() | configuration.keys() if there.get(name) != configuration.get(name))
    if odd:
        odd = ["state format"] if "state format" in odd else [name for name in odd if name != "recipe"] or odd
        raise FleetStoreError(
            f"this checkpoint has models of another configuration (different: {', '.join(odd)}): go on with that one, "
            "or begin a new checkpoint."
        )
    snapshot = b"".join(data for kind, data in parts if kind == _SNAPSHOT)
    if snapshot:
        records.read_snapshot(fleet, io.BytesIO(snapshot), len(snapshot))
    rows: list[bytearray] = []
    for kind, data in parts:
        if kind == _ROWS:
            rows.append(bytearray(data))
        elif kind == _MORE:
            rows[-1] += data
    chain = _beginning(stored, snapshot)
    for number, one in enumerate(rows):
        chain = records.chained(chain, bytes(one[_CHAIN:]))
        if chain != one[:_CHAIN]:
            raise FleetStoreError(f"record {number} of a checkpoint's state is damaged, missing or of another time.")
    records.repeat(fleet, (bytes(one[_CHAIN:]) for one in rows))
    return chain


def _beginning(configuration: bytes, snapshot: bytes) -> bytes:
    """The chain before the first record."""
    return records.chained(records.chained(b"", configuration), snapshot)


def _in_parts(kind: int, data: bytes) -> list[tuple[int, bytes]]:
    """Values that are not too large for the state store."""
    more = _MORE if kind == _ROWS else kind
    return [(more if at else kind, data[at : at + PART]) for at in range(0, len(data), PART)]


class _Bucket(StatefulProcessor):
    """One bucket of keys in a streaming query."""

    # Of the buckets that this worker process has learned: the chain of their last record, and the fleet after it.
    _known: ClassVar[dict[tuple[str, int], tuple[bytes, Fleet, _Pieces]]] = {}

    def __init__(self, models: KeyedModels) -> None:
        self._models = models
        self._configuration = models.configuration()
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
        # The chain is of all that was learned, so a fleet in memory is used only if it is the one that was committed.
        token, size, new = (bytes(mark[0]), mark[1], mark[2]) if mark else (b"", 0, 0)
        batch = [some for some in rows if len(some)]
        if not batch:
            return
        configuration = canonical(self._configuration).encode()
        held = self._known.pop(bucket, None)
        if held is None or held[0] != token:
            pieces = _Pieces()
            fleet = self._models.fleet(pieces)
            chain = _beginning(configuration, b"")
            if mark:
                parts = [(kind, bytes(data)) for kind, data in self._parts.get()]
                chain = _restore(fleet, parts, self._configuration)
                if chain != token:
                    raise FleetStoreError("the last record of a checkpoint's state is missing or of another time.")
            else:
                self._parts.put(_in_parts(_CONFIGURATION, configuration))
        else:
            chain, fleet, pieces = held
        answers = self._models._learn(fleet, pd.concat(batch, ignore_index=True))
        data = pieces.taken()
        new += len(data)
        if new > max(size, PART):
            file = io.BytesIO()
            records.write_snapshot(fleet, file, {})
            whole = file.getvalue()
            size, new = len(whole), 0
            self._parts.put([*_in_parts(_CONFIGURATION, configuration), *_in_parts(_SNAPSHOT, whole)])
            chain = _beginning(configuration, whole)
        else:
            chain = records.chained(chain, data)
            self._parts.appendList(_in_parts(_ROWS, chain + data))
        self._mark.update((chain, size, new))
        self._known[bucket] = (chain, fleet, pieces)
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
        return pd.DataFrame({"key": list(fleet), "model": [fleet[key].to_bytes() for key in fleet]})

    return learn
