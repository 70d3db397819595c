"""The state that Spark keeps of a bucket, without Spark: what is in it, what is compared, and what is refused."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark", reason="pip install 'pocketkernel[spark]'")
pytest.importorskip("google.protobuf", reason="pip install 'pocketkernel[spark]'")

from pocketkernel import PocketClassifier
from pocketkernel.fleet import Fleet, FleetStoreError
from pocketkernel.spark import PART, KeyedModels, _Bucket


class Kept:
    """A state variable, and what was written there."""

    def __init__(self):
        self.rows = []

    def get(self):
        return iter(self.rows) if isinstance(self.rows, list) else self.rows

    def put(self, rows):
        self.rows = list(rows)

    def appendList(self, rows):
        self.rows += rows

    def update(self, value):
        self.rows = value


class Handle:
    """The state store of a bucket."""

    def __init__(self):
        self.parts, self.mark = Kept(), Kept()
        self.mark.rows = None

    def getListState(self, name, schema):
        return self.parts

    def getValueState(self, name, schema):
        return self.mark


def keyed_models(**given):
    more = {"random_state": given.pop("seed", 0), "memory": given.pop("memory", "4KiB")}
    learner = given.pop("learner", None) or PocketClassifier(**more)
    given = {"label": "y", "features": ["a", "b"], "classes": ["no", "yes"], "buckets": 1} | given
    return KeyedModels(learner, key="user", order="t", **given)


def batch(first, rows=50, keys=7, labels=("no", "yes")):
    rng = np.random.default_rng(first)
    X = rng.normal(size=(rows, 2))
    users = rng.integers(0, keys, rows)
    label = np.array(labels)[((X[:, 0] > 0) ^ (users % 2 == 0)).astype(int)]
    frame = {"key": [f"u{user}" for user in users], "order": np.arange(first, first + rows), "label": label}
    return pd.DataFrame(frame | {"x0": X[:, 0], "x1": X[:, 1]})


def learned(models, handle, rows, *, anew=True):
    bucket = _Bucket(models)
    if anew:
        _Bucket._known.clear()
    bucket.init(handle)
    return pd.concat(list(bucket.handleInputRows((0,), iter([rows]), None)))


def test_a_worker_goes_on_from_the_state():
    models, handle = keyed_models(), Handle()
    fleet = Fleet(PocketClassifier(memory="4KiB", random_state=0), features=2, classes=["no", "yes"])
    for first in range(0, 1000, 50):
        rows = batch(first)
        answers = learned(models, handle, rows)
        expected = fleet.predict_then_learn(rows.key, rows[["x0", "x1"]].to_numpy(), rows.label.to_numpy())
        assert np.array_equal(answers.score.to_numpy(), expected)
        assert answers.order.tolist() == rows.order.tolist()


DIFFERENT = {
    "seed": {"seed": 1},
    "memory": {"memory": "8KiB"},
    "features": {"features": ["b", "a"]},
    "buckets": {"buckets": 4},
    "classes": {"classes": ["maybe", "no", "yes"]},
    "label": {"label": "z"},
    "base": {"base": "shared"},
    "class_weight": {"learner": PocketClassifier(memory="4KiB", random_state=0, class_weight={"no": 2.0})},
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_configuration_is_refused_by_name(name):
    handle = Handle()
    learned(keyed_models(), handle, batch(0))
    with pytest.raises(FleetStoreError, match="another configuration") as error:
        learned(keyed_models(**DIFFERENT[name]), handle, batch(50))
    assert {"seed": "random_state", "classes": "labels"}.get(name, name) in str(error.value)
    learned(keyed_models(), handle, batch(50))  # nothing was changed


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts.pop(),
        lambda parts: parts.pop(2),
        lambda parts: parts.insert(3, parts[3]),
        lambda parts: parts.__setitem__(slice(2, 4), parts[3:1:-1]),
        lambda parts: parts.__setitem__(2, (parts[2][0], parts[2][1][:-1] + b"\x99")),
        lambda parts: parts.pop(0),
    ],
    ids=["last left out", "left out", "repeated", "exchanged", "damaged", "no configuration"],
)
def test_records_that_are_missing_or_exchanged(change):
    models, handle = keyed_models(), Handle()
    for first in range(0, 250, 50):
        learned(models, handle, batch(first))
    assert len(handle.parts.rows) == 6
    change(handle.parts.rows)
    with pytest.raises(FleetStoreError, match=r"missing|another configuration"):
        learned(models, handle, batch(250))


def test_values_stay_small():
    """Also those of a micro-batch that is larger."""
    models, handle = keyed_models(), Handle()
    fleet = Fleet(PocketClassifier(memory="4KiB", random_state=0), features=2, classes=["no", "yes"])
    kinds = set()
    for first, rows in ((0, 200), (200, 40_000), (40_200, 70_000), (110_200, 50)):
        some = batch(first, rows, keys=900)
        answers = learned(models, handle, some)
        expected = fleet.predict_then_learn(some.key, some[["x0", "x1"]].to_numpy(), some.label.to_numpy())
        assert np.array_equal(answers.score.to_numpy(), expected)
        assert max(len(data) for _, data in handle.parts.rows) <= PART
        kinds |= {kind for kind, _ in handle.parts.rows}
    assert kinds == {0, 1, 2, 3}


@pytest.mark.parametrize("anew", [True, False])
def test_an_unknown_label_is_refused_and_learned_later(anew):
    models, handle = keyed_models(), Handle()
    learned(models, handle, batch(0))
    with pytest.raises(ValueError, match="maybe"):
        learned(models, handle, batch(50, labels=("no", "maybe")), anew=anew)
    twin = Handle()
    learned(models, twin, batch(0))
    scores = [learned(models, one, batch(50), anew=anew).score.tolist() for one in (handle, twin)]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(("column", "name"), [("key", "user"), ("order", "t")])
def test_rows_without_a_key_or_an_order(column, name):
    rows = batch(0)
    rows[column] = rows[column].astype(object)
    rows.loc[[3, 7], column] = None
    with pytest.raises(ValueError, match=f"2 of 50 events have no '{name}'"):
        learned(keyed_models(), Handle(), rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"buckets": 1.5}, "buckets=1.5 is not a number"),
        ({"buckets": True}, "buckets=True is not a number"),
        ({"buckets": 0}, "buckets=0 is not a number"),
    ],
)
def test_odd_buckets(given, message):
    with pytest.raises(ValueError, match=message):
        keyed_models(**given)


@pytest.mark.parametrize(
    ("key", "order", "message"),
    [
        ("t", "t", "key and order are both 't'"),
        ("prediction", "t", "name of an answer"),
        ("u", "score", "of an answer"),
    ],
)
def test_odd_columns(key, order, message):
    learner = PocketClassifier(memory="4KiB", random_state=0)
    with pytest.raises(ValueError, match=message):
        KeyedModels(learner, key=key, order=order, label="y", features=["a"], classes=[0, 1])
