"""`pocketkernel lab regret|lower-bound|learnability`."""

import json

import numpy as np
import pytest

import cli_files
from pocketkernel import MOMDS, gaussians
from pocketkernel.__main__ import main
from pocketkernel.lab.theory import study_regret

FAST = ["--kernels", "1,4", "--budget", "30"]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return cli_files.svm(tmp_path / "rows.svm", rows=400)


# ---- regret ---------------------------------------------------------------------------------------------------------


def test_regret_is_what_the_library_says(rows, capsys):
    assert main(["lab", "regret", "rows.svm", *FAST, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    X, y = rows
    study = study_regret(MOMDS(kernels=gaussians([1, 4]), budget=30, random_state=0), X, y)
    assert found["rows"] == 400
    assert found["regret"] == pytest.approx(study.curve.regret[-1])
    assert found["regret"] == pytest.approx(found["own_loss"] - found["competitor"]["loss"])
    assert found["regret"] <= found["regret_at_most"]
    assert found["T1"] + found["T2"] >= found["regret"]
    assert found["removals"] == study.harm.removals
    assert found["bound"] > found["regret"]
    assert not found["conditions"]
    assert found["curve"]["rows"][-1] == 400


@pytest.mark.parametrize("learner", ["momds", "momdh", "sharedmomdh", "lkmbooks", "raker"])
def test_regret_of_every_learner(learner, rows, tmp_path, capsys):
    page = tmp_path / "page.html"
    given = ["--learner", learner, *FAST, "--kernel", "4", "--rows", "200", "--landmarks", "50"]
    assert main(["lab", "regret", "rows.svm", *given, "--report", str(page)]) == 0
    text = capsys.readouterr().out
    assert "regret after 200 rows" in text and "gaussian 4" in text and "page.html" in text
    html = page.read_text()
    assert "Regret so far" in html
    assert f"pocketkernel lab regret rows.svm --learner {learner}" in html and "--landmarks=50" in html
    bounded = "momd" in learner
    assert ("T1, expert advice" in text) == bounded
    assert ("xi |J|" in text) == (learner in ("momds", "momdh"))
    assert ("No bound on the regret of this learner is proved" in text) == (not bounded)


def test_rows_of_a_permutation_come_from_the_whole_file(rows, tmp_path, capsys):
    order = np.argsort(rows[1], kind="stable")
    lines = (tmp_path / "rows.svm").read_text().splitlines()
    (tmp_path / "sorted.svm").write_text("\n".join(lines[place] for place in order) + "\n")
    assert main(["lab", "regret", "sorted.svm", *FAST, "--rows", "100"]) == 2
    assert "use --permute SEED" in capsys.readouterr().err
    assert main(["lab", "regret", "sorted.svm", *FAST, "--rows", "100", "--permute", "0", "--scale", "standard"]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["rows.svm", *FAST, "--kernel", "2"], 2, "not one of the learner's"),
        (["rows.svm", "--learner", "multiclassmomds"], 2, "is a multiclass learner"),
        (["rows.svm", *FAST, "--set", "loss=smooth_hinge"], 2, "use 'hinge' or 'logistic'"),
        (["rows.svm", "--rows", "1"], 2, "1 is too small"),
        (["nowhere.svm"], 1, "nowhere.svm does not exist"),
    ],
)
def test_mistakes(arguments, code, words, rows, capsys):
    assert main(["lab", "regret", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err


# ---- theory ---------------------------------------------------------------------------------------------------------


def test_lower_bound(tmp_path, capsys):
    given = ["lab", "lower-bound", "--budgets", "10", "20", "--repetitions", "1", "--out", str(tmp_path / "made")]
    assert main(given) == 0
    text = capsys.readouterr().out
    assert "Slope of Reg / L against B" in text and "M-OMD-S" in text
    for name in ("lower_bound.md", "lower_bound.csv", "lower_bound.html", "lower_bound.svg"):
        assert (tmp_path / "made" / name).stat().st_size > 100
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [table["title"] for table in found["tables"]] == ["Slope of Reg / L against B", "Regret on the adversary"]
    assert found["tables"][1]["lines"][0]["regret"]["mean"] > 0


def test_learnability(tmp_path, capsys):
    given = ["--rows", "2000", "4000", "--repetitions", "1", "--out", str(tmp_path)]
    assert main(["lab", "learnability", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {line["stream"] for line in found["tables"][0]["lines"]} >= {"easy", "hard"}
    assert (tmp_path / "learnability.svg").exists()


def test_a_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "file").touch()
    given = ["--budgets", "10", "20", "--repetitions", "1"]
    assert main(["lab", "lower-bound", *given, "--out", str(tmp_path / "file")]) == 2
    assert "cannot be written to" in capsys.readouterr().err
