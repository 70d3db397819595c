"""Measures of a pass: against scikit-learn and direct counts, in blocks of any size, merged, saved and restored."""

import json

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax
from sklearn import metrics as reference

from pocketkernel import PocketClassifier
from pocketkernel.evaluate.metrics import ClassificationMetrics, RegressionMetrics
from pocketkernel.evaluate.metrics.answers import Answers
from pocketkernel.evaluate.metrics.baselines import LabelBaselines, ValueBaselines
from pocketkernel.evaluate.metrics.confusion import MOST, OTHERS, Confusion
from pocketkernel.evaluate.metrics.trace import LIMIT, Trace
from pocketkernel.model_file import ModelFileError

ROWS = 3001


def stream(classes, rows=ROWS, seed=0):
    """Labels, scores that know something of them, and the scores of a worse model."""
    rng = np.random.default_rng(seed)
    share = np.arange(classes, 0, -1.0)
    y = rng.choice(classes, rows, p=share / share.sum())
    scores = rng.standard_normal((rows, classes)) + 1.5 * (np.arange(classes) == y[:, None])
    worse = rng.standard_normal((rows, classes)) + 0.5 * (np.arange(classes) == y[:, None])
    if classes == 2:
        return y, scores[:, 1] - scores[:, 0], worse[:, 1] - worse[:, 0]
    return y, scores, worse


def classified(classes, sizes=(ROWS,), seed=0):
    found = ClassificationMetrics([f"c{k}" for k in range(classes)], probabilities=True, linear=True)
    y, scores, worse = stream(classes, seed=seed)
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        found.update(y[part], scores[part], worse[part])
        start += size
    assert start == ROWS
    return found


BLOCKS = [(ROWS,), (1,) * 7 + (ROWS - 7,), (1000, 1000, 1001), (64,) * 46 + (57,)]


# ---- classes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_classes_against_scikit_learn(classes):
    y, scores, worse = stream(classes)
    guess = scores >= 0 if classes == 2 else scores.argmax(axis=1)
    found = classified(classes, BLOCKS[2]).results()
    assert found["mistake_rate"] == pytest.approx(1 - reference.accuracy_score(y, guess))
    assert found["balanced_accuracy"] == pytest.approx(reference.balanced_accuracy_score(y, guess))
    assert found["confusion"]["counts"] == reference.confusion_matrix(y, guess).tolist()
    precision, recall, _, rows = reference.precision_recall_fscore_support(y, guess)
    assert [one["rows"] for one in found["classes"]] == rows.tolist()
    np.testing.assert_allclose([one["precision"] for one in found["classes"]], precision)
    np.testing.assert_allclose([one["recall"] for one in found["classes"]], recall)
    linear = worse >= 0 if classes == 2 else worse.argmax(axis=1)
    assert found["baselines"]["linear"]["mistakes"] == np.count_nonzero(linear != y)
    if classes == 2:
        probabilities = np.column_stack([1 - expit(scores), expit(scores)])
        exact = reference.roc_auc_score(y, scores)
        assert abs(found["auc"] - exact) <= found["auc_error"] < 1e-3
    else:
        probabilities = softmax(scores, axis=1)
        assert "auc" not in found
    assert found["log_loss"] == pytest.approx(reference.log_loss(y, probabilities))


@pytest.mark.parametrize("classes", [2, 5, 100])
def test_baselines_against_a_loop(classes):
    y, *_ = stream(classes, 500)
    counts, leader, last, majority, lasts = np.zeros(classes, int), 0, 0, [], []
    for label in y.tolist():
        majority.append(leader)
        lasts.append(last)
        counts[label] += 1
        leader = label if counts[label] > counts[leader] else leader
        last = label
    for size in (1, 7, 500):
        baselines = LabelBaselines(classes)
        parts = [baselines.update(y[start : start + size]) for start in range(0, 500, size)]
        assert np.concatenate([part[0] for part in parts]).tolist() == majority
        assert np.concatenate([part[1] for part in parts]).tolist() == lasts


def test_calibration_against_direct_means():
    y, scores, _ = stream(2)
    found = classified(2).results()["calibration"]
    p = expit(scores)
    error = 0.0
    for one in found["bins"]:
        inside = (p >= one["low"]) & (p < one["high"])
        assert one["rows"] == np.count_nonzero(inside)
        assert one["probability"] == pytest.approx(p[inside].mean())
        assert one["frequency"] == pytest.approx(y[inside].mean())
        error += np.count_nonzero(inside) / ROWS * abs(p[inside].mean() - y[inside].mean())
    assert found["error"] == pytest.approx(error)
    assert sum(one["rows"] for one in found["bins"]) == ROWS


@pytest.mark.parametrize("balance", [None, "balanced"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, np.asfortranarray], ids=["rows", "CSR", "columns"])
@pytest.mark.parametrize(("classes", "room"), [(3, None), (40, None), (12, 40), (37, 40)])
def test_what_a_learner_tells_is_what_its_scores_say(classes, room, form, balance):
    rng = np.random.default_rng(classes)
    X = form(rng.standard_normal((900, 4)))
    y = np.sin(X @ rng.standard_normal((4, classes))).argmax(axis=1)
    metrics = ClassificationMetrics([str(k) for k in range(classes)], probabilities=True, linear=True, apart=True)
    settings = {"memory": "256KiB", "class_weight": balance, "n_classes": room, "random_state": 0}
    model, same = (PocketClassifier(**settings) for _ in range(2))
    for learner in (model, same):
        learner.partial_fit(X[:100], y[:100], classes=np.arange(classes))
    scores, linear, apart = same.predict_then_learn_parts(X[100:], y[100:])
    told = Answers.told(model.predict_then_learn_answers(X[100:], y[100:]))
    read = metrics.read(y[100:], scores, linear, apart)
    assert model.to_bytes() == same.to_bytes()
    for name in ("labels", "places", "linear", "apart"):
        np.testing.assert_array_equal(getattr(told, name), getattr(read, name))
    for name in ("losses", "claimed"):
        np.testing.assert_allclose(getattr(told, name), getattr(read, name), rtol=1e-12, atol=1e-12)
    assert np.ptp(told.places) > 0 and np.any(told.places != told.linear)


@pytest.mark.parametrize(
    ("first", "next_ones"), [([0, 1, 2], [0, 1, 3]), ([1, 2, 3], [0, 1, 2]), ([0, 1, 0], [0, 1, 1])]
)
def test_nothing_is_told_of_labels_that_arrive_late_or_of_two(first, next_ones):
    model = PocketClassifier(n_classes=4, random_state=0).partial_fit(np.eye(3), first)
    assert model.predict_then_learn_answers(np.eye(3), next_ones) is None
    assert model.diagnostics_["rounds"] == 3
    model.partial_fit(np.eye(3), next_ones)
    assert (model.predict_then_learn_answers(np.eye(3), first) is None) == (first != [0, 1, 2])


def test_probabilities_that_are_right_have_a_small_error():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, 50_000)
    for factor, low, high in ((1.0, 0.0, 0.01), (4.0, 0.08, 0.3)):
        found = ClassificationMetrics(["a", "b"], probabilities=True, linear=False)
        found.update((rng.random(50_000) < expit(scores)).astype(int), factor * scores)
        assert low <= found.results()["calibration"]["error"] <= high


def test_the_resolution_of_the_area_is_told():
    found = ClassificationMetrics(["a", "b"], probabilities=False, linear=False)
    found.update(np.array([0, 1] * 50), np.full(100, 0.25))
    results = found.results()
    assert (results["auc"], results["auc_error"]) == (0.5, 0.5)
    assert "log_loss" not in results and "calibration" not in results


def test_scores_that_are_infinite_break_nothing():
    found = ClassificationMetrics(["a", "b"], probabilities=False, linear=False)
    found.update(np.array([0, 1, 1]), np.array([-np.inf, np.inf, np.nan]))
    assert found.results()["rows"] == 3


def test_many_classes_share_a_bounded_matrix():
    classes = 3 * MOST
    rng = np.random.default_rng(0)
    y = np.minimum(rng.geometric(0.02, 20_000) - 1, classes - 1)
    guess = np.where(rng.random(20_000) < 0.7, y, rng.integers(0, classes, 20_000))
    confusion = Confusion(classes)
    for start in range(0, 20_000, 5000):
        confusion.update(y[start : start + 5000], guess[start : start + 5000])
    table = confusion.table([str(k) for k in range(classes)])
    assert len(table["labels"]) == len(table["counts"]) == MOST
    assert table["labels"][-1] == OTHERS
    assert np.sum(table["counts"]) == 20_000
    whole = reference.confusion_matrix(y, guess, labels=np.arange(classes))
    kept = [int(label) for label in table["labels"][:-1]]
    np.testing.assert_array_equal(np.array(table["counts"])[:-1, :-1], whole[np.ix_(kept, kept)])
    assert confusion.recall()[0] == whole[0, 0] / whole[0].sum()


def test_first_rows():
    confusion = Confusion(3)
    for y in ([1, 1, 0], [0, 1, 2], [2, 2, 2]):
        confusion.update(np.array(y), np.zeros(3, int))
    assert confusion.first.tolist() == [3, 1, 6]


def test_nothing_yet():
    found = ClassificationMetrics(["a", "b"], probabilities=True, linear=False).results()
    assert found["mistake_rate"] is None and found["auc"] is None and found["log_loss"] is None
    assert found["curve"]["rows"] == []
    found = RegressionMetrics().results()
    assert found["rmse"] is None and found["r2"] is None and found["interval"]["coverage"] is None


# ---- numbers --------------------------------------------------------------------------------------------------------


def targets(rows=ROWS, seed=0, level=1e6):
    rng = np.random.default_rng(seed)
    y = level + np.cumsum(rng.standard_normal(rows))
    answers = y + rng.normal(0, 0.5, rows)
    return y, answers, answers - 1, answers + 0.8, y + rng.normal(0, 2, rows)


def regressed(sizes=(ROWS,), **options):
    found, columns, start = RegressionMetrics(), targets(**options), 0
    for size in sizes:
        found.update(*(column[start : start + size] for column in columns))
        start += size
    assert start == ROWS
    return found


@pytest.mark.parametrize("sizes", BLOCKS)
def test_numbers_against_scikit_learn(sizes):
    y, answers, low, high, linear = (column[1:] for column in targets())
    found = regressed(sizes).results()
    first = targets()[0][0]
    before = np.concatenate([[first], y[:-1]])
    mean = np.cumsum(before) / np.arange(1, ROWS)
    for name, prediction in (("learner", answers), ("mean", mean), ("last_value", before), ("linear", linear)):
        one = found if name == "learner" else found["baselines"][name]
        assert one["mae"] == pytest.approx(reference.mean_absolute_error(y, prediction), rel=1e-9)
        assert one["rmse"] == pytest.approx(reference.mean_squared_error(y, prediction) ** 0.5, rel=1e-9)
        assert one["r2"] == pytest.approx(reference.r2_score(y, prediction), abs=1e-7)
        assert one["nrmse"] == pytest.approx(one["rmse"] / y.std(), rel=1e-7)
    assert found["interval"]["coverage"] == np.mean((low <= y) & (y <= high))
    assert found["interval"]["mean_width"] == pytest.approx(1.8)
    assert found["rows"] == ROWS


def test_a_mean_far_from_zero_keeps_its_digits():
    baselines = ValueBaselines()
    y = 1e12 + np.arange(4.0)
    mean, _ = baselines.update(y)
    np.testing.assert_array_equal(mean[1:], 1e12 + np.array([0.0, 0.5, 1.0]))


def test_targets_that_are_all_the_same():
    found = RegressionMetrics()
    ones = np.ones(5)
    found.update(ones, ones, ones, ones, ones)
    assert found.results()["r2"] is None and found.results()["nrmse"] is None


# ---- whatever the block; merged; resumed ----------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", BLOCKS[1:])
@pytest.mark.parametrize("classes", [2, 4])
def test_blocks_do_not_matter(classes, sizes):
    whole, parts = classified(classes).results(), classified(classes, sizes).results()
    counts = {"rows", "mistakes", "baselines", "balanced_accuracy", "auc", "classes", "confusion"}
    assert {key: value for key, value in parts.items() if key in counts} == {
        key: value for key, value in whole.items() if key in counts
    }
    for name in ("rows", "learner", "majority", "last_label", "linear"):
        assert parts["curve"][name] == whole["curve"][name]
    np.testing.assert_allclose(parts["log_loss"], whole["log_loss"], rtol=1e-12)


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype
        assert a[name].tobytes() == b[name].tobytes(), name


@pytest.mark.parametrize("kind", ["two", "many", "numbers"])
def test_resumed_at_every_block_to_the_last_bit(kind):
    sizes = (1, 200, 999, 1000, 801)

    def fresh():
        if kind == "numbers":
            return RegressionMetrics()
        return ClassificationMetrics(
            [f"c{k}" for k in range(2 if kind == "two" else 5)], probabilities=True, linear=True
        )

    columns = targets() if kind == "numbers" else stream(2 if kind == "two" else 5)
    whole, resumed, start = fresh(), fresh(), 0
    for size in sizes:
        part = [column[start : start + size] for column in columns]
        whole.update(*part)
        again = fresh()
        again.restore(resumed.state())
        again.update(*part)
        resumed, start = again, start + size
        same(whole.state(), resumed.state())
    assert resumed.results() == whole.results()
    assert json.loads(json.dumps(whole.results(), allow_nan=False)) == whole.results()


@pytest.mark.parametrize("kind", ["two", "many", "numbers"])
def test_merged(kind):
    columns = targets() if kind == "numbers" else stream(2 if kind == "two" else 5)
    make = RegressionMetrics if kind == "numbers" else lambda: ClassificationMetrics(
        [f"c{k}" for k in range(2 if kind == "two" else 5)], probabilities=True, linear=True
    )  # fmt: skip
    first, second, empty = make(), make(), make()
    first.update(*(column[:1000] for column in columns))
    second.update(*(column[1000:] for column in columns))
    parts = [one.results() for one in (first, second)]
    first.add(empty)
    assert first.results() == parts[0]
    first.add(second)
    both = first.results()
    assert both["rows"] == ROWS
    assert both["curve"]["rows"][-1] == ROWS - 2 * (kind == "numbers")  # the first row of either is not counted
    assert np.all(np.diff(both["curve"]["rows"]) > 0) and len(both["curve"]["rows"]) <= LIMIT + 1
    if kind == "numbers":
        whole = make()
        whole.update(*columns)
        assert both["rmse"] == pytest.approx(whole.results()["rmse"], rel=1e-3)
        assert both["target"]["deviation"] == pytest.approx(whole.results()["target"]["deviation"], rel=1e-3)
    else:
        assert both["mistakes"] == parts[0]["mistakes"] + parts[1]["mistakes"]
        whole = make()
        whole.update(*columns)
        for name in ("classes", "confusion", "balanced_accuracy", "mistakes") + (("auc",) if kind == "two" else ()):
            assert both[name] == whole.results()[name]


def test_merging_matrices_that_keep_other_classes():
    classes = MOST + 6
    rng = np.random.default_rng(0)
    halves = [rng.integers(0, classes - 6, 4000), rng.integers(6, classes, 4000)]
    parts = []
    for y in halves:
        parts.append(Confusion(classes))
        parts[-1].update(y, y)
    parts[0].add(parts[1])
    assert parts[0].counts.sum() == 8000
    assert np.trace(parts[0].counts) == 8000
    late = parts[0].places[-6:]  # only the second half has those: they count among the others
    assert set(late.tolist()) == {MOST - 1}
    assert parts[0].counts[-1, -1] >= np.count_nonzero(halves[1] >= classes - 6)
    assert parts[0].rows.tolist() == np.bincount(np.concatenate(halves), minlength=classes).tolist()


def test_a_state_of_others_is_refused():
    state = classified(2).state()
    other = ClassificationMetrics(["a", "b", "c"], probabilities=True, linear=True)
    with pytest.raises(ModelFileError, match="metrics"):
        other.restore(state)
    fresh = ClassificationMetrics(["a", "b"], probabilities=True, linear=True)
    for name in state:
        with pytest.raises(ModelFileError, match="metrics"):
            fresh.restore({key: value for key, value in state.items() if key != name})
        with pytest.raises(ModelFileError, match="metrics"):
            fresh.restore(state | {name: np.zeros(3)})
    with pytest.raises(ModelFileError, match=r"metrics.x.y is unknown"):
        fresh.restore(state | {"x.y": np.zeros(3)})
    with pytest.raises(ModelFileError, match="not all of its numbers are finite"):
        fresh.restore(state | {"calibration.loss": np.array([np.nan])})
    with pytest.raises(ValueError, match="different classes"):
        fresh.add(other)


# ---- the trace ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 255, 256, 257, 5000, 100_003])
def test_about_200_points_whatever_the_block(rows):
    wrong = np.random.default_rng(rows).random(rows) < 0.3
    traces = []
    for block in (rows, 1000, 77):
        trace = Trace(["mistakes"])
        for start in range(0, rows, block):
            trace.update([wrong[start : start + block]])
        traces.append(trace.points())
    assert traces[0] == traces[1] == traces[2]
    at = np.array(traces[0]["rows"])
    assert at[-1] == rows
    assert min(rows, LIMIT // 2) <= len(at) <= LIMIT + 1
    np.testing.assert_array_equal(traces[0]["mistakes"], np.cumsum(wrong)[at - 1])
