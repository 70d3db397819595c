"""How PocketClassifier behaves on streams whose answer is known: with a figure each, and room to fail."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from pocketkernel import PocketClassifier

SEEDS = range(3)


def normal(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, d))


def xor(n, d=5, seed=0):
    _, X = normal(n, d, seed)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def rings(n, d=5, seed=0):
    _, X = normal(n, d, seed)
    radius = (X**2).sum(axis=1)
    return X, (radius > np.median(radius)).astype(int)


def skewed(n, d=5, seed=0):
    """Columns of positive numbers, which all come close to 0 in a larger unit."""
    X, y = plane(n, d, seed)
    return np.exp(X), y


def plane(n, d=5, seed=0):
    rng, X = normal(n, d, seed)
    return X, (X @ rng.normal(size=d) > 0).astype(int)


def make(**given):
    return PocketClassifier(**{"memory": "16KiB", "random_state": 0} | given)


def mistakes(X, y, rows=slice(None), **given):
    """Share of mistakes on the rows, each answered before its label is told. No score is ever not finite."""
    scores = make(**given).predict_then_learn(X, y, classes=np.unique(y))
    assert np.all(np.isfinite(scores))
    answers = scores >= 0 if scores.ndim == 1 else np.argmax(scores, axis=1)
    return np.mean((answers != y)[rows])


LATE = slice(-2000, None)


# ---- what kernels are for -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [xor, rings], ids=lambda stream: stream.__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_it_learns_what_no_linear_model_can(stream, seed):
    X, y = stream(6000, seed=seed)
    assert mistakes(X, y, LATE, memory="2KiB") > 0.4  # so little that only the linear model fits
    assert mistakes(X, y, LATE) < 0.09
    assert mistakes(X, y, LATE, memory="64KiB") < 0.07


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_hardly_worse_than_a_linear_model_where_that_is_right(seed):
    X, y = plane(4000, seed=seed)
    linear, all_of_it = mistakes(X, y, memory="2KiB"), mistakes(X, y)
    assert linear < 0.05
    assert all_of_it < linear + 0.01


def test_the_experts_that_are_right_count():
    shares = [make().fit(*stream(6000)).kernel_weights_[0] for stream in (plane, xor)]
    print("share of the linear expert:", shares)
    assert shares[0] > 2 * shares[1]


def test_memory_goes_to_the_widths_that_predict():
    """A board of small squares needs narrow kernels, rings need wide ones."""
    X = normal(6000, d=2)[1]
    board = ((np.floor(1.5 * X[:, 0]) + np.floor(1.5 * X[:, 1])) % 2).astype(int)
    narrow, wide = make(memory="64KiB").fit(X, board), make(memory="64KiB").fit(*rings(6000, d=2))
    middles = [
        model.diagnostics_.stored[1:7] @ np.arange(6) / model.diagnostics_.stored[1:7].sum() for model in (narrow, wide)
    ]
    assert middles[0] > middles[1] + 0.7
    assert narrow.score(X, board) > 0.85


# ---- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stream", [xor, rings, plane], ids=lambda stream: stream.__name__)
def test_the_scale_of_a_column_is_of_no_matter(stream, dtype):
    X, y = stream(5000)
    sizes = 10.0 ** np.array([-6, 6, -3, 0, 3])
    plain, scaled = mistakes(X, y, dtype=dtype), mistakes(X * sizes, y, dtype=dtype)
    assert abs(plain - scaled) < 0.005


@pytest.mark.parametrize("stream", [xor, plane], ids=lambda stream: stream.__name__)
def test_nor_is_its_place(stream):
    """Rows are centred in double precision before they are rounded."""
    X, y = stream(5000)
    plain = mistakes(X, y)
    for place in (1e3, 1e7, 1e9, 1e12):
        assert abs(plain - mistakes(X + place * np.array([1, -1, 0.1, 0, 1]), y)) < 0.01, place
    assert abs(plain - mistakes(X * 10.0 ** np.array([-30, 30, -24, 12, 0]), y)) < 0.005


def test_rows_may_be_of_either_precision():
    """Of float32 rows the digits are gone before they come, but nothing else is lost."""
    X, y = xor(3000)
    X = X.astype(np.float32)
    np.testing.assert_array_equal(make().predict_then_learn(X, y), make().predict_then_learn(X.astype(np.float64), y))


# ---- which columns matter -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("d", [10, 30])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_columns_that_matter_are_found(d, C, seed):
    """Two of many, and nothing linear in them."""
    _, X = normal(12_000, d, seed)
    y = np.digitize(X[:, 0] * X[:, 1], [0.0, 0.5][: C - 1])
    relevance = make(memory="64KiB").fit(X, y).column_relevance_
    print(relevance)
    assert relevance.shape == (d,)
    assert relevance[:2].min() > 1.5 * relevance[2:].max()
    assert abs(np.log(relevance).mean()) < 0.01


def test_columns_that_do_not_matter_cost_little():
    X, y = xor(8000, d=20)
    assert mistakes(X, y, LATE, memory="64KiB") < 0.1
    assert mistakes(X[:, :2], y, LATE, memory="64KiB") < 0.05


def test_a_linear_model_alone_weighs_no_columns():
    assert make(memory="2KiB").fit(*xor(200)).column_relevance_.tolist() == [1.0] * 5


# ---- missing values -------------------------------------------------------------------------------------------------


def holes(X, share, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("d", [5, 80])
def test_missing_values_are_the_same_dense_and_sparse_in_blocks_and_row_by_row(d, C, dtype):
    rng, X = normal(300, d)
    X = holes(X * (rng.random(X.shape) < 0.3), 0.2)
    y = rng.integers(C, size=len(X))
    models = [make(memory="64KiB", dtype=dtype) for _ in range(3)]
    dense = models[0].predict_then_learn(X, y, classes=range(C))
    csr = models[1].predict_then_learn(sparse.csr_matrix(X), y, classes=range(C))
    rows = [models[2].predict_then_learn(X[i : i + 1], y[i : i + 1], classes=range(C)) for i in range(len(X))]
    assert np.all(np.isfinite(dense))
    np.testing.assert_array_equal(csr, dense)
    np.testing.assert_array_equal(np.concatenate(rows), dense)
    assert models[0].to_bytes() == models[1].to_bytes() == models[2].to_bytes()
    np.testing.assert_array_equal(models[0].decision_function(sparse.csr_matrix(X)), models[0].decision_function(X))


@pytest.mark.parametrize("seed", SEEDS)
def test_missing_values_cost_what_they_hide(seed):
    """Of a plane in five columns of which a tenth is missing: beside the means of the columns filled in by hand."""
    X, y = plane(6000, seed=seed)
    struck = holes(X, 0.1)
    filled = np.where(np.isnan(struck), 0.0, struck)  # normal columns: their mean
    assert mistakes(struck, y, LATE) < mistakes(filled, y, LATE) + 0.01
    assert mistakes(struck, y, LATE) < 0.2


def test_a_missing_value_is_the_usual_one_and_moves_no_scale():
    """Rows with a hole in a column that holds its mean: the same answers as without; the next rows too."""
    X, y = plane(3000)
    model, same = make().fit(X, y), make().fit(X, y)
    hole = X[:1].copy()
    hole[0, 0] = np.nan
    np.testing.assert_allclose(model.decision_function(hole), same.decision_function(hole))
    empty = np.hstack([X, np.full((len(X), 1), np.nan)])
    constant = np.hstack([X, np.full((len(X), 1), 3.25)])
    np.testing.assert_array_equal(make().predict_then_learn(empty, y), make().predict_then_learn(constant, y))
    late = np.vstack([np.full((500, 5), np.nan), X])  # nothing is known of any column, and then it is as if new
    scores = make().predict_then_learn(late, np.concatenate([y[:500], y]))
    assert np.mean((scores >= 0)[-2000:] != y[-2000:]) < 0.05


def test_infinities_are_no_missing_values():
    X, y = xor(100)
    for bad in (np.inf, -np.inf):
        X[7, 2] = bad
        for rows in (X, sparse.csr_matrix(X)):
            with pytest.raises(ValueError, match=r"infinity.*at row 7, column 2"):
                make().partial_fit(rows, y, classes=[0, 1])


# ---- change of units or level ---------------------------------------------------------------------------------------

CHANGES = {
    "x 1e-6": (1e-6, 0.0), "x 0.01": (0.01, 0.0), "x 0.1": (0.1, 0.0), "x 10": (10.0, 0.0), "x 1e6": (1e6, 0.0),
    "+ 3": (1.0, 3.0), "+ 1000": (1.0, 1000.0), "+ 1e6": (1.0, 1e6), "x 0.001 + 1000": (1e-3, 1e3),
}  # fmt: skip


@pytest.mark.parametrize("columns", [[0], slice(None)], ids=["one", "all"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("stream", [xor, plane, skewed], ids=lambda stream: stream.__name__)
def test_a_change_of_units_or_level_is_followed(stream, change, columns):
    """After 10,000 rows; a new learner, from the change on, is the measure."""
    X, y = stream(16_000)
    factor, shift = CHANGES[change]
    X[10_000:, columns] = factor * X[10_000:, columns] + shift
    fresh = mistakes(X[10_000:], y[10_000:], slice(3000, 6000))
    assert mistakes(X, y, slice(13_000, 16_000)) < 1.5 * fresh + 0.002
    assert mistakes(X, y, slice(10_000, 16_000)) < 1.5 * mistakes(X[10_000:], y[10_000:]) + 0.01


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [[0], slice(None)], ids=["one", "all"])
@pytest.mark.parametrize(("d", "memory"), [(5, "16KiB"), (80, "48KiB")], ids=["narrow", "wide"])
def test_bad_first_rows_do_not_last(d, memory, columns, dtype):
    """A thousand rows after them it is as without them, wherever the other rows lie."""
    _, X = normal(4000, d)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    given = {"memory": memory, "dtype": dtype}
    measure = mistakes(X, y, slice(1000, None), **given)
    for rows, value, level in ((1, 1e4, 0), (1, 1e15, 0), (1, 1e30, 0), (10, -1e30, 0), (1, 0.0, 1e9), (1, 1e20, 1e6)):
        struck = X + level
        struck[:rows, columns] = value
        assert mistakes(struck, y, slice(1000 + rows, None), **given) < 1.5 * measure + 0.005


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fall", [1e12, 1e30])
def test_nor_does_a_unit_that_has_fallen_far(fall, dtype):
    X, y = plane(8000)
    measure = mistakes(X, y, slice(6000, None), dtype=dtype)
    X[:5000, :3] *= fall
    assert mistakes(X, y, slice(6000, None), dtype=dtype) < 1.5 * measure + 0.005


@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
def test_so_it_is_of_rare_columns(as_csr):
    """Eighty columns, of which one in ten is not zero, each in another unit after 6,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(16_000, 80)) * (rng.random((16_000, 80)) < 0.1)
    y = (X[:, :20] @ np.where(np.arange(20) % 2, 1.0, -1.0) + 0.5 * rng.standard_normal(16_000) > 0).astype(int)
    X[6000:] *= 10.0 ** rng.integers(-6, 7, size=80)
    rows = sparse.csr_matrix(X) if as_csr else X
    given = {"memory": "48KiB"}
    assert mistakes(rows, y, slice(11_000, None), **given) < 1.5 * mistakes(
        rows[6000:], y[6000:], slice(5000, None), **given
    )


def test_a_constant_column_that_comes_to_life_late():
    X, y = xor(40_000)
    for constant in (0.0, 3.25):
        X[:30_000, 0] = constant
        late = mistakes(X, y, slice(35_000, None))
        assert late < 1.5 * mistakes(X[30_000:], y[30_000:], slice(5000, None))


def test_outliers_are_no_change():
    """One value in a hundred, and once ten rows in a row."""
    X, y = xor(12_000)
    struck = X.copy()
    struck[np.random.default_rng(1).random(X.shape) < 0.01] *= 1e6
    struck[6000:6010] = 1e9
    kept = np.abs(struck).max(axis=1) < 1e3
    assert mistakes(struck, y, np.flatnonzero(kept & (np.arange(12_000) > 6500))) < mistakes(X, y, LATE) + 0.06


# ---- weights --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_weights_is_of_no_matter(unit, C):
    X, _ = xor(2000)
    y = np.digitize(X[:, 0] * X[:, 1], [0.0, 0.5][: C - 1])
    plain = make().predict_then_learn(X, y, classes=range(C))
    weighted = make().predict_then_learn(X, y, classes=range(C), sample_weight=np.full(2000, unit))
    np.testing.assert_allclose(weighted, plain, atol=1e-5)


@pytest.mark.parametrize("weight", [1e4, 1e9])
@pytest.mark.parametrize("row", [0, 1, 100, 3000])
@pytest.mark.parametrize("stream", [xor, plane], ids=lambda stream: stream.__name__)
def test_one_heavy_row_does_not_last(stream, row, weight):
    w = np.ones(8000)
    w[row] = weight
    plain, heavy = [], []
    for seed in SEEDS:
        X, y = stream(8000, seed=seed)
        scores = make().predict_then_learn(X, y, sample_weight=w)
        heavy.append(np.mean(((scores >= 0) != y)[LATE]))
        plain.append(mistakes(X, y, LATE))
    assert np.mean(heavy) < np.mean(plain) + 0.01


COURSES = {
    "falls": lambda t: 9 - 309 * t,
    "rises": lambda t: -300 + 309 * t,
    "falls early": lambda t: np.maximum(9 - 3090 * t, -300),
    "jumps down": lambda t: np.where(t < 0.05, 9, -300),
    "jumps up": lambda t: np.where(t < 0.5, -300, 9),
    "first": lambda t: np.where(t == 0, -300, 0),
    "alternates": lambda t: np.where(np.arange(len(t)) % 2, 0, -300),
    "in blocks": lambda t: np.where(t * 40 % 2 < 1, 0, -300),
}


@pytest.mark.parametrize("course", COURSES)
def test_weights_may_take_any_course(course):
    """Powers of ten. All rows are right, so at most half of them may count for nothing."""
    w = 10.0 ** COURSES[course](np.linspace(0, 1, 6000))
    weighted, plain = [], []
    for seed in SEEDS:
        X, y = rings(6000, d=2, seed=seed)
        scores = make().predict_then_learn(X, y, sample_weight=w)
        weighted.append(np.mean(((scores >= 0) != y)[LATE]))
        plain.append(mistakes(X, y, LATE))
    assert np.mean(weighted) < 1.5 * np.mean(plain) + 0.01


def test_light_rows_count_little():
    """Every other row is mislabelled and weighs a thousandth."""
    X, y = xor(16_000)
    wrong = np.arange(16_000) % 2 == 1
    scores = make().predict_then_learn(X, np.where(wrong, 1 - y, y), sample_weight=np.where(wrong, 1.0, 1000.0))
    late = slice(-4000, None)
    assert np.mean(((scores >= 0) != y)[late]) < mistakes(X[~wrong], y[~wrong], slice(-2000, None)) + 0.02


@pytest.mark.parametrize("seed", SEEDS)
def test_heavy_tails(seed):
    """Without mean or variance; the largest of 30,000 values is about 1e4 times the median one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy(size=(6000, 5))
    assert np.abs(X).max() > 1e3 * np.median(np.abs(X))
    assert mistakes(X, (X[:, 0] > 0).astype(int), LATE) < 0.16
    assert mistakes(X, (X[:, 0] * X[:, 1] > 0).astype(int), LATE) < 0.4


@pytest.mark.parametrize("value", [100.0, 1e6, 1e15])
def test_one_huge_value_does_not_last(value):
    X, y = xor(8000)
    struck = X.copy()
    struck[3000, 0] = value
    assert mistakes(struck, y, LATE) < mistakes(X, y, LATE) + 0.1


def test_constant_columns_are_harmless():
    X, y = xor(5000)
    constant = np.tile([0.0, 1.0, -1e6, 1e-6], (len(X), 1))
    assert abs(mistakes(X, y, memory="32KiB") - mistakes(np.hstack([X, constant]), y, memory="32KiB")) < 0.02
    assert mistakes(np.ones((1000, 3)), y[:1000]) < 0.6  # nothing but constants


def test_a_column_that_wakes_up():
    """Constant for 2,000 rows, then all that matters."""
    X, y = xor(8000)
    X[:2000, 0] = 3.25
    assert mistakes(X, y, LATE) < 0.15


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [xor, plane], ids=lambda stream: stream.__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_noise_in_the_labels(stream, seed):
    """Of labels of which 10 % are wrong, hardly more than 10 % are mistaken."""
    X, y = stream(10000, seed=seed)
    noisy = np.where(np.random.default_rng(seed).random(len(y)) < 0.1, 1 - y, y)
    assert mistakes(X, noisy, LATE) < {xor: 0.22, plane: 0.16}[stream]


@pytest.mark.parametrize("stream", [xor, plane], ids=lambda stream: stream.__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_labels_that_change_places(stream, seed):
    X, y = stream(10000, seed=seed)
    flipped = np.where(np.arange(len(y)) < 5000, y, 1 - y)
    before, after = mistakes(X, flipped, slice(4000, 5000)), mistakes(X, flipped, slice(6000, 7000))
    assert after < before + 0.03
    assert mistakes(X, flipped, slice(5000, 5010)) > 0.5  # it was fooled


@pytest.mark.parametrize("seed", SEEDS)
def test_another_rule(seed):
    """Half-way another pair of columns matters."""
    X, _ = xor(12000, seed=seed)
    y = np.where(np.arange(len(X)) < 6000, X[:, 0] * X[:, 1] > 0, X[:, 2] * X[:, 3] > 0).astype(int)
    assert mistakes(X, y, slice(4000, 6000)) < 0.15
    assert mistakes(X, y, slice(10000, 12000)) < 0.2


def test_sorted_classes():
    """All of one class first: it answers the class of the day, and after a mixed half it has not forgotten."""
    X, y = xor(6000)
    order = np.concatenate([np.argsort(y[:3000], kind="stable"), np.arange(3000, 6000)])
    assert mistakes(X[order], y[order], slice(0, 3000)) < 0.05
    assert mistakes(X[order], y[order], slice(5000, 6000)) < 0.2


def test_one_class_only():
    X, _ = xor(2000)
    scores = make().predict_then_learn(X, np.ones(len(X), int), classes=[0, 1])
    assert np.all(np.isfinite(scores))
    assert np.all(scores[10:] > 0)


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_rare_classes(share):
    """It is no worse than the answer that is always the frequent class, and finds most of the rare."""
    X = normal(10000)[1]
    y = (X[:, 0] > np.quantile(X[:, 0], 1 - share)).astype(int)
    scores = make().predict_then_learn(X, y)
    assert np.mean((scores >= 0) != y) < share
    assert np.mean((scores >= 0)[-5000:][y[-5000:] == 1]) > 0.6


# ---- labels that have a memory --------------------------------------------------------------------------------------


def in_runs(n, C=2, seed=0):
    """Labels that stay for ten rows or so, and rows that tell nothing of them."""
    rng, X = normal(n, seed=seed)
    return X, np.cumsum(rng.random(n) < 0.1) * rng.integers(1, C) % C


@pytest.mark.parametrize("C", [2, 5])
def test_the_last_labels_are_used(C):
    X, y = in_runs(4000, C)
    given = {"memory": "32KiB"}
    with_it, without = mistakes(X, y, LATE, **given), mistakes(X, y, LATE, lag=False, **given)
    print(with_it, without)
    assert with_it < 0.13
    assert without > 1.5 * with_it
    shares = make(shuffle=False, **given).fit(X, y).kernel_weights_
    assert len(shares) == len(make(lag=False, shuffle=False, **given).fit(X, y).kernel_weights_) + 1
    assert shares[-1] > 0.3


def test_labels_without_a_memory_cost_nothing():
    X, y = xor(6000)
    assert abs(mistakes(X, y, LATE) - mistakes(X, y, LATE, lag=False)) < 0.01


@pytest.mark.parametrize("delay", [1, 20])
def test_labels_that_come_late_teach_nothing_false(delay):
    """Scores from before the last `delay` labels, which are learned in blocks."""
    X, y = xor(6000)
    y = np.where(np.arange(6000) // 300 % 2, y, 1 - y) if delay == 1 else y
    wrong = {}
    for lag in (False, True):
        model, scores = make(lag=lag).partial_fit(X[:100], y[:100]), []
        for t in range(100, 6000, delay):
            scores.append(model.decision_function(X[t : t + delay]))
            model.partial_fit(X[t : t + delay], y[t : t + delay])
        wrong[lag] = np.mean((np.concatenate(scores) >= 0)[-2000:] != y[-2000:])
    print(wrong)
    assert wrong[True] < wrong[False] + 0.02


@pytest.mark.parametrize("C", [2, 5])
def test_after_a_fit_the_last_labels_say_nothing(C):
    """Rows that are predicted after a fit need not follow it. After partial_fit they do: one label is enough for that,
    as what labels are worth is not forgotten."""
    X, y = in_runs(3000, C)
    X[:, 0] += y
    rows = np.concatenate([np.flatnonzero(y == c)[:50] for c in range(C)])
    fitted, streamed = make(memory="32KiB", shuffle=False).fit(X, y), make(memory="32KiB").partial_fit(X, y)
    scores = [model.score(X[rows], y[rows]) for model in (fitted, streamed)]
    scores.append(fitted.partial_fit(X[-1:], y[-1:]).score(X[rows], y[rows]))
    print(scores)
    assert scores[0] > scores[1] + 0.15
    assert abs(scores[2] - scores[1]) < 0.05


@pytest.mark.parametrize("C", [2, 3])
def test_a_block_is_scored_as_its_rows(C):
    X, y = in_runs(600, C)
    model = make(memory="32KiB").fit(X[:500], y[:500] % C)
    block = model.decision_function(X[500:])
    rows = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(500, 600)])
    np.testing.assert_array_equal(block, rows)


@pytest.mark.parametrize("lag", [None, "yes", 1])
def test_lag_is_true_or_false(lag):
    with pytest.raises(ValueError, match="neither True nor False"):
        make(lag=lag).fit(*xor(10))


# ---- probabilities --------------------------------------------------------------------------------------------------


def calibration_error(chances, y, bins=15):
    """Mean distance of a probability from how often it came true, over bins of equal width."""
    which = np.minimum((chances * bins).astype(int), bins - 1)
    return sum(abs(np.sum(chances[which == b]) - np.sum(y[which == b])) for b in range(bins)) / len(y)


@pytest.mark.parametrize("steepness", [0.5, 1.5, 4.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_mean_what_they_say(steepness, seed):
    rng, X = normal(12000, seed=seed)
    chance = 1 / (1 + np.exp(-steepness * (X[:, 0] * X[:, 1] + X[:, 2])))
    y = (rng.random(len(X)) < chance).astype(int)
    model = make()
    said = 1 / (1 + np.exp(-model.predict_then_learn(X, y)))  # each before its label
    assert calibration_error(said[2000:], y[2000:]) < 0.03
    assert np.mean(np.abs(said - chance)[2000:]) < 0.1
    after = model.predict_proba(X)  # one moment of a learner that never stands still: less exact
    np.testing.assert_allclose(after.sum(axis=1), 1)
    assert calibration_error(after[:, 1], y) < 0.12


def test_probabilities_of_several_classes():
    rng, X = normal(12000)
    odds = np.exp(1.5 * np.column_stack([X[:, 0], X[:, 1] * X[:, 2], np.zeros(len(X))]))
    odds /= odds.sum(axis=1, keepdims=True)
    y = (rng.random(len(X))[:, None] > np.cumsum(odds, axis=1)).sum(axis=1)
    model = make(memory="32KiB").partial_fit(X[:10000], y[:10000], classes=[0, 1, 2])
    said = model.predict_proba(X[10000:])
    for c in range(3):
        assert calibration_error(said[:, c], y[10000:] == c) < 0.05
    assert np.mean(np.abs(said - odds[10000:])) < 0.1


# ---- several classes ------------------------------------------------------------------------------------------------


def test_digits():
    X, y = load_digits(return_X_y=True)
    scores = make(memory="64KiB").predict_then_learn(X, y)
    wrong = np.argmax(scores, axis=1) != y
    assert np.mean(wrong) < 0.1
    assert np.mean(wrong[-600:]) < 0.07
    assert mistakes(StandardScaler().fit_transform(X), y, memory="64KiB") < 0.1


def test_two_of_three_classes():
    """A class that never comes costs little."""
    X, y = xor(5000)
    scores = make(memory="16KiB").predict_then_learn(X, y, classes=[0, 1, 2])
    assert np.all(np.argmax(scores[200:], axis=1) < 2)
    assert np.mean(np.argmax(scores, axis=1)[LATE] != y[LATE]) < 0.17


def cases(n, C=6, seed=0):
    """Three hundred small clusters, each of a class of its own: nothing to learn but by heart."""
    rng = np.random.default_rng(seed)
    centres, classes = rng.normal(size=(300, 6)), rng.integers(C, size=300)
    which = rng.integers(300, size=n)
    return centres[which] + 0.02 * rng.normal(size=(n, 6)), classes[which]


@pytest.mark.parametrize("seed", SEEDS)
def test_cases_are_remembered(seed):
    X, y = cases(6000, seed=seed)
    model = make(memory="64KiB")
    wrong = np.argmax(model.predict_then_learn(X, y), axis=1) != y
    assert np.mean(wrong[LATE]) < 0.01
    assert model.diagnostics_.stored[7] > 1000  # rows of the ring
    assert model.shares_["ring"] > 0.05


def test_a_full_ring_follows_clusters_that_move():
    """The labels of all clusters change; what the ring held is wrong then, and small windows see it first."""
    X, y = cases(12_000)
    y = np.where(np.arange(len(y)) < 8000, y, (y + 1) % 6)
    assert mistakes(X, y, slice(7000, 8000), memory="64KiB") < 0.02
    assert mistakes(X, y, slice(8000, 8100), memory="64KiB") > 0.3
    assert mistakes(X, y, slice(11_000, 12_000), memory="64KiB") < 0.05


# ---- memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("memory", [2048, 4096, 10_000, 65_536, 2**20])
@pytest.mark.parametrize("d", [1, 5, 22, 64, 300])
def test_memory_is_respected(d, memory, dtype):
    X, y = rings(200, d)
    model = make(memory=memory, dtype=dtype)
    try:
        model.partial_fit(X, y, classes=[0, 1])
    except ValueError as refusal:
        assert (d, dtype) > (16, "float32") or dtype == "float64"
        assert "needs at least" in str(refusal)
        return
    size = model.nbytes
    assert size <= memory
    assert size == PocketClassifier.plan(d, memory=memory, dtype=dtype).nbytes
    assert size > 0.9 * memory - 1024 or model.budget_ == 0
    model.partial_fit(X, y)
    assert model.nbytes == size


def test_2_kib_are_enough_for_16_columns():
    assert PocketClassifier.plan(16, memory="2KiB").nbytes <= 2048
    with pytest.raises(ValueError, match="too small"):
        PocketClassifier.plan(40, memory="2KiB")


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("d", [1, 40, 1000])
def test_too_little_memory_is_refused_with_the_least(d, classes):
    with pytest.raises(
        ValueError, match=rf"memory=500 \(500 bytes\) is too small: PocketClassifier with {d} feat"
    ) as no:
        PocketClassifier.plan(d, memory=500, n_classes=classes)
    least = int(str(no.value).split("at least ")[1].split()[0])
    assert PocketClassifier.plan(d, memory=least, n_classes=classes).nbytes == least
    with pytest.raises(ValueError, match=f"at least {least} bytes"):
        PocketClassifier.plan(d, memory=least - 1, n_classes=classes)


def test_more_memory_does_not_hurt_where_labels_are_wrong():
    """A plane that turns, with 5 % wrong labels: more of everything must not learn those."""
    rates = []
    for seed in range(4):
        rng, X = normal(16_000, 10, seed)
        turn = np.arange(16_000)[:, None] / 4000
        y = (X * np.cos(turn + rng.uniform(0, 2 * np.pi, 10))).sum(axis=1) > 0
        y = (y ^ (rng.random(16_000) < 0.05)).astype(int)
        rates.append([mistakes(X, y, memory=memory, random_state=seed) for memory in ("32KiB", "256KiB")])
    less, more = np.mean(rates, axis=0)
    print(less, more)
    assert more <= less + 0.0005


def test_more_memory_helps():
    X, y = rings(8000, d=10)
    rates = [mistakes(X, y, LATE, memory=memory) for memory in ("2KiB", "8KiB", "128KiB")]
    assert rates[0] > rates[1] + 0.1
    assert rates[1] > rates[2]


# ---- nothing is ever not a number -----------------------------------------------------------------------------------


HOSTILE = {
    "huge": lambda rng, X: X * 1e15,
    "tiny": lambda rng, X: X * 1e-30,
    "of every size": lambda rng, X: X * 10.0 ** rng.integers(-18, 18, size=X.shape),
    "suddenly huge": lambda rng, X: np.where(np.arange(len(X))[:, None] < 500, X, X * 1e15),
    "suddenly tiny": lambda rng, X: np.where(np.arange(len(X))[:, None] < 500, X, X * 1e-20),
    "zeros": lambda rng, X: np.zeros_like(X),
    "one value": lambda rng, X: np.full_like(X, -7.5),
    "now and then": lambda rng, X: np.where(rng.random(X.shape) < 0.001, 1e15, 0.0),
}


@pytest.mark.parametrize("weights", [None, 1e9, 1e-9], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("C", [2, 4])
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_score_is_not_a_number(kind, C, dtype, weights):
    rng, X = normal(1000)
    X, y = HOSTILE[kind](rng, X), rng.integers(C, size=1000)
    w = None if weights is None else np.where(rng.random(1000) < 0.5, weights, 1.0)
    model = make(dtype=dtype)
    scores = model.predict_then_learn(X, y, classes=range(C), sample_weight=w)
    assert np.all(np.isfinite(scores))
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.isfinite(model.diagnostics_.cumulative_loss)
    again = PocketClassifier.from_bytes(model.to_bytes())  # its numbers are those of a learner in good health
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("C", [2, 3])
def test_weights_are_heeded_by_the_watch_for_change(C):
    """Rows that weigh little are often mistaken, and rightly so: that is no change of the stream."""
    rng, X = normal(3000)
    y = rng.integers(C, size=len(X))
    weights = np.where(y == 1, 3.0, 0.2)
    models = [make(random_state=seed).fit(X, y, sample_weight=weights) for seed in range(3)]
    said = np.array([model.predict_proba(X)[:, 1].mean() for model in models])
    said = said if C == 2 else np.median(said)  # with three classes, one seed of eight is off by 0.07
    assert np.max(np.abs(said - 3 / (3 + 0.2 * (C - 1)))) < 0.03


def test_a_rare_class_of_sparse_rows_in_the_least_memory():
    """A linear model alone; of rows with few values hardly one is in the class, so the bias has to go far from 0."""
    rng = np.random.default_rng(0)
    X = (rng.random((4000, 300)) < np.where(rng.random((4000, 1)) < 0.5, 0.02, 0.12)).astype(float)
    y = X[:, :3].sum(axis=1) >= 2
    model = PocketClassifier(memory="24KiB", random_state=0)
    wrong = (model.predict_then_learn(X, y) >= 0) != y
    assert len(model.kernel_weights_) == 1
    assert wrong[1000:].mean() < 1.5 * y.mean()
