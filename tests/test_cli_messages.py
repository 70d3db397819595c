"""What the command line says: which column is meant, what to do, and how a run has gone in one sentence."""

import json
import re

import numpy as np
import pytest

import cli_files
from pocketkernel.__main__ import main


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def shop(path, rows=600, label="bought"):
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, rows)
    lines = [f"{k},{'ab'[k % 2]},{k * 0.5},{age[k]:.1f},{'yes' if age[k] > 40 else 'no'}" for k in range(rows)]
    path.write_text("\n".join([f"n,kind,x,age,{label}", *lines]) + "\n")
    return lines


def said(capsys, *arguments, code=0):
    assert main([str(word) for word in arguments]) == code
    found = capsys.readouterr()
    return found.err + found.out


def test_a_column_is_called_by_its_name(tmp_path, capsys):
    lines = shop(tmp_path / "t.csv")
    lines[500] = "500,a,1.5,old,yes"
    (tmp_path / "t.csv").write_text("\n".join(["n,kind,x,age,bought", *lines]) + "\n")
    text = said(capsys, "run", "t.csv", "--label", "bought", "--numeric", "age")
    assert "t.csv, line 502, column 'age': expected a number, found 'old'" in text
    text = said(capsys, "run", "t.csv", "--label", "bought", "--strict", "--drop", "kind", "--out", "strict", code=1)
    assert "t.csv, line 502, column 'age': expected a finite number, found 'old'" in text
    assert not re.search(r"column \d", text)


def test_a_label_is_not_said_to_be_a_finite_number(tmp_path, capsys):
    lines = [f"{k % 7},{k % 2}" for k in range(10_100)]
    lines[10_050] = "3,no"
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *lines]) + "\n")
    text = said(capsys, "run", "t.csv", "--label", "y")
    assert "line 10052, column 'y': expected a label that is a number, as in the first rows, found 'no'" in text
    assert "if the labels are text, list all of them in --classes" in text


def test_one_column_is_not_chosen_from_one(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("y\n" + "1\n0\n" * 20)
    assert "label='z' is not a column: the only one is y." in said(capsys, "run", "t.csv", "--label", "z", code=2)


def test_a_folder_does_not_hide_what_is_wrong_with_the_command(tmp_path, capsys):
    shop(tmp_path / "t.csv")
    assert main(["run", "t.csv", "--label", "bought"]) == 0
    capsys.readouterr()
    assert "which column has the labels? It could be" in said(capsys, "run", "t.csv", code=2)
    assert "is not a column" in said(capsys, "run", "t.csv", "--label", "price", code=2)
    assert "contains a different finished run" in said(capsys, "run", "t.csv", "--label", "kind", code=1)


def test_a_wide_file_names_the_memory_that_it_needs(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2000)).round(3).tolist()
    lines = [",".join(map(str, [*row, "ab"[k % 2]])) for k, row in enumerate(rows)]
    (tmp_path / "t.csv").write_text("\n".join([",".join([f"x{k}" for k in range(2000)] + ["y"]), *lines]) + "\n")
    text = said(capsys, "run", "t.csv", "--label", "y", "--no-report", code=2)
    asked = re.search(r"use --memory '(\w+)' or more", text)
    assert asked is not None
    said(capsys, "run", "t.csv", "--label", "y", "--no-report", "--memory", asked[1])


# ---- the last lines of a run ----------------------------------------------------------------------------------------


def ending(text):
    """The lines after the files."""
    lines = text.rstrip("\n").split("\n")
    place = next(k for k, line in enumerate(lines) if "model.safetensors, " in line)
    return lines[place + 1 :]


def test_a_run_ends_with_one_sentence_and_two_commands(tmp_path, capsys):
    shop(tmp_path / "t.csv")
    sentence, *commands = ending(said(capsys, "run", "t.csv", "--label", "bought"))
    results = json.loads((tmp_path / "t.run" / "record.json").read_text())["results"]
    rates = [results["mistake_rate"], *(results["baselines"][one]["mistake_rate"] for one in ("linear", "majority"))]
    percents = [float(share) for share in re.findall(r"([\d.]+) %", sentence)]
    assert percents == pytest.approx([100 * rate for rate in rates], abs=0.051)
    assert re.fullmatch(
        r"Of 600 rows [\d.]+ % were predicted wrongly, a linear model [\d.]+ %, guessing [\d.]+ %\.", sentence
    )
    assert len(commands) == 2
    assert commands[0] == "Next: pocketkernel predict t.run NEW-FILE > predictions.csv"
    assert commands[1] == "      pocketkernel learn t.run NEXT-FILE"
    again = said(capsys, "learn", "t.run", "t.csv", "--force")
    assert ending(again)[0].startswith("Of 1,200 rows ")


def test_a_run_of_numbers_ends_with_their_errors(tmp_path, capsys):
    cli_files.numbers(tmp_path / "houses.csv")
    sentence, *commands = ending(said(capsys, "run", "houses.csv", "--label", "price"))
    results = json.loads((tmp_path / "houses.run" / "record.json").read_text())["results"]
    assert f"off by {results['rmse']:.4g} (RMSE)" in sentence and "a linear model by " in sentence
    assert f"the mean so far by {results['baselines']['mean']['rmse']:.4g}" in sentence
    assert len(commands) == 2


def test_a_run_of_a_learner_without_a_linear_model(tmp_path, capsys):
    shop(tmp_path / "t.csv")
    sentence, *_ = ending(said(capsys, "run", "t.csv", "--label", "bought", "--learner", "momds", "--budget", "20"))
    assert "linear" not in sentence and "guessing " in sentence


def test_nothing_is_added_to_json(tmp_path, capsys):
    shop(tmp_path / "t.csv")
    assert main(["run", "t.csv", "--label", "bought", "--json"]) == 0
    json.loads(capsys.readouterr().out)


# ---- what is proved about a regressor -------------------------------------------------------------------------------


def test_certify_says_what_is_proved_about_a_regressor(tmp_path, capsys):
    cli_files.numbers(tmp_path / "houses.csv")
    said(capsys, "run", "houses.csv", "--label", "price")
    results = json.loads((tmp_path / "houses.run" / "record.json").read_text())["results"]
    text = said(capsys, "certify", "houses.run")
    assert "PocketRegressor" in text and "Proved: " in text and "Nothing is proved about its errors" in text
    assert f"{results['interval']['coverage']:.2%} of the labels were inside its 90% intervals" in text
    found = json.loads(said(capsys, "certify", "houses.run", "--json"))
    assert found["learner"] == "PocketRegressor" and found["rounds"] == results["rows"]
    assert found["interval"]["coverage"] == results["interval"]["coverage"]
    alone = tmp_path / "alone.safetensors"
    alone.write_bytes((tmp_path / "houses.run" / "model.safetensors").read_bytes())
    assert "labels were inside" not in said(capsys, "certify", alone)
    assert "there is nothing to draw" in said(capsys, "certify", "houses.run", "--report", "x.html", code=2)
