"""Live streams: pipes that are answered row by row, Ctrl-C, further files, and labels that arrive later."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import cli_files
import tables
from pocketkernel import PocketClassifier, load
from pocketkernel.cli import main
from pocketkernel.evaluate import Job, run_job
from pocketkernel.evaluate import run as run_module
from pocketkernel.evaluate.checkpoint import CHECKPOINT, to_bytes
from waiting import until_at_work, until_idle

COMMAND = [sys.executable, "-m", "pocketkernel"]
HEAD, *LINES = tables.titanic().decode().splitlines()
LABEL = ["--label", "Survived", "--no-report"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, lines, head=HEAD):
    path.write_text("\n".join([head, *lines]) + "\n")


def model(folder):
    return (folder / "model.safetensors").read_bytes()


# ---- predict --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["csv", "jsonl", "strict", "libsvm"])
def test_each_row_of_a_pipe_is_answered_as_it_comes(tmp_path, capsys, format):
    if format == "libsvm":
        cli_files.svm(tmp_path / "rows.svm", rows=200)
        head, lines = None, (tmp_path / "rows.svm").read_text().splitlines()[:5]
        assert main(["run", "rows.svm", "--out", "m", "--no-report"]) == 0
    else:
        write(tmp_path / "rows.csv", LINES[:300])
        strict = ["--strict", "--drop", "Name,Sex,Age,Ticket,Cabin,Embarked"] if format == "strict" else []
        assert main(["run", "rows.csv", "--out", "m", *LABEL, *strict]) == 0
        head, lines = HEAD, LINES[300:305]
    if format == "jsonl":
        import csv

        rows = csv.DictReader([HEAD, *lines])
        numbers = ("Pclass", "Age", "SibSp", "Fare")
        lines = [json.dumps({k: float(v) if k in numbers and v else v or None for k, v in row.items()}) for row in rows]
        head = None
    name = {"jsonl": "five.jsonl", "libsvm": "five.svm"}.get(format, "five.csv")
    (tmp_path / name).write_text("\n".join([head, *lines] if head else lines) + "\n")
    capsys.readouterr()
    assert main(["predict", "m", name]) == 0
    wanted = capsys.readouterr().out.splitlines()
    command = [*COMMAND, "predict", "m", "-"] + (["--format", "jsonl"] if format == "jsonl" else [])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        if head:
            process.stdin.write(head + "\n")
        for line, answer in zip(lines, wanted[1:], strict=True):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            while (got := process.stdout.readline().rstrip("\n")) == wanted[0]:
                pass  # the titles
            assert got == answer
        process.stdin.close()
        assert process.stdout.read() == "" and process.wait(timeout=120) == 0


def test_ids_stay_beside_the_answers(tmp_path, capsys):
    write(tmp_path / "rows.csv", LINES[:300])
    write(tmp_path / "new.csv", LINES[300:303])
    assert main(["run", "rows.csv", *LABEL, "--id", "PassengerId"]) == 0
    assert re.search(r"PassengerId +id +kept beside the answers", capsys.readouterr().err)
    assert main(["predict", "rows.run", "new.csv"]) == 0
    out = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert out[0] == ["PassengerId", "label", "score", "reason"] and [row[0] for row in out[1:]] == [
        "301",
        "302",
        "303",
    ]
    assert main(["predict", "rows.run", "new.csv", "--id", "Ticket", "--json"]) == 0
    tickets = [row["Ticket"] for row in json.loads(capsys.readouterr().out)["predictions"]]
    assert tickets == [line.split(",")[-4] for line in LINES[300:303]]


def test_rows_without_an_answer_are_told(tmp_path, capsys):
    write(tmp_path / "rows.csv", LINES[:300])
    write(tmp_path / "new.csv", [LINES[300], "1,2", LINES[301]])
    assert main(["run", "rows.csv", *LABEL]) == 0
    capsys.readouterr()
    for on_error, lines in (("mark", 4), ("skip", 3), ("raise", 2)):
        assert main(["predict", "rows.run", "new.csv", "--on-error", on_error]) == (on_error == "raise")
        captured = capsys.readouterr()
        assert len(captured.out.splitlines()) == lines and "new.csv, line 3" in captured.err
        assert ("and have no answer: 1" in captured.err) == (on_error != "raise")


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path, capsys):
    write(tmp_path / "rows.csv", LINES * 400)
    command = ["run", "rows.csv", "--label", "Survived", "--block", "500", "--memory", "16KiB", "--rows", "200000"]
    folder = tmp_path / "rows.run"
    with subprocess.Popen([*COMMAND, *command], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stderr:  # the schema comes first
            if line.startswith("To change it"):
                break
        until_at_work(process, 0.1)
        process.send_signal(signal.SIGINT)
        assert any(line.startswith("Interrupted: stops within about a second") for line in process.stderr)
        assert not (folder / "report.html").exists()  # it is told before anything is saved
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    rows = int(re.search(r"Saved after row ([\d,]+): repeat the command", error)[1].replace(",", ""))
    assert 0 < rows < 200_000 and rows % 500 == 0 and error.endswith("pocketkernel: interrupted.\n")
    settings = json.loads((folder / "record.json").read_text())["settings"]
    assert settings["interrupted"] and (folder / "report.html").exists()
    assert main(["predict", "rows.run", "rows.csv", "--out", "answers.csv"]) == 0
    assert main(command) == 0
    assert f"resuming after row {rows:,}" in capsys.readouterr().err
    assert not json.loads((folder / "record.json").read_text())["settings"]["interrupted"]
    assert main([*command, "--out", "whole"]) == 0
    assert model(folder) == model(tmp_path / "whole")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(("memory", "block"), [("16KiB", "100"), ("8MiB", "30000")])
def test_a_pipe_that_is_interrupted_goes_on_with_learn(tmp_path, capsys, memory, block):
    command = [*COMMAND, "run", "-", *LABEL, "--block", block, "--memory", memory]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write("\n".join([HEAD, *(LINES * 30)[:25_050]]) + "\n")
        process.stdin.flush()
        for line in process.stderr:
            if line.startswith("To change it"):
                break
        until_idle(process)  # all that came is learned
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
        assert process.wait(timeout=120) == 130
    message = r"Saved after row ([\d,]+) \((all|[\d,]+) rows [^)]+\): continue with `pocketkernel learn stdin.run -`"
    rows, dropped = (text.replace(",", "") for text in re.search(message, error).groups())
    rows, dropped = int(rows), 0 if dropped == "all" else int(dropped)
    assert rows > 0 and rows + dropped == 25_050  # whatever the block
    assert dropped == 0 or memory == "8MiB"  # of one block, which may take longer than it waits
    write(tmp_path / "rest.csv", (LINES * 30)[rows:26_000])
    capsys.readouterr()
    assert main(["learn", "stdin.run", "rest.csv", "--no-report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 26_000


@pytest.mark.parametrize(("live", "dropped"), [(True, 16), (False, 0)])
def test_rows_of_a_pipe_that_take_too_long_are_counted(monkeypatch, live, dropped):
    monkeypatch.setattr(run_module, "GRACE", -1.0)
    stream = SimpleNamespace(block=10, live=live)
    run = SimpleNamespace(stream=stream, progress=None, dropped=0, _bytes=lambda: run_module.AT_ONCE // 4)
    parts = list(run_module.Run._parts(run, iter([range(10), range(10)]), lambda: True))
    assert parts == [range(4)] and run.dropped == dropped  # of a file the others are read again


# ---- learn ----------------------------------------------------------------------------------------------------------

JOBS = {
    "inferred": ("csv", LABEL),
    "mean": ("csv", [*LABEL, "--learner", "momds", "--scale", "standard", "--memory", "16KiB"]),
    "strict": (
        "csv",
        [*LABEL, "--strict", "--drop", "Name,Ticket", "--categorical", "Sex,Cabin,Embarked", "--missing", "mean"],
    ),
    "regression": ("csv", ["--label", "Fare", "--task", "regression", "--no-report"]),
    "libsvm": ("svm", ["--no-report", "--scale", "maxabs", "--features", "4"]),
}


@pytest.mark.parametrize("case", JOBS)
def test_learning_day_by_day_gives_the_same_bits(tmp_path, capsys, case):
    form, options = JOBS[case]
    if form == "csv":
        write(tmp_path / "day1.csv", LINES[:400])
        write(tmp_path / "day2.csv", LINES[400:700])
        write(tmp_path / "day3.csv", LINES[700:])
    else:
        for day, (begin, rows) in enumerate([(0, 400), (400, 300), (700, 191)], 1):
            cli_files.svm(tmp_path / f"day{day}.svm", rows=rows, begin=begin)
    days = [f"day{day}.{form}" for day in (1, 2, 3)]
    assert main(["run", *days, *options, "--out", "whole", "--block", "64", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["run", days[0], *options, "--out", "parts", "--block", "100"]) == 0
    for day in days[1:]:
        capsys.readouterr()
        assert main(["learn", "parts", day, "--no-report", "--block", "37", "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert model(tmp_path / "parts") == model(tmp_path / "whole")
    for name in ("rows", "mistakes", "loss", "skipped"):
        assert parts.get(name) == whole.get(name)
    for name in ("baselines", "classes", "confusion", "auc") if "classes" in whole else ():  # counts
        assert parts["metrics"].get(name) == whole["metrics"].get(name)
    record = json.loads((tmp_path / "parts" / "record.json").read_text())["settings"]
    assert record["sources"] == days and (record["schema"] is None) == (case in ("strict", "libsvm"))


def test_the_report_names_what_was_learned(tmp_path):
    for day, title in ((1, "day1.csv"), (2, "day1.csv and day2.csv"), (3, "day1.csv and 2 more")):
        write(tmp_path / f"day{day}.csv", LINES[100 * day : 100 * day + 100])
        command = ["run", "day1.csv", "--label", "Survived"] if day == 1 else ["learn", "day1.run", f"day{day}.csv"]
        assert main(command) == 0
        assert f"<h1>PocketClassifier on {title}</h1>" in (tmp_path / "day1.run" / "report.html").read_text()


def test_the_columns_of_a_wrong_file_are_told_by_name(tmp_path, capsys):
    write(tmp_path / "day1.csv", LINES[:100])
    (tmp_path / "other.csv").write_text("species;island\nAdelie;Dream\nGentoo;Biscoe\n")
    (tmp_path / "bare.csv").write_text("3,male\n1,female\n")
    assert main(["run", "day1.csv", *LABEL]) == 0
    for name, found in (("other.csv", "species, island"), ("bare.csv", "column1, column2")):
        assert main(["predict", "day1.run", name]) == 1
        assert f"expected a column 'Pclass', found {found}" in capsys.readouterr().err


def test_a_model_without_names_reads_words_in_the_first_line(tmp_path, capsys):
    words = ["red", "green", "blue"]
    rows = [f"{words[k % 3]},{words[k % 2]},{'yes' if k % 3 else 'no'}\n" for k in range(90)]
    (tmp_path / "rows.csv").write_text("".join(rows))
    (tmp_path / "new.csv").write_text("".join(rows[:5]))
    assert main(["run", "rows.csv", "--label", "column3", "--no-header", "--no-report"]) == 0
    capsys.readouterr()
    assert main(["predict", "rows.run", "new.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6


def test_a_file_is_not_learned_twice_by_mistake(tmp_path, capsys):
    write(tmp_path / "day1.csv", LINES[:400])
    write(tmp_path / "day2.csv", LINES[400:500])
    assert main(["run", "day1.csv", *LABEL]) == 0
    assert main(["learn", "day1.run", "day2.csv", "--no-report"]) == 0
    before = model(tmp_path / "day1.run")
    for name in ("day2.csv", "day1.csv"):
        assert main(["learn", "day1.run", name, "--no-report"]) == 1
        assert f"{name} has been learned already: learn it again with --force" in capsys.readouterr().err
    assert model(tmp_path / "day1.run") == before
    assert main(["learn", "day1.run", "day2.csv", "--no-report", "--force"]) == 0
    assert model(tmp_path / "day1.run") != before


def test_mistakes_of_the_user(tmp_path, capsys):
    write(tmp_path / "day1.csv", LINES[:100])
    (tmp_path / "bare.csv").write_text("Pclass\n1\n")
    assert main(["run", "day1.csv", *LABEL]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "day1.run").iterdir()}
    for arguments, code, words in (
        (["nowhere", "day1.csv"], 1, "nowhere does not exist"),
        (["day1.run"], 2, "give a FILE"),
        (["day1.run", "bare.csv"], 1, "expected a column 'Sex', found Pclass"),
        (["day1.run", "bare.csv", "--delayed", "bare.csv"], 2, "give --id"),
    ):
        capsys.readouterr()
        assert main(["learn", *arguments]) == code, arguments
        assert words in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "day1.run").iterdir()} == before


@pytest.mark.parametrize("name", ["progress.safetensors"])
def test_a_damaged_state_is_refused(tmp_path, capsys, name):
    write(tmp_path / "day1.csv", LINES[:100])
    write(tmp_path / "day2.csv", LINES[100:200])
    assert main(["run", "day1.csv", *LABEL]) == 0
    file = tmp_path / "day1.run" / name
    good = file.read_bytes()
    for damaged in (b"", good[:1000], good[:-5], bytes(reversed(good))):
        file.write_bytes(damaged)
        capsys.readouterr()
        assert main(["learn", "day1.run", "day2.csv"]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and f"{name} is damaged" in error
    file.write_bytes(good)
    assert main(["learn", "day1.run", "day2.csv", "--no-report"]) == 0


# ---- delayed labels -------------------------------------------------------------------------------------------------


def delayed(tmp_path, order):
    """Day 2 as rows without labels, and labels in this order."""
    head = HEAD.split(",")
    place = head.index("Survived")
    write(tmp_path / "day1.csv", LINES[:300])
    later = [line.split(",", place + 1) for line in LINES[300:600]]
    write(tmp_path / "rows.csv", [f"{line[0]},{line[2]}" for line in later], HEAD.replace("Survived,", ""))
    labels = [f"{later[k][1]};{later[k][0]}" for k in order]
    write(tmp_path / "labels.csv", labels, "Survived;PassengerId")
    write(tmp_path / "day2.csv", [LINES[300 + k] for k in order])


def test_late_labels_in_the_order_of_the_rows_change_nothing(tmp_path, capsys):
    delayed(tmp_path, range(300))
    for name in ("a", "b"):
        assert main(["run", "day1.csv", *LABEL, "--id", "PassengerId", "--out", name]) == 0
    assert main(["learn", "a", "day2.csv", "--no-report"]) == 0
    assert main(["learn", "b", "rows.csv", "--delayed", "labels.csv", "--no-report", "--window", "400"]) == 0
    assert model(tmp_path / "a") == model(tmp_path / "b")


def test_late_labels_are_joined_within_a_window(tmp_path, capsys):
    order = np.random.default_rng(0).permutation(300)
    delayed(tmp_path, order)
    assert main(["run", "day1.csv", *LABEL, "--id", "PassengerId", "--out", "b"]) == 0
    capsys.readouterr()
    assert main(["learn", "b", "rows.csv", "--delayed", "labels.csv", "--no-report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 600 and found["skipped"] == 0
    with open("labels.csv", "a") as file:
        file.write("1;no such id\n?;301\n")
    assert main(["run", "day1.csv", *LABEL, "--id", "PassengerId", "--out", "c"]) == 0
    capsys.readouterr()
    arguments = ["learn", "c", "rows.csv", "--delayed", "labels.csv", "--no-report", "--window", "50", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert 300 < found["rows"] < 600 and found["rows"] + found["skipped"] == 602
    first = json.loads((tmp_path / "c" / "record.json").read_text())["settings"]["skipped"]["first"][0]
    assert "labels.csv, line" in first and "the id of one of the last 50 rows without a label" in first


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (lambda text: text + b'9;"' + b"x" * 200_000 + b'"\n', 1, "expected CSV, found field larger"),
        (lambda text: text.replace(b";304", b';"304') + text * 100, 1, "expected CSV, found field larger"),
        (lambda text: gzip.compress(text)[:-200], 1, "compressed data that is whole"),
        (lambda text: text.replace(b"Survived;", b"Survived;Survived;"), 1, "expected one column 'Survived'"),
        (lambda text: b"", 1, "expected one column"),
        (lambda text: b"x" * 2**22, 1, "line 1: expected CSV, found field larger"),
        (lambda text: text.replace(b";304", b";304;5"), 0, "line 5: expected 2 fields, found 3"),
        (lambda text: text.replace(b";304", b""), 0, "line 5: expected 2 fields, found 1"),
    ],
)
def test_hostile_late_labels(tmp_path, capsys, change, code, told):
    delayed(tmp_path, range(300))
    assert main(["run", "day1.csv", *LABEL, "--id", "PassengerId", "--out", "b"]) == 0
    data = (tmp_path / "labels.csv").read_bytes()
    (tmp_path / "labels.csv").write_bytes(change(data))
    capsys.readouterr()
    assert main(["learn", "b", "rows.csv", "--delayed", "labels.csv", "--no-report", "--json"]) == code
    shown = capsys.readouterr()
    if code == 0:
        assert json.loads(shown.out)["rows"] == 599
        told_of = json.loads((tmp_path / "b" / "record.json").read_text())["settings"]["skipped"]["first"]
        assert told in told_of[0]
    else:
        assert told in shown.err.splitlines()[-1]


def test_rows_and_labels_cannot_both_come_from_a_pipe(tmp_path, capsys):
    delayed(tmp_path, range(300))
    assert main(["run", "day1.csv", *LABEL, "--id", "PassengerId", "--out", "b"]) == 0
    assert main(["learn", "b", "-", "--delayed", "-"]) == 2
    assert "cannot both come from standard input" in capsys.readouterr().err


# ---- classes that appear late ---------------------------------------------------------------------------------------


def late_rows(form, rows, begin=0, labels="bda", numbers=(3, 7, 5)):
    """Rows of two classes; from row 600 on also of a third, and one row of a fourth, which has no room."""
    rng = np.random.default_rng(7)
    lines = []
    for k in range(begin + rows):
        place = int(rng.integers(3 if k >= 600 else 2)) if k != 850 else 3
        x, z = rng.normal(size=2) + np.array([[2, 0], [-2, 0], [0, 3], [9, 9]])[place]
        label = [*labels, "e"][place] if form != "svm" else [*numbers, 9][place]
        lines.append(f"{x:.3f},{z:.3f},{label}" if form != "svm" else f"{label} 1:{x:.3f} 2:{z:.3f}")
    return lines[begin:]


def late_files(form, folder, days=(400, 300, 300)):
    begin = 0
    for day, rows in enumerate(days, 1):
        lines = late_rows(form, rows, begin)
        (folder / f"day{day}.{form}").write_text("\n".join((["x,z,y"] if form == "csv" else []) + lines) + "\n")
        begin += rows
    return [f"day{day}.{form}" for day in range(1, len(days) + 1)]


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("csv", []),
        ("csv", ["--learner", "multiclassmomds", "--memory", "16KiB"]),
        ("svm", ["--features", "2"]),
    ],
)
def test_a_late_class_is_learned_while_there_is_room(tmp_path, capsys, form, options):
    days, options = late_files(form, tmp_path), [*options, "--set", "n_classes=3", "--no-report"]
    assert main(["run", *days, *options, "--out", "whole", "--block", "64", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["skipped"] == 1 and whole["rows"] == 999
    assert whole["classes"] == (["a", "b", "d"] if form == "csv" else ["3", "5", "7"])
    late = whole["metrics"]["classes"][-1]
    assert late["label"] == ("a" if form == "csv" else "5") and late["first_row"] >= 601 and late["recall"] > 0.8
    assert whole["metrics"]["confusion"]["labels"][-1] == late["label"]
    # In parts, with other blocks, and resumed after each checkpoint: the same bits and counts.
    assert main(["run", days[0], *options, "--out", "parts", "--block", "100"]) == 0
    for day in days[1:]:
        capsys.readouterr()
        assert main(["learn", "parts", day, "--no-report", "--block", "37", "--on-error", "skip", "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert model(tmp_path / "parts") == model(tmp_path / "whole")
    assert [parts[name] for name in ("rows", "mistakes", "classes")] == [999, whole["mistakes"], whole["classes"]]
    for name in ("baselines", "classes", "confusion"):
        assert parts["metrics"][name] == whole["metrics"][name]
    reading = {"strict": False} if form == "csv" else {"strict": False, "n_features": 2}
    learner = options[1] if "--learner" in options else "pocket"
    reading |= {"missing": "mean"} if learner != "pocket" else {}
    parameters = {"n_classes": 3, "random_state": 0} | ({"memory": "16KiB"} if "--memory" in options else {})
    job = Job(days, learner, parameters, reading, block=64)
    for rows in (320, 640, 896):
        run, folder = job.start(), tmp_path / str(rows)
        for progress in run.steps():
            if progress.rows >= rows:
                break
        folder.mkdir()
        (folder / CHECKPOINT).write_bytes(to_bytes(run, job.fingerprint()))
        done = run_job(job, folder)
        assert done.resumed_at == [progress.rows] and model(folder) == model(tmp_path / "whole")
        assert done.results["confusion"] == whole["metrics"]["confusion"]


def test_a_late_class_is_learned_as_in_python(tmp_path, capsys):
    days = late_files("csv", tmp_path, (600, 240))
    assert main(["run", *days, "--set", "n_classes=3", "--no-report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = [line.split(",") for line in late_rows("csv", 840)]
    X, y = np.array([row[:2] for row in rows], float), np.array([row[2] for row in rows])
    learner = PocketClassifier(n_classes=3, random_state=0)
    wrong = 0
    for k in range(len(y)):
        scores = learner.predict_then_learn(X[k : k + 1], y[k : k + 1], classes=["b", "d"] if k == 0 else None)
        guess = learner.classes_[int(scores[0] >= 0) if scores.ndim == 1 else int(scores[0].argmax())]
        wrong += guess != y[k]
    assert found["mistakes"] == wrong
    loaded = load("day1.run")
    given = [{"x": x, "z": z} for x, z in X.tolist()]
    np.testing.assert_array_equal(loaded.predict_proba(given, continues=True), learner.predict_proba(X))


def test_without_room_a_late_class_is_left_out_and_counted(tmp_path, capsys):
    days = late_files("csv", tmp_path)
    assert main(["run", *days, "--no-report"]) == 0
    out = capsys.readouterr().out
    assert "or leave room for them with --set n_classes=N" in " ".join(out.split())
    assert main(["run", *days, "--no-report", "--set", "n_classes=many", "--out", "x"]) == 2
    assert "n_classes='many'" in capsys.readouterr().err
