"""`pocketkernel certify`."""

import json

import pytest

import cli_files
import pocketkernel
from pocketkernel import MOMDH, MOMDS, PocketClassifier, Raker
from pocketkernel.cli import main


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return cli_files.svm(tmp_path / "rows.svm", rows=400)


def test_certify(rows, tmp_path, capsys):
    X, y = rows
    model = MOMDS(budget=30, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    assert main(["certify", "model"]) == 0
    assert capsys.readouterr().out == f"{model.certificate()}\n"
    assert main(["certify", "model", "--json", "--delta", "0.01"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["regret_at_most"] == pytest.approx(model.certificate(0.01).value)
    assert found["file"] == "model"


def test_everything_agrees_about_a_model_of_several_passes(rows, tmp_path, capsys):
    """`certify`, `inspect`, the page and the counters speak of the 400 rows, not of the rounds."""
    model = PocketClassifier(memory="16KiB", epochs=5, random_state=0).fit(*rows)
    model.save(tmp_path / "model")
    proved, done = model.certificate(), model.diagnostics_
    assert (done.rounds, done.repeats) == (proved.rounds, 4 * proved.rounds) == (400, 1600)
    assert main(["certify", "model", "--json"]) == 0
    certified = json.loads(capsys.readouterr().out)
    assert main(["inspect", "model", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert certified["rounds"] == shown["rows"] == shown["diagnostics"]["rounds"] == 400
    assert certified["mistakes"] == shown["mistakes"] == done.mistakes == proved.mistakes
    interval = [proved.mistake_rate.low, proved.mistake_rate.high]
    assert certified["mistake_rate"]["interval"] == shown["mistake_rate_interval"] == pytest.approx(interval)
    assert certified["cumulative_loss"] == shown["loss"] == done.cumulative_loss
    assert main(["certify", "model", "--report", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "after 400 rows" in page and f"{100 * interval[0]:.2f}" in page


def test_certify_on_a_page(rows, tmp_path, capsys):
    MOMDS(budget=30, norm_bound=0.5, random_state=0).fit(*rows).save(tmp_path / "model")
    assert main(["certify", "model", "--report", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert (
        "Certificate of model" in page
        and "regret at most" in page
        and "Least loss of any competitor, by its norm" in page
    )
    Raker(features=16, random_state=0).fit(*rows).save(tmp_path / "raker")
    assert main(["certify", "raker", "--report", "other.html"]) == 0
    assert "What is proved" not in (tmp_path / "other.html").read_text()


def test_certify_the_folder_of_a_run_and_a_river_model(rows, tmp_path, capsys):
    assert main(["run", "rows.svm", "--learner", "raker", "--budget", "10", "--out", "done", "--no-report"]) == 0
    capsys.readouterr()
    assert main(["certify", "done"]) == 0
    assert "no bound on the regret" in capsys.readouterr().out
    river = pytest.importorskip("pocketkernel.river")
    model = river.KernelClassifier(MOMDH(budget=8), width=2, seed=0)
    for x, label in zip(*rows, strict=True):
        model.learn_one({"a": x[0], "b": x[1]}, bool(label > 0))
    model.save(tmp_path / "stream")
    assert pocketkernel.load(tmp_path / "stream").certificate() == model.certificate()
    assert main(["certify", "stream"]) == 0
    assert "MOMDH after 400 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("learner", "seen"),
    [
        ("pocket", "regret against linear"),
        ("momds", "Least loss of any competitor, by its norm"),
        ("multiclassmomds", "Least loss of any competitor, by its norm"),
        ("momdh", "bound: full buffer"),
        ("sharedmomdh", "bound: expert advice"),
        ("lkmbooks", None),
        ("raker", None),
    ],
)
def test_the_report_of_a_run_has_what_is_proved(rows, tmp_path, capsys, learner, seen):
    assert main(["run", "rows.svm", "--learner", learner, "--memory", "32KiB", "--out", "done"]) == 0
    page = (tmp_path / "done" / "report.html").read_text()
    assert "What is proved about mistakes" in page
    assert ("What is proved about the regret" in page) == (seen is not None)
    if seen:
        assert seen in page


def test_certify_mistakes(rows, tmp_path, capsys):
    MOMDS(budget=30, random_state=0).fit(*rows).save(tmp_path / "model")
    assert main(["certify", "model", "--delta", "1"]) == 2
    assert "use a probability" in capsys.readouterr().err
    assert main(["certify", "nothing"]) == 1
    assert "does not exist" in capsys.readouterr().err
