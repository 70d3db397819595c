"""The examples run, and print what they promise."""

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
