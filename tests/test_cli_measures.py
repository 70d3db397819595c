"""What a run says of itself: baselines, the order of rows, classes or numbers; on screen, as JSON, in the record."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

import cli_files
from pocketkernel import PocketClassifier, PocketRegressor
from pocketkernel.cli import main
from pocketkernel.evaluate import Job, Record, RecordError, run_job
from pocketkernel.evaluate.order import warnings_of
from pocketkernel.evaluate.task import found_task
from pocketkernel.learners import Event


def command(file, *options):
    return ["run", str(file), *options, "--out", str(file.with_suffix(".run")), "--no-report", "--record-format", "csv"]


def answer(capsys, file, *options):
    assert main([*command(file, *options), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def shown(capsys, file, *options):
    assert main(command(file, *options)) == 0
    return capsys.readouterr().out


def write(file, X, y):
    names = [f"x{k}" for k in range(X.shape[1])]
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), list(y), strict=True)]
    file.write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")


# ---- beside every rate ----------------------------------------------------------------------------------------------


def test_a_rate_stands_beside_its_baselines(tmp_path, capsys):
    _, y = cli_files.svm(tmp_path / "rows.svm", rows=1500)
    found = answer(capsys, tmp_path / "rows.svm", "--memory", "16KiB")
    metrics = found["metrics"]
    assert metrics["mistake_rate"] == found["mistake_rate"]
    assert metrics["baselines"]["last_label"]["mistakes"] == np.count_nonzero(y[1:] != y[:-1]) + (y[0] != -1)
    assert set(metrics["baselines"]) == {"majority", "last_label", "linear", "without_last_labels"}
    assert {"auc", "log_loss", "balanced_accuracy", "calibration", "classes", "confusion"} <= metrics.keys()
    assert "curve" not in metrics
    record = Record.read(tmp_path / "rows.run")
    assert {name: value for name, value in record.results.items() if name != "curve"} == metrics
    assert len(record.results["curve"]["rows"]) > 100
    text = shown(capsys, tmp_path / "rows.svm", "--memory", "16KiB")
    for words in ("always the most frequent class", "the last label again", "the linear part alone", "AUC", "recall"):
        assert words in text


def test_measures_that_a_learner_does_not_have_are_left_out(tmp_path, capsys):
    cli_files.svm(tmp_path / "rows.svm", rows=500)
    found = answer(capsys, tmp_path / "rows.svm", "--learner", "momdh", "--memory", "64KiB")["metrics"]
    assert set(found["baselines"]) == {"majority", "last_label"}  # no linear part
    assert "log_loss" not in found and "calibration" not in found  # no probabilities
    text = shown(capsys, tmp_path / "rows.svm", "--learner", "momdh", "--memory", "64KiB", "--force")
    assert "log loss" not in text and "linear part" not in text and "AUC" in text


def test_counters_of_buffers_are_shown_only_if_there_are_buffers(tmp_path, capsys):
    cli_files.svm(tmp_path / "rows.svm", rows=300)
    for learner, there in (("momds", True), ("pocket", False)):
        shown(capsys, tmp_path / "rows.svm", "--learner", learner, "--memory", "16KiB", "--force")
        assert main(["inspect", str(tmp_path / "rows.run")]) == 0
        assert ("removals" in capsys.readouterr().out) is there


def test_the_linear_part_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    for model, y in (
        (PocketClassifier, X[:, 0] * X[:, 1] > 0),
        (PocketClassifier, (3 * np.abs(X[:, 0])).astype(int)),
        (PocketRegressor, X[:, 0] * X[:, 1]),
    ):
        plain, both = model(random_state=0), model(random_state=0)
        scores, linear = both.predict_then_learn_both(X, y)
        np.testing.assert_array_equal(scores, plain.predict_then_learn(X, y))
        assert both.to_bytes() == plain.to_bytes()
        assert linear.shape == scores.shape and not np.array_equal(linear, scores)
        options = {"lag": False} if model is PocketClassifier else {}
        tried = (attempt(model(memory=memory, **options), X, y) for memory in range(1024, 20_000, 64))
        small = next(one for one in tried if one is not None)
        assert len(small.kernel_weights_) == 1
        scores, linear = small.predict_then_learn_both(X, y)
        if model is PocketClassifier:  # it is nothing else than its linear part, which is weighed
            guess, other = ((s >= 0) if s.ndim == 1 else s.argmax(axis=1) for s in (scores, linear))
            assert np.mean(guess == other) > 0.99


def attempt(model, X, y):
    try:
        model.predict_then_learn(X, y)
    except ValueError:
        return None
    return model


# ---- the order of the rows ------------------------------------------------------------------------------------------


@pytest.fixture
def iris(tmp_path):
    X, y = load_iris(return_X_y=True)
    write(tmp_path / "iris.csv", np.repeat(X, 4, axis=0), np.repeat(np.array(["a", "b", "c"])[y], 4))
    return tmp_path / "iris.csv"


def test_a_sorted_file_is_told_loudly(iris, capsys):
    found = answer(capsys, iris)["metrics"]
    assert len(found["warnings"]) == 4
    assert "repeating the last label" in found["warnings"][0]
    assert "class c first appears in row 401 of 600" in found["warnings"][1]
    assert "--permute 0" in found["warnings"][2]
    assert f"Shuffled (600 rows): {found['shuffled']['mistake_rate']:.2%} mistakes" in found["warnings"][3]
    assert found["shuffled"]["rows"] == 600
    assert found["shuffled"]["mistake_rate"] > found["baselines"]["last_label"]["mistake_rate"]
    assert found["shuffled"]["baselines"]["last_label"] > 0.5
    text = shown(capsys, iris)
    assert "--permute 0" in text and "Shuffled (600 rows" in text
    assert all(len(line) <= 80 for line in text.splitlines() if line.startswith("│"))


def test_a_shuffled_file_is_not(iris, capsys):
    found = answer(capsys, iris, "--permute", "0")["metrics"]
    assert found["warnings"] == [] and "shuffled" not in found


def test_the_shuffled_figure_is_that_of_permute(iris, capsys):
    shuffled = answer(capsys, iris)["metrics"]["shuffled"]
    permuted = answer(capsys, iris, "--permute", "0", "--force")["metrics"]
    assert shuffled["mistake_rate"] == permuted["mistake_rate"]


def test_a_pipe_cannot_be_shuffled(iris):
    with open(iris, "rb") as file:
        run = run_job(Job(file, reading={"format": "csv"}), iris.with_suffix(".run"))
    assert len(run.results["warnings"]) == 3 and run.results["shuffled"] is None


def test_an_interrupt_of_the_second_pass_loses_nothing(iris, capsys, monkeypatch):
    def interrupt(job, run):
        raise KeyboardInterrupt

    monkeypatch.setattr("pocketkernel.evaluate.folder.shuffled", interrupt)
    found = answer(capsys, iris)["metrics"]
    assert len(found["warnings"]) == 3 and found["shuffled"] is None


def test_the_first_rows_of_a_file_are_not_shuffled(iris, capsys):
    found = answer(capsys, iris, "--rows", "300")["metrics"]
    assert found["warnings"] and found["shuffled"] is None


def test_a_rare_class_is_not_late():
    base = {"task": "classification", "rows": 10_000, "mistake_rate": 0.1}
    rates = {"baselines": {name: {"mistake_rate": 0.1} for name in ("majority", "last_label")}}
    for first, rows, expected in ((9_000, 1, 0), (9_000, 5, 0), (5_000, 100, 1), (9_000, 1_000, 1), (10, 1_000, 0)):
        classes = [{"label": "x", "rows": rows, "first_row": first}, {"label": "y", "rows": 0, "first_row": None}]
        assert len(warnings_of(base | rates | {"classes": classes})) == expected


# ---- classes or numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.array(["a", "b"]), "classification"),
        (np.array([0.5, 1.5] * 50), "classification"),
        (np.arange(10.0).repeat(30), "classification"),
        (np.arange(60.0).repeat(30), "classification"),
        (np.arange(150.0).repeat(30), "regression"),
        (np.arange(40.0), "regression"),
        (np.linspace(0, 1, 40), "regression"),
        (np.array([True, False]), "classification"),
    ],
)
def test_what_labels_are(y, task):
    assert found_task(y) == task


def test_numbers_are_found(tmp_path, capsys):
    file = tmp_path / "houses.csv"
    y = cli_files.numbers(file, rows=2000)
    found = answer(capsys, file, "--label", "price", "--memory", "16KiB")
    metrics = found["metrics"]
    assert (found["learner"], found["task"]) == ("PocketRegressor", "regression")
    assert "mistakes" not in found and "classes" not in found
    assert metrics["rmse"] < metrics["baselines"]["linear"]["rmse"] < metrics["baselines"]["mean"]["rmse"]
    assert metrics["baselines"]["last_value"]["mae"] == pytest.approx(np.abs(np.diff(y)).mean())
    assert metrics["target"]["deviation"] == pytest.approx(y[1:].std())
    assert 0.85 < metrics["interval"]["coverage"] < 0.95
    assert Record.read(tmp_path / "houses.run").results["r2"] == metrics["r2"] > 0.7
    text = shown(capsys, file, "--label", "price", "--memory", "16KiB")
    for words in ("RMSE", "the mean so far", "the last value again", "90% interval"):
        assert words in text
    assert "mistakes" not in text


def test_the_task_can_be_given(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(400, 2)).round(3)
    write(tmp_path / "rows.csv", X, (X[:, 0] > 0).astype(int))
    assert answer(capsys, tmp_path / "rows.csv")["task"] == "classification"
    assert answer(capsys, tmp_path / "rows.csv", "--task", "regression", "--force")["task"] == "regression"
    assert "--task=regression" in Record.read(tmp_path / "rows.run").settings["command"]
    assert main(command(tmp_path / "rows.csv", "--task", "regression", "--learner", "momds", "--force")) == 2
    assert "predicts classes, not numbers: use --learner pocket" in capsys.readouterr().err
    assert main(command(tmp_path / "rows.csv", "--task", "clustering", "--force")) == 2
    write(tmp_path / "rows.csv", X, np.where(X[:, 0] > 0, "yes", "no"))
    assert main(command(tmp_path / "rows.csv", "--task", "regression", "--force")) == 1
    assert "expected labels that are numbers" in capsys.readouterr().err


def test_predict_gives_values_and_intervals(tmp_path, capsys):
    y = cli_files.numbers(tmp_path / "houses.csv")
    shown(capsys, tmp_path / "houses.csv", "--label", "price")
    arguments = ["predict", str(tmp_path / "houses.run"), str(tmp_path / "houses.csv")]
    assert main([*arguments, "--interval", "0.9"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header == "value,low,high,reason"
    value, low, high = np.array([line.split(",")[:-1] for line in lines], dtype=float).T
    assert np.all((low < value) & (value < high)) and 0.8 < np.mean((low <= y) & (y <= high)) <= 1
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"][0] == {"value": value[0], "reason": None}
    assert main([*arguments, "--proba"]) == 2
    assert "predicts numbers: use --interval" in capsys.readouterr().err
    assert main([*arguments, "--interval", "90"]) == 2
    assert "use a share from 0.01 to 0.999" in capsys.readouterr().err
    for verb, code, words in (("inspect", 0, "numbers"), ("certify", 0, "Nothing is proved")):
        assert main([verb, str(tmp_path / "houses.run")]) == code
        out, err = capsys.readouterr()
        assert words in out + err


def test_intervals_are_of_numbers(tmp_path, capsys):
    cli_files.svm(tmp_path / "rows.svm", rows=200)
    shown(capsys, tmp_path / "rows.svm")
    assert main(["predict", str(tmp_path / "rows.run"), str(tmp_path / "rows.svm"), "--interval", "0.9"]) == 2
    assert "predicts classes" in capsys.readouterr().err


# ---- records --------------------------------------------------------------------------------------------------------


def test_records_of_the_first_version_can_be_read(tmp_path, capsys):
    cli_files.svm(tmp_path / "rows.svm", rows=200)
    shown(capsys, tmp_path / "rows.svm")
    path = tmp_path / "rows.run" / "record.json"
    about = json.loads(path.read_text())
    assert about["version"] == 2
    results = about.pop("results")
    path.write_text(json.dumps(about))
    with pytest.raises(RecordError, match="results is missing"):
        Record.read(tmp_path / "rows.run")
    path.write_text(json.dumps(about | {"version": 1}))
    assert Record.read(tmp_path / "rows.run").results == {}
    assert results["rows"] == 200


# ---- changes of the stream ------------------------------------------------------------------------------------------


def test_changes_that_the_learner_notices_are_told(tmp_path, capsys, monkeypatch):
    """On screen, in JSON, in the record and in the report; all of them, though a learner keeps only the latest."""

    def events(self):
        rows = self._core.tally()["rounds"]
        return [Event(row, "confidence lost") for row in range(100, rows + 1, 100)][-2:]

    monkeypatch.setattr(PocketClassifier, "events_", property(events))
    cli_files.svm(tmp_path / "rows.svm", rows=900)
    found = answer(capsys, tmp_path / "rows.svm", "--block", "150")["metrics"]["events"]
    assert found == [{"row": row, "kind": "confidence lost"} for row in range(100, 901, 100)]
    assert Record.read(tmp_path / "rows.run").results["events"] == found
    text = shown(capsys, tmp_path / "rows.svm", "--block", "150")
    assert "confidence lost at row 900" in text and "and 4 before" in text
    job = Job(str(tmp_path / "rows.svm"), block=150)
    with pytest.raises(KeyboardInterrupt):
        run_job(job, tmp_path / "again", checkpoint=150, step=interrupt_at(450))
    assert run_job(job, tmp_path / "again", checkpoint=150).results["events"] == found


def interrupt_at(rows):
    def step(run):
        if run.progress.rows >= rows:
            raise KeyboardInterrupt

    return step


def test_a_learner_without_events_shows_none(tmp_path, capsys):
    cli_files.svm(tmp_path / "rows.svm", rows=300)
    found = answer(capsys, tmp_path / "rows.svm", "--learner", "momds", "--memory", "32KiB")["metrics"]
    assert "events" not in found


def test_flipped_labels_are_an_event(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(6000, 3)).round(3)
    y = (X[:, 0] > 0) ^ (np.arange(6000) >= 3000)
    write(tmp_path / "rows.csv", X, y.astype(int))
    events = answer(capsys, tmp_path / "rows.csv")["metrics"]["events"]
    assert [event["kind"] for event in events if 3000 <= event["row"] < 3100] == ["classes exchanged"]
    assert all(event["row"] > 3000 for event in events)


# ---- what the measures mean -----------------------------------------------------------------------------------------


def rare(rng, rows, share):
    """Rows of a rare class that can be ranked, but almost never be told for sure."""
    X = rng.normal(size=(rows, 3))
    odds = share / (1 - share) * np.exp(1.2 * X[:, 0] - 0.72)
    return X, np.where(rng.random(rows) < odds / (1 + odds), "fraud", "ok")


def test_no_better_than_the_majority_is_said(tmp_path, capsys):
    write(tmp_path / "fraud.csv", *rare(np.random.default_rng(0), 12_000, 0.013))
    found = answer(capsys, tmp_path / "fraud.csv")["metrics"]
    said = found["remarks"]
    assert "Not clearly better than always the most frequent class" in said[0]
    assert "Class fraud is almost never predicted" in said[1]
    assert found["auc"] > 0.6 and "predict --proba" in said[2]
    assert "--set class_weight=balanced" in said[3]
    text = shown(capsys, tmp_path / "fraud.csv")
    assert "What this means" in text
    assert all(len(line) <= 80 for line in text.splitlines() if line.startswith("│"))
    assert main(["run", str(tmp_path / "fraud.csv"), "--out", str(tmp_path / "page")]) == 0
    assert "almost never predicted" in (tmp_path / "page" / "report.html").read_text()
    capsys.readouterr()
    weighted = answer(capsys, tmp_path / "fraud.csv", "--set", "class_weight=balanced", "--force")["metrics"]
    assert weighted["remarks"] == []
    assert weighted["balanced_accuracy"] > found["balanced_accuracy"] + 0.05


def test_noise_is_not_called_learning(tmp_path, capsys):
    rng = np.random.default_rng(0)
    write(tmp_path / "noise.csv", rng.normal(size=(600, 3)), rng.choice(["a", "b"], 600))
    said = answer(capsys, tmp_path / "noise.csv")["metrics"]["remarks"]
    assert len(said) == 2 and "say little about the label" in said[1]
    write(tmp_path / "numbers.csv", rng.normal(size=(600, 3)), rng.normal(size=600))
    assert "Not clearly better than the mean" in answer(capsys, tmp_path / "numbers.csv")["metrics"]["remarks"][0]


def test_nothing_is_said_of_what_is_learned(iris, capsys):
    assert answer(capsys, iris, "--permute", "0")["metrics"]["remarks"] == []
