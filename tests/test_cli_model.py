"""`pocketkernel predict` and `pocketkernel inspect`: what a run's folder is good for."""

import csv
import io
import json
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import cli_files
import pocketkernel
from pocketkernel.cli import main
from pocketkernel.evaluate import load_with_pipeline

COMMAND = [sys.executable, "-m", "pocketkernel"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trained(tmp_path, capsys):
    """A run's folder."""
    cli_files.svm(tmp_path / "rows.svm")
    options = ["--learner", "momds", "--memory", "16KiB", "--scale", "standard", "--no-report"]
    assert main(["run", "rows.svm", *options]) == 0
    capsys.readouterr()
    return tmp_path / "rows.run"


@pytest.fixture
def mail(tmp_path, capsys):
    """A run's folder of a table with three classes."""
    cli_files.table(tmp_path / "mail.csv", missing=True)
    options = ["--label", "kind", "--categorical", "colour", "--missing", "mean", "--scale", "minmax", "--no-report"]
    assert main(["run", "mail.csv", *options, "--learner", "multiclassmomds", "--memory", "32KiB"]) == 0
    capsys.readouterr()
    return tmp_path / "mail.run"


def predict(capsys, *options):
    assert main(["predict", *map(str, options)]) == 0
    header, *lines = csv.reader(io.StringIO(capsys.readouterr().out))
    assert header[-1] == "reason" and not any(line[-1] for line in lines)
    return header[:-1], [line[0] for line in lines], np.array([line[1:-1] for line in lines], float)


def test_predictions_are_those_of_the_model(trained, tmp_path, capsys):
    X, _ = cli_files.svm(tmp_path / "more.svm", rows=300, begin=1000)
    header, labels, scores = predict(capsys, trained, "more.svm", "--block", "70")
    model, pipeline, _ = load_with_pipeline(trained)
    scaled = pipeline.scaler.transform(X)
    assert header == ["label", "score"]
    np.testing.assert_array_equal(scores[:, 0], model.decision_function(scaled))
    assert labels == [str(int(label)) for label in model.predict(scaled)]
    header, again, shares = predict(capsys, trained / "model.safetensors", "more.svm", "--proba")
    assert header == ["label", "probability of -1", "probability of 1"]
    assert again == labels
    np.testing.assert_array_equal(shares, model.predict_proba(scaled))


def test_tables_with_and_without_labels(mail, tmp_path, capsys):
    cli_files.table(tmp_path / "with.csv", rows=200, seed=1)
    cli_files.table(tmp_path / "without.csv", rows=200, seed=1, label_column=False)
    header, labels, scores = predict(capsys, mail, "with.csv")
    assert header == ["label", "score of eggs", "score of ham", "score of spam"]
    other = predict(capsys, mail, "without.csv")
    assert labels == other[1]
    np.testing.assert_array_equal(scores, other[2])
    truth = [row["kind"] for row in csv.DictReader((tmp_path / "with.csv").read_text().splitlines())]
    assert np.mean(np.array(labels) != np.array(truth)) < 0.3


def test_rows_are_read_as_they_were_learned(mail, tmp_path, capsys):
    """The model's own rows, encoded and scaled by what was learned of all of them."""
    model, pipeline, _ = load_with_pipeline(mail)
    _, _, scores = predict(capsys, mail, "mail.csv")
    X = np.concatenate(list(pipeline.rows(pipeline.open("mail.csv", block=7))))
    np.testing.assert_array_equal(scores, model.decision_function(X))
    assert X.min() >= 0 and X.max() <= 1
    assert pipeline.feature_names[0] == "size"


def test_a_bad_row_gets_advice_that_can_be_followed(tmp_path, capsys):
    rows = "".join(f"{k % 7},{k % 5},{'ab'[k % 2]}\n" for k in range(200))
    (tmp_path / "good.csv").write_text("u,v,y\n" + rows)
    assert main(["run", "good.csv", "--label", "y", "--strict", "--no-report"]) == 0
    (tmp_path / "bad.csv").write_text("u,v\n1,2\n3,broken\n")
    capsys.readouterr()
    assert main(["predict", "good.run", "bad.csv", "--on-error", "raise"]) == 1
    told = capsys.readouterr().err
    assert "trained on numbers" in told and "--on-error skip" in told and "--categorical" not in told
    assert main(["predict", "good.run", "bad.csv", "--on-error", "skip"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_out_and_json(trained, tmp_path, capsys):
    _, labels, scores = predict(capsys, trained, "rows.svm")
    assert main(["predict", str(trained), "rows.svm", "--out", "p.csv"]) == 0
    assert capsys.readouterr() == ("", "")
    assert [line.split(",")[0] for line in (tmp_path / "p.csv").read_text().splitlines()[1:]] == labels
    assert main(["predict", str(trained), "rows.svm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 1000
    assert [one["score"] for one in found["predictions"]] == scores[:, 0].tolist()


def test_a_pipe_from_end_to_end(trained, tmp_path):
    line = (tmp_path / "rows.svm").read_bytes().splitlines()[0] + b"\n"
    command = f"{sys.executable} -m pocketkernel predict {trained} - | head -n 3"
    done = subprocess.run(["sh", "-c", command], input=line * 200_000, capture_output=True, check=False)
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["nowhere", "rows.svm"], 1, "nowhere does not exist"),
        (["rows.run", "nowhere.svm"], 1, "nowhere.svm does not exist"),
        ([".", "rows.svm"], 1, "has no model.safetensors"),
        (["rows.svm", "rows.svm"], 1, "not a pocketkernel model file"),
        (["rows.run", "wide.svm"], 1, "wide.svm, line 1, byte 3"),
        (["rows.run"], 2, "give a FILE"),
        (["bare.pk", "rows.svm"], 1, "does not contain how to read rows"),
        (["hinge.run", "rows.svm", "--proba"], 2, "--proba needs loss=logistic"),
    ],
    ids=str,
)
def test_mistakes(trained, tmp_path, capsys, options, code, words):
    (tmp_path / "wide.svm").write_text("1 9:1\n")
    model = pocketkernel.MOMDS(budget=10).fit([[0.0], [1.0]], [0, 1])
    model.save(tmp_path / "bare.pk")
    if "hinge.run" in options:
        hinge = ["--learner", "lkmbooks", "--set", "loss=hinge", "--no-report", "--out", "hinge.run"]
        assert main(["run", "rows.svm", *hinge]) == 0
        capsys.readouterr()
    assert main(["predict", *options]) == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and words in error


def test_a_model_that_went_on_without_its_pipeline(trained, capsys):
    other = pocketkernel.load(trained / "model.safetensors").learner_
    other.partial_fit(np.zeros((1, 4)), [1.0])
    other.save(trained / "model.safetensors")
    assert main(["predict", str(trained), "rows.svm"]) == 1
    assert "does not contain how to read rows" in capsys.readouterr().err
    assert main(["inspect", str(trained)]) == 0


def test_one_number_of_the_scaler(trained, capsys):
    """It once changed labels without a word."""
    file = trained / "model.safetensors"
    data = file.read_bytes()
    scaler = load_with_pipeline(file)[1].scaler
    number = scaler.columns["sum"][:1]
    file.write_bytes(data.replace(number.tobytes(), (number * 1e4).tobytes()))
    assert file.read_bytes() != data
    for verb in (["predict", str(trained), "rows.svm"], ["inspect", str(trained)]):
        assert main(verb) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "model.safetensors: the model file is damaged" in error


# ---- inspect --------------------------------------------------------------------------------------------------------


def test_inspect(trained, mail, capsys):
    assert main(["inspect", str(trained)]) == 0
    text = capsys.readouterr().out
    for words in ("MOMDS", "1,000", "gaussian 64", "buffer", "-1, 1", "scaled: standard"):
        assert words in text
    assert main(["inspect", str(mail), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = pocketkernel.load(mail / "model.safetensors").learner_
    assert [kernel["weight"] for kernel in found["kernels"]] == model.kernel_weights_.tolist()
    assert found["labels"] == ["eggs", "ham", "spam"]
    assert found["bytes"] == model.nbytes
    assert found["diagnostics"]["removals"] == model.diagnostics_["removals"]
    assert found["feature_names"][0] == "size"


def test_inspect_raker(tmp_path, capsys):
    model = pocketkernel.Raker(features=20, random_state=0).fit([[0.0], [1.0]], [0, 1])
    model.save(tmp_path / "raker.pk")
    assert main(["inspect", "raker.pk"]) == 0
    assert "frequencies" in capsys.readouterr().out


def test_a_picture(trained, tmp_path, capsys):
    assert main(["inspect", str(trained), "--picture", "weights.svg"]) == 0
    assert "gaussian 16: 0." in "".join(ET.fromstring((tmp_path / "weights.svg").read_bytes()).itertext())
    assert main(["inspect", str(trained), "--picture", "weights.txt"]) == 2
    assert "does not end in" in capsys.readouterr().err


def test_out_may_be_the_input_itself(trained, tmp_path, capsys):
    """What is read is read to the end before anything takes its place; a fault leaves the old file."""
    cli_files.svm(tmp_path / "more.svm", rows=50)
    expected = predict(capsys, trained, "more.svm")
    assert main(["predict", str(trained), "more.svm", "--out", "more.svm"]) == 0
    header, *lines = csv.reader(io.StringIO((tmp_path / "more.svm").read_text()))
    assert (header[:-1], [line[0] for line in lines]) == expected[:2]
    (tmp_path / "old.csv").write_text("old")
    (tmp_path / "bad.svm").write_text("1 1:1\n" * 5000 + "1 x\n")
    assert main(["predict", str(trained), "bad.svm", "--out", "old.csv", "--on-error", "raise"]) == 1
    assert (tmp_path / "old.csv").read_text() == "old"
    assert not list(tmp_path.glob(".old*"))


def test_names_that_look_like_markup(tmp_path, capsys):
    rows = "\n".join(f"{n % 7},{n % 3},{'[/x]' if n % 2 else '[bold]'}" for n in range(200))
    (tmp_path / "[red].csv").write_text(f"[/a],b,y\n{rows}\n")
    assert main(["run", "[[]red].csv", "--memory", "16KiB", "--no-report", "--out", "o"]) == 0
    assert "[[]red].csv" in capsys.readouterr().out  # as it was asked for
    assert main(["inspect", "o"]) == 0
    shown = capsys.readouterr().out
    assert "[/x]" in shown
    assert "[/a]" in shown


def test_force_waits_until_the_new_run_can_be_done(trained, capsys):
    before = (trained / "record.json").read_bytes()
    assert main(["run", "rows.svm", "--force", "--memory", "1", "--out", str(trained)]) == 2
    assert (trained / "record.json").read_bytes() == before
    assert main(["run", "rows.svm", "--force", "--memory", "8KiB", "--no-report", "--out", str(trained)]) == 0
    assert (trained / "record.json").read_bytes() != before


def test_interrupted_while_it_starts(monkeypatch):
    import builtins

    from pocketkernel.__main__ import main as start

    real = builtins.__import__

    def interrupt(name, *rest):
        if name == "pocketkernel.cli":
            raise KeyboardInterrupt
        return real(name, *rest)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(builtins, "__import__", interrupt)
    try:
        assert start() == 130
    finally:
        signal.signal(signal.SIGINT, before)
