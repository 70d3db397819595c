"""Rows that do not follow the learned ones are predicted without the last labels; a run says what those are worth."""

import csv
import json

import numpy as np
import pytest
from scipy import sparse

import pocketkernel
from pocketkernel import MOMDS, PocketClassifier
from pocketkernel.cli import main
from pocketkernel.evaluate.order import warnings_of
from pocketkernel.fleet import Fleet


def ordered(rows=1500, classes=2, columns=3, seed=0):
    """Labels come in runs of about ten; the columns say a little about them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.integers(classes, size=rows), rng.integers(5, 15, size=rows))[:rows]
    X = rng.normal(size=(rows, columns))
    X[:, 0] += 0.8 * y
    return X, y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("columns", [3, 70])
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_last_labels_have_no_say(classes, columns, jobs):
    X, y = ordered(classes=classes, columns=columns)
    model = PocketClassifier(n_jobs=jobs, random_state=0).partial_fit(X[:1000], y[:1000], classes=range(classes))
    forgetful = PocketClassifier.from_bytes(model.to_bytes())
    forgetful._core.forget_lags()
    before, rest = model.to_bytes(), X[1000:]
    for form in (rest, sparse.csr_matrix(rest), rest.astype(np.float32)):
        for method in ("decision_function", "predict", "predict_proba"):
            apart = getattr(model, method)(form, continues=False)
            np.testing.assert_array_equal(apart, getattr(forgetful, method)(form))
        assert not np.array_equal(model.decision_function(form, continues=False), model.decision_function(form))
    assert model.to_bytes() == before  # asked either way, it has changed nothing


@pytest.mark.parametrize("classes", [2, 4])
def test_learning_tells_what_would_be_predicted_without_them(classes):
    X, y = ordered(300, classes=classes)
    model, asked = (PocketClassifier(random_state=0).partial_fit(X[:50], y[:50], classes=range(classes)) for _ in "12")
    scores, linear, apart = model.predict_then_learn_parts(X[50:], y[50:])
    for n, (x, label) in enumerate(zip(X[50:], y[50:], strict=True)):
        np.testing.assert_array_equal(apart[n], asked.decision_function([x], continues=False)[0])
        both = asked.predict_then_learn_both([x], [label])
        assert np.array_equal(scores[n], both[0][0]) and np.array_equal(linear[n], both[1][0])
    assert model.to_bytes() == asked.to_bytes()


def test_other_learners_do_not_know_them():
    X, y = ordered()
    for model in (PocketClassifier(lag=False, random_state=0), MOMDS(random_state=0)):
        model.partial_fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), model.decision_function(X, continues=False))


def test_a_fleet_can_be_asked_without_them():
    X, y = ordered()
    keys = np.resize(["a", "b", "c"], len(y))
    fleet = Fleet(PocketClassifier(memory="8KiB", random_state=0), features=3, classes=[0, 1])
    fleet.partial_fit(keys, X, y)
    for key in "abc":
        alone = PocketClassifier(memory="8KiB", random_state=0)
        alone.partial_fit(X[keys == key], y[keys == key], classes=[0, 1])
        for continues in (True, False):
            asked = fleet.decision_function([key] * 50, X[:50], continues=continues)
            np.testing.assert_array_equal(asked, alone.decision_function(X[:50], continues=continues))


# ---- on the command line --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of labels that come in runs, its first part, and the folder of a run over that; then the rest of it."""
    folder = tmp_path_factory.mktemp("runs")
    X, y = ordered(4000)
    for name, part in (("first.csv", slice(3000)), ("rest.csv", slice(3000, None))):
        with open(folder / name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["a", "b", "c", "label"])
            writer.writerows(
                [*map(repr, row), ["no", "yes"][label]] for row, label in zip(X[part].tolist(), y[part], strict=True)
            )
    arguments = ["run", str(folder / "first.csv"), "--out", str(folder / "first.run"), "--no-report", "--json"]
    assert main(arguments) == 0
    return folder, X, np.array(["no", "yes"])[y]


def predicted(capsys, folder, *options):
    assert main(["predict", str(folder / "first.run"), str(folder / "rest.csv"), *options]) == 0
    return np.array([line.split(",")[0] for line in capsys.readouterr().out.splitlines()[1:]])


def test_predict_does_without_them_unless_rows_follow(files, capsys):
    folder, _, labels = files
    with_them, without = predicted(capsys, folder, "--continues"), predicted(capsys, folder)
    wrong = [np.mean(answers != labels[3000:]) for answers in (with_them, without)]
    assert wrong[1] < wrong[0] - 0.05  # of all rows but the first, other labels are the last ones
    raw = pocketkernel.load(folder / "first.run")
    rows = str(folder / "rest.csv")
    np.testing.assert_array_equal(raw.predict(rows), without)
    np.testing.assert_array_equal(raw.predict(rows, continues=True), with_them)
    for continues in (True, False):
        scores = raw.decision_function(rows, continues=continues)
        np.testing.assert_array_equal(raw.predict_proba(rows, continues=continues)[:, 1] >= 0.5, scores >= 0)


def test_what_is_learned_next_does_follow(files):
    folder, _, _ = files
    raw, whole = (pocketkernel.load(folder / "first.run") for _ in "12")
    raw.predict(str(folder / "rest.csv"))
    for model in (raw, whole):
        model.partial_fit(str(folder / "rest.csv"))
    assert raw.learner_.to_bytes() == whole.learner_.to_bytes()


def test_a_run_says_what_they_are_worth_and_warns_where_they_decide(files, capsys):
    folder, X, labels = files
    assert main(["run", str(folder / "first.csv"), "--out", str(folder / "again"), "--no-report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    model = PocketClassifier(random_state=0)
    _, _, apart = model.predict_then_learn_parts(X[:3000], labels[:3000])
    mistakes = int(np.sum(model.classes_[(apart >= 0).astype(int)] != labels[:3000]))
    assert found["baselines"]["without_last_labels"]["mistakes"] == mistakes
    assert mistakes > 2 * found["mistakes"]
    warned = [text for text in found["warnings"] if "last labels" in text]
    assert len(warned) == 1 and f"{mistakes / 3000:.2%}" in warned[0] and "--continues" in warned[0]
    assert main(["run", str(folder / "first.csv"), "--out", str(folder / "again"), "--no-report", "--force"]) == 0
    assert "without the last labels" in capsys.readouterr().out


def test_nothing_is_said_where_they_do_not_matter():
    rates = {"majority": {"mistake_rate": 0.5}, "last_label": {"mistake_rate": 0.5}}
    for rows, rate, apart, expected in (
        (10_000, 0.10, 0.105, 0), (10_000, 0.10, 0.20, 1), (100, 0.10, 0.16, 0), (10_000, 0.0, 0.0, 0),
    ):  # fmt: skip
        results = {"task": "classification", "rows": rows, "mistake_rate": rate, "classes": []}
        results["baselines"] = rates | {"without_last_labels": {"mistake_rate": apart}}
        assert len(warnings_of(results)) == expected
