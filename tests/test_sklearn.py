"""At home in scikit-learn: its own checks over every estimator that the package has, and its tools around them."""

import importlib
import pkgutil
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, make_circles, make_moons
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import pocketkernel
from pocketkernel import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker


def discovered():
    """Every estimator that can be imported from the package."""
    found = set()
    for module in pkgutil.walk_packages(pocketkernel.__path__, "pocketkernel."):
        if module.name.endswith("__main__") or (module.name == "pocketkernel.spark" and not find_spec("pyspark")):
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            if not name.startswith("_") and isinstance(thing, type) and issubclass(thing, BaseEstimator):
                found.add(thing)
    return {thing.__name__: thing for thing in found if hasattr(thing, "_learner")}


ALL = discovered()
ESTIMATORS = {name: class_ for name, class_ in ALL.items() if hasattr(class_, "predict_proba")}  # of labels
BINARY = {name: estimator for name, estimator in ESTIMATORS.items() if not estimator._multiclass}
MANY = {name: estimator for name, estimator in ESTIMATORS.items() if estimator._multiclass}
PROBABLE = {name: estimator for name, estimator in ESTIMATORS.items() if estimator._loss != "hinge"}


def make(estimator, **parameters):
    """An instance that can also be fed by partial_fit; LKMBooks must know the number of rounds beforehand."""
    return estimator(random_state=0, **({"horizon": 1000} if estimator is LKMBooks else {}) | parameters)


def every(estimators):
    return pytest.mark.parametrize("estimator", [pytest.param(e, id=name) for name, e in sorted(estimators.items())])


def test_everything_is_discovered():
    assert set(ALL) == set(pocketkernel.learners.__all__)
    assert {"MOMDS", "MOMDH", "SharedMOMDH", "LKMBooks", "Raker", "MulticlassMOMDS", "PocketClassifier"} <= set(
        ESTIMATORS
    )


NOT_REPEATS = "a row of weight w is one example with its loss scaled by w; w repeats would be w draws and w rounds"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": NOT_REPEATS,
    "check_sample_weight_equivalence_on_sparse_data": NOT_REPEATS,
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [make(estimator) for _, estimator in sorted(ALL.items())],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def moons(n=600):
    return make_moons(n, noise=0.15, random_state=0)


# ---- the tools of scikit-learn --------------------------------------------------------------------------------------


@every(ESTIMATORS)
@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler, MaxAbsScaler])
def test_pipeline(estimator, scaler):
    X, y = moons()
    model = make_pipeline(scaler(), make(estimator, memory="64KiB")).fit(1000 * X, y)
    assert model.score(1000 * X, y) > 0.8
    assert model[-1].nbytes <= 65536


@every(ESTIMATORS)
def test_grid_search(estimator):
    X, y = moons(300)
    search = GridSearchCV(make_pipeline(StandardScaler(), make(estimator)), grid(estimator), cv=3).fit(X, y)
    assert search.best_score_ > 0.75
    assert search.predict(X).shape == y.shape


def grid(estimator):
    name = estimator.__name__.lower()
    if estimator is PocketClassifier:
        return {f"{name}__memory": ["2KiB", "16KiB"]}
    count = estimator._budget_name
    return {f"{name}__{count}": [20, 100], f"{name}__kernels": [None, pocketkernel.gaussians([0.5, 1])]}


@every(ESTIMATORS)
def test_cross_validation(estimator):
    X, y = moons(300)
    assert cross_val_score(make(estimator), X, y, cv=3).mean() > 0.75
    assert cross_val_predict(make(estimator), X, y, cv=3, method="decision_function").shape == y.shape


@every(ESTIMATORS)
def test_clone_is_unfitted_and_equal(estimator):
    X, y = moons(100)
    kernels = {} if estimator is PocketClassifier else {"kernels": pocketkernel.gaussians([1, 2])}
    model = make(estimator, memory=10**6, **kernels).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    assert np.array_equal(copy.fit(X, y).decision_function(X), model.decision_function(X))


@every(ESTIMATORS)
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_set_output(estimator, output):
    """Transformers before the learner may hand it frames."""
    X, y = moons(200)
    names = ["east", "north"]
    model = make_pipeline(StandardScaler(), make(estimator)).set_output(transform=output)
    model.fit(pd.DataFrame(X, columns=names), y)
    assert list(model.feature_names_in_) == names
    if output != "default":
        assert list(model[-1].feature_names_in_) == names
    plain = make_pipeline(StandardScaler(), make(estimator)).fit(X, y)
    frame = pd.DataFrame(X, columns=names)
    assert np.array_equal(model.decision_function(frame), plain.decision_function(X))


@every(ESTIMATORS)
def test_column_transformer(estimator):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(["Rome", "Oslo"], 400), "size": rng.normal(size=400)})
    y = (frame["city"] == "Rome") ^ (frame["size"] > 0)
    encode = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["size"]))
    assert make_pipeline(encode, make(estimator)).fit(frame, y).score(frame, y) > 0.85


@every(ESTIMATORS)
def test_repr(estimator):
    model = make(estimator, memory="60KiB")
    assert "memory='60KiB'" in repr(model)
    html = estimator_html_repr(model)
    assert estimator.__name__ in html
    assert "60KiB" in html
    X, y = moons(50)
    assert estimator.__name__ in model.fit(X, y)._repr_html_()


@every(ESTIMATORS)
def test_tags(estimator):
    tags = get_tags(estimator())
    assert tags.estimator_type == "classifier"
    assert tags.input_tags.sparse
    assert tags.classifier_tags.multi_class == (estimator in (MulticlassMOMDS, PocketClassifier))
    assert tags.target_tags.required


@every(BINARY)
def test_multiclass_wrappers(estimator):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(np.tile(np.arange(len(y)), 4))
    for wrapped in (
        OneVsRestClassifier(make(estimator)),
        OutputCodeClassifier(make(estimator), code_size=3, random_state=0),
    ):
        assert wrapped.fit(X[order], y[order]).score(X, y) > 0.8


def test_one_against_rest_goes_on():
    X, y = load_iris(return_X_y=True)
    model = OneVsRestClassifier(MOMDS(random_state=0))
    for _ in range(4):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.score(X, y) > 0.6


def test_ensembles_and_calibration():
    X, y = moons()
    vote = VotingClassifier([(name, make(estimator)) for name, estimator in PROBABLE.items()], voting="soft")
    assert vote.fit(X, y).score(X, y) > 0.85
    calibrated = CalibratedClassifierCV(make(MOMDH), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(y), 2)


# ---- probabilities --------------------------------------------------------------------------------------------------


@every(PROBABLE)
def test_probabilities(estimator):
    X, y = moons()
    model = make(estimator).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(y), 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert log_loss(y, p) < log_loss(y, np.full((len(y), 2), 0.5))


def test_probabilities_need_the_logistic_loss():
    assert hasattr(MOMDS(), "predict_proba")
    for model in (MOMDS(loss="smooth_hinge"), MOMDH(), Raker(loss="hinge"), LKMBooks(loss="hinge")):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba") as caught:
            _ = model.predict_proba
        assert "loss='logistic'" in str(caught.value.__cause__)


# ---- labels ---------------------------------------------------------------------------------------------------------

LABELS = {
    "ints": [3, 7, 11],
    "floats": [-1.0, 2.0, 8.0],
    "strings": ["apple", "fig", "pear"],
    "objects": np.array(["apple", "fig", "pear"], dtype=object),
    "large": [2**60, 2**60 + 1, 2**60 + 2],
}


@every(ESTIMATORS)
@pytest.mark.parametrize("kind", [*LABELS, "bools"])
def test_labels_of_any_type(estimator, kind):
    X, y = moons(300)
    named = np.asarray([False, True] if kind == "bools" else LABELS[kind][:2])
    model = make(estimator).fit(X, named[y])
    plain = make(estimator).fit(X, y)
    assert np.array_equal(model.classes_, named)
    assert model.classes_.dtype == named.dtype
    assert np.array_equal(model.decision_function(X), plain.decision_function(X))
    assert np.array_equal(model.predict(X), named[plain.predict(X)])


# ---- weights --------------------------------------------------------------------------------------------------------


@every(ESTIMATORS)
def test_weights_of_one_change_nothing_and_of_zero_leave_no_trace(estimator):
    X, y = moons(300)
    keep = np.random.default_rng(1).random(len(y)) < 0.6
    plain, ones = make(estimator).fit(X, y), make(estimator).fit(X, y, np.ones(len(y)))
    assert np.array_equal(plain.decision_function(X), ones.decision_function(X))
    assert np.array_equal(make(estimator).fit(X, y, 1.0).decision_function(X), plain.decision_function(X))
    some = make(estimator, epochs=1).fit(X[keep], y[keep])
    weighted = make(estimator, epochs=1).fit(X, y, sample_weight=keep.astype(float))
    assert np.array_equal(some.decision_function(X), weighted.decision_function(X))
    assert some.diagnostics_.rounds == weighted.diagnostics_.rounds == keep.sum()


@every(ESTIMATORS)
def test_weights_matter(estimator):
    """Two labels for every row: the heavier one wins."""
    X, _ = make_circles(400, noise=0.05, factor=0.5, random_state=0)
    X, y = np.repeat(X, 2, axis=0), np.arange(2 * len(X)) % 2
    for heavy in (0, 1):
        model = make(estimator).fit(X, y, sample_weight=np.where(y == heavy, 3.0, 0.2))
        assert (model.predict(X) == heavy).mean() > 0.9


@every(ESTIMATORS)
def test_weights_scale_the_loss(estimator):
    X, y = moons(300)
    one = make(estimator)
    one.partial_fit(X[:1], y[:1], classes=[0, 1], sample_weight=[2.5])
    other = make(estimator)
    other.partial_fit(X[:1], y[:1], classes=[0, 1])
    assert one.diagnostics_.cumulative_loss == pytest.approx(2.5 * other.diagnostics_.cumulative_loss)


@every(ESTIMATORS)
def test_blocks_of_weights_equal_rows_of_weights(estimator):
    X, y = moons(200)
    w = np.random.default_rng(0).random(len(y))
    block, rows = make(estimator), make(estimator)
    whole = block.predict_then_learn(X, y, classes=[0, 1], sample_weight=w)
    one_by_one = [
        rows.predict_then_learn(X[t : t + 1], y[t : t + 1], classes=[0, 1], sample_weight=w[t : t + 1])[0]
        for t in range(len(y))
    ]
    assert np.array_equal(whole, one_by_one)


def test_weights_are_routed():
    X, y = moons(300)
    w = np.random.default_rng(0).random(len(y))
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = make_pipeline(scaler, MOMDS(random_state=0).set_fit_request(sample_weight=True))
        model.fit(X, y, sample_weight=w)
    scaled = StandardScaler().fit_transform(X)
    direct = MOMDS(random_state=0).fit(scaled, y, sample_weight=w)
    assert np.array_equal(model.decision_function(X), direct.decision_function(scaled))


# ---- more than two classes ------------------------------------------------------------------------------------------


def test_many_classes_share_one_buffer():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = MulticlassMOMDS(budget=400, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (len(y), 10)
    assert model.score(X, y) > 0.85
    one = MOMDS(budget=400, random_state=0).fit(X, y == 0)
    more = MulticlassMOMDS(budget=400, random_state=0).fit(X, y % 5)
    a_class = (model.nbytes - more.nbytes) / 5
    rows = 400 * 64 * 4
    assert model.nbytes < 3 * one.nbytes, "ten classes do not take ten buffers"
    assert a_class < rows / 5, "a class costs its coefficients, one per row and kernel, and no rows"


@every(MANY)
def test_many_classes_named_beforehand(estimator):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = estimator(random_state=0)
    model.partial_fit(X[:10], names[y[:10]], classes=names)
    assert set(model.predict(X)) <= set(names)
    for _ in range(3):
        order = np.random.default_rng(0).permutation(len(y))
        model.partial_fit(X[order], names[y[order]])
    assert model.score(X, names[y]) > 0.7
    with pytest.raises(ValueError, match="'oak', which is not one of the classes"):
        model.partial_fit(X[:1], ["oak"])


@every(MANY)
def test_two_classes_are_a_special_case(estimator):
    X, y = moons()
    model = estimator(random_state=0).fit(X, y)
    assert model.decision_function(X).shape == y.shape
    assert model.score(X, y) > 0.85
