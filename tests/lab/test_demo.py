"""The command line, and the demo as someone sees it who pipes it into a file."""

import re
import subprocess
import sys

import pytest
from rich.console import Console

from pocketkernel.__main__ import main
from pocketkernel.lab import demo

LEARNERS = ("PocketClassifier", "linear model", "always the majority")


@pytest.fixture
def show(capsys, monkeypatch):
    """Run the demo on a short stream and give back what it printed."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*options):
        assert main(["demo", *options]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return run


def table_rows(text, name):
    """Mistakes before the flip, right after it, later and in all rows, in %, and bytes."""
    cells = re.findall(
        rf"^ *{re.escape(name)} +([\d.]+)% +([\d.]+)% +([\d.]+)% +([\d.]+)% +([\d,]+) *$", text, re.MULTILINE
    )
    return [[float(cell.replace(",", "")) for cell in found] for found in cells]


def test_demo_tells_the_story(show):
    text = show()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    assert max(map(len, text.splitlines())) <= 80
    (learner,), (linear,), (majority,) = (table_rows(text, name) for name in LEARNERS)
    before, flipped, later, all_rows, nbytes = learner
    assert before < 10 < flipped and later < 10
    assert all_rows < linear[3] / 2 < majority[3]
    assert nbytes <= 65_536
    assert "Its bytes never changed." in text
    assert re.findall(r"^row +([\d,]+):", text, re.MULTILINE) == [f"{n:,}" for n in range(2_000, 12_001, 2_000)]
    assert "run FILE.csv --label COLUMN" in text


def test_a_screen_of_24_lines_is_enough(show):
    """The introduction and the curve, which is redrawn, together."""
    text = show("--rows", "600").splitlines()
    first, last = (next(n for n, line in enumerate(text) if line.startswith(corner)) for corner in "╭╰")
    assert last - first + 1 + 2 < 24


def test_a_terminal_is_redrawn(show, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(demo, "PACE", 0)
    text = show("--rows", "1000")
    assert text.count("labels flip") > 20
    assert "\x1b[?25l" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "the cursor must come back"


def test_the_seed_decides_everything(show):
    def figures(seed):
        text = show("--rows", "2000", "--seed", seed)
        return [table_rows(text, name) for name in LEARNERS]

    assert figures("1") == figures("1") != figures("2")


def test_two_rows_are_a_stream(show):
    assert "of 2 " in show("--rows", "2")


def test_marks_for_plain_text(capsys):
    contest = demo.Contest(demo.generated(600, 0), demo.contestants("64KiB", 0))
    list(contest.run())
    Console(width=80, file=sys.stdout).print(demo.view.panel(contest, "ascii"))
    assert "# PocketClassifier" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory", "64KX"], "memory='64KX' is not a number of bytes"),
        (["--memory", "99"], "memory='99' (99 bytes) is too small"),
        (["--rows", "1"], "1 is too small"),
        (["--rows", "many"], '"many"'),
        (["--seed", "-1"], "-1 is too small"),
        (["--colour"], "--colour"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_get_one_line_and_exit_code_2(capsys, options, words):
    try:
        code = main(["demo", *options])
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_an_interrupt_is_told_in_one_line(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "generated", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr() == ("", "pocketkernel: interrupted.\n")


def test_no_verb_shows_help(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


def test_python_dash_m():
    command = [sys.executable, "-m", "pocketkernel", "demo", "--memory", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "memory='7'" in done.stderr
