"""`pocketkernel lab tables|ablation` on tiny files under the paper's names."""

import csv
import io
import json
import os
import random
from html.parser import HTMLParser

import pytest

cyclopts = pytest.importorskip("cyclopts", reason="cyclopts is not installed")

from tiny_paper import CELLS_PER_PERMUTATION, FEWER, run_and_kill  # noqa: E402

from pocketkernel.cli.errors import UsageError  # noqa: E402
from pocketkernel.lab.catalogue import DataError  # noqa: E402
from pocketkernel.lab.cli import _progress, app  # noqa: E402
from pocketkernel.lab.experiments import Status, runner  # noqa: E402
from pocketkernel.lab.experiments import paper as library  # noqa: E402

FILES = ("tables.md", "tables.tex", "tables.csv", "report.html")
TIMES = ("seconds",)  # columns of the CSV that no two runs agree on


@pytest.fixture(autouse=True)
def fewer_settings(monkeypatch):
    monkeypatch.setattr(library, "GRIDS", dict(library.GRIDS))
    exec(FEWER)


def call(*arguments):
    """Run the command line in this process."""
    words = [str(word) for word in arguments]
    return app(words, exit_on_error=False, print_error=False, result_action="return_value")


def here(folder, out):
    return ("--from", folder, "--out", out, "--backend", "threading", "--jobs", 1)


def timeless(text):
    rows = list(csv.reader(io.StringIO(text)))
    kept = [n for n, name in enumerate(rows[0]) if name not in TIMES]
    return [[row[n] for n in kept] for row in rows]


def test_quick_tables(folder, tmp_path, capsys):
    call("tables", "--quick", *here(folder, tmp_path))
    shown = capsys.readouterr()
    total = 4 * CELLS_PER_PERMUTATION
    assert f"lab tables: {total} of {total} cells" in shown.err
    assert "Mistake rates with the hinge loss" in shown.out
    assert "of 14 cells tuned as in the paper" in shown.out
    assert f"{total} cells in" in shown.out
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "cells.jsonl"])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "tables.csv").read_text())))
    assert {row["data set"] for row in rows} == {"mushrooms", "phishing"}
    assert len(rows) == 18
    assert all(0 < float(row["mistakes %"]) < 60 for row in rows)
    page = (tmp_path / "report.html").read_text()
    HTMLParser().feed(page)
    assert "pocketkernel lab tables --data-sets mushrooms phishing --permutations 2 --dtype float32" in page
    assert (tmp_path / "tables.tex").read_text().count(r"\begin{tabular}") == 2
    assert (tmp_path / "tables.md").read_text().count("\n## ") == 2

    before = {name: (tmp_path / name).read_bytes() for name in ("tables.csv", "cells.jsonl")}
    call("tables", "--quick", "--json", *here(folder, tmp_path))
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert told["agreement"]["tuned"]["of"] == 14
    assert len(told["lines"]) == 18
    assert [os.path.basename(path) for path in told["files"]] == list(FILES)
    assert f"({total} of them from before)" in shown.err
    assert {name: (tmp_path / name).read_bytes() for name in before} == before, "nothing is run again"
    assert "all of them from before" in (tmp_path / "tables.md").read_text()


def test_what_is_asked_for_by_name_goes_before_quick(folder, tmp_path, capsys):
    call("tables", "--quick", "--data-sets", "SUSY", "--permutations", 1, *here(folder, tmp_path))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "tables.csv").read_text())))
    assert {row["data set"] for row in rows} == {"SUSY"}
    assert all(row["honest %"] == "" for row in rows)
    assert "0 of 0 tuned honestly" in capsys.readouterr().out


def test_ablation(folder, tmp_path, capsys):
    arguments = ("--data-sets", "SUSY", "a9a", "--budgets", 4, 64, "--permutations", 2, *here(folder, tmp_path))
    call("ablation", *arguments)
    shown = capsys.readouterr()
    assert "What a full buffer drops" in shown.out
    names = ["ablation.csv", "ablation.html", "ablation.md", "ablation.tex", "cells.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    points = list(csv.DictReader(io.StringIO((tmp_path / "ablation.csv").read_text())))
    assert {int(point["budget"]) for point in points} == {4, 64}
    page = (tmp_path / "ablation.html").read_text()
    assert page.count("<svg") >= 6
    assert "--budgets 4 64" in page
    before = (tmp_path / "ablation.csv").read_bytes()
    call("ablation", "--json", *arguments)
    assert len(json.loads(capsys.readouterr().out)["points"]) == len(points)
    assert (tmp_path / "ablation.csv").read_bytes() == before


@pytest.mark.parametrize("verb", ["tables", "ablation"])
def test_mistakes_of_the_user(folder, tmp_path, verb, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("POCKETKERNEL_DATA", raising=False)
    with pytest.raises(DataError, match=r"mushrooms\.svm\.xz is not in .*pocketkernel lab data get mushrooms"):
        call(verb, "--quick", *here(tmp_path, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--out .*file cannot be written to"):
        call(verb, "--quick", "--data-sets", "SUSY", *here(folder, tmp_path / "file"))
    for wrong in (
        ["--data-sets", "iris"],
        ["--permutations", "0"],
        ["--backend", "ray"],
        ["--dtype", "int8"],
        ["--jobs", "0"],
    ):
        with pytest.raises(cyclopts.CycloptsError):
            call(verb, *wrong)


def test_progress_in_a_terminal_and_elsewhere():
    from rich.console import Console

    for terminal in (True, False):
        text = io.StringIO()
        console = Console(file=text, force_terminal=terminal, width=100)
        with _progress.CellProgress("work", console) as progress:
            for done in (0, 3, 10):
                progress(Status(done, 10, 0, 1.0 * done, None if done == 0 else 10.0 - done))
                if terminal:
                    progress._bar.refresh()
        shown = text.getvalue()
        assert progress.summary == "10 cells in 10 s"
        assert ("3/10" in shown and "about 7.0 s left" in shown) if terminal else "work: 10 of 10 cells\n" in shown


RUN = f"""
import sys
{FEWER}
from pocketkernel.lab.cli import app
from pocketkernel.lab.experiments import runner
runner.BATCH_SECONDS = 0.0
if __name__ == "__main__":
    app(sys.argv[1:])
"""


def test_killed_at_random_moments_it_ends_with_the_same_csv(folder, tmp_path, monkeypatch):
    """But for the measured seconds, which no two runs agree on."""
    monkeypatch.setattr(runner, "BATCH_SECONDS", 0.0)
    seed = 4711
    rng = random.Random(seed)
    total, times = 4 * CELLS_PER_PERMUTATION, 2
    out, straight = tmp_path / "killed", tmp_path / "straight"
    cells = out / "cells.jsonl"
    kept = 0
    for _ in range(times):
        enough = kept + rng.randrange(1, total // (times + 1))
        run_and_kill(RUN, ["tables", "--quick", *here(folder, out)], cells, enough)
        kept = cells.read_bytes().count(b"\n")
    assert 0 < kept < total, f"seed {seed}"
    assert not (out / "tables.csv").exists()
    call("tables", "--quick", *here(folder, out))
    call("tables", "--quick", *here(folder, straight))
    assert cells.read_bytes().count(b"\n") == total, "none is run twice"
    resumed, whole = ((place / "tables.csv").read_text() for place in (out, straight))
    assert timeless(resumed) == timeless(whole), f"seed {seed}"
    assert "seconds" in resumed.partition("\n")[0]
