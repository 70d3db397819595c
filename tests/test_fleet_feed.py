"""`pocketkernel fleet run`: the memory of a model, slots for few keys, and late classes."""

import contextlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pocketkernel import PocketClassifier
from pocketkernel.cli import main
from pocketkernel.fleet import Fleet

MODEL = PocketClassifier(memory="4KiB", random_state=0)


def command(*tokens):
    return main([str(token) for token in tokens])


def wide(path, columns, rows=400, keys=2, label="y"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)).round(3)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(columns)])
    frame.insert(0, "user", [f"u{k % keys}" for k in range(rows)])
    frame[label] = np.where(X[:, 0] > 0, "yes", "no")
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("columns", [2, 30, 90, 300])
def test_the_memory_of_a_model_fits_the_table(columns, tmp_path, capsys):
    file = wide(tmp_path / "t.csv", columns)
    given = ("fleet", "run", file, "--key", "user", "--label", "y", "--out", tmp_path / "f")
    assert command(*given) == 0
    said = " ".join(capsys.readouterr().err.split())
    bought = re.search(r"Memory: ([\d,]+) bytes for each key \(the least with room for kernels in (\d+) columns", said)
    memory = int(bought[1].replace(",", ""))
    assert int(bought[2]) == columns and "frequencies)" in said
    assert PocketClassifier.plan(columns, memory).budget > 0
    with contextlib.suppress(ValueError):  # too small
        assert memory == 4096 or PocketClassifier.plan(columns, memory // 2).budget == 0
    with Fleet.load(tmp_path / "f") as fleet:
        assert fleet["u1"].nbytes <= memory
    assert command(*given) == 0  # goes on with the same memory


def test_a_fleet_of_linear_models_says_so(tmp_path, capsys):
    file = wide(tmp_path / "t.csv", 30)
    given = ("fleet", "run", file, "--key", "user", "--label", "y")
    assert command(*given, "--memory", "4KiB", "--out", tmp_path / "f") == 0
    said = " ".join(capsys.readouterr().err.split())
    words = r"Memory: 4,096 bytes for each key. Only a linear model fits into 4,096 bytes, .* kernels need (\w+)\."
    found = re.search(words, said)
    assert command(*given, "--memory", found[1], "--out", tmp_path / "g") == 0
    assert "Only a linear model" not in capsys.readouterr().err


def test_few_keys_reserve_little(tmp_path, capsys):
    given = ("fleet", "run", wide(tmp_path / "t.csv", 30), "--key", "user", "--label", "y", "--json")
    assert command(*given, "--memory", "16KiB", "--out", tmp_path / "f") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["keys"] == 2 and found["bytes"] < 300_000 and found["memory"] == 16_384


@pytest.mark.parametrize("slabs", ["memory", "mapped"])
def test_slabs_grow_with_the_fleet(slabs, tmp_path):
    """The same bits wherever the slots are, and never more than twice the bytes that are in use."""
    rng = np.random.default_rng(0)
    keys, X = rng.permutation(np.repeat(np.arange(3000), 2)), rng.normal(size=(6000, 3))
    y = (X[:, 0] > 0).astype(int)
    with Fleet(MODEL, features=3, classes=[0, 1], store=tmp_path / "f", slabs=slabs) as fleet:
        empty = fleet.nbytes
        for part in np.array_split(np.arange(6000), 7):
            fleet.partial_fit(keys[part], X[part], y[part])
            reserved = fleet._models.core.capacity * fleet.slot_bytes
            assert reserved <= max(2 * (len(fleet) + 1) * fleet.slot_bytes, 1 << 16)
        assert len(fleet) == 3000 and empty < fleet.nbytes
        for key in (0, 1, 2, 1023, 1024, 2999):
            alone = clone(MODEL).partial_fit(X[keys == key], y[keys == key], classes=[0, 1])
            assert np.array_equal(fleet[key].decision_function(X[:50]), alone.decision_function(X[:50]))


def test_rows_of_late_classes_are_left_out_and_counted(tmp_path, capsys):
    file = wide(tmp_path / "t.csv", 3, rows=12_000)
    with file.open("a") as lines:
        lines.write("u1,0.5,0.25,1.5,maybe\n" + "u1,0.5,0.25,1.5,yes\n")
    given = ("fleet", "run", file, "--key", "user", "--label", "y")
    assert command(*given, "--out", tmp_path / "f") == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "expected one of the classes no, yes, found 'maybe'" in said and "list all classes in --classes" in said
    assert command(*given, "--classes", "no,yes,maybe", "--out", tmp_path / "g", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["skipped"]) == (12_002, 0)


def test_classes_of_a_fleet_are_those_of_the_rows_that_were_looked_at(tmp_path, capsys):
    """Not of the first block alone."""
    file = wide(tmp_path / "t.csv", 3, rows=5000)
    with file.open("a") as lines:
        lines.write("u1,0.5,0.25,1.5,maybe\n" * 9)
    given = ("fleet", "run", file, "--key", "user", "--label", "y", "--out", tmp_path / "f", "--json")
    assert command(*given) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["skipped"]) == (5009, 0)
