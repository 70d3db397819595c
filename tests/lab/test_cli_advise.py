"""`pocketkernel lab advise`."""

import json
import re

import pytest

import cli_files
from pocketkernel.__main__ import main


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return cli_files.svm(tmp_path / "rows.svm", rows=400)


def test_command(file, tmp_path, capsys):
    assert main(["lab", "advise", "rows.svm", "--report", "page.html"]) == 0
    text = capsys.readouterr().out
    assert "400 rows, 4 columns, 2 classes" in text and "Use " in text and "written to page.html" in text
    command = next(line for line in text.splitlines() if line.startswith("pocketkernel run"))
    assert main([*command.split()[1:], "--no-report"]) == 0
    assert "400" in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text()
    for words in ("Mistakes against memory", "M-OMD-S with one width alone", "Bound of M-OMD-S", command):
        assert words in page


@pytest.mark.parametrize("length", [None, "100000"])
def test_the_table_and_the_sentence_say_the_same(length, file, tmp_path, capsys):
    """Of all rows, both tell what happened; of the first rows, both tell what is expected of the others."""
    more = ["--length", length] if length else []
    assert main(["lab", "advise", "rows.svm", *more, "--report", "page.html"]) == 0
    text = capsys.readouterr().out
    found = re.search(r'memory="?(\d+(?:KiB|MiB)?)"?.*?(\d+\.\d\d %)', " ".join(text.split("Use ")[1].split()))
    memory = found[1].replace("KiB", " KiB").replace("MiB", " MiB")
    line = next(line for line in text.splitlines() if line.strip().startswith(memory))
    assert found[2] in line
    assert ("mistakes on all of them" in text) == (length is None)
    assert ("mistakes expected on the remaining rows" in text) == (length is not None)
    assert line.count("%") == (1 if length is None else 3)
    page = (tmp_path / "page.html").read_text()
    assert ("Mistakes on all rows" in page) == (length is None) and f">{found[2].split()[0]}<" in page


def test_numbers_are_no_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cli_files.numbers(tmp_path / "houses.csv")
    assert main(["lab", "advise", "houses.csv", "--label", "price"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "900 different values and are numbers, not classes" in said and "lab compare" in said
    assert "--task" in said
    lines = ["a,y", *(f"{k % 7},{k % 30 + (k % 2) / 2}" for k in range(300))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert main(["lab", "advise", "t.csv", "--label", "y", "--task", "classification", "--json"]) == 0
    assert "--task=classification" in json.loads(capsys.readouterr().out)["command"]


def test_command_json(file, capsys):
    assert main(["lab", "advise", "rows.svm", "--memory", "16KiB", "--permute", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["limit"] == found["table"][1]["memory"] == 1 << 14
    assert found["chosen"]["memory"] <= 1 << 14
    assert found["command"].endswith("--permute=0")


def test_a_table_of_three_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cli_files.table(tmp_path / "three.csv", rows=300)
    assert main(["lab", "advise", "three.csv", "--label", "kind", "--categorical", "auto", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == 3
    assert "--label=kind --categorical=auto" in found["command"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "give a FILE"),
        (["nowhere.svm"], 1, "nowhere.svm does not exist"),
        (["empty.svm", "--features", "3"], 2, "empty.svm has no rows"),
        (["one.svm"], 2, "only one class, 1.0: if they are sorted, shuffle them (a file with --permute SEED)"),
        (["rows.svm", "--memory", "300B"], 2, "memory='300B' is too small"),
        (["rows.svm", "--rows", "5"], 2, "5 is too small"),
        (["few.svm"], 2, "advice needs at least 100"),
    ],
)
def test_mistakes(arguments, code, words, file, tmp_path, capsys):
    (tmp_path / "empty.svm").write_text("")
    (tmp_path / "one.svm").write_text("1 1:2\n" * 200)
    (tmp_path / "few.svm").write_text("1 1:2\n-1 1:3\n")
    assert main(["lab", "advise", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pocketkernel: ") and captured.err.count("\n") == 1
    assert words in captured.err
