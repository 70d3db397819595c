"""The command line, and the demo as someone sees it who pipes it into a file."""

import re
import subprocess
import sys

import pytest

from pocketkernel.__main__ import main
from pocketkernel.lab import demo

LEARNERS = ("PocketClassifier", "M-OMD-S", "M-OMD-H", "LKMBooks", "Raker", "linear model", "always the majority")


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
    return re.findall(rf"^ *{re.escape(name)} +([\d.]+)% .* ([\d,]+) +([\d.]+) *$", text, flags=re.MULTILINE)


def test_demo_shows_both_streams(show):
    text = show("--rows", "10000")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    assert max(map(len, text.splitlines())) <= 80
    for name in LEARNERS:
        assert len(table_rows(text, name)) == 2, name
    for name in LEARNERS[:5]:
        assert all(int(nbytes.replace(",", "")) <= 65536 for _, nbytes, _ in table_rows(text, name))
    assert re.findall(r"^ +([\d,]+) rows .*rows/s", text, flags=re.MULTILINE) == ["2,500", "5,000", "7,500", "10,000"]
    assert text.count("Fewest mistakes: PocketClassifier") == 2
    assert "gaussian 1, which is the one that made the stream." in " ".join(text.split())


def test_a_terminal_is_redrawn(show, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    text = show("--rows", "1000")
    assert text.count("kernel weights") > 20
    assert "\x1b[?25l" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "the cursor must come back"


def test_the_seed_decides_everything_but_the_times(show):
    def rates(seed):
        text = show("--rows", "2000", "--seed", seed)
        return [rate for name in LEARNERS for rate, _, _ in table_rows(text, name)]

    assert rates("1") == rates("1") != rates("2")


def test_a_learner_that_does_not_fit_is_left_out(show):
    text = show("--rows", "500", "--memory", "16KiB")
    assert re.search(r"M-OMD-H +does not fit", text)
    assert "M-OMD-H is left out: memory='16KiB'" in text
    assert len(table_rows(text, "M-OMD-S")) == 2


def test_one_row_is_a_stream(show):
    assert "1 of 1 " in show("--rows", "1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory", "64KX"], "memory='64KX' is not a number of bytes"),
        (["--memory", "99"], "memory='99' (99 bytes) is too small"),
        (["--rows", "0"], "0 is too small"),
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

    monkeypatch.setattr(demo, "handwriting", interrupted)
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
