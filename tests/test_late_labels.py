"""Labels that arrive later: room is reserved, shapes follow the labels so far, files keep everything."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import pocketkernel
from discover import ESTIMATORS, small
from pocketkernel import MOMDH, MOMDS, PocketClassifier
from pocketkernel.river import KernelClassifier

MANY = [class_ for class_ in ESTIMATORS if class_._multiclass]
BINARY = [class_ for class_ in ESTIMATORS if not class_._multiclass]
every_class = pytest.mark.parametrize("class_", ESTIMATORS, ids=lambda class_: class_.__name__)
every_class_of_many = pytest.mark.parametrize("class_", MANY, ids=lambda class_: class_.__name__)
every_binary_class = pytest.mark.parametrize("class_", BINARY, ids=lambda class_: class_.__name__)


def clouds(n=600, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    return rng.normal(size=(n, 3)) + 3 * np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]])[y], y


@every_class
@pytest.mark.parametrize("labels", [["b", "a"], ["a", "b"], [1, -1], [0, 1], [True, False], [2.0, 0.0]])
def test_the_second_label_may_arrive_late(class_, labels):
    """A single first row works; then all is as if both labels had been known."""
    X, y = clouds(400, 2)
    y = np.array(labels)[np.r_[0, y[1:]]]
    late = small(class_).partial_fit(X[:1], y[:1])
    assert late.classes_.tolist() == [labels[0]]
    assert late.predict(X[:3]).tolist() == [labels[0]] * 3
    assert late.decision_function(X[:3]).tolist() == [0.0] * 3
    if hasattr(late, "predict_proba"):
        assert late.predict_proba(X[:3]).tolist() == [[1.0]] * 3
    for t in range(1, 400):
        late.partial_fit(X[t : t + 1], y[t : t + 1])
    assert late.classes_.tolist() == sorted(labels)
    early = small(class_).partial_fit(X, y, classes=labels)
    assert late.nbytes == early.nbytes
    np.testing.assert_allclose(late.decision_function(X), early.decision_function(X), rtol=1e-4, atol=1e-5)
    assert np.mean(late.predict(X) == early.predict(X)) > 0.99
    if hasattr(late, "predict_proba"):
        np.testing.assert_allclose(late.predict_proba(X), early.predict_proba(X), rtol=1e-4, atol=1e-5)


@every_class_of_many
def test_new_labels_are_learned_while_there_is_room(class_):
    X, y = clouds()
    y = np.array(["d", "b", "aaa", "c"])[y]
    order = np.argsort(y == "aaa", kind="stable")  # it comes last
    X, y = X[order], y[order]
    model = class_(n_classes=5, memory="32KiB", random_state=0)
    if class_ is PocketClassifier:
        model.lag = False  # else it is sure that the last label comes again
    shapes = []
    for start in range(0, 600, 50):
        scores = model.predict_then_learn(X[start : start + 50], y[start : start + 50])
        shapes.append(scores.shape)
        assert scores.shape == model.decision_function(X[:50]).shape
        assert model.predict_proba(X[:7]).shape == (7, len(model.classes_))
        np.testing.assert_allclose(model.predict_proba(X[:7]).sum(axis=1), 1.0)
    assert model.classes_.tolist() == ["aaa", "b", "c", "d"]
    assert shapes[0] == (50, 3)
    assert shapes[-1] == (50, 4)
    right = model.predict(X) == y
    print(right[y == "aaa"].mean(), right.mean())
    assert right[y == "aaa"].mean() > 0.8
    assert right.mean() > 0.5  # the others have not been seen for 150 rows
    best = model.classes_[model.decision_function(X).argmax(axis=1)]
    assert np.array_equal(best, model.predict(X))
    assert model.nbytes == model.plan(3, n_classes=5).nbytes == model.plan(3).nbytes


@every_class_of_many
def test_blocks_files_and_pickles_change_nothing(class_):
    X, y = clouds(120)
    y[:20] = np.where(y[:20] % 2, 3, 1)
    given = {"n_classes": 6, "class_weight": "balanced"}
    whole = small(class_, **given).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    parts = small(class_, **given).partial_fit(X[:20], y[:20])
    for t in range(20, 120):
        parts.partial_fit(X[t : t + 1], y[t : t + 1])
        if t % 7 == 0:
            parts = type(parts).from_bytes(parts.to_bytes())
        elif t % 11 == 0:
            parts = pickle.loads(pickle.dumps(parts))
    assert parts.to_bytes() == whole.to_bytes()
    assert np.array_equal(parts.decision_function(X), whole.decision_function(X))


@every_class_of_many
@pytest.mark.parametrize("container", [np.array, list, pd.Series, np.uint8])
def test_one_label_too_many(class_, container):
    X, y = clouds(100, 3)
    model = small(class_, n_classes=3).partial_fit(X, container(y))
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"room for 3|not one of the classes \[0, 1, 2\]"):
        model.partial_fit(X[:2], container([0, 7]))
    model = small(class_, n_classes=4).partial_fit(X, container(y))
    with pytest.raises(ValueError, match=r"y=9 is one label too many after \[0, 1, 2, 7\].*set n_classes"):
        model.partial_fit(X[:2], container([7, 9]))
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="infinity"):  # with a new label, which is forgotten, too
        model.partial_fit(np.full((2, 3), np.inf), container([7, 7]))
    model.partial_fit(X[:1], container([8]))
    assert model.classes_.tolist() == [0, 1, 2, 8]
    assert small(class_, n_classes=3).partial_fit(X, container(y)).to_bytes() == before


@every_binary_class
def test_a_binary_learner_says_what_to_do(class_):
    X, y = clouds(100, 2)
    model = small(class_).partial_fit(X[:1], ["x"]).partial_fit(X[:1], ["y"])
    with pytest.raises(ValueError, match="not one of the classes"):
        model.partial_fit(X[:1], ["z"])
    with pytest.raises(ValueError, match="only two; use PocketClassifier"):
        small(class_).partial_fit(X[:1], ["x"]).partial_fit(X[:2], ["y", "z"])
    with pytest.raises(TypeError, match="n_classes"):
        class_(n_classes=3)
    assert y is not None


def test_classes_may_be_given_later_if_there_is_room():
    X, y = clouds(60, 3)
    model = small(PocketClassifier, n_classes=4).partial_fit(X, y).partial_fit(X, y, classes=[0, 1, 2, 5])
    assert model.classes_.tolist() == [0, 1, 2, 5]
    with pytest.raises(ValueError, match="differs"):
        model.partial_fit(X, y, classes=[0, 1, 2, 6])
    with pytest.raises(ValueError, match="differs"):
        small(PocketClassifier, n_classes=5).partial_fit(X, y).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="differs"):
        small(MOMDS).partial_fit(X, y > 0).partial_fit(X, y > 0, classes=[False, True, 2])


@pytest.mark.parametrize("n_classes", [1, 2, 0, -1, 2.5, "many", True, 10_001])
def test_bad_room(n_classes):
    X, y = clouds(60, 3)
    with pytest.raises(ValueError, match="classes"):
        PocketClassifier(n_classes=n_classes, memory="64MiB").fit(X, y)


def test_labels_of_one_type():
    X, _ = clouds(10)
    model = small(PocketClassifier, n_classes=4).partial_fit(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="only numbers or only strings"):
        model.partial_fit(X[:1], [3])
    assert model.partial_fit(X[:1], ["longer than any"]).classes_.tolist() == ["a", "b", "longer than any"]
    numbers = small(PocketClassifier, n_classes=4).partial_fit(X[:2], [1, 2]).partial_fit(X[:1], [0.5])
    assert numbers.classes_.tolist() == [0.5, 1.0, 2.0]
    assert small(PocketClassifier, n_classes=4).partial_fit(sparse.csr_matrix(X[:1]), [7]).predict(X[:1]) == [7]


def test_fit_reserves_room_too():
    X, y = clouds(300, 3)
    model = small(PocketClassifier, n_classes=4).fit(X, y)
    assert model.decision_function(X).shape == (300, 3)
    model.partial_fit(X[:5], np.full(5, 9))
    assert model.decision_function(X).shape == (300, 4)
    assert PocketClassifier.from_bytes(model.to_bytes()).classes_.tolist() == [0, 1, 2, 9]
    with pytest.raises(ValueError, match="only one class"):
        small(PocketClassifier, n_classes=4).fit(X, np.zeros(300))


def test_the_room_of_a_river_model_is_that_of_its_learner():
    model = KernelClassifier(PocketClassifier(n_classes=5, memory="16KiB"), width=3, seed=0)
    for n, label in enumerate("vwxyz"):
        model.learn_one({"a": float(n)}, label)
    assert set(model.predict_proba_one({"a": 1.0})) == set("vwxyz")
    with pytest.raises(ValueError, match="the learner has room for 5 labels; give it more with n_classes="):
        model.learn_one({"a": 1.0}, "!")
    assert model.nbytes == model.learner_.nbytes <= 16 * 1024


def test_load(tmp_path):
    X, _ = clouds(10)
    model = small(MOMDH).partial_fit(X[:1], ["b"])
    model.save(tmp_path / "one.pk")
    same = pocketkernel.load(tmp_path / "one.pk").partial_fit(X[1:3], ["a", "b"])
    assert same.to_bytes() == model.partial_fit(X[1:3], ["a", "b"]).to_bytes()
    assert same.predict(X[:1]).dtype.kind == "U"
