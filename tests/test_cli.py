"""The command as a whole: help, exit codes, configuration, and what a user can do wrong."""

import json
import subprocess
import sys

import pytest

import cli_files
from pocketkernel import MOMDS, PocketClassifier, cli
from pocketkernel.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli_files.svm(tmp_path / "rows.svm", rows=200)
    (tmp_path / "text.csv").write_text("a,b,label\n1,2,yes\n3,,no\n")
    (tmp_path / "nothing.svm").write_bytes(b"")
    (tmp_path / "odd.bin").write_bytes(b"what is this?\n")
    (tmp_path / "cut.svm.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00")


def test_every_verb_has_help(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "--config" in text and "Exit codes" in text
    for module in cli.VERBS:
        name = module.__name__.rpartition(".")[2]
        assert f" {name} " in text
        assert main([name, "--help"]) == 0
        assert f"pocketkernel {name}" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out[0].isdigit()


MISTAKES = {
    "unknown verb": (["rnu"], 2, "rnu"),
    "no file": (["run"], 2, "give a FILE"),
    "unknown option": (["run", "rows.svm", "--memroy", "1KiB"], 2, "--memroy"),
    "missing file": (["run", "nowhere.svm"], 1, "nowhere.svm does not exist"),
    "empty glob": (["run", "no*.svm2"], 1, "no file matches"),
    "folder": (["run", "."], 1, "is a folder"),
    "empty file": (["run", "nothing.svm"], 2, "--features"),
    "empty file of known width": (["run", "nothing.svm", "--features", "2"], 1, "at least one row"),
    "unknown format": (["run", "odd.bin"], 2, "set --format"),
    "cut file": (["run", "cut.svm.gz"], 1, "compressed data that is whole"),
    "bad line": (["run", "odd.bin", "--format", "libsvm", "--features", "2"], 1, "odd.bin, line 1, byte 1"),
    "missing value": (["run", "text.csv", "--strict"], 1, "--missing mean"),
    "unknown column": (["run", "text.csv", "--label", "z"], 2, "label='z' is not a column"),
    "no label column": (["run", "text.csv", "--drop", "label", "--label", "false"], 2, "is not a column"),
    "wrong classes": (["run", "rows.svm", "--classes", "0,1", "--strict"], 1, "expected one of the classes 0, 1"),
    "one class": (["run", "rows.svm", "--classes", "1"], 2, "is too short"),
    "unknown learner": (["run", "rows.svm", "--learner", "svm"], 2, "learner='svm' is unknown"),
    "unknown parameter": (["run", "rows.svm", "--set", "foo=1"], 2, "foo is not a parameter of PocketClassifier"),
    "no equals sign": (["run", "rows.svm", "--set", "foo"], 2, "name=value"),
    "an option of its own": (["run", "rows.svm", "--set", "random_state=1"], 2, "use --seed"),
    "bad parameter": (
        ["run", "rows.svm", "--learner", "momds", "--set", "step=fast"],
        2,
        "step='fast' is not a number",
    ),
    "bad kernels": (["run", "rows.svm", "--kernels", "wide"], 2, "not a list of widths"),
    "negative width": (["run", "rows.svm", "--learner", "momds", "--kernels", "-1"], 2, "must be positive"),
    "two budgets": (["run", "rows.svm", "--memory", "1KiB", "--budget", "3"], 2, "choose one"),
    "little memory": (["run", "rows.svm", "--memory", "99"], 2, "too small"),
    "no bytes": (["run", "rows.svm", "--memory", "64KX"], 2, "not a number of bytes"),
    "no rows": (["run", "rows.svm", "--rows", "0"], 2, "0 is too small"),
    "bad choice": (["run", "rows.svm", "--scale", "robust"], 2, "robust"),
    "stdin and a file": (["run", "-", "rows.svm"], 2, "use - alone"),
    "a file as folder": (["run", "rows.svm", "--out", "text.csv"], 1, "text.csv"),
    "no configuration": (["run", "rows.svm", "--config", "none.toml"], 2, "none.toml does not exist"),
    "no model": (["inspect", "nowhere"], 1, "nowhere does not exist"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_get_one_line_and_an_exit_code(case, capsys):
    arguments, code, words = MISTAKES[case]
    assert main(arguments) == code, capsys.readouterr().err
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("pocketkernel: ")
    assert words in captured.err


def test_a_missing_package(capsys, monkeypatch):
    monkeypatch.setattr("pocketkernel.cli.run.find_spec", lambda name: None)
    assert main(["run", "rows.svm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "curve.csv" in found["files"] and "report.html" in found["files"]


def test_the_extra_to_install_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["run", "rows.svm", "--record-format", "parquet", "--force"]) == 1
    assert "pip install 'pocketkernel[files]'" in capsys.readouterr().err


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("pocketkernel.cli.run.run_job", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["run", "rows.svm"])


# ---- configuration --------------------------------------------------------------------------------------------------


def run(capsys, *options):
    assert main(["run", "rows.svm", "--json", "--no-report", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_configuration(tmp_path, capsys):
    (tmp_path / "pocketkernel.toml").write_text(
        '[run]\nlearner = "momds"\nbudget = 30\nset = ["step=0.5"]\nkernels = ["1", "2"]\nrecord-format = "csv"\n'
        "[inspect]\njson = true\n"
    )
    found = run(capsys)
    assert found["budget"] == 30 and len(found["kernels"]) == 2 and "curve.csv" in found["files"]
    assert run(capsys, "--budget", "40", "--force")["budget"] == 40, "what is given counts more"
    (tmp_path / "other.toml").write_text('[run]\nmemory = "8KiB"\n')
    assert run(capsys, "--config", "other.toml", "--force")["promised_bytes"] == 8192
    assert run(capsys, "--config=other.toml", "--force")["promised_bytes"] == 8192


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[run]\nmemroy = 3\n", "memroy"),
        ("[rnu]\nmemory = 3\n", "rnu is unknown"),
        ("memory = 3\n", "memory is unknown"),
        ("[run\n", "is not valid TOML"),
        ('[run]\nbudget = "many"\n', "many"),
    ],
)
def test_mistakes_in_a_configuration(tmp_path, capsys, text, words):
    (tmp_path / "pocketkernel.toml").write_text(text)
    assert main(["run", "rows.svm"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and words in error and "pocketkernel.toml" in error


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "pocketkernel", "run", "nowhere"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "pocketkernel: nowhere does not exist.\n"


def test_plan_tells_what_a_memory_buys(capsys):
    assert main(["plan", "14", "--memory", "64KiB"]) == 0
    assert capsys.readouterr().out == repr(PocketClassifier.plan(14, memory="64KiB")) + "\n"
    assert main(["plan", "14", "--classes", "5", "--set", "lag=false", "--json"]) == 0
    found, plan = json.loads(capsys.readouterr().out), PocketClassifier.plan(14, n_classes=5, lag=False)
    assert (found["nbytes"], found["headroom"]) == (plan.nbytes, plan.headroom)
    assert [tuple(expert) for expert in found["experts"]] == list(plan.experts)
    assert main(["plan", "3", "--learner", "m-omd-s", "--budget", "100"]) == 0
    assert capsys.readouterr().out == repr(MOMDS.plan(3, budget=100)) + "\n"
    assert main(["plan", "3", "--regression"]) == 0
    assert capsys.readouterr().out.startswith("PocketRegressor")
    assert main(["plan", "14", "--memory", "1KiB"]) == 2
    assert "needs at least" in capsys.readouterr().err
