"""PocketRegressor: agreement with its transcription, what it learns, intervals, unkind streams, files, bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracle
import pocketkernel
from pocketkernel import PocketRegressor
from streams import weights as some_weights


def friedman(n, d=10, seed=0, noise=0.5):
    """Rows in a cube, and a smooth function of the first five columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.normal(size=n)


def small(**given):
    return PocketRegressor(**{"memory": "8KiB", "random_state": 1} | given)


# ---- agreement with the oracle --------------------------------------------------------------------------------------


def compare(X, y, memory, quantile=0.0, sparse=False, weights=None):
    """Run both, row by row; answer the transcription."""
    given = {"loss": "quantile", "quantile": quantile} if quantile else {}
    model = PocketRegressor(memory=memory, dtype="float64", random_state=1, **given)
    first = clone(model).fit(X[:1], y[:1])
    m = 1 if y.ndim == 1 else y.shape[1]
    widths = [kernel.width for kernel in first._recipe.kernels[1:]]
    reference = oracle.PocketRegressor(widths, first.frequencies_, X.shape[1], m, 8, quantile)
    rows = scipy.sparse.csr_array(X) if sparse else X
    answers = model.predict_then_learn(rows, y, sample_weight=weights)
    w = np.ones(len(X)) if weights is None else weights
    with np.errstate(invalid="ignore"):
        expected = np.array([reference.learn(*row) for row in zip(X, y, w, strict=True)]).reshape(answers.shape)
    np.testing.assert_allclose(answers, expected, rtol=1e-9, atol=1e-9 * np.abs(y).max())
    done = model.diagnostics_
    assert done.rounds == reference.rounds
    assert done.stored.tolist() == [reference.count(i) for i in range(reference.K)]
    np.testing.assert_allclose(done.cumulative_loss, reference.cumulative_loss, rtol=1e-8)
    for share in (0.3, 0.9, 0.93, 0.995):
        bounds = [t.interval(share) for t in reference.targets]
        np.testing.assert_allclose(np.reshape(model._core.margins(share), (-1, 2)), bounds, rtol=1e-8)
    np.testing.assert_allclose(model.column_relevance_, np.exp(reference.rho), rtol=1e-8)
    return reference


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize(
    ("memory", "parts"),
    [("3KiB", 2), ("8KiB", 5), ("32KiB", 8)],
    ids=["linear", "small", "all"],
)
def test_follows_the_oracle(memory, parts, weighted):
    X, y = friedman(700, 5)
    reference = compare(X, y, memory, weights=some_weights(700) if weighted else None)
    assert parts <= reference.E
    assert memory != "32KiB" or (reference.capacity and reference.with_tables and reference.with_matrix)


@pytest.mark.parametrize("quantile", [0.1, 0.5])
def test_quantiles_follow_the_oracle(quantile):
    compare(*friedman(500, 5), "16KiB", quantile)


def test_several_targets_follow_the_oracle():
    X, y = friedman(500, 5)
    reference = compare(X, np.column_stack([y, 1e6 * X[:, 0] ** 2, np.ones(500)]), "48KiB")
    assert reference.m == 3


def test_changes_follow_the_oracle():
    X, y = friedman(1500, 5)
    for changed in (np.where(np.arange(1500) < 700, y, 100 * y + 5000), np.where(np.arange(1500) < 900, y, 0.01 * y)):
        reference = compare(X, changed, "16KiB")
        assert sum(t.alarms for t in reference.targets) + sum(t.rebases for t in reference.targets) > 0


def test_first_rows_and_falling_weights_follow_the_oracle():
    X, y = friedman(700, 5)
    X[:2, 0], X[0, 1] = 1e30, -1e4
    reference = compare(X, y, "16KiB", weights=np.logspace(9, -80, 700))
    assert reference.restarts == 2
    assert reference.weights.restarts > 1


@pytest.mark.parametrize("sparse", [False, True])
def test_wide_rows_follow_the_oracle(sparse):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((400, 80)) < 0.15, rng.normal(size=(400, 80)), 0.0)
    reference = compare(X, X[:, :9].sum(axis=1) + np.abs(X[:, 1]), "48KiB", sparse=sparse)
    assert reference.stands_still
    assert not reference.with_matrix


def test_missing_values_follow_the_oracle():
    X, y = friedman(500, 5)
    compare(np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X), y, "16KiB")


# ---- what it learns -------------------------------------------------------------------------------------------------


def test_learns_a_smooth_function():
    X, y = friedman(6000)
    answers = PocketRegressor(random_state=0).predict_then_learn(X, y)
    assert np.sqrt(np.mean((y - answers)[3000:] ** 2)) < 0.25 * y.std()  # noise alone is 0.1
    model = PocketRegressor(random_state=0).fit(X, y)
    assert model.score(*friedman(1000, seed=1)) > 0.94


def test_finds_the_columns_that_matter():
    X, y = friedman(6000)
    relevance = PocketRegressor(shuffle=False, random_state=0).fit(X, y).column_relevance_
    assert relevance.shape == (10,)
    assert relevance[:3].min() > 1.5 * relevance[5:].max()
    np.testing.assert_allclose(np.log(relevance).mean(), 0, atol=0.2)
    assert set(PocketRegressor(memory="64KiB").fit(np.eye(70), np.arange(70)).column_relevance_) == {1.0}


@pytest.mark.parametrize("loss", ["absolute", "quantile"])
def test_quantiles(loss):
    X, y = friedman(6000)
    y = y + np.random.default_rng(1).exponential(3, size=6000)
    tau = 0.5 if loss == "absolute" else 0.9
    answers = PocketRegressor(loss=loss, quantile=0.9, random_state=0).predict_then_learn(X, y)
    assert abs(np.mean(y[1000:] <= answers[1000:]) - tau) < 0.01
    error = y[1000:] - answers[1000:]
    pinball = np.maximum(tau * error, (tau - 1) * error).mean()
    constant = y[1000:] - np.quantile(y, tau)
    assert pinball < 0.8 * np.maximum(tau * constant, (tau - 1) * constant).mean()


def test_several_targets():
    X, y = friedman(3000)
    Y = np.column_stack([y, -1e6 * y, X[:, 0]])
    model = PocketRegressor(memory="128KiB", random_state=0)
    answers = model.predict_then_learn(X, Y)
    assert answers.shape == (3000, 3)
    assert model.n_outputs_ == 3
    assert model.predict_interval(X[:7]).shape == (7, 3, 2)
    for r in range(3):
        assert r2_score(Y[1500:, r], answers[1500:, r]) > 0.9
    one = PocketRegressor(random_state=0).fit(X, Y[:, :1])
    np.testing.assert_array_equal(one.predict(X), PocketRegressor(random_state=0).fit(X, y).predict(X))


def test_weights():
    X, y = friedman(1500)
    model, heavy = small().fit(X, y), small().fit(X, y, sample_weight=np.full(1500, 1e6))
    np.testing.assert_allclose(heavy.predict(X), model.predict(X), rtol=1e-3)  # one unit is like another
    skipped = small().fit(X, y, sample_weight=(np.arange(1500) % 2).astype(float))
    np.testing.assert_array_equal(skipped.predict(X), small().fit(X[1::2], y[1::2]).predict(X))


# ---- intervals ------------------------------------------------------------------------------------------------------


def drifting(n, seed=0):
    """A function that changes by and by, whose noise changes by and by and at once, and is skewed."""
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(n, 4)), np.arange(n)
    y = np.sin(X[:, 0] + t / 3000) * X[:, 1] + X[:, 2] * np.where(t < n // 2, 1, -1)
    return X, y + (0.2 + 0.2 * np.sin(t / 1000) + (t > n // 3)) * (rng.exponential(size=n) - 1)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.93, 0.99])
def test_intervals_cover_a_drifting_stream(coverage):
    X, y = drifting(15_000)
    model = PocketRegressor(memory="16KiB", random_state=0).fit(X[:10], y[:10])
    inside = []
    for begin in range(10, len(X)):
        low, high = model.predict_interval(X[begin : begin + 1], coverage)[0]
        inside.append(low <= y[begin] <= high)
        model.partial_fit(X[begin : begin + 1], y[begin : begin + 1])
    shares = np.convolve(inside, np.full(5000, 1 / 5000), "valid")
    assert np.abs(shares - coverage).max() < 0.01


def test_intervals_hold_on_new_rows_after_several_passes():
    """Errors on rows that were learned before are smaller, and say nothing about new ones."""
    shares = []
    for seed in range(3):
        X, y = friedman(1300, seed=seed)
        low, high = PocketRegressor(epochs=10, random_state=0).fit(X[:300], y[:300]).predict_interval(X[300:], 0.9).T
        shares.append(np.mean((low <= y[300:]) & (y[300:] <= high)))
    print(shares)
    assert 0.85 < np.mean(shares) < 0.97


def test_intervals_are_around_the_answer():
    X, y = friedman(3000)
    model = small().fit(X, y)
    low, high = model.predict_interval(X, 0.9).T
    assert np.all((low < model.predict(X)) & (model.predict(X) < high))
    wider = model.predict_interval(X, 0.99)
    assert np.all((wider[:, 0] < low) & (high < wider[:, 1]))
    for bad in (0, 1, -0.5, 2, np.nan, "much", None):
        with pytest.raises(ValueError, match="coverage"):
            model.predict_interval(X, bad)


# ---- unkind streams -------------------------------------------------------------------------------------------------


def error(y, answers, begin=1000):
    """A deviation that outliers do not count in, in units of that of y."""
    return np.sqrt(np.median((y - answers)[begin:] ** 2) / 0.455) / np.subtract(*np.quantile(y, [0.84, 0.16])) * 2


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**100])
def test_units_do_not_matter(unit):
    X, y = friedman(1500)
    answers, other = (PocketRegressor(random_state=0).predict_then_learn(X, y * k) for k in (1.0, unit))
    np.testing.assert_array_equal(other, unit * answers)


UNKIND = {
    "outliers": lambda X, y, rng: (X, np.where(rng.random(len(y)) < 0.001, 1e6 * y, y)),
    "first": lambda X, y, rng: (X, np.concatenate([np.full(5, 1e9), y[5:]])),
    "far": lambda X, y, rng: (np.where(rng.random(X.shape) < 0.001, 1e6 * X, X), y),
    "level": lambda X, y, rng: (X, y + 1e4 * (np.arange(len(y)) > 2000)),
    "larger": lambda X, y, rng: (X, y * np.where(np.arange(len(y)) > 2000, 100, 1)),
    "smaller": lambda X, y, rng: (X, y * np.where(np.arange(len(y)) > 2000, 0.01, 1)),
    "growing": lambda X, y, rng: (X, y * np.exp(np.arange(len(y)) / 1000)),
    "a column": lambda X, y, rng: (
        X * np.where(np.arange(len(y)) > 2000, 1e6, 1)[:, None] ** [1, *[0] * 9],
        y,
    ),
    "columns": lambda X, y, rng: (X * 10.0 ** np.linspace(-6, 6, 10), y),
    "first rows": lambda X, y, rng: (np.where(np.arange(len(y)) < 3, 1e15, X.T).T, y),
    "first of a column": lambda X, y, rng: (np.where(np.arange(len(y)) < 1, [[1e4], *[[1]] * 9], 1).T * X, y),
    "a column that falls": lambda X, y, rng: (X * np.where(np.arange(len(y)) < 2000, [[1e30], *[[1]] * 9], 1).T, y),
    "far from 0": lambda X, y, rng: (X + 1e6, y - 1e9),
}


@pytest.mark.parametrize("name", UNKIND)
def test_unkind_streams(name):
    X, y = UNKIND[name](*friedman(6000), np.random.default_rng(1))
    model = PocketRegressor(random_state=0)
    answers = model.predict_then_learn(X, y)
    assert np.all(np.isfinite(answers))
    assert error(y[4000:], answers[4000:], 0) < 0.35
    assert PocketRegressor.from_bytes(model.to_bytes()).predict(X[:1]) == model.predict(X[:1])


@pytest.mark.parametrize("powers", [(9, -300), (-300, 9)], ids=["fall", "rise"])
def test_weights_may_fall_or_rise(powers):
    X, y = friedman(6000)
    answers = PocketRegressor(random_state=0).predict_then_learn(X, y, sample_weight=np.logspace(*powers, 6000))
    plain = PocketRegressor(random_state=0).predict_then_learn(X, y)
    assert error(y[4000:], answers[4000:], 0) < 1.5 * error(y[4000:], plain[4000:], 0)


@pytest.mark.parametrize("value", [0.0, -3.5, 1e70, 1e-70])
def test_constant_targets(value):
    X, _ = friedman(500)
    answers = small().predict_then_learn(X, np.full(500, value))
    np.testing.assert_array_equal(answers[1:], value)


def test_extreme_targets_leave_numbers():
    X, y = friedman(2000)
    rng = np.random.default_rng(2)
    y = y * rng.choice([1e-70, 1.0, 1e70], size=2000) / 50
    for dtype in ("float32", "float64"):
        model = small(dtype=dtype)
        assert np.all(np.isfinite(model.predict_then_learn(X, y)))
        model.to_bytes()  # refuses a learner whose numbers have left their bounds


# ---- an estimator like the others -----------------------------------------------------------------------------------


# A row of weight 2 is not the row twice: the second time it would find the learner changed by the first.
@parametrize_with_checks(
    [small(loss="absolute", memory="16KiB")],  # beside the default, in test_sklearn.py
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "weights are relative" for kind in ("dense", "sparse")
    },
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_is_a_regressor():
    assert is_regressor(small())
    assert not hasattr(small(), "predict_proba")


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("d", [5, 80])
def test_blocks_rows_and_formats_are_alike(d, m):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, d)) < 0.2, rng.normal(size=(300, d)), 0.0)
    y = (X[:, :3] @ rng.normal(size=(3, m)) + 0.1 * rng.normal(size=(300, m))).squeeze()
    model = small(memory="64KiB")
    answers = model.predict_then_learn(X, y)
    for rows in (scipy.sparse.csr_array(X), pd.DataFrame(X), X.tolist(), np.asfortranarray(X)):
        targets = y.tolist() if isinstance(rows, list) else y
        np.testing.assert_array_equal(small(memory="64KiB").predict_then_learn(rows, targets), answers)
    single = small(memory="64KiB")
    one_by_one = [single.predict_then_learn(X[i : i + 1], y[i : i + 1])[0] for i in range(300)]
    np.testing.assert_array_equal(one_by_one, answers)
    np.testing.assert_array_equal(single.predict(X), model.predict(scipy.sparse.csr_array(X)))
    np.testing.assert_array_equal(single.predict(X), [model.predict(row[None])[0] for row in X])


def test_series_and_frames_of_targets():
    X, y = friedman(300)
    expected = small().fit(X, y).predict(X)
    for given in (pd.Series(y), pl.Series(y), pl.DataFrame({"y": y}), y[:, None], y.astype(object)):
        np.testing.assert_array_equal(small().fit(X, given).predict(X), expected)
    frame = pd.DataFrame({"a": y, "b": -y})
    assert small(memory="16KiB").fit(X, frame).predict(X).shape == (300, 2)


@pytest.mark.parametrize("level", ["base", "avx2"])
def test_levels_are_alike(level, monkeypatch):
    if level not in pocketkernel._core.levels():
        pytest.skip(f"this machine has no {level}")
    X, y = friedman(500)
    expected = small(memory="32KiB").fit(X, y).to_bytes()
    monkeypatch.setenv("POCKETKERNEL_LEVEL", level)
    assert small(memory="32KiB").fit(X, y).to_bytes() == expected


def test_threads_are_alike():
    X, y = friedman(5000)
    model = PocketRegressor(random_state=0, n_jobs=1).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).predict(X), expected)


@pytest.mark.parametrize("m", [1, 2])
def test_goes_on_from_a_file(m, tmp_path):
    X, y = friedman(600)
    Y = y if m == 1 else np.column_stack([y, -y])
    model = small(loss="quantile", quantile=0.8).fit(X[:300], Y[:300])
    model.save(tmp_path / "model.pk")
    for same in (pocketkernel.load(tmp_path / "model.pk"), pickle.loads(pickle.dumps(model))):
        assert same.get_params() == model.get_params()
        assert same.n_outputs_ == m
        other = clone(model).fit(X[:300], Y[:300])
        np.testing.assert_array_equal(
            same.predict_then_learn(X[300:], Y[300:]), other.predict_then_learn(X[300:], Y[300:])
        )
        assert same.to_bytes() == other.to_bytes()


def test_a_file_of_labels_is_refused():
    X, y = friedman(100)
    data = bytearray(small().fit(X, y).to_bytes())
    for place in range(len(data) - 40, len(data), 7):
        broken = data.copy()
        broken[place] ^= 1
        with pytest.raises(pocketkernel.ModelFileError):
            PocketRegressor.from_bytes(bytes(broken))
    with pytest.raises(pocketkernel.ModelFileError, match="PocketRegressor"):
        pocketkernel.PocketClassifier.from_bytes(bytes(data))


def test_plans():
    X, y = friedman(20)
    for memory in ("8KiB", "64KiB", "1MiB"):
        for m in (1, 3):
            plan = PocketRegressor.plan(10, memory, n_outputs=m)
            model = PocketRegressor(memory=memory).fit(X, np.tile(y[:, None], m))
            assert (plan.nbytes, plan.budget) == (model.nbytes, model.budget_)
            assert plan.nbytes <= plan.memory
            assert (plan.n_outputs, plan.n_classes) == (m, 0)
    assert "3 outputs" in repr(plan)
    with pytest.raises(ValueError, match="n_outputs=0"):
        PocketRegressor.plan(10, n_outputs=0)
    with pytest.raises(ValueError, match="memory='1KiB'"):
        PocketRegressor.plan(10, "1KiB")


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["M8[s]", "m8[s]"])
def test_targets_that_are_times_are_refused_with_a_remedy(kind):
    """Not that of labels, which is to turn them into text."""
    X, _ = friedman(10)
    for given in (np.arange(10).astype(kind), list(np.arange(10).astype(kind))):
        with pytest.raises(ValueError, match=r"y holds (dates|times) .*: turn them into numbers, for example"):
            small().fit(X, given)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e71])
def test_bad_targets_are_refused(bad):
    X, y = friedman(100)
    model = small().fit(X, y)
    before = model.to_bytes()
    y = y.copy()
    y[42] = bad
    for learn in (model.fit, model.partial_fit, model.predict_then_learn):
        with pytest.raises(ValueError, match=r"y has a target .* at row 42"):
            learn(X, y)
        with pytest.raises(ValueError, match=r"row 42"):
            learn(X, y.tolist())
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "c"], "numbers"),
        ([1.0, 2.0], "3 rows"),
        ([1j, 2, 3], "omplex"),
        ([[[1.0]], [[2.0]], [[3.0]]], "dimensions"),
        (np.array(["2020-01-01"] * 3, dtype="datetime64[s]"), "dates"),
        ([None, 1.0, 2.0], "y"),
        ({1.0, 2.0, 3.0}, "set"),
        (np.zeros((3, 0)), "no columns"),
        (None, "requires y"),
    ],
)
def test_what_is_no_target_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        small().fit(np.eye(3), y)


def test_other_numbers_of_targets_are_refused():
    X, y = friedman(50)
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="y has 2 targets"):
        model.partial_fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="y is out of range"):
        small(memory="10MiB").fit(X, np.zeros((50, 1001)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "logistic"}, "loss='logistic' is unknown"),
        ({"loss": "quantile", "quantile": 0.0}, "quantile=0.0 is out of range"),
        ({"loss": "quantile", "quantile": "half"}, "quantile='half' is not a number"),
        ({"memory": "100"}, "memory='100'"),
        ({"dtype": "float16"}, "dtype='float16'"),
    ],
)
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        small(**given).fit(*friedman(10))


def test_unfitted():
    for ask in (lambda m: m.predict([[1.0]]), lambda m: m.predict_interval([[1.0]]), lambda m: m.column_relevance_):
        with pytest.raises(NotFittedError):
            ask(small())


# ---- River ----------------------------------------------------------------------------------------------------------


def test_river(tmp_path):
    river = pytest.importorskip("pocketkernel.river")
    X, y = friedman(300, 5)
    model = river.KernelRegressor(small(random_state=None), width=5, seed=1)
    assert model.predict_one({"a": 1.0}) == 0.0
    rows = [dict(zip("abcde", row.tolist(), strict=True)) for row in X]
    answers = []
    for row, target in zip(rows, y.tolist(), strict=True):
        answers.append(model.predict_one(row))
        model.learn_one(row, target)
    np.testing.assert_array_equal(answers, small().predict_then_learn(X, y))
    model.save(tmp_path / "model.pk")
    same = pocketkernel.load(tmp_path / "model.pk")
    assert same.predict_one(rows[0]) == model.predict_one(rows[0])
    for bad in ("many", None, True, float("nan")):
        with pytest.raises(ValueError, match="y"):
            model.learn_one(rows[0], bad)


def test_river_checks():
    river = pytest.importorskip("pocketkernel.river")
    checks = pytest.importorskip("river.checks")
    checks.check_estimator(river.KernelRegressor(small(random_state=None), width=10, seed=1))
