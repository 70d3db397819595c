"""The examples run, and print what they promise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
PROMISES = {
    "loans": "the same bits from dicts and from a file: True",
    "river_pipeline": "RandomRBF",
    "save_and_resume": "same bits as the uninterrupted run: True",
    "sklearn_pipeline": "accuracy on unseen digits 0.9",
}


def test_every_example_promises_something():
    assert {path.stem for path in EXAMPLES} == set(PROMISES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    command = [sys.executable, "-W", "error", path]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert PROMISES[path.stem] in run.stdout


def test_the_notebook(tmp_path, monkeypatch):
    """Its cells are one program, and it was saved without outputs, which would be those of one machine."""
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    book = json.loads(EXAMPLES[0].with_name("notebook.ipynb").read_text())
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert cells and not any(cell["outputs"] for cell in cells)
    names = {"__name__": "notebook"}
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert names["curve"]["mistakes"].iloc[-1] < 0.12
    assert abs(names["model"].events_[0][0] - 10_000) < 300
