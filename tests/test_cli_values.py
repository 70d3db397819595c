"""Absurd values of options and parameters: a sentence at once, and nothing is read or written."""

import time
from pathlib import Path

import pytest

from pocketkernel.__main__ import main
from pocketkernel.cli.options import Learning, literal
from pocketkernel.evaluate.job import learner_class, make_learner

ABSURD = [
    "[" * 20_000, "9" * 5000, "1e400", "NaN", "-Infinity", "-1", "100000000", "1e308", "9223372036854775807",
    "18446744073709551616", "x" * 100_000, '{"a": {"b": 1}}', '{"0": NaN}', "[1, 2]", "", "\x1b[2J", "\u0663", "1e-320",
]  # fmt: skip
LEARNERS = ("pocket", "momds", "momdh", "raker", "lkmbooks", "multiclassmomds")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k % 7},{'red' if k % 3 else 'blue'},2020-01-{k % 28 + 1:02},{k % 2}" for k in range(60)]
    Path("rows.csv").write_text("a,c,d,y\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_parameter_with_absurd_values(learner):
    """Refused with a short sentence, in no time, or taken."""
    own = set(learner_class(learner)._get_param_names()) - {"kernels", "random_state"}
    for name in own:
        for text in ABSURD:
            began = time.process_time()
            try:
                make_learner(learner, Learning(set=[f"{name}={text}"]).parameters(learner))
            except ValueError as error:
                assert str(error).startswith((name, "budget", "n_frequencies")), (name, text[:20], str(error)[:80])
                assert len(str(error)) < 400
            assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("dtype=" + "[" * 20_000, "dtype='[[[[[[[[[[[[...[[[[[[[[[[[[[' is unknown: use one of 'float32', 'float64'."),
        ("n_classes=100000000", "n_classes=100000000 is out of range: this learner supports exactly 2"),
        ("n_classes=18446744073709551616", "n_classes=18446744073709551616 is out of range"),
        ("memory=18446744073709551616", "memory=18446744073709551616 is more than any computer has"),
        ("memory=1e400", "memory='1e400' is not a number of bytes"),
        ("-" * 20_000 + "x", "--set"),
    ],
)
def test_absurd_parameters_of_a_run(capsys, given, message):
    before = sorted(Path().iterdir())
    began = time.process_time()
    assert main(["run", "rows.csv", "--label", "y", f"--set={given}"]) == 2
    assert time.process_time() - began < 5
    error = capsys.readouterr().err
    assert error.startswith(f"pocketkernel: {message}") and len(error) < 400
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--date", "d=%Y%Y"], 2, "date=d=%Y%Y has no format of dates: use for example %d/%m/%Y"),
        (["--date", "d=%Q"], 2, "date=d=%Q has no format of dates"),
        (["--date", "d=day"], 2, "date=d=day has no format of dates"),
        (["--date", "d=%d/%m/%Y"], 1, "rows.csv, line 2, column 'd': expected a date as %d/%m/%Y, found '2020-01-01'"),
        (["--numeric", "d"], 1, "rows.csv, line 2, column 'd': expected a number, found '2020-01-01'"),
        (["--id", "y"], 2, "id='y' is the column of the labels: choose another column."),
        (["--classes", "1e400,2"], 2, "classes=['1e400', '2'] has a number that is not finite"),
        (["--classes", "5,6"], 1, "rows.csv, line 2, column 'y': expected one of the classes 5, 6, found '0'"),
        (["--memory", "1" + " " * 20_000 + "!"], 2, "memory='1 ... !' is not a number of bytes"),
        (["--memory", "999999999999999999TiB"], 2, "memory='999999999999999999TiB' is more than any computer has"),
        (["--drop", "9" * 5000], 2, "drop='999"),
    ],
)
def test_absurd_options_of_a_run(capsys, options, code, message):
    assert main(["run", "rows.csv", "--label", "y", "--json", *options]) == code
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"pocketkernel: {message}")


def test_ids_beside_answers(capsys):
    assert main(["run", "rows.csv", "--label", "y", "--json", "--no-report", "--out", "a.run"]) == 0
    capsys.readouterr()
    for column in ("a", "y"):
        assert main(["predict", "a.run", "rows.csv", "--id", column]) == 2
        assert f"id={column!r} is the label or a number that the model learns from" in capsys.readouterr().err
    assert main(["predict", "a.run", "rows.csv", "--id", "c"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("blue,")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nrows = " + "9" * 5000, "pocketkernel.toml is not valid TOML: Exceeds the limit"),
        ("[run]\nrows = nan", "Invalid value for [rows] from pocketkernel.toml"),
        ("[run]\nblock = 1e400", "Invalid value for [block] from pocketkernel.toml"),
        ("[run]\nset = [['a']]", "--set '[\"a\"]' does not have the form name=value."),
        ("[run]\nset = ['dtype=" + "[" * 20_000 + "']", "dtype='[[[[[[[[[[[[...[[[[[[[[[[[[[' is unknown"),
        ("[run]\nmemory = nan", "memory='nan' is not a number of bytes"),
    ],
)
def test_absurd_configurations(capsys, text, message):
    Path("pocketkernel.toml").write_text(text)
    assert main(["run", "rows.csv", "--label", "y", "--no-report"]) == 2
    assert capsys.readouterr().err.startswith(f"pocketkernel: {message}")


def test_a_configuration_with_a_byte_order_mark():
    Path("pocketkernel.toml").write_text("\ufeff[run]\nrows = 20\n", encoding="utf-8")
    assert main(["run", "rows.csv", "--label", "y", "--no-report", "--json"]) == 0


def test_literals_are_json_or_text():
    assert [literal(text) for text in ("1", "-2.5", "[1]", "1e400", "NaN", "[" * 9999)][:3] == [1, -2.5, [1]]
    assert all(isinstance(literal(text), str) for text in ("1e400", "NaN", "Infinity", "[" * 9999, "9" * 30))
