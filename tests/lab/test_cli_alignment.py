"""`pocketkernel lab alignment`."""

import json
import re

import numpy as np
import pytest

import cli_files
from pocketkernel.__main__ import main
from pocketkernel.kernels import gaussians
from pocketkernel.lab.theory import kernel_alignment


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return cli_files.svm(tmp_path / "rows.svm", rows=300)


def test_exact(rows, capsys):
    assert main(["lab", "alignment", "rows.svm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 300
    assert [line["kernel"] for line in found["kernels"]] == [f"gaussian {w:g}" for w in (0.25, 1, 4, 16, 64)]
    np.testing.assert_allclose([line["A"] for line in found["kernels"]], kernel_alignment(*rows), atol=1e-6)
    np.testing.assert_allclose([line["A/T"] for line in found["kernels"]], kernel_alignment(*rows) / 300, atol=1e-8)
    assert main(["lab", "alignment", "rows.svm", "--kernels", "0.5,2", "--rows", "100"]) == 0
    text = capsys.readouterr().out
    X, y = rows
    for A in kernel_alignment(X[:100], y[:100], gaussians([0.5, 2])):
        assert f"{A:.1f}" in text
    assert "T = 100" in text and "A is exact" in text


def test_sample(rows, capsys):
    assert main(["lab", "alignment", "rows.svm", "--sample", "20000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["kernels"]
    for line, exact in zip(found, kernel_alignment(*rows) / 300, strict=True):
        assert line["low"] <= exact <= line["high"]
        assert line["low"] <= line["A/T"] <= line["high"]
    assert main(["lab", "alignment", "rows.svm", "--sample", "20000", "--seed", "1"]) == 0
    text = capsys.readouterr().out
    assert "20,000 pairs" in text and f"{found[0]['A/T']:.4f}" in text


def test_other_labels_are_two_classes(rows, tmp_path, capsys):
    """Which of two classes is +1 does not matter."""
    text = (tmp_path / "rows.svm").read_text()
    (tmp_path / "other.svm").write_text(re.sub("^-1 ", "7 ", text, flags=re.M))
    found = []
    for file in ("rows.svm", "other.svm"):
        assert main(["lab", "alignment", file, "--json"]) == 0
        found.append([line["A"] for line in json.loads(capsys.readouterr().out)["kernels"]])
    np.testing.assert_allclose(*found)


def test_report(rows, tmp_path, capsys):
    for more in ([], ["--sample", "1000"]):
        page = tmp_path / "page.html"
        assert main(["lab", "alignment", "rows.svm", "--kernels", "1,4", "--report", str(page), *more]) == 0
        assert "page.html" in capsys.readouterr().out
        html = page.read_text()
        assert "Alignment against width" in html
        assert "gaussian 4" in html
        assert " ".join(["pocketkernel lab alignment rows.svm --kernels=1,4", *more]).replace(" 1000", "=1000") in html
        page.unlink()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "give a FILE"),
        (["nowhere.svm"], 1, "nowhere.svm does not exist"),
        (
            ["three.csv", "--label", "kind", "--drop", "colour"],
            2,
            "3 classes (eggs, ham, spam): this is defined for two",
        ),
        (["one.svm"], 2, "1 classes"),
        (["rows.svm", "--kernels", "wide"], 2, "not a list of widths"),
        (["rows.svm", "--kernels", "0"], 2, "use a positive number"),
        (["rows.svm", "--sample", "1"], 2, "1 is too small"),
    ],
)
def test_mistakes(arguments, code, words, rows, tmp_path, capsys):
    cli_files.table(tmp_path / "three.csv")
    (tmp_path / "one.svm").write_text("1 1:2\n1 1:3\n")
    assert main(["lab", "alignment", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pocketkernel: ") and captured.err.count("\n") == 1
    assert words in captured.err
