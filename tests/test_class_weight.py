"""Weights of classes: given or balanced, on data sets and on streams."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

import pocketkernel
from discover import ESTIMATORS, small
from pocketkernel import PocketClassifier
from pocketkernel.learners._class_weights import running
from pocketkernel.river import KernelClassifier

every_class = pytest.mark.parametrize("class_", ESTIMATORS, ids=lambda class_: class_.__name__)


def rare(n=4000, share=0.03, seed=0):
    """Two overlapping classes, one of them rare."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 4)) + 1.2 * y[:, None], y


def test_a_rare_class_is_found():
    X, y = rare()
    recalls = {}
    for weight in (None, "balanced"):
        scores = PocketClassifier(class_weight=weight, random_state=0).predict_then_learn(X, y, classes=[0, 1])
        right = (scores >= 0)[1000:] == y[1000:]
        recalls[weight] = right[y[1000:] == 1].mean(), balanced_accuracy_score(y[1000:], (scores >= 0)[1000:])
    print(recalls)
    assert recalls["balanced"][0] > recalls[None][0] + 0.2
    assert recalls["balanced"][1] > recalls[None][1] + 0.1


@every_class
def test_balanced_fit_has_the_weights_of_scikit_learn(class_):
    X, y = rare(400, 0.2)
    weights = compute_sample_weight("balanced", y)
    model = small(class_, epochs=1)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    given = dict(zip([0, 1], compute_class_weight("balanced", classes=np.array([0, 1]), y=y), strict=True))
    for other in (clone(model).fit(X, y, sample_weight=weights), clone(model).set_params(class_weight=given).fit(X, y)):
        np.testing.assert_allclose(balanced.decision_function(X), other.decision_function(X), rtol=1e-4, atol=1e-6)
    assert not np.allclose(balanced.decision_function(X), clone(model).fit(X, y).decision_function(X))


def test_running_frequencies():
    places = np.array([0, 0, 2, 0, 1, 2])
    learned = np.array([True, True, True, False, True, True])
    weights = running(np.zeros(4, dtype=np.int64), places, learned)
    expected = [1 / (1 * 1), 2 / (1 * 2), 3 / (2 * 1), 1.0, 4 / (3 * 1), 5 / (3 * 2)]
    assert weights.tolist() == expected
    assert running(np.array([2, 1, 1, 0]), np.array([3, 0]), np.array([True, True])).tolist() == [5 / 4, 6 / (4 * 3)]
    assert running(np.zeros(2, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)).tolist() == []


@every_class
@pytest.mark.parametrize("class_weight", ["balanced", {"b": 3.0, "z": 2}])
def test_blocks_files_and_pickles_change_nothing(class_, class_weight):
    X, y = rare(200, 0.3)
    y = np.where(y == 1, "b", "a")
    sample_weight = np.random.default_rng(0).integers(0, 3, size=200).astype(float)
    whole = small(class_, class_weight=class_weight).partial_fit(X, y, classes=["a", "b"], sample_weight=sample_weight)
    parts = small(class_, class_weight=class_weight)
    for start, end in [(0, 1), (1, 2), (2, 50), (50, 120), (120, 200)]:
        parts.partial_fit(X[start:end], y[start:end], classes=["a", "b"], sample_weight=sample_weight[start:end])
        parts = type(parts).from_bytes(parts.to_bytes())
        assert parts.get_params()["class_weight"] == class_weight
    assert parts.to_bytes() == whole.to_bytes()


def test_weights_are_multiplied():
    X, y = rare(300, 0.3)
    by_class = small(PocketClassifier, class_weight={1: 3}).partial_fit(X, y, sample_weight=np.full(300, 2.0))
    by_row = small(PocketClassifier).partial_fit(X, y, sample_weight=np.where(y == 1, 6.0, 2.0))
    assert np.array_equal(by_class.decision_function(X), by_row.decision_function(X))
    most = small(PocketClassifier, class_weight={1: 1e9}).partial_fit(X, y, sample_weight=np.full(300, 1e9))
    assert np.isfinite(most.decision_function(X)).all()
    with pytest.raises(ValueError, match=r"sample_weight.*found -1\.0 at row 3"):
        small(PocketClassifier, class_weight="balanced").fit(X, y, sample_weight=np.where(np.arange(300) == 3, -1, 1))


def test_a_class_without_weight_is_not_learned():
    X, y = rare(300, 0.5)
    model = small(PocketClassifier, class_weight={0: 0}).partial_fit(X, y)
    assert model.diagnostics_.rounds == y.sum()
    with pytest.raises(ValueError, match="zero for every row"):
        small(PocketClassifier, class_weight={0: 0, 1: 0}).fit(X, y)


@every_class
@pytest.mark.parametrize("class_weight", ["even", 3, [1, 2], {0: -1}, {0: "a"}, {0: np.nan}, {1: 1e10}])
def test_bad_weights(class_, class_weight):
    X, y = rare(50, 0.5)
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="class_weight"):
            getattr(small(class_, class_weight=class_weight), learn)(X, y)


@every_class
def test_after_an_error_nothing_was_counted(class_):
    X, y = rare(100, 0.3)
    model = small(class_, class_weight="balanced").partial_fit(X, y)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"NaN|infinity|large"):
        model.partial_fit(np.full((5, 4), np.inf), y[:5])
    assert model.to_bytes() == before


@every_class
def test_in_river(class_, tmp_path):
    X, y = rare(120, 0.3)
    model = KernelClassifier(small(class_, class_weight="balanced", random_state=None), width=4, seed=1)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abcd", row, strict=True)), bool(label))
    many = KernelClassifier(small(class_, class_weight="balanced", random_state=None), width=4, seed=1)
    many.learn_many(pd.DataFrame(X, columns=list("abcd")), pd.Series(y == 1))
    assert model.to_bytes() == many.to_bytes()
    model.save(tmp_path / "m.pk")
    assert pocketkernel.load(tmp_path / "m.pk").to_bytes() == model.to_bytes()
    plain = KernelClassifier(small(class_, random_state=None), width=4, seed=1)
    plain.learn_many(pd.DataFrame(X, columns=list("abcd")), pd.Series(y == 1))
    row = dict(zip("abcd", X[0].tolist(), strict=True))
    assert model._score(row) != plain._score(row)
    with pytest.raises(ValueError, match="by label"):
        KernelClassifier(small(class_, class_weight={True: 2}, random_state=None), width=4).learn_one(row, True)
