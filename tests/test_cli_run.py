"""`pocketkernel run`: files and pipes in, a folder of results out."""

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import cli_files
import pocketkernel
from pocketkernel import LKMBooks, MulticlassMOMDS, PocketClassifier, load
from pocketkernel.cli import main
from pocketkernel.evaluate import Job, Record, progressive, run_job
from pocketkernel.stream import OnlineStandard
from waiting import until, until_idle

COMMAND = [sys.executable, "-m", "pocketkernel"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def rows(tmp_path):
    return cli_files.svm(tmp_path / "rows.svm")


def run(capsys, *options):
    assert main(["run", *options, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("\n") <= 1
    return json.loads(captured.out)


def test_a_run_is_the_progressive_evaluation_of_the_file(rows, tmp_path, capsys):
    X, y = rows
    found = run(capsys, "rows.svm", "--memory", "16KiB", "--block", "300")
    model = PocketClassifier(memory="16KiB", random_state=0)
    *_, progress = progressive(model, X, y, block=300)
    assert (found["rows"], found["mistakes"]) == (1000, progress.mistakes)
    assert found["loss"] == model.diagnostics_["cumulative_loss"]
    assert [kernel["weight"] for kernel in found["kernels"]] == model.kernel_weights_.tolist()
    assert found["classes"] == ["-1", "1"]
    assert found["bytes"] == model.nbytes <= found["promised_bytes"] == 16384
    names = ["curve.parquet", "model.safetensors", "progress.safetensors", "record.json", "report.html"]
    assert sorted(path.name for path in (tmp_path / "rows.run").iterdir()) == sorted(names) == sorted(found["files"])
    curve = Record.read("rows.run").curve
    assert curve.rows.tolist() == [*range(8, 1000, 8), 1000]  # within the blocks, too
    assert curve.mistakes[-1] == progress.mistakes
    saved = pocketkernel.load("rows.run/model.safetensors").learner_
    np.testing.assert_array_equal(saved.decision_function(X), model.decision_function(X))
    page = (tmp_path / "rows.run" / "report.html").read_text()
    assert "PocketClassifier on rows.svm" in page and "pocketkernel run rows.svm" in page


def test_what_people_see(rows, capsys):
    assert main(["run", "rows.svm", "--memory", "16KiB", "--no-report", "--record-format", "csv"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for words in ("1,000", "rows/s", "mistakes", "loss", "of 16,384", "width 0.25", "rows.run: model.safetensors"):
        assert words in captured.out
    *shown, sentence, predict, learn = captured.out.splitlines()
    assert max(map(len, shown)) <= 80
    assert sentence.startswith("Of 1,000 rows ") and " predict " in predict and " learn " in learn


def test_a_terminal_is_redrawn(rows, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("pocketkernel.cli.watch.REDRAW", 0.0)
    assert main(["run", "rows.svm", "--memory", "16KiB", "--no-report", "--block", "100"]) == 0
    error = capsys.readouterr().err
    assert error.count("kernel weights") >= 10
    assert "left" in error
    assert error.rindex("\x1b[?25h") > error.rindex("\x1b[?25l"), "the cursor must come back"


def test_lines_now_and_then(rows, capsys, monkeypatch):
    monkeypatch.setattr("pocketkernel.cli.watch.SAY", 0.0)
    assert main(["run", "rows.svm", "--memory", "16KiB", "--no-report", "--block", "250"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert "mistakes" in lines[-1] and "1,000 rows" in lines[-1]


@pytest.mark.parametrize(
    "learner", ["PocketClassifier", "momds", "MOMDH", "lkmbooks", "raker", "MulticlassMOMDS", "m-omd-s"]
)
def test_learners(rows, capsys, learner):
    found = run(capsys, "rows.svm", "--learner", learner, "--memory", "64KiB", "--no-report")
    assert found["learner"].lower() == learner.lower().replace("-", "")
    assert found["mistake_rate"] < 0.4


def test_parameters(rows, capsys):
    options = [
        "--learner",
        "momds",
        "--budget",
        "50",
        "--kernels",
        "0.5,1,2",
        "--set",
        "step=0.5",
        "--set",
        "removal=restart",
    ]
    found = run(capsys, "rows.svm", *options, "--dtype", "float64", "--seed", "7", "--no-report")
    assert found["budget"] == 50
    assert [kernel["kernel"] for kernel in found["kernels"]] == ["gaussian 0.5", "gaussian 1", "gaussian 2"]
    model = pocketkernel.load("rows.run/model.safetensors").learner_
    assert (model.step, model.removal, model.dtype, model.random_state) == (0.5, "restart", "float64", 7)
    command = Record.read("rows.run").settings["command"]
    assert command.startswith("pocketkernel run rows.svm") and "--set=step=0.5" in command


def test_lkm_books_knows_the_rows_of_a_file(rows, capsys):
    X, y = rows
    found = run(capsys, "rows.svm", "--learner", "lkmbooks", "--budget", "100", "--no-report")
    model = LKMBooks(budget=100, horizon=1000, random_state=0)
    *_, progress = progressive(model, X, y)
    assert found["mistakes"] == progress.mistakes


@pytest.mark.parametrize(("name", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed(rows, tmp_path, capsys, name, compress):
    plain = run(capsys, "rows.svm", "--memory", "16KiB", "--no-report")
    (tmp_path / f"other.svm.{name}").write_bytes(compress((tmp_path / "rows.svm").read_bytes()))
    found = run(capsys, f"other.svm.{name}", "--memory", "16KiB", "--no-report")
    assert found["folder"] == "other.run"
    assert found["mistakes"] == plain["mistakes"]


def test_several_files_and_globs(tmp_path, capsys):
    cli_files.svm(tmp_path / "part1.svm", rows=300)
    cli_files.svm(tmp_path / "part2.svm", rows=200, begin=300)
    cli_files.svm(tmp_path / "whole.svm", rows=500)
    options = ["--memory", "16KiB", "--no-report"]
    mistakes = {
        run(capsys, *files, *options, "--out", f"run{number}")["mistakes"]
        for number, files in enumerate([["whole.svm"], ["part1.svm", "part2.svm"], ["part?.svm"]])
    }
    assert len(mistakes) == 1


def test_scaling(rows, capsys):
    X, y = rows
    found = run(capsys, "rows.svm", "--memory", "16KiB", "--scale", "standard", "--no-report")
    model = PocketClassifier(memory="16KiB", random_state=0)
    *_, progress = progressive(model, OnlineStandard().transform_then_learn(X), y)
    assert found["mistakes"] == progress.mistakes


def test_permutation(rows, capsys):
    X, y = rows
    found = run(capsys, "rows.svm", "--memory", "16KiB", "--permute", "5", "--no-report", "--block", "130")
    order = np.random.default_rng(5).permutation(1000)
    *_, progress = progressive(PocketClassifier(memory="16KiB", random_state=0), X[order], y[order])
    assert found["mistakes"] == progress.mistakes


def test_only_some_rows(rows, capsys):
    X, y = rows
    found = run(capsys, "rows.svm", "--memory", "16KiB", "--rows", "450", "--block", "100", "--no-report")
    *_, progress = progressive(PocketClassifier(memory="16KiB", random_state=0), X[:450], y[:450])
    assert (found["rows"], found["mistakes"]) == (450, progress.mistakes)


def test_text_labels_of_three_classes(tmp_path, capsys):
    cli_files.table(tmp_path / "mail.csv")
    options = ["--label", "kind", "--categorical", "auto", "--memory", "64KiB", "--no-report"]
    assert main(["run", "mail.csv", *options, "--learner", "momds"]) == 2
    assert "use --learner pocket or multiclassmomds" in capsys.readouterr().err
    assert run(capsys, "mail.csv", *options)["mistake_rate"] < 0.4
    options += ["--force"]
    found = run(capsys, "mail.csv", *options, "--learner", "multiclassmomds")
    assert found["classes"] == ["eggs", "ham", "spam"]
    assert found["mistake_rate"] < 0.4
    assert isinstance(pocketkernel.load("mail.run/model.safetensors").learner_, MulticlassMOMDS)


def test_a_class_that_comes_late(tmp_path, capsys):
    (tmp_path / "late.svm").write_text("1 1:1\n-1 1:2\n" * 100 + "3 1:3\n")
    assert main(["run", "late.svm", "--block", "50", "--no-report", "--strict"]) == 1
    error = capsys.readouterr().err
    assert "--classes" in error and "found 3" in error and "late.svm, line 201" in error


def test_one_class_at_first(tmp_path, capsys):
    (tmp_path / "sorted.svm").write_text("1 1:1\n" * 100 + "-1 1:2\n" * 100)
    options = ["run", "sorted.svm", "--block", "50", "--no-report", "--memory", "16KiB"]
    assert main([*options, "--strict"]) == 1
    error = capsys.readouterr().err
    assert "--classes" in error and "--permute" in error
    assert main([*options, "--classes", "-1,1"]) == 0
    assert main([*options, "--permute", "0", "--out", "b"]) == 0


def test_skipped_lines_are_counted(tmp_path, capsys):
    (tmp_path / "bad.svm").write_text("1 1:1\n-1 1:x\n" * 20 + "-1 1:2\n")
    assert main(["run", "bad.svm", "--strict"]) == 1
    assert "bad.svm, line 2, byte 6: expected a finite number, found 'x'" in capsys.readouterr().err
    assert run(capsys, "bad.svm", "--no-report")["skipped"] == 20
    assert main(["run", "bad.svm", "--no-report"]) == 0
    assert "were skipped: 20 (" in capsys.readouterr().out


# ---- pipes and processes --------------------------------------------------------------------------------------------


def test_a_pipe(rows, tmp_path, capsys):
    packed = lzma.compress((tmp_path / "rows.svm").read_bytes())
    options = ["run", "-", "--memory", "16KiB", "--json", "--no-report"]
    done = subprocess.run([*COMMAND, *options], input=packed, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert found["folder"] == "stdin.run"
    assert found["mistakes"] == run(capsys, "rows.svm", "--memory", "16KiB", "--no-report")["mistakes"]
    model = (tmp_path / "rows.run" / "model.safetensors").read_bytes()
    assert (tmp_path / "stdin.run" / "model.safetensors").read_bytes() == model


def test_a_named_pipe(rows, tmp_path, capsys):
    os.mkfifo("pipe")
    writer = subprocess.Popen(["sh", "-c", "cat rows.svm > pipe"])
    found = run(capsys, "pipe", "--memory", "16KiB", "--no-report")
    writer.wait()
    assert found["rows"] == 1000


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_an_interrupt_while_a_pipe_waits(tmp_path, number, code):
    """Also by `docker stop`, or a terminal that is closed: what was learned is saved."""
    command = [*COMMAND, "run", "-", "--features", "2", "--no-report"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"1 1:2\n-1 2:3\n" * 5000)
        process.stdin.flush()
        until((tmp_path / "stdin.run").exists)
        until_idle(process)  # the first block is learned, and the second one awaited
        process.send_signal(getattr(signal, number))
        assert process.wait(timeout=120) == code
        error = process.stderr.read().decode()
        assert error.endswith("pocketkernel: interrupted.\n") and "pocketkernel learn stdin.run -" in error
    assert load(tmp_path / "stdin.run").learner_.diagnostics_["rounds"] == 10_000


def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    command = ["nohup", *COMMAND, "run", "-", "--features", "2", "--no-report"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"1 1:2\n-1 2:3\n" * 5000)
        process.stdin.flush()
        until((tmp_path / "stdin.run").exists)
        until_idle(process)
        process.send_signal(signal.SIGHUP)
        process.stdin.close()
        assert process.wait(timeout=120) == 0


def test_an_interrupt_before_the_columns_are_judged(tmp_path):
    command = [*COMMAND, "run", "-", "--format", "csv", "--label", "y", "--no-report"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a,y\n1,0\n2,1\n" * 10)
        process.stdin.flush()
        until((tmp_path / "stdin.run").exists)
        until_idle(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 130
        error = process.stderr.read().decode()
        assert "Nothing was learned: columns are inferred from the first 10,000 rows of a pipe" in error


# ---- as a library ---------------------------------------------------------------------------------------------------


def test_the_library_alone(rows, tmp_path):
    job = Job(str(tmp_path / "rows.svm"), "raker", {"memory": "16KiB", "random_state": 3}, scale="minmax")
    seen = []
    done = run_job(job, tmp_path / "out", step=lambda run: seen.append(run.progress.rows))
    assert seen == [1000]
    assert Record.read(tmp_path / "out").settings["scale"] == "minmax"
    assert done.pipeline().scaler.count == 1000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learner": "svm"}, "learner='svm' is unknown"),
        ({"parameters": {"foo": 1}}, "foo is not a parameter of PocketClassifier"),
        ({"scale": "robust"}, "scale='robust' is unknown"),
        ({"rows": 0}, "rows=0 is too small"),
        ({"permute": -1}, "permute=-1 is too small"),
    ],
)
def test_bad_jobs(rows, tmp_path, change, words):
    with pytest.raises(ValueError, match=words):
        run_job(Job(**{"source": str(tmp_path / "rows.svm"), **change}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_categories_beyond_the_cap_share_places(tmp_path, capsys):
    lines = "".join(f"{n % 5},c{n % 9},{'no' if n % 2 else 'yes'}\n" for n in range(300))
    (tmp_path / "many.csv").write_text("a,b,y\n" + lines)
    options = ["--categorical", "b", "--max-categories", "3", "--memory", "16KiB", "--no-report", "--json", "--force"]
    widths = []
    for hash_width in (0, 4):
        assert main(["run", str(tmp_path / "many.csv"), *options, "--hash-width", str(hash_width)]) == 0
        capsys.readouterr()
        assert main(["inspect", "many.run", "--json"]) == 0
        widths.append(json.loads(capsys.readouterr().out)["features"])
    assert widths == [4, 8]


def test_keys_of_json_lines_that_are_columns(tmp_path, capsys):
    rows = [{"a": n % 3, "b": n % 5, "note": n, "y": n % 2} for n in range(200)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    assert main(["run", str(tmp_path / "rows.jsonl"), "--columns", "a,y", "--memory", "16KiB", "--no-report"]) == 0
    capsys.readouterr()
    assert main(["inspect", "rows.run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["feature_names"] == ["a"]
