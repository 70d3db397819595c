"""Learners as River models: River's checks, the same bits as the learners, names that come and go."""

import copy
import importlib
import math
import pickle
import sys
import threading
from collections import Counter, UserDict
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import base, checks, compose, datasets, evaluate, metrics, multiclass, preprocessing, utils
from sklearn.linear_model import SGDClassifier
from sklearn.utils import get_tags

import discover
import pocketkernel
import streams
from discover import ESTIMATORS
from meeting import switching_often
from pocketkernel import (
    MOMDH,
    MOMDS,
    LKMBooks,
    MulticlassMOMDS,
    PocketClassifier,
    PocketRegressor,
    Raker,
    SharedMOMDH,
    gaussians,
    model_file,
)
from pocketkernel._hash import hash_of
from pocketkernel.learners import plausible
from pocketkernel.model_file import ModelFileError
from pocketkernel.river import KernelClassifier, KernelRegressor
from pocketkernel.river._columns import Values
from pocketkernel.river._labels import sigmoid

MANY = [class_ for class_ in ESTIMATORS if get_tags(discover.small(class_)).classifier_tags.multi_class]
BINARY = [class_ for class_ in ESTIMATORS if class_ not in MANY]
every_class_of_many = pytest.mark.parametrize("class_", MANY, ids=lambda class_: class_.__name__)
every_binary_class = pytest.mark.parametrize("class_", BINARY, ids=lambda class_: class_.__name__)
every_class = pytest.mark.parametrize("class_", ESTIMATORS, ids=lambda class_: class_.__name__)


def adapted(class_, *, width=64, seed=None, **given):
    """A learner of the class, with these parameters, as a River model."""
    return KernelClassifier(class_(**given), width=width, seed=seed)


def small(class_, *, n_classes=None, width=4, seed=1, **given):
    """The same with few rows or frequencies, and room for three labels where it can be."""
    room = {"n_classes": n_classes or 3} if class_ in MANY else {}
    learner = discover.small(class_, **{"random_state": None} | room | given)
    return KernelClassifier(learner, width=width, seed=seed)


def rows_of(X, names="abcdefghij"):
    return [dict(zip(names, row, strict=False)) for row in np.asarray(X, dtype=float).tolist()]


def taught(model, xs, ys):
    for x, y in zip(xs, ys, strict=True):
        model.learn_one(x, y)
    return model


def state(model):
    """All that has been learned."""
    core = None if model._model is None else model._model._core.save()
    labels = model._labels
    return core, model.columns_, list(model.columns_), model.collisions_, labels.places, labels.known


X, SIGNS = streams.rings(300, d=4)
XS, YS = rows_of(X), (SIGNS > 0).tolist()


# ---- River's checks -------------------------------------------------------------------------------------------------

TRIED = list(KernelClassifier._unit_test_params())


def title(params):
    learner = params.get("learner")
    return f"{type(learner).__name__}-{getattr(learner, 'n_classes', None)}" if params else "usual"


def river_checks():
    for k, params in enumerate(TRIED):
        for n, check in enumerate(checks.yield_checks(KernelClassifier(**params))):
            yield pytest.param(k, n, id=f"{title(params)}-{n}-{check.__name__}")


@pytest.mark.parametrize("k, n", list(river_checks()))
def test_river_check(k, n):
    model = KernelClassifier(**TRIED[k])
    check = list(checks.yield_checks(model))[n]  # made anew: a check's data can be read only once
    check(model.clone())


@pytest.mark.parametrize("params", TRIED, ids=title)
def test_no_check_is_skipped(params):
    model = KernelClassifier(**params)
    names = Counter(check.__name__ for check in checks.yield_checks(model))
    print(f"{title(params)}: {names.total()} checks")
    assert model._unit_test_skips() == set()
    assert names.total() > 20
    assert "check_seeding_is_idempotent" in names


def test_every_learner_is_checked():
    assert {type(params["learner"]) for params in TRIED if params} == set(ESTIMATORS)
    assert {type(params["learner"]) for params in TRIED if getattr(params.get("learner"), "n_classes", None)} == set(
        MANY
    )
    assert {} in TRIED


# ---- the adapter ----------------------------------------------------------------------------------------------------


class Tomorrow(MulticlassMOMDS):
    """A learner that the adapter has never seen, with a parameter and an attribute of its own."""

    def __init__(self, *, patience=3, memory="32KiB", n_classes=None, random_state=None):
        super().__init__(memory=memory, n_classes=n_classes, random_state=random_state)
        self.patience = patience

    @property
    def patience_left_(self):
        return self.patience - 1


def test_a_new_learner_needs_no_code_for_river(tmp_path):
    xs, ys = segments(300)
    model = preprocessing.StandardScaler() | KernelClassifier(Tomorrow(patience=5, n_classes=7), width=18, seed=0)
    metric = evaluate.progressive_val_score(zip(xs, ys, strict=True), model.clone(), metrics.Accuracy())
    assert metric.get() > 0.5
    taught(model, xs, ys)
    inner = model["KernelClassifier"]
    assert "learner=Tomorrow" in repr(inner)
    assert "patience=5" in repr(inner)
    assert str(inner) == "KernelClassifier(Tomorrow)"
    assert inner.learner_.patience_left_ == 4
    assert inner.learner_.diagnostics_.rounds == 300
    assert 28 * 1024 < inner.nbytes <= 32 * 1024
    assert type(inner.clone().learner) is Tomorrow
    with pytest.raises(TypeError, match="Tomorrow is not a class of pocketkernel"):
        inner.save(tmp_path / "model.pk")
    checks.check_estimator(inner)


def test_the_learner_given_is_a_template():
    learner = MOMDS(budget=8, loss="logistic")
    model = KernelClassifier(learner, width=4, seed=1)
    assert not hasattr(model, "learner_")
    taught(model, XS, YS)
    assert not hasattr(learner, "classes_")
    assert learner.random_state is None
    assert model.learner is learner
    assert model.learner_ is not learner
    assert model.learner_.random_state == 1
    assert model.learner_.get_params() == learner.get_params() | {"random_state": 1}


def test_parameters_by_river():
    model = preprocessing.StandardScaler() | small(MOMDS)
    grid = {"KernelClassifier": {"learner": [(MOMDS, {"step": [0.5, 1.0]}), (Raker, {"features": [9]})], "seed": [3]}}
    models = [each["KernelClassifier"] for each in utils.expand_param_grid(model, grid)]
    assert [repr(each.learner) for each in models] == ["MOMDS(step=0.5)", "MOMDS()", "Raker(features=9)"]
    assert {each.seed for each in models} == {3}
    assert model.clone({"KernelClassifier": {"width": 5}})["KernelClassifier"].width == 5
    assert isinstance(model["KernelClassifier"], base.MiniBatchClassifier)


@pytest.mark.parametrize(
    "learner, error, message",
    [
        (
            SGDClassifier(),
            TypeError,
            r"learner=SGDClassifier\(\) is not a learner of pocketkernel .*compat.convert_sklearn_to_river",
        ),
        (MOMDS, TypeError, "is not a learner of pocketkernel for a KernelClassifier: use for"),
        (MOMDS(random_state=3), ValueError, "random_state=3: pass the seed to KernelClassifier as seed=..."),
    ],
    ids=str,
)
def test_learners_that_are_refused(learner, error, message):
    model = KernelClassifier(learner)
    with pytest.raises(error, match=message):
        model.learn_one({"a": 1.0}, True)
    with pytest.raises(error, match=message):
        model.nbytes  # noqa: B018


def test_without_river(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "pocketkernel.river")
    with pytest.raises(ImportError, match=r"pip install 'pocketkernel\[river\]'"):
        importlib.import_module("pocketkernel.river")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@every_binary_class
def test_scores_are_those_of_the_learner(class_, dtype):
    twin = discover.small(class_, dtype=dtype)
    expected = twin.predict_then_learn(X, SIGNS, classes=[-1, 1])
    model = small(class_, dtype=dtype)
    scores = []
    for x, y in zip(XS, YS, strict=True):
        scores.append(model._score(x))
        model.learn_one(x, y)
    assert np.array_equal(scores, expected)
    assert np.array_equal([model.predict_one(x) for x in XS], twin.predict(X) == 1)
    assert np.array_equal(model.learner_.kernel_weights_, twin.kernel_weights_)
    assert model.learner_.diagnostics_.rounds == 300
    assert model.learner_.diagnostics_.mistakes == twin.diagnostics_.mistakes
    assert model.learner_.budget_ == twin.budget_
    assert model.nbytes == twin.nbytes


def test_probabilities():
    model = taught(small(MOMDS), XS, YS)
    for x in XS:
        score, odds = model._score(x), model.predict_proba_one(x)
        assert list(odds) == [False, True]
        assert odds[True] == pytest.approx(1 / (1 + np.exp(-score)), rel=1e-15)
        assert odds[False] + odds[True] == 1
        assert model.predict_one(x) is (odds[True] >= 0.5)


@pytest.mark.parametrize("score", [-1e4, -750.0, -40.0, -1e-20, 0.0, 1e-20, 40.0, 750.0, 1e4])
def test_sigmoid_is_a_probability(score):
    p = sigmoid(score)
    assert 0 <= p <= 1
    assert (p >= 0.5) == (score >= 0) or abs(score) < 1e-15
    assert p > 0 or score < -740


@pytest.mark.parametrize("model", [small(MOMDH), small(MOMDS, loss="smooth_hinge"), small(Raker, loss="hinge")])
def test_no_probabilities_without_the_logistic_loss(model):
    for learned in (model, taught(model.clone(), XS, YS)):
        for ask in (learned.predict_proba_one, learned.predict_proba_many):
            with pytest.raises(NotImplementedError, match="use predict_one, or a learner with loss='logistic'"):
                ask(XS[0])


# ---- names that come and go -----------------------------------------------------------------------------------------


def test_a_missing_feature_is_zero():
    whole, holes = small(MOMDS), small(MOMDS)
    for model in (whole, holes):
        model.learn_one(dict.fromkeys("abcd", 1.0), True)
    for n, (x, y) in enumerate(zip(XS, YS, strict=True)):
        kept = {name: value for k, (name, value) in enumerate(x.items()) if (n >> k) & 1}
        zeros = dict.fromkeys("abcd", 0.0) | kept
        assert holes._score(kept) == whole._score(zeros)
        holes.learn_one(kept, y)
        whole.learn_one(zeros, y)
    assert state(holes) == state(whole)


@every_class
def test_an_empty_row(class_):
    model = small(class_)
    assert model.predict_one({}) is None
    model.learn_one({}, True)
    model.learn_one({}, False)
    assert model.predict_one({}) in (False, True)
    assert model.columns_ == {}


def test_names_get_columns_as_they_appear():
    model = small(MOMDS)
    model.learn_one({"c": 1.0, "b": 2.0}, True)
    assert model.columns_ == {"b": 0, "c": 1}
    model.learn_one({("t", 1): 1.0, 7: 2.0, "b": 1.0}, True)
    assert model.columns_ == {"b": 0, "c": 1, 7: 2, ("t", 1): 3}
    assert model.collisions_ == 0
    model.learn_one({"d": 1.0, "b": 3.0, "e": 1.0}, True)
    assert len(model.columns_) == 4
    assert model.collisions_ == 2


def test_the_order_of_a_dict_is_of_no_matter():
    """Hashed names as well: their values are summed in an order of their own."""
    rng = np.random.default_rng(0)
    X, signs = streams.rings(200, d=10)
    one, other = small(MOMDS, width=3), small(MOMDS, width=3)
    for x, y in zip(rows_of(X), signs > 0, strict=True):
        names = rng.permutation(list(x)).tolist()
        shuffled = {name: x[name] for name in names}
        assert one._score(x) == other._score(shuffled)
        one.learn_one(x, y)
        other.learn_one(shuffled, y)
    assert state(one) == state(other)
    assert one.collisions_ == 200 * 7


def test_hashing_beyond_the_width():
    model = small(MOMDS, width=3)
    model.learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, True)
    shared = {"e": 2.0, "g": 3.0, "h": 5.0, 8: 7.0, "é\ud800": 11.0}
    names = model._columns.new_names(Values(shared))
    assert names == ({}, [8, "e", "g", "h", "é\ud800"])
    rows = model._columns.rows(Values({"a": 0.5} | shared), 1, *names)
    assert rows.tolist() == [[0.5 - 2, 5 - 11, 7 - 3]]  # must stay so: saved models rely on it
    model.learn_one({"a": 0.5} | shared, False)
    twin = MOMDS(budget=8, random_state=1).partial_fit([[1, 1, 1]], [1], classes=[-1, 1])
    twin.partial_fit(rows, [-1])
    assert model._model._core.save() == twin._core.save()
    assert model.collisions_ == 5


def test_signs_of_hashed_values_even_out():
    model = small(MOMDS, width=8)
    model.learn_one(dict.fromkeys("abcdefgh", 0.0), True)
    names = [f"word {n}" for n in range(4000)]
    rows = np.concatenate([model._columns.rows(Values({name: 1.0}), 1, {}, [name]) for name in names])
    assert np.all(np.abs(np.abs(rows).sum(axis=0) - 500) < 100)
    assert np.all(np.abs(rows.sum(axis=0)) < 100)


def test_unseen_names_at_prediction():
    model = small(MOMDS)
    taught(model, [{"a": x["a"], "b": x["b"]} for x in XS], YS)
    x = {"a": 0.3, "b": -0.2}
    assert model._score(x | {"z": 9.0, "y": 1.0}) == model._score(x)  # no column yet: left out
    model.learn_one(dict.fromkeys("abcd", 0.1), True)
    assert model._score(x | {"z": 9.0}) != model._score(x)  # all columns taken: hashed
    assert (
        model._score(x | {"z": 9.0})
        == model._scores(Values({name: np.array([v]) for name, v in (x | {"z": 9.0}).items()}), 1)[0]
    )


@every_class
def test_prediction_is_pure(class_):
    for width in (3, 4, 6):
        model = taught(small(class_, width=width), XS, YS)
        before = pickle.dumps(model)
        for x in (XS[0], {}, {"a": 1.0}, {"new": 1.0}, XS[1] | {"new": 1.0, 5: 2}):
            model.predict_one(x)
            model.predict_many(pd.DataFrame([x]))
            if class_ not in (MOMDH, SharedMOMDH):
                model.predict_proba_one(x)
                model.predict_proba_many(pd.DataFrame([x]))
        with pytest.raises(ValueError, match="not a finite number"):
            model.predict_one({"a": b"bytes"})
        model.predict_one({"a": "text"})
        assert model.nbytes > 0
        assert model._raw_memory_usage > 0
        assert pickle.dumps(model) == before


def test_any_mapping_and_any_number():
    plain, other = small(MOMDS), small(MOMDS)
    for n, y in enumerate(YS[:50]):
        plain.learn_one({"a": float(n % 2), "b": 0.25 * n, "c": 1.0}, y)
        values = {"a": np.bool_(n % 2), "b": Fraction(n, 4), "c": np.float32(1)}
        other.learn_one([Counter(values), UserDict(values)][n % 2], np.bool_(y))
    assert state(plain)[:4] == state(other)[:4]


def test_missing_values():
    """None and NaN are what NaN is to the learner; a feature that is not there is 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200).astype(bool)
    X[rng.random(X.shape) < 0.3] = np.nan
    by_row, by_frame, plain = (small(PocketClassifier) for _ in range(3))
    frame = pd.DataFrame(X, columns=list("abc"))
    by_frame.learn_many(frame, pd.Series(y))
    for n, (values, label) in enumerate(zip(X, y, strict=True)):
        row = dict(zip("abc", values.tolist(), strict=True))
        plain.learn_one(row, label)
        lost = [None, pd.NA, float("nan")][n % 3]
        by_row.learn_one({name: lost if np.isnan(value) else value for name, value in row.items()}, label)
    assert state(by_row) == state(by_frame) == state(plain)
    odds = [plain.predict_proba_one({"a": 0.0, "b": lost}) for lost in (None, float("nan"), 0.0)]
    assert odds[0] == odds[1] != odds[2]


# ---- bad rows -------------------------------------------------------------------------------------------------------

BAD = {
    "bytes": (b"1", r"x\['a'\]=b'1' is not a finite number, nor text"),
    "a date": (np.datetime64("2024-01-01"), r"x\['a'\]=.* is not a finite number, nor text"),
    "none": (None, r"x\['a'\]=None is not .* fill in missing values with river.preprocessing.StatImputer"),
    "nan": (float("nan"), r"x\['a'\]=nan is not .*StatImputer"),
    "pandas na": (pd.NA, r"x\['a'\]=<NA> is not .*StatImputer"),
    "infinity": (-np.inf, r"x\['a'\]=-inf is not a finite number"),
    "huge integer": (10**400, r"x\['a'\]=1000+\.\.\.0+ is not a finite number"),
    "complex": (1j, r"x\['a'\]=1j is not a finite number"),
    "list": ([1.0], r"x\['a'\]=\[1.0\] is not a finite number"),
    "too large": (1e37, r"square would overflow .*: rescale the column .* The largest value is that of 'a'\."),
}


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("what", BAD)
@every_class
def test_a_bad_row_changes_nothing(class_, what, started):
    value, message = BAD[what]
    model = small(class_)
    if what in ("none", "nan", "pandas na") and get_tags(model.learner).input_tags.allow_nan:
        pytest.skip("to this learner it is a missing value")
    if started:
        taught(model, [{"a": 1.0, "b": 2.0}, {"b": 1.0}], [True, True])
    before = state(copy.deepcopy(model))
    for x in ({"a": value}, {"a": value, "b": 1.0, "new": 1.0}):
        with pytest.raises(ValueError, match=message):
            model.learn_one(x, False)
        frame = pd.DataFrame([dict.fromkeys(x, 1.0), x], dtype=object)
        with pytest.raises(ValueError, match=message):
            model.learn_many(frame, pd.Series([True, False]))
        if started or what != "too large":
            with pytest.raises(ValueError, match=message):
                model.predict_one(x)
            with pytest.raises(ValueError, match=message):
                model.predict_many(frame)
    assert state(model) == before


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.nan],
        [1.0, np.inf],
        [b"1", b"2"],
        [1, 1j],
        pd.array([1, None], dtype="Int64"),
        pd.to_datetime(["2024-01-01", "2024-01-02"]),
    ],
    ids=lambda column: str(getattr(column, "dtype", column)),
)
def test_bad_columns(column):
    model = taught(small(MOMDS), [{"a": 1.0}], [True])
    before = state(copy.deepcopy(model))
    frame = pd.DataFrame({"new": [1.0, 2.0], "a": column})
    for ask in (lambda: model.learn_many(frame, pd.Series([True, False])), lambda: model.predict_many(frame)):
        with pytest.raises(ValueError, match=r"x\['a'\]=.* is not a finite number"):
            ask()
    assert state(model) == before


def test_long_values_are_cut_short():
    with pytest.raises(ValueError) as caught:
        small(MOMDS).learn_one({"text": b"word " * 1000}, True)
    assert len(str(caught.value)) < 300


@every_class
@pytest.mark.parametrize(
    "given, message",
    [
        ({"width": 0}, "width=0 is not a whole number from 1 to 1,000,000"),
        ({"width": -3}, "width=-3 is not a whole number from 1"),
        ({"width": 2.5}, "width=2.5 is not a whole number"),
        ({"width": True}, "width=True is not a whole number"),
        ({"width": 10**6 + 1}, "width=1000001 is not a whole number from 1"),
        ({"seed": "a"}, "seed='a' is neither None nor an integer from 0 to"),
        ({"seed": -1}, "seed=-1 is neither"),
        ({"kernels": ["gaussian"]}, "unknown kernel"),
        ({"dtype": "float16"}, "dtype='float16' is unknown"),
        ({"memory": "1KiB"}, "are both set"),
    ],
)
def test_bad_parameters_are_named_at_the_first_row(class_, given, message):
    if class_ is PocketClassifier:  # it has neither kernels nor a budget
        if "kernels" in given:
            return
        message = message.replace("are both set", r"\(1024 bytes\) is too small: PocketClassifier with 4 features")
    model = small(class_, **given)
    assert model.predict_one({"a": 1.0}) is None
    with pytest.raises(ValueError, match=message):
        model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match=message):
        model.nbytes  # noqa: B018
    assert model._model is None
    assert model.columns_ == {}


@every_class_of_many
@pytest.mark.parametrize("room", [1, "two", 2.5, 10_001])
def test_impossible_room(class_, room):
    model = small(class_, n_classes=room)
    with pytest.raises(ValueError, match=f"n_classes={room!r} is not a whole number from 2 to 10,000"):
        model.learn_one({"a": 1.0}, True)


def test_nothing_learned_yet():
    for ask in (lambda model: model.learner_, lambda model: model.certificate()):
        with pytest.raises(AttributeError, match="has not learned anything yet: call learn_one"):
            ask(small(MOMDS))


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "order, negative, positive",
    [
        ([True, False], False, True),
        ([False, True], False, True),
        ([1, 0], 0, 1),
        ([np.True_, np.False_], np.False_, np.True_),
        ([1, -1], -1, 1),
        ([-1, 1], -1, 1),
        ([1.0, 2.0], 2.0, 1.0),
        ([2, 0], 2, 0),
        ([0, 2], 0, 2),
        (["spam", "ham"], "spam", "ham"),
        ([("a", 1), ("b", 2)], ("a", 1), ("b", 2)),
    ],
)
def test_places_of_labels(order, negative, positive):
    model = small(MOMDS)
    taught(model, XS[:2], order)
    assert [type(label) for label in model._labels.known] == [type(negative), type(positive)]
    assert model._labels.known == [negative, positive]
    model = copy.deepcopy(small(MOMDS))
    first, second = order
    taught(model, XS[:1], [first])
    pickle.loads(pickle.dumps(model)).learn_one(XS[1], second)
    taught(model, XS[:50], [positive if y else negative for y in YS[:50]])
    plain = taught(taught(small(MOMDS), XS[:1], [first == positive]), XS[:50], YS[:50])
    assert state(model)[0] == state(plain)[0]
    for x in XS[50:]:
        assert model.predict_one(x) is model._labels.known[bool(plain.predict_one(x))]
        assert list(model.predict_proba_one(x)) == [negative, positive]
        assert list(model.predict_proba_one(x).values()) == list(plain.predict_proba_one(x).values())
    assert model.predict_many(pd.DataFrame(XS)).tolist() == [model.predict_one(x) for x in XS]


def test_before_any_label():
    model = small(MOMDS)
    assert model.predict_proba_one(XS[0]) == {False: 0.5, True: 0.5}
    assert model.predict_one(XS[0]) is None
    frame = pd.DataFrame(XS[:3], index=[5, 6, 7])
    assert model.predict_many(frame).tolist() == [None] * 3
    assert model.predict_proba_many(frame).to_dict("list") == {False: [0.5] * 3, True: [0.5] * 3}


def test_one_label_only():
    bools, words = taught(small(MOMDS), XS, [True] * 300), taught(small(MOMDS), XS, ["ham"] * 300)
    assert set(bools.predict_proba_one(XS[0])) == {False, True}
    assert bools.predict_proba_one(XS[0])[True] > 0.5
    assert words.predict_one(XS[0]) == words.predict_one({"a": 1e6}) == "ham"
    assert words.predict_proba_one(XS[0]) == {"ham": 1.0}
    assert words.predict_proba_many(pd.DataFrame(XS[:2])).to_dict("list") == {"ham": [1.0, 1.0]}


@every_binary_class
def test_a_third_label_is_refused(class_):
    model = taught(small(class_), XS[:2], ["a", "b"])
    before = state(copy.deepcopy(model))
    message = (
        r"y='c' is one label too many after \['a', 'b'\]: .* wrap the model in river.multiclass.OneVsRestClassifier"
    )
    with pytest.raises(ValueError, match=message):
        model.learn_one({"new": 1.0}, "c")
    with pytest.raises(ValueError, match=message):
        model.learn_many(pd.DataFrame(XS[:3]), pd.Series(["a", "b", "c"]))
    with pytest.raises(ValueError, match=message):
        small(class_).learn_many(pd.DataFrame(XS[:3]), pd.Series(["a", "b", "c"]))
    assert state(model) == before


@pytest.mark.parametrize("y", [None, float("nan")])
def test_a_missing_label_is_refused(y):
    model = small(MOMDS)
    with pytest.raises(ValueError, match="is not a label: learn only rows whose label is known"):
        model.learn_one(XS[0], y)
    assert state(model) == state(small(MOMDS))


# ---- odd cases -------------------------------------------------------------------------------------------------------


def test_a_subclass_is_not_saved():
    class Mine(KernelClassifier):
        pass

    model = taught(Mine(MOMDS(budget=8), width=4, seed=0), XS[:20], YS[:20])
    assert state(pickle.loads(pickle.dumps(taught(small(MOMDS), XS[:9], YS[:9])))) is not None
    with pytest.raises(TypeError, match=r"Mine is not a class of pocketkernel\.river"):
        model.to_bytes()


def test_bytes_do_not_grow_with_collisions():
    model = small(MOMDS)
    xs = rows_of(streams.rings(300, d=7)[0])
    taught(model, xs[:20], YS[:20])
    size = len(model.to_bytes())
    taught(model, xs * 40, YS * 40)
    assert model.collisions_ > 30_000
    assert len(model.to_bytes()) == size


@every_class
def test_rows_of_weight_zero_leave_no_trace(class_):
    model = taught(small(class_), XS[:20], YS[:20])
    before = state(model)
    model.learn_one({"junk": 1.0}, "other", w=0.0)
    model.learn_many(pd.DataFrame({"junk": [1.0, 2.0]}), pd.Series(["x", "y"]), w=[0.0, 0.0])
    assert state(model) == before


@every_class
def test_names_that_share_take_the_short_way_to_the_same_bits(class_):
    """Remembered places of hashed names change nothing."""
    xs = rows_of(streams.rings(300, d=9)[0])
    short_way, long_way = small(class_), small(class_)
    for x, y in zip(xs, YS, strict=True):
        assert short_way.predict_one(x) == long_way.predict_one(x)
        short_way.learn_one(x, y)
        long_way.learn_one(x, y)
        long_way._columns.shared.clear()
    assert state(short_way) == state(long_way)
    assert short_way.collisions_ == len(xs) * 5
    assert 0 < len(short_way._columns.shared) <= 4 * short_way.width


def test_a_list_is_no_row():
    with pytest.raises(TypeError, match=r"x=\[1, 2\] is a list: give a dict of features"):
        small(MOMDS).learn_one([1, 2], True)


@every_class
def test_plans(class_):
    model = small(class_)
    plan = model.plan()
    assert plan.nbytes == model.nbytes
    taught(model, XS[:5], YS[:5])
    assert (model.nbytes, model.learner_.budget_) == (plan.nbytes, plan.budget)


def test_two_threads_with_new_names_come_one_after_the_other():
    """Never a mixture."""
    model = adapted(MOMDS, budget=8, width=50, seed=0)

    def learn(which):
        for n in range(400):
            model.learn_one({f"{which}{n % 60}": 1.0}, bool(n % 2))

    with switching_often():
        threads = [threading.Thread(target=learn, args=(which,)) for which in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert model.learner_.diagnostics_.rounds == 800
    assert sorted(model.columns_.values()) == list(range(50))
    assert state(KernelClassifier.from_bytes(model.to_bytes())) == state(model)


# ---- more than two labels -------------------------------------------------------------------------------------------


def segments(count):
    rows = list(datasets.ImageSegments().take(count))
    scale = {name: max(abs(x[name]) for x, _ in rows) or 1.0 for name in rows[0][0]}
    return [{name: value / scale[name] for name, value in x.items()} for x, _ in rows], [y for _, y in rows]


@pytest.mark.parametrize("labels", [2, 7])
@every_class_of_many
def test_many_labels_are_those_of_the_learner(class_, labels):
    xs, ys = segments(300)
    ys = ys if labels == 7 else [y == "sky" for y in ys]
    seen = list(dict.fromkeys(ys))
    given = {"memory": "32KiB"}
    model = adapted(class_, n_classes=labels, width=18, seed=1, **given)
    twin = class_(random_state=1, **given)
    names = sorted(xs[0])
    rows = np.array([[x[name] for name in names] for x in xs])
    places = np.array([seen.index(y) for y in ys])
    expected = twin.predict_then_learn(rows, places, classes=range(labels))
    scores = []
    for x, y in zip(xs, ys, strict=True):
        scores.append(model._score(x) if model._model is not None else [0.0] * labels)
        model.learn_one(x, y)
    scores = np.array(scores)
    assert np.array_equal(scores[:, 1] - scores[:, 0] if labels == 2 else scores, expected)
    assert np.ptp(scores) > 1
    assert [model.predict_one(x) for x in xs] == [seen[place] for place in twin.predict(rows)]
    odds = np.array([list(model.predict_proba_one(x).values()) for x in xs])
    np.testing.assert_allclose(odds, twin.predict_proba(rows), rtol=1e-12)
    assert (model.nbytes, model.learner_.budget_) == (twin.nbytes, twin.budget_)
    assert np.array_equal(model.learner_.kernel_weights_, twin.kernel_weights_)
    if class_ is PocketClassifier:
        assert np.array_equal(model.learner_.frequencies_, twin.frequencies_)


@every_class_of_many
def test_labels_as_they_appear(class_):
    model = small(class_)
    assert model.predict_one(XS[0]) is None
    assert model.predict_proba_one(XS[0]) == {}
    for n, y in enumerate(["c", 7, "a"]):
        model.learn_one(XS[n], y)
        assert set(model.predict_proba_one(XS[0])) == {"c", 7, "a"} - {*["c", 7, "a"][n + 1 :]}
    before = state(model)
    with pytest.raises(
        ValueError, match=r"y='d' is one label too many after \['c', 7, 'a'\]: the learner has room for 3"
    ):
        model.learn_one(XS[3], "d")
    assert state(model) == before


@every_class_of_many
def test_room_for_two_labels(class_):
    """What River asks of a binary classifier: that metrics for two labels take it, and that it knows the bools."""
    assert small(class_, n_classes=3)._multiclass
    assert small(class_, n_classes=None)._multiclass
    model = small(class_, n_classes=2)
    assert not KernelClassifier(class_())._multiclass
    assert not model._multiclass
    assert metrics.ROCAUC().works_with(model)
    frame = pd.DataFrame(XS[:2])
    assert model.predict_one(XS[0]) is None
    assert model.predict_proba_one(XS[0]) == {False: 0.5, True: 0.5}
    assert model.predict_proba_many(frame).to_dict("list") == {False: [0.5, 0.5], True: [0.5, 0.5]}
    for _ in range(20):
        model.learn_one(XS[0], True)
    assert model.predict_one(XS[0]) is True
    assert set(model.predict_proba_one(XS[0])) == {False, True}
    assert model.predict_proba_one(XS[0])[True] > 0.7
    assert model.predict_proba_many(frame)[True][0] == model.predict_proba_one(XS[0])[True]
    word = taught(small(class_, n_classes=2), XS[:1], ["ham"])
    assert word.predict_proba_one(XS[0]) == {"ham": 1.0}
    model.learn_one(XS[1], "spam")  # of True and another label, the other one is the second
    assert set(model.predict_proba_one(XS[0])) == {True, "spam"}


@every_class_of_many
def test_many_labels_in_a_pipeline(class_):
    model = preprocessing.StandardScaler() | adapted(class_, n_classes=7, width=18, seed=0)
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(1000), model, metrics.Accuracy())
    assert metric.get() > (0.85 if class_ is PocketClassifier else 0.75)


def test_a_pocket_classifier_needs_no_scaler():
    accuracies = []
    for model in (
        adapted(PocketClassifier, width=9, seed=0),
        preprocessing.StandardScaler() | adapted(PocketClassifier, width=9, seed=0),
    ):
        metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
        accuracies.append(metric.get())
    assert min(accuracies) > 0.89
    assert abs(accuracies[0] - accuracies[1]) < 0.01


# ---- files ----------------------------------------------------------------------------------------------------------


@every_class
def test_saved_and_loaded(class_, tmp_path):
    xs = rows_of(streams.rings(300, d=7)[0])
    model = taught(small(class_), xs[:150], YS[:150])
    assert model.collisions_ > 0
    model.save(tmp_path / "model.pk")
    assert (tmp_path / "model.pk").read_bytes() == model.to_bytes()
    loaded = pocketkernel.load(tmp_path / "model.pk")
    assert type(loaded) is KernelClassifier
    assert type(loaded.learner) is class_
    assert repr(loaded) == repr(model)
    assert state(loaded) == state(model)
    for x, y in zip(xs[150:], YS[150:], strict=True):
        assert loaded.predict_one(x) == model.predict_one(x)
        model.learn_one(x, y)
        loaded.learn_one(x, y)
    assert loaded.to_bytes() == model.to_bytes()
    assert state(KernelClassifier.from_bytes(model.to_bytes())) == state(model)


def test_other_names_and_labels_are_kept(tmp_path):
    model = adapted(MOMDS, budget=8, width=4, seed=0)
    model.learn_one({"a": 1.0, 7: 2.0, 2.5: 0.5}, "spam")
    model.learn_one({"a": 2.0, 7: 1.0}, "ham")
    loaded = KernelClassifier.from_bytes(model.to_bytes())
    assert list(loaded.columns_) == list(model.columns_)
    assert loaded.predict_proba_one({"a": 1.0}) == model.predict_proba_one({"a": 1.0})
    model.learn_one({("a", "tuple"): 1.0}, "ham")
    with pytest.raises(ValueError, match=r"feature \('a', 'tuple'\) cannot be written"):
        model.save(tmp_path / "model.pk")
    assert not (tmp_path / "model.pk").exists()


def test_files_that_do_not_fit():
    model = taught(small(MOMDS), XS[:20], YS[:20])
    with pytest.raises(ValueError, match="has not learned anything yet"):
        small(MOMDS).to_bytes()
    with pytest.raises(ModelFileError, match=r"use pocketkernel.load"):
        MOMDS.from_bytes(model.to_bytes())
    plain = MOMDS(budget=8, random_state=0).fit(X, SIGNS)
    with pytest.raises(ModelFileError, match=r"has no model of pocketkernel\.river: use pocketkernel\.load"):
        KernelClassifier.from_bytes(plain.to_bytes())
    contents = model_file.decode(model.to_bytes(), plausible)
    for change in (
        {"river": "Raker"}, {"columns": None}, {"columns": ["a", "a"]}, {"columns": list("abcdefg")}, {"labels": 3},
        {"labels": [["a", 2]]}, {"labels": [["a", 0], ["b", 0]]}, {"labels": [["a", 0.0]]}, {"collisions": -1},
        {"collisions": 3}, {"collisions": "3"}, {"more": 1}, {"columns": [["a"]]},
        {"labels": [[True, 1], [False, "x"]]}, {"labels": [[True, 0], [1, 1]]},
    ):  # fmt: skip
        edited = contents.model | {"extra": contents.model["extra"] | change}
        with pytest.raises(ModelFileError, match="does not contain the columns and labels of a river model"):
            KernelClassifier.from_bytes(model_file.encode(model_file.Contents(edited, contents.state)))


# ---- weights --------------------------------------------------------------------------------------------------------


def test_weights():
    plain, weighted, many = (taught(small(MOMDS), XS[:20], YS[:20]) for _ in range(3))
    weighted.learn_one(XS[20], YS[20], w=1)
    weighted.learn_one(XS[21], YS[21], 1.0)
    frame, labels = pd.DataFrame(XS[20:22]), pd.Series(YS[20:22])
    many.learn_many(frame, labels, w=pd.Series([1, 1]))
    taught(plain, XS[20:22], YS[20:22])
    assert state(weighted) == state(plain) == state(many)


@every_class
def test_weights_scale_the_loss(class_):
    w = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 4.0], size=len(XS))
    one, many, heavy = small(class_), small(class_), small(class_)
    for x, y, weight in zip(XS, YS, w, strict=True):
        one.learn_one(x, y, w=weight)
    many.learn_many(pd.DataFrame(XS), pd.Series(YS), w=pd.Series(w))
    assert state(one) == state(many)
    assert one.learner_.diagnostics_.rounds == np.count_nonzero(w)
    heavy.learn_many(pd.DataFrame(XS), pd.Series(YS), w=4.0)
    assert state(heavy) != state(one)


@every_class
@pytest.mark.parametrize("w", [-1.0, math.nan, math.inf, "much", 1e10, None])
def test_impossible_weights(class_, w):
    model = taught(small(class_), XS[:20], YS[:20])
    before = state(model)
    with pytest.raises(ValueError, match="a weight is a number from 0 to 1e9"):
        model.learn_one(XS[20], YS[20], w=w)
    with pytest.raises(ValueError, match="a weight is a number from 0 to 1e9"):
        model.learn_many(pd.DataFrame(XS[:2]), pd.Series(YS[:2]), w=[1.0, w])
    assert state(model) == before


# ---- frames ---------------------------------------------------------------------------------------------------------

NAMES = ["a", "b", "c", "d", "e", "f", 7, 8]
names_of_a_block = st.lists(st.sampled_from(NAMES), unique=True)
blocks = st.lists(st.tuples(names_of_a_block, st.integers(0, 6)), max_size=6)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(class_=st.sampled_from(ESTIMATORS), blocks=blocks, width=st.integers(1, 9), seed=st.integers(0, 2**32))
def test_blocks_equal_rows(class_, blocks, width, seed):
    rng = np.random.default_rng(seed)
    one, many = small(class_, width=width), small(class_, width=width)
    for names, count in blocks:
        frame = pd.DataFrame(rng.normal(size=(count, len(names))), columns=pd.Index(names, dtype=object))
        frame.index = frame.index + 3
        labels = pd.Series(rng.random(count) < 0.5, dtype=bool)
        xs = frame.to_dict("records") if names else [{}] * count
        predicted = many.predict_many(frame)
        assert predicted.tolist() == [one.predict_one(x) for x in xs]
        assert predicted.index.equals(frame.index)
        assert many._scores(many._read_frame(frame), count) == [one._score(x) for x in xs]
        if class_ not in (MOMDH, SharedMOMDH):
            odds = many.predict_proba_many(frame)
            assert odds.index.equals(frame.index)
            records = odds.to_dict("records") if len(odds.columns) else [{}] * count
            assert records == [one.predict_proba_one(x) for x in xs]
        many.learn_many(frame, labels)
        taught(one, xs, labels)
        assert state(one) == state(many)


def test_frames_are_answered_as_river_does():
    frame, y = pd.DataFrame(XS, index=range(10, 310)), pd.Series(YS, name="far")
    model = small(MOMDS)
    model.learn_many(frame, y)
    labels, odds = model.predict_many(frame), model.predict_proba_many(frame)
    assert (labels.name, labels.dtype) == ("far", bool)
    assert list(odds.columns) == [False, True]
    assert labels.index.equals(frame.index)
    assert odds.index.equals(frame.index)


def test_kinds_of_columns():
    """Integers, bools, float32, nullable, sparse, objects: all as the numbers that they hold."""
    n = np.arange(40)
    plain = pd.DataFrame({"a": n % 3, "b": n % 2, "c": n / 8, "d": n % 5})
    kinds = pd.DataFrame(
        {
            "a": pd.array(n % 3, dtype="Int64"),
            "b": n % 2 == 1,
            "c": (n / 8).astype(np.float32),
            "d": pd.arrays.SparseArray(n % 5),
        }
    )
    objects = plain.astype(object)
    one, *others = (small(MOMDS) for _ in range(4))
    one.learn_many(plain, pd.Series(YS[:40]))
    for model, frame in zip(others, (kinds, objects, kinds.assign(b=objects["b"])), strict=True):
        model.learn_many(frame, pd.Series(YS[:40]))
        assert state(model) == state(one)
        assert model.predict_many(frame).equals(one.predict_many(plain))


def test_frames_that_are_none():
    model = small(MOMDS)
    with pytest.raises(TypeError, match=r"X is a numpy\.ndarray: give a pandas DataFrame"):
        model.learn_many(X, YS)
    with pytest.raises(ValueError, match="X has two columns named 'a'"):
        model.predict_many(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="X has 3 rows but y has 2 values"):
        model.learn_many(pd.DataFrame(XS[:3]), pd.Series([True, False]))
    model.learn_many(pd.DataFrame(XS[:0]), pd.Series([], dtype=bool))
    assert model._model is None
    taught(model, XS[:2], YS[:2])
    assert len(model.predict_many(pd.DataFrame(XS[:0], columns=list("abcd")))) == 0


# ---- copies and memory ----------------------------------------------------------------------------------------------


@every_class
def test_copies_go_on_alike(class_):
    model = taught(small(class_, width=3), XS[:100], YS[:100])
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.clone(include_attributes=True)]
    assert all(state(other) == state(model) for other in copies)
    taught(model, XS[100:], YS[100:])
    for other in copies:
        assert state(other) != state(model)
        taught(other, XS[100:], YS[100:])
        assert state(other) == state(model)
    fresh = model.clone()
    assert state(fresh) == state(small(class_, width=3))
    assert state(taught(fresh, XS, YS)) == state(model)


def test_seeds():
    assert state(taught(small(MOMDS, seed=1), XS, YS)) != state(taught(small(MOMDS, seed=2), XS, YS))
    assert state(taught(small(MOMDS, seed=None), XS, YS)) != state(taught(small(MOMDS, seed=None), XS, YS))


def test_kernels_survive_a_clone():
    model = small(MOMDS, kernels=gaussians([0.5, 1])).clone()
    model.learn_one(XS[0], True)
    assert len(model.learner_.kernel_weights_) == 2


@every_class
def test_bytes_are_known_and_constant(class_):
    model = small(class_)
    before = pickle.dumps(model)
    promised = model.nbytes
    assert pickle.dumps(model) == before
    empty = model._raw_memory_usage
    taught(model, XS[:10], YS[:10])
    early = model._raw_memory_usage
    assert model.nbytes == promised
    assert promised < early < promised + 20_000
    assert empty < early - promised
    taught(model, XS, YS)
    assert model.nbytes == promised
    assert model._raw_memory_usage == early
    assert model._memory_usage.endswith("KiB")


def test_names_are_counted():
    short, long = small(MOMDS), small(MOMDS)
    short.learn_one({"a": 1.0}, True)
    long.learn_one({"a" * 50_000: 1.0}, True)
    assert long._raw_memory_usage - short._raw_memory_usage >= 49_999
    assert long.nbytes == short.nbytes


def test_memory_instead_of_budget():
    model = adapted(MOMDS, memory="16KiB", width=5, seed=0)
    assert 15 * 1024 < model.nbytes <= 16 * 1024


# ---- with River -----------------------------------------------------------------------------------------------------


@every_class
def test_pipeline(class_):
    given = {"horizon": 1250} if class_ is LKMBooks else {}
    model = preprocessing.StandardScaler() | adapted(class_, **given, width=9, seed=0)
    metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert metric.get() > 0.8
    assert model["KernelClassifier"].collisions_ == 0


@pytest.mark.parametrize("class_", [MOMDS, PocketClassifier])
def test_probabilities_are_worth_something(class_):
    model = preprocessing.StandardScaler() | adapted(class_, width=9, seed=0)
    metric = metrics.LogLoss() + metrics.ROCAUC()
    evaluate.progressive_val_score(datasets.Phishing(), model, metric)
    loss, area = metric.get()
    assert loss < 0.5
    assert area > 0.9


def test_without_an_argument():
    """Any labels up to ten, and text, with nothing to choose."""
    model = KernelClassifier(seed=0)
    assert 60 * 1024 < model.nbytes <= 64 * 1024
    metric = evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
    assert metric.get() > 0.85
    assert str(model) == "KernelClassifier(PocketClassifier)"
    assert repr(KernelClassifier()) == repr(KernelClassifier().clone())
    same = KernelClassifier.from_bytes(model.to_bytes())
    assert state(same) == state(model)
    assert same.learner.n_classes == 10
    regressor = KernelRegressor(seed=0)
    assert evaluate.progressive_val_score(datasets.TrumpApproval(), regressor, metrics.MAE()).get() < 0.5
    checks.check_estimator(KernelRegressor())


# ---- text -----------------------------------------------------------------------------------------------------------


def shop(n=400, seed=0):
    """Rows with categories, missing ones, numbers that are sometimes text, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for k in range(n):
        colour, size = str(rng.choice(["red", "green", "blue", f"rare {k % 40}"])), float(rng.normal())
        x = {"colour": colour, "size": size, "code": str(rng.integers(3)) if k % 3 else float(rng.integers(3))}
        if k % 7 == 0:
            x["colour"] = None
        if k % 5 == 0:
            del x["code"]
        rows.append(x)
        labels.append(bool((colour == "red") ^ (size > 0)))
    return rows, labels


def as_numbers(x):
    """The same with a feature for each text."""
    return {f"{k}={v}" if isinstance(v, str) else k: 1.0 if isinstance(v, str) else v for k, v in x.items()}


@pytest.mark.parametrize("width", [3, 8, 64])
@pytest.mark.parametrize("class_", [MOMDS, PocketClassifier, MulticlassMOMDS])
def test_text_is_a_feature_of_its_own(class_, width):
    """By dict, by frame, and as numbers by hand: the same bits, also when names have to share columns."""
    xs, ys = shop()
    if class_ is not PocketClassifier:
        xs = [{name: value for name, value in x.items() if value is not None} for x in xs]
    one, by_hand, many, slow = (small(class_, width=width) for _ in range(4))
    for x, y in zip(xs, ys, strict=True):
        assert one.predict_one(x) == by_hand.predict_one(as_numbers(x)) == slow.predict_one(UserDict(x))
        one.learn_one(x, y)
        by_hand.learn_one(as_numbers(x), y)
        slow.learn_one({name: np.str_(v) if isinstance(v, str) else v for name, v in x.items()}, y)
    assert state(one) == state(by_hand) == state(slow)
    names = [name for name in ("colour", "size", "code") if class_ is PocketClassifier or name == "size"]
    looped = small(class_, width=width)
    for start in (0, 1, 5, 60, 200):
        stop = {0: 1, 1: 5, 5: 60, 60: 200, 200: 400}[start]
        some = [{name: x.get(name) for name in names} for x in xs[start:stop]]
        frame = pd.DataFrame(some, columns=names, dtype=object)
        assert many.predict_many(frame).tolist() == [looped.predict_one(x) for x in some]
        many.learn_many(frame, pd.Series(ys[start:stop]))
        taught(looped, some, ys[start:stop])
        assert state(many) == state(looped)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    columns=st.lists(
        st.lists(st.sampled_from(["red", "blue", "x", "", 0.0, -1.5, 2.0, None]), min_size=12, max_size=12),
        min_size=1, max_size=4,
    ),
    cuts=st.lists(st.integers(0, 12), max_size=4), width=st.integers(1, 6),
)  # fmt: skip
def test_blocks_of_text_equal_rows_of_text(columns, cuts, width):
    frame = pd.DataFrame({f"c{k}": pd.Series(column, dtype=object) for k, column in enumerate(columns)})
    frame = frame.where(frame.notna(), None)
    labels = pd.Series([k % 3 > 0 for k in range(12)])
    weights = pd.Series([0.0 if k % 5 == 4 else 1.0 for k in range(12)])
    one, many = small(PocketClassifier, width=width), small(PocketClassifier, width=width)
    edges = sorted({0, 12, *cuts})
    for begin, end in pairwise(edges):
        part, xs = frame[begin:end], frame[begin:end].to_dict("records")
        assert many._scores(many._read_frame(part), end - begin) == [one._score(x) for x in xs]
        many.learn_many(part, labels[begin:end], w=weights[begin:end])
        for x, y, w in zip(xs, labels[begin:end], weights[begin:end], strict=True):
            one.learn_one(x, y, w=w)
        assert state(one) == state(many)


def test_text_and_numbers_to_predict():
    xs, _ = shop(200)
    targets = [3.0 * (x["colour"] == "red") + x["size"] for x in xs]
    one = KernelRegressor(PocketRegressor(memory="16KiB"), width=12, seed=1)
    for x, target in zip(xs, targets, strict=True):
        one.learn_one(x, target)
    frame = pd.DataFrame(xs, dtype=object)[["colour", "size"]]
    by_rows, by_frame = (KernelRegressor(PocketRegressor(memory="16KiB"), width=12, seed=1) for _ in range(2))
    by_frame.learn_many(frame, pd.Series(targets))
    for x, target in zip(frame.to_dict("records"), targets, strict=True):
        by_rows.learn_one(x, target)
    assert by_rows.to_bytes() == by_frame.to_bytes()
    assert by_frame.predict_many(frame).tolist() == [by_rows.predict_one(x) for x in frame.to_dict("records")]
    assert one.predict_one(xs[1] | {"colour": "red"}) > one.predict_one(xs[1] | {"colour": "blue"}) + 1


def test_levels_beyond_the_width_share_columns_by_the_hash_of_their_name():
    model = small(PocketClassifier, width=2)
    model.learn_one({"a": 1.0, "colour": "red"}, True)
    assert model.columns_ == {"a": 0, "colour=red": 1}
    model.learn_one({"a": 1.0, "colour": "blue"}, False)
    twin = small(PocketClassifier, width=2)
    twin.learn_one({"a": 1.0, "colour=red": 1.0}, True)
    code = hash_of("colour=blue")
    row = np.array([[1.0, 0.0]])
    row[0, (code >> 1) % 2] += 1.0 if code & 1 else -1.0
    twin._model.partial_fit(row, [1.0])
    assert twin._model._core.save() == model._model._core.save()
    assert model.collisions_ == 1


def test_a_missing_text_has_no_column():
    model = small(PocketClassifier, width=8)
    for x in ({"colour": None, "size": None}, {"colour": "red", "size": 1.0}, {"colour": float("nan"), "size": 2.0}):
        model.learn_one(x, True)
    assert set(model.columns_) == {"colour=red", "size"}
    full = taught(small(PocketClassifier, width=1), [{"size": 1.0}, {"size": 2.0, "other": 3.0}], [True, False])
    assert full._score({"size": 1.0, "other": None}) == full._score({"size": 1.0})


def test_text_that_is_called_like_a_feature_is_refused():
    model = taught(small(PocketClassifier, width=8), [{"a=b": 1.0}], [True])
    before = state(model)
    with pytest.raises(ValueError, match="x has a feature 'a=b', and text that is called so, too: rename one"):
        model.learn_one({"a=b": 1.0, "a": "b"}, True)
    with pytest.raises(ValueError, match="X has a column 'a=b', and text that is called so"):
        model.learn_many(pd.DataFrame({"a=b": [1.0], "a": ["b"]}), pd.Series([True]))
    assert state(model) == before


def test_text_in_a_stream_of_river():
    """Categories need no encoder."""
    rows = [({"colour": "red" if n % 3 else "blue", "size": n % 7 / 7}, bool(n % 3)) for n in range(400)]
    model = adapted(PocketClassifier, width=8, seed=0)
    assert evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get() > 0.98
    assert set(model.columns_) == {"colour=blue", "colour=red", "size"}
    assert state(KernelClassifier.from_bytes(model.to_bytes())) == state(model)


def test_categories_through_an_encoder():
    rows = [({"colour": "red" if n % 3 else "blue", "size": n % 7 / 7}, bool(n % 3)) for n in range(400)]
    encode = compose.SelectType(str) | preprocessing.OneHotEncoder()
    model = (encode + compose.SelectType(float)) | adapted(MOMDS, width=8, seed=0)
    assert evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get() > 0.95
    assert len(model["KernelClassifier"].columns_) == 3


def test_pipeline_of_frames():
    model = preprocessing.StandardScaler() | adapted(MOMDS, width=4, seed=0)
    right = 0
    for start in range(0, 300, 50):
        frame, y = pd.DataFrame(XS[start : start + 50]), pd.Series(YS[start : start + 50])
        if start:
            right += int((model.predict_many(frame) == y).sum())
        model.learn_many(frame, y)
    assert right > 0.65 * 250


@pytest.mark.parametrize("class_", [MOMDS, LKMBooks, Raker])
def test_one_versus_rest(class_):
    given = {"horizon": 2310} if class_ is LKMBooks else {}
    model = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(adapted(class_, **given, width=18, seed=0))
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(700), model, metrics.Accuracy())
    assert metric.get() > 0.5


def test_one_versus_rest_in_blocks():
    rows = list(datasets.ImageSegments().take(200))
    frame, y = pd.DataFrame([x for x, _ in rows]), pd.Series([label for _, label in rows])
    one, many = (multiclass.OneVsRestClassifier(adapted(MOMDS, width=18, seed=0)) for _ in range(2))
    for x, label in rows[:1] + rows:  # a class that appears later would see fewer rows one by one
        one.learn_one(x, label)
    many.learn_many(frame, y)
    assert set(many.classifiers) == set(one.classifiers)
    assert set(many.predict_many(frame)) <= set(y)


def test_one_versus_one():
    model = preprocessing.StandardScaler() | multiclass.OneVsOneClassifier(adapted(MOMDS, width=18, seed=0))
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(400), model, metrics.Accuracy())
    assert metric.get() > 0.5
