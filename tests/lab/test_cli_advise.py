"""`pocketkernel lab advise`."""

import json

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
