"""`fit` as in scikit-learn: rows in random order, several passes, and no worse than a linear model on its data sets."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discover import EVERYONE, REGRESSORS, small
from pocketkernel import MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, PocketRegressor, Raker
from pocketkernel.learners import _passes
from pocketkernel.stream import permutation

every_learner = pytest.mark.parametrize("class_", EVERYONE, ids=lambda class_: class_.__name__)


def rows(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def streamed(model, X, y):
    return model.partial_fit(X, y) if isinstance(model, PocketRegressor) else model.partial_fit(X, y, classes=[0, 1])


def same(one, other, X):
    """Whether two models have learned the same, to the last bit."""
    answers = [m.predict(X) if isinstance(m, PocketRegressor) else m.decision_function(X) for m in (one, other)]
    return np.array_equal(*answers)


@every_learner
def test_fit_shuffles_by_the_seed_and_streams_do_not(class_):
    X, y = rows()
    order = permutation(len(y), 1)
    fitted = small(class_, epochs=1).fit(X, y)  # random_state=1
    there = streamed(small(class_), X[order], y[order])
    if class_ is PocketClassifier:
        there._core.forget_lags()
    assert same(fitted, there, X)
    assert same(fitted, small(class_, epochs=1).fit(X, y), X)
    assert not same(fitted, streamed(small(class_), X, y), X)
    unshuffled, there = small(class_, epochs=1, shuffle=False).fit(X, y), streamed(small(class_), X, y)
    if class_ is PocketClassifier:
        there._core.forget_lags()
    assert same(unshuffled, there, X)


@every_learner
@pytest.mark.parametrize("shuffle", [True, False])
def test_blocks_and_containers_change_nothing(class_, shuffle, monkeypatch):
    X, y = rows(200)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    model = small(class_, shuffle=shuffle, epochs=2)
    whole = clone(model).fit(X, y)
    for given in (sparse.csr_matrix(X), pd.DataFrame(X), X.tolist(), np.asfortranarray(X)):
        assert same(whole, clone(model).fit(given, y), X)
    monkeypatch.setattr(_passes, "_ROWS_AT_ONCE", 7)
    assert same(whole, clone(model).fit(X, y), X)
    assert same(whole, clone(model).fit(sparse.csr_matrix(X), y), X)


def passes(model):
    """Rounds on new rows, and on the same ones again."""
    return model.diagnostics_.rounds, model.diagnostics_.repeats


@every_learner
def test_epochs_are_passes(class_):
    X, y = rows(120)
    assert passes(small(class_, epochs=3).fit(X, y)) == (120, 240)
    assert passes(small(class_, epochs=np.int64(2), shuffle=False).fit(X, y)) == (120, 120)
    weights = np.where(np.arange(120) < 100, 1.0, 0.0)
    model = small(class_, epochs=2)
    weighed = clone(model).fit(X, y, sample_weight=weights)
    assert passes(weighed) == (100, 100)
    if class_ is not LKMBooks:  # which is told another number of rounds
        assert same(weighed, clone(model).fit(X[:100], y[:100]), X)


@pytest.mark.parametrize(("n", "expected"), [(2, 10), (300, 10), (301, 10), (1000, 3), (2999, 2), (3000, 1)])
def test_automatic_epochs_are_for_small_data_sets(n, expected):
    X, y = rows(n)
    y[:2] = 0, 1
    model = PocketClassifier(memory="8KiB", random_state=0).fit(X, y)
    assert passes(model) == (n, (expected - 1) * n)
    assert passes(MOMDS(random_state=0).fit(X, y)) == (n, 0)


@every_learner
def test_only_the_first_pass_is_counted(class_):
    """Rounds, mistakes and loss, and the counts up to the last powers of two; then new rows count again."""
    X, y = rows(300)
    once, often = (small(class_, epochs=epochs).fit(X[:200], y[:200]) for epochs in (1, 4))
    if class_ is LKMBooks:  # which is told another number of rounds
        often = once
    names = ("rounds", "mistakes", "cumulative_loss", "rounds_before", "mistakes_before")
    counted = [once.diagnostics_[name] for name in names]
    assert [often.diagnostics_[name] for name in names] == counted and counted[0] == 200
    answers = often.predict_then_learn(X[200:], y[200:])
    assert often.diagnostics_.rounds == 300
    mistakes = 0 if class_ in REGRESSORS else np.sum((answers >= 0) != y[200:])
    assert often.diagnostics_.mistakes == counted[1] + mistakes
    again = type(often).from_bytes(often.to_bytes())
    assert passes(again) == passes(often) and same(again, often, X)


@every_learner
def test_what_judges_does_not_learn_from_repeated_rows(class_):
    if class_ in (LKMBooks, Raker):
        pytest.skip("baselines weigh their kernels by all rounds")
    X, y = rows(200)
    once, often = (small(class_, epochs=epochs).fit(X, y) for epochs in (1, 4))
    if class_ in REGRESSORS:
        np.testing.assert_array_equal(often.margins(0.9), once.margins(0.9))
    elif class_ is not PocketClassifier:  # whose weights are in proportion to norms; see below
        np.testing.assert_array_equal(often.kernel_weights_, once.kernel_weights_)
    assert not same(once, often, X)  # but its functions do


def test_lkm_books_is_told_all_rounds():
    X, y = rows(100)
    model = LKMBooks(budget=8, epochs=3, random_state=0).fit(X, y)
    assert model._recipe.horizon == 300


@every_learner
def test_bad_parameters(class_):
    X, y = rows(20)
    for name, value in [("shuffle", "yes"), ("shuffle", 1), ("epochs", 0), ("epochs", "often"), ("epochs", 1.5),
                        ("epochs", True), ("epochs", None)]:  # fmt: skip
        for learn in ("fit", "partial_fit"):  # which does not use them, but what it makes can be fitted
            with pytest.raises(ValueError, match=f"{name}="):
                getattr(small(class_, **{name: value}), learn)(X, y)


@every_learner
@pytest.mark.parametrize("container", [np.array, sparse.csr_matrix, pd.DataFrame])
def test_errors_name_the_row_as_the_caller_knows_it(class_, container):
    X, y = rows(300)
    X[217, 2] = np.inf
    model = small(class_)
    with pytest.raises(ValueError, match=r"at row 217, column 2"):
        model.fit(container(X), y)
    assert not hasattr(model, "n_features_in_")
    weights = np.ones(300)
    weights[33] = -1.0
    with pytest.raises(ValueError, match=r"found -1\.0 at row 33"):
        model.fit(np.zeros((300, 2)), y, sample_weight=weights)


def test_a_repeated_row_is_not_its_own_neighbour():
    """Labels at random: a learner that met each row again in its memory would believe that it can predict them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 10)), rng.integers(3, size=300)
    share = PocketClassifier(random_state=0, epochs=5).fit(X, y).shares_["ring"]
    misled = PocketClassifier(random_state=0)
    for _ in range(5):
        misled.partial_fit(X, y)
    print(share, misled.shares_["ring"])
    assert share < 0.5 * misled.shares_["ring"]


@pytest.mark.parametrize("classes", [2, 3])
def test_repeated_rows_teach_experts_but_do_not_judge_them(classes):
    """What judges experts (the mixture, shares of the memory, tests for change) learns from new rows only."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, 10)), rng.integers(classes, size=400)
    once, often = (PocketClassifier(random_state=0, epochs=epochs).fit(X, y) for epochs in (1, 6))
    np.testing.assert_allclose(mixture_of(often), mixture_of(once))
    assert often.memory_shares_ == once.memory_shares_
    assert often.events_ == once.events_
    assert not np.allclose(often.kernel_weights_, once.kernel_weights_)  # the experts themselves have changed
    often.partial_fit(X + 0.1, y)  # new rows
    assert not np.allclose(mixture_of(often), mixture_of(once))


def mixture_of(model):
    """Size of each expert's weight in the mixture, in proportion: `report` multiplies it with the expert's norm."""
    weights = np.array([expert["weight"] / max(expert["norm"], 1e-300) for expert in model._core.report()])
    return weights / weights.sum()


def test_passes_do_not_overfit_the_mixture():
    """XOR of two of eight columns: in later passes waves and ferns know every row, so a mixture that learned from those
    rows would trust whichever memorises best."""
    rng = np.random.default_rng(200)
    X = rng.normal(size=(200, 8))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    right = np.mean([cross_val_score(PocketClassifier(random_state=seed), X, y, cv=folds) for seed in range(4)])
    print(right)
    assert right > 0.72  # 0.65 with a mixture that learned in all passes


SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


WINE = pytest.param("wine", marks=pytest.mark.xfail(reason="97.3 % against 97.8 %: less than a row", strict=True))


@pytest.mark.parametrize("name", ["iris", WINE, "breast cancer", "digits"])
def test_cross_validation_as_good_as_a_scaled_linear_model(name):
    """As loaded, which for iris and wine means sorted by class; nobody is tuned."""
    our, theirs = cross_validated(name, lambda seed: 5)
    assert our >= theirs


@pytest.mark.parametrize("name", SETS)
def test_cross_validation_on_shuffled_rows(name):
    """One split of 178 wines may favour anybody; this is another one for every seed."""
    our, theirs = cross_validated(name, lambda seed: StratifiedKFold(5, shuffle=True, random_state=seed))
    assert our > theirs


def cross_validated(name, folds):
    X, y = SETS[name](return_X_y=True)
    seeds = range(3 if name == "digits" else 20)
    linear = [make_pipeline(StandardScaler(), SGDClassifier(random_state=seed)) for seed in seeds]
    ours = [PocketClassifier(random_state=seed) for seed in seeds]
    found = [
        float(np.mean([cross_val_score(model, X, y, cv=folds(seed)) for seed, model in enumerate(models)]))
        for models in (ours, linear)
    ]
    print(f"{name}: {found[0]:.4f}, SGDClassifier {found[1]:.4f}")
    return found


@pytest.mark.parametrize("class_", [PocketClassifier, MulticlassMOMDS])
def test_sorted_by_class(class_):
    X, y = load_iris(return_X_y=True)
    X = X / 8
    assert class_(random_state=0).fit(X, y).score(X, y) > 0.8
