"""Containers that are no table of numbers, or no list of labels: refused on the fast path as on the slow one."""

import collections
import datetime
import types
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pocketkernel import MOMDS, PocketClassifier

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 2))
WAYS = ("fit", "partial_fit", "predict_then_learn")
LEARNERS = {
    "MOMDS": lambda: MOMDS(budget=10, random_state=1),
    "PocketClassifier": lambda: PocketClassifier(memory="16KiB", random_state=1),
}


class Labelled:
    """Like xarray's DataArray: an array inside, iterated by its first dimension, no ndarray."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.ndim, self.shape, self.dtype = self.values.ndim, self.values.shape, self.values.dtype

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values.tolist())

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


class Names:
    """Like xarray's Dataset: iterated by its names, no array."""

    def __init__(self, **values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)


def learned(name, numbers):
    """A learner that knows the labels -1 and 1, or "no" and "yes": numbers are compared in the core, words are not."""
    rows = RNG.standard_normal((40, 2))
    labels = np.where(rows[:, 0] > 0, 1, -1)
    return LEARNERS[name]().fit(rows, labels if numbers else np.array(["no", "yes"])[(labels > 0).astype(int)])


def both(one, other):
    """Every container that yields these two labels when it is iterated, but is not a sequence of them."""
    return {
        "dict": {one: 0, other: 1},
        "ordered dict": collections.OrderedDict({one: 0, other: 1}),
        "mapping": types.MappingProxyType({one: 0, other: 1}),
        "keys": {one: 0, other: 1}.keys(),
        "values": {0: one, 1: other}.values(),
        "set": {one, other},
        "frozenset": frozenset([one, other]),
        "generator": (label for label in (one, other)),
        "iterator": iter([one, other]),
        "map": map(type(one), [one, other]),
        "names": Names(**{str(one): 0, str(other): 0}),
        "frame of two columns": pd.DataFrame({one: [5.0], other: [6.0]}),
        "frame of two columns and rows": pd.DataFrame({one: [5.0, 7.0], other: [6.0, 8.0]}),
        "polars frame": pl.DataFrame({str(one): [5.0, 7.0], str(other): [6.0, 8.0]}),
        "Arrow table": pa.table({str(one): [5.0, 7.0], str(other): [6.0, 8.0]}),
        "masked": np.ma.array([one, other], mask=[False, True]),
        "masked without a mask": np.ma.array([one, other]),
        "structured": np.array([(one,), (other,)], dtype=[("label", np.array([one, other]).dtype)]),
        "row": np.array([[one, other]]),
        "row of lists": [[one, other]],
        "three dimensions": np.array([[[one]], [[other]]]),
        "one label": one,
        "array of no dimension": np.array(one),
        "dates": np.array(["2020-01-01", "2020-01-02"], dtype="M8[ns]"),
        "durations": np.array([-1, 1], dtype="m8[ns]"),
        "series of dates": pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
        "series of durations": pl.Series([datetime.timedelta(1), datetime.timedelta(2)]),
        "complex": np.array([-1 + 0j, 1 + 0j]),
        "none": [one, None],
        "nan": [one, float("nan")],
        "NA": pd.Series([one, None]).convert_dtypes(),
        "object with NaN": np.array([one, np.nan], dtype=object),
        "a set among them": [one, {other}],
        "of two types": [one, "maybe" if one == -1 else 5],
        "object with a list": np.array([one, [other]], dtype=object),
    }  # fmt: skip


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
def test_no_labels(name, numbers, fitted):
    one, other = (-1, 1) if numbers else ("no", "yes")
    for kind in both(one, other):
        for way in WAYS:
            model = learned(name, numbers) if fitted else LEARNERS[name]()
            before = model._core.save() if fitted else None
            y = both(one, other)[kind]
            with pytest.raises(ValueError, match=r"y\b|label|y=") as caught:
                getattr(model, way)(X, y)
            assert len(str(caught.value)) < 400, kind
            assert (model._core.save() if fitted else None) == before, kind


def test_a_word_is_not_a_list_of_letters():
    rows = RNG.standard_normal((40, 2))
    model = MOMDS(budget=10, random_state=1).fit(rows, np.where(rows[:, 0] > 0, "a", "b"))
    for word in ("ab", np.array("ab"), np.str_("ab"), b"ab", bytearray(b"ab")):
        for way in WAYS:
            with pytest.raises(ValueError, match=r"\by\b"):
                getattr(model, way)(X, word)


def test_bytes_are_no_numbers():
    rows = RNG.standard_normal((40, 2))
    model = MOMDS(budget=10, random_state=1).fit(rows, np.where(rows[:, 0] > 0, 97, 98))
    for word in (b"ab", bytearray(b"ab")):
        for way in WAYS:
            with pytest.raises(ValueError, match=r"\by\b"):
                getattr(model, way)(X, word)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_one_row_of_one_column_is_read_by_its_value(library):
    """It was learned as the name of the column."""
    rows = RNG.standard_normal((60, 2))
    labels = np.where(rows[:, 0] > 0, "yes", "no")
    table = {"yes": labels}
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[library](table)
    plain, framed = (MOMDS(budget=10, random_state=1).partial_fit(rows[:20], labels[:20]) for _ in range(2))
    for t in range(20, 60):
        plain.partial_fit(rows[t : t + 1], labels[t : t + 1])
        one = frame.iloc[t : t + 1] if library == "pandas" else frame[t : t + 1]
        framed.partial_fit(rows[t : t + 1], one)
    assert plain._core.save() == framed._core.save()


class OwnList(list):
    pass


@pytest.mark.parametrize("numbers", [True, False])
def test_sequences_of_labels_are_understood(numbers):
    one, other = (-1, 1) if numbers else ("no", "yes")
    expected = learned("MOMDS", numbers)
    state = expected._core.save()
    expected.partial_fit(X, [one, other])
    plain = [one, other]
    for y in (
        plain, tuple(plain), OwnList(plain), collections.deque(plain), np.array(plain), np.array(plain, dtype=object),
        pd.Series(plain), pd.Series(plain, dtype="category"), pd.Series(plain).convert_dtypes(), pd.Index(plain),
        pd.array(plain), pd.Categorical(plain), pl.Series(plain), pa.array(plain), pa.chunked_array([plain]),
        pa.array(plain).dictionary_encode(), Labelled(plain), pd.DataFrame({"y": plain}),
    ):  # fmt: skip
        model = learned("MOMDS", numbers)
        model._core.load(state)
        model.partial_fit(X, y)
        assert model._core.save() == expected._core.save(), type(y)


TABLES = {
    "dict": {"a": [1.0, 2.0], "b": [3.0, 4.0]},
    "mapping": types.MappingProxyType({"a": [1.0, 2.0], "b": [3.0, 4.0]}),
    "set": {(1.0, 2.0), (3.0, 4.0)},
    "frozenset": frozenset([(1.0, 2.0), (3.0, 4.0)]),
    "generator": (row for row in [[1.0, 2.0], [3.0, 4.0]]),
    "iterator": iter([[1.0, 2.0], [3.0, 4.0]]),
    "rows that are sets": [{1.0, 2.0}, {3.0, 4.0}],
    "rows that are dicts": [{"a": 1.0}, {"a": 2.0}],
    "rows that are dicts, later": [[1.0, 2.0], {"a": 2.0}],
    "rows that are words": ["12", "34"],
    "rows that are bytes": [b"12", b"34"],
    "rows that are generators": [(v for v in (1.0, 2.0)), (v for v in (1.0, 2.0))],
    "names": Names(a=[1.0], b=[2.0]),
    "number": 3.0,
    "array of no dimension": np.array(3.0),
    "series": pd.Series([1.0, 2.0]),
    "list of numbers": [1.0, 2.0],
    "three dimensions": np.zeros((2, 2, 1)),
    "rows that differ": [[1.0, 2.0], [3.0]],
    "dates": np.array([["2020-01-01", "2021-01-01"]] * 2, dtype="M8[ns]"),
    "durations": np.ones((2, 2), dtype="m8[s]"),
    "rows of dates": [[np.datetime64("2020-01-01"), np.datetime64("2020-01-01")]] * 2,
    "rows of durations": [[np.timedelta64(1, "s"), np.timedelta64(2, "s")]] * 2,
    "objects that are dates": np.array([[np.datetime64("2020-01-01"), 1.0]] * 2, dtype=object),
    "objects that are durations": np.array([[np.timedelta64(1, "s"), 1.0]] * 2, dtype=object),
    "masked": np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]]),
    "masked without a mask": np.ma.array([[1.0, 2.0], [3.0, 4.0]]),
    "rows that are masked": [np.ma.array([1.0, 2.0], mask=[True, False]), [3.0, 4.0]],
    "structured": np.zeros((2, 2), dtype=[("a", float)]),
    "structured rows": np.zeros(2, dtype=[("a", float), ("b", float)]),
    "complex": np.ones((2, 2), dtype=complex),
    "objects that are complex": np.array([[1j, 1.0]] * 2, dtype=object),
    "words": np.array([["a", "b"]] * 2),
    "frame of dates": pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 2), "b": [1.0, 2.0]}),
    "frame of digits": pd.DataFrame({"a": ["1", "2"], "b": [1.0, 2.0]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.filterwarnings("error", "ignore:X has feature names")
def test_no_rows(name, fitted, kind):
    model = learned(name, numbers=True) if fitted else LEARNERS[name]()
    before = model._core.save() if fitted else None
    for way in (*WAYS, "predict", "decision_function") if fitted else WAYS:
        # A strange thing in a cell is a TypeError, as scikit-learn's own checks demand.
        with pytest.raises((ValueError, TypeError)) as caught:
            getattr(model, way)(TABLES[kind], *([[-1, 1]] if way in WAYS else []))
        assert len(str(caught.value)) < 500
        assert (model._core.save() if fitted else None) == before


def test_masked_arrays_and_dates_are_refused_with_a_remedy():
    model = learned("MOMDS", numbers=True)
    for kind, remedy in (("masked", "filled"), ("dates", "seconds"), ("durations", "seconds")):
        with pytest.raises(ValueError, match=remedy):
            model.partial_fit(TABLES[kind], [-1, 1])
        with pytest.raises(ValueError, match=r"filled|seconds|text"):
            model.partial_fit(X, both(-1, 1)[kind])
        with pytest.raises(ValueError, match=remedy):
            model.partial_fit(X, [-1, 1], sample_weight=TABLES[kind][0])


class Frame(pd.DataFrame):
    @property
    def _constructor(self):
        return Frame


def test_tables_are_understood():
    expected = learned("MOMDS", numbers=True)
    state = expected._core.save()
    expected.partial_fit(X, [-1, 1])
    for rows in (
        X.tolist(), tuple(map(tuple, X.tolist())), list(X), Labelled(X), np.asfortranarray(X), X.astype(object),
        [[Decimal(repr(v)) for v in row] for row in X.tolist()], [pd.Series(row) for row in X],
        np.asarray(X).view(np.recarray), memoryview(X),
    ):  # fmt: skip
        model = learned("MOMDS", numbers=True)
        model._core.load(state)
        model.partial_fit(rows, [-1, 1])
        assert model._core.save() == expected._core.save(), type(rows)
    framed = MOMDS(budget=10, random_state=1).fit(Frame(X, columns=["a", "b"]), [-1, 1])
    assert framed.feature_names_in_.tolist() == ["a", "b"]


WEIGHTS = {
    "dict": {0: 1.0, 1: 2.0},
    "set": {1.0, 2.0},
    "generator": (w for w in (1.0, 2.0)),
    "frame": pd.DataFrame({"w": [1.0, 2.0]}),
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "masked without a mask": np.ma.array([1.0, 2.0]),
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype="M8[ns]"),
    "durations": np.array([1, 2], dtype="m8[s]"),
    "list of durations": [np.timedelta64(1, "s"), np.timedelta64(2, "s")],
    "digits": ["1", "2"],
    "array of digits": np.array(["1", "2"]),
    "bytes": b"12",
    "word": "2",
    "complex": np.array([1 + 0j, 2]),
    "none": [1.0, None],
    "NA": pd.Series([1, None], dtype="Int64"),
    "null": pl.Series([1.0, None]),
    "structured": np.array([(1.0,), (2.0,)], dtype=[("w", float)]),
    "series of dates": pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
    "names": Names(a=1.0, b=2.0),
}  # fmt: skip


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.filterwarnings("error")
def test_no_weights(kind, fitted):
    for way in WAYS:
        model = learned("MOMDS", numbers=True) if fitted else MOMDS(budget=10, random_state=1)
        before = model._core.save() if fitted else None
        with pytest.raises(ValueError, match=r"[wW]eight"):
            getattr(model, way)(X, [-1, 1], sample_weight=WEIGHTS[kind])
        assert (model._core.save() if fitted else None) == before


def test_weights_in_any_series():
    expected = MOMDS(budget=10, random_state=1).fit(X, [-1, 1], sample_weight=np.array([1.0, 2.0]))
    for weights in (pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2]), pd.Series([1, 2], dtype="Int64"), (1, 2)):
        model = MOMDS(budget=10, random_state=1).fit(X, [-1, 1], sample_weight=weights)
        assert model._core.save() == expected._core.save()


@pytest.mark.parametrize(
    "classes",
    [
        {-1: 0, 1: 1}, {-1: 0, 1: 1}.keys(), "ab", b"ab", (c for c in (-1, 1)), np.ma.array([-1, 1]),
        np.array([[-1, 1]]), np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), np.array([1, 2], dtype="m8[s]"),
        [-1j, 1j], pd.DataFrame({"a": [-1, 1], "b": [-1, 1]}), 5, np.array([(1,), (2,)], dtype=[("a", int)]),
        [-1, {1}], [-1, [1]],
    ],
    ids=lambda classes: type(classes).__name__,
)  # fmt: skip
def test_no_classes(classes):
    for model in (learned("MOMDS", numbers=True), MOMDS(budget=10, random_state=1)):
        with pytest.raises(ValueError, match="classes"):
            model.partial_fit(X, [-1, 1], classes=classes)


def test_a_set_of_classes_has_no_order_and_needs_none():
    for classes in ({1, -1}, frozenset([1, -1]), pd.Series([1, -1]), pd.Index([1, -1]), pl.Series([1, -1]), (1, -1)):
        model = MOMDS(budget=10, random_state=1).partial_fit(X, [1, 1], classes=classes)
        assert model.classes_.tolist() == [-1, 1]
        model.partial_fit(X, [-1, 1], classes=classes)


# ---- River ----------------------------------------------------------------------------------------------------------


def river_model():
    river = pytest.importorskip("pocketkernel.river", reason="River is not installed")
    model = river.KernelClassifier(MOMDS(budget=10), width=4, seed=1)
    for k in range(20):
        model.learn_one({"a": float(k % 3), "b": 1.0}, "no" if k % 2 else "yes")
    return model


@pytest.mark.parametrize(
    "y",
    [
        pd.DataFrame({"no": [1.0], "yes": [2.0]}), pd.DataFrame({"label": ["no", "yes"]}), {"no": 1, "yes": 2},
        {"no", "yes"}, (y for y in ("no", "yes")), "no", np.array([["no"], ["yes"]]), np.array("no"),
        np.ma.array(["no", "yes"]), np.array(["2020", "2021"], dtype="M8[Y]"), {"no": 0, "yes": 0}.keys(),
        pd.Series(["no", None]), ["no", np.nan], ["no", np.ma.masked], ["no", pd.NaT],
    ],
    ids=lambda y: type(y).__name__,
)  # fmt: skip
def test_river_labels(y):
    model = river_model()
    before = model.to_bytes()
    with pytest.raises((ValueError, TypeError), match=r"\by\b|hash"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 1.0]}), y)
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    "value",
    [
        np.timedelta64(3, "s"), np.datetime64("2020-01-01"), datetime.timedelta(1), np.array([1.0]), np.array([[1.0]]),
        pd.Series([1.0]), np.ma.masked, [1.0], {1.0}, {"x": 1.0}, b"1", None, 1j, pd.NA, pd.Timedelta(1, "s"),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_river_values(value):
    model = river_model()
    before = model.to_bytes()
    for call in (
        lambda: model.learn_one({"a": value, "b": 1.0}, "no"),
        lambda: model.predict_one({"a": value, "b": 1.0}),
    ):
        with pytest.raises(ValueError, match=r"x\['a'\]="):
            call()
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    "x", [[1.0], {1.0}, pd.Series([1.0]), "a", None, pd.DataFrame({"a": [1.0]}), [("a", 1.0)]], ids=str
)
def test_river_features(x):
    model = river_model()
    with pytest.raises(TypeError, match="give a dict of features"):
        model.learn_one(x, "no")


@pytest.mark.parametrize(
    "w", ["1", ["1", "1"], np.ma.array([1.0, 2.0]), np.array([1, 2], dtype="m8[s]"), {1.0, 2.0}, {0: 1.0, 1: 2.0}, None]
)
def test_river_weights(w):
    with pytest.raises(ValueError, match="a weight is a number from 0"):
        river_model().learn_many(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 1.0]}), ["no", "yes"], w=w)


def test_a_value_that_changes_the_dict_of_features():
    model = river_model()
    features = {"a": 1.0, "b": 1.0}

    class Hostile:
        def __float__(self):
            features.clear()
            features.update({str(k): 1.0 for k in range(1000)})
            return 1.0

    features["a"] = Hostile()
    model.learn_one(features, "no")
    assert len(features) == 1000
    same = river_model()
    same.learn_one({"a": 1.0, "b": 1.0}, "no")  # as the dict was when it was given
    assert model.to_bytes() == same.to_bytes()


# ---- labels of text, in every container ------------------------------------------------------------------------------

NAMES = np.where(np.random.default_rng(5).normal(size=60) > 0, "plum", "kiwi")
VARIABLE = getattr(np.dtypes, "StringDType", None)
TEXTS = {
    "object": lambda: NAMES.astype(object),
    "np.str_": lambda: [np.str_(name) for name in NAMES],
    "str and np.str_": lambda: [np.str_(name) if name == "plum" else str(name) for name in NAMES],
    "pandas string": lambda: pd.Series(NAMES, dtype="string"),
    "pandas Arrow": lambda: pd.Series(NAMES, dtype=pd.ArrowDtype(pa.string())),
    "pandas categories, some unused": lambda: pd.Series(pd.Categorical(NAMES, ["apple", "kiwi", "plum", "quince"])),
    "polars": lambda: pl.Series(NAMES),
    "polars categories, some unused": lambda: pl.Series(NAMES, dtype=pl.Enum(["apple", "kiwi", "plum"])),
    "arrow": lambda: pa.array(NAMES),
    "arrow dictionary": lambda: pa.array(NAMES).dictionary_encode(),
}
if VARIABLE is not None:
    TEXTS |= {
        "StringDType": lambda: NAMES.astype(VARIABLE()),
        "StringDType with NaN": lambda: NAMES.astype(VARIABLE(na_object=np.nan)),
    }


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("class_", [PocketClassifier, MOMDS])
def test_labels_of_text_are_the_same_in_every_container(class_, kind):
    X = np.random.default_rng(5).normal(size=(60, 3))
    X[:, 0] = np.where(NAMES == "plum", 1, -1)
    y = TEXTS[kind]()

    def learners(labels):
        fitted = class_(memory="16KiB", random_state=0).fit(X, labels)
        pieces = class_(memory="16KiB", random_state=0).partial_fit(X[:30], labels[:30], classes=labels)
        pieces.partial_fit(X[30:], labels[30:])
        ahead = class_(memory="16KiB", random_state=0)
        ahead.predict_then_learn(X, labels, classes=["kiwi", "plum"])
        return fitted, pieces, ahead

    for learner, usual in zip(learners(y), learners(NAMES), strict=True):
        assert learner.classes_.tolist() == ["kiwi", "plum"] and learner.classes_.dtype.kind in "UO"
        np.testing.assert_array_equal(learner.decision_function(X), usual.decision_function(X))
        assert learner.score(X, y) == usual.score(X, NAMES) > 0.9


@pytest.mark.skipif(VARIABLE is None, reason="needs NumPy 2")
@pytest.mark.parametrize("nothing", [np.nan, None])
def test_text_of_any_length_without_a_label(nothing):
    X, y = np.ones((3, 2)), np.array(["a", nothing, "b"], VARIABLE(na_object=nothing))
    learner = PocketClassifier(memory="16KiB").fit(X, ["a", "b", "a"])
    for call in (learner.fit, learner.partial_fit, learner.predict_then_learn, learner.score):
        with pytest.raises(ValueError, match=f"y has no label in row 1, but {nothing}: drop such rows first"):
            call(X, y)


@pytest.mark.parametrize("y", [np.array([b"a", b"b"]), [b"a", b"b"], np.array([b"a", b"b"], object)])
def test_labels_of_bytes_are_refused(y):
    for call in (PocketClassifier(memory="16KiB").fit, PocketClassifier(memory="16KiB").score):
        with pytest.raises((TypeError, ValueError), match=r"bytes|not fitted"):
            call(np.ones((2, 2)), y)
    with pytest.raises(ValueError, match=r"cannot be written to a file: use .shorter. strings or numbers"):
        PocketClassifier(memory="16KiB").partial_fit(np.ones((2, 2)), y, classes=y)
