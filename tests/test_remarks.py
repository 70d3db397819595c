"""What is said of a run over numbers: its order, what it does not beat, intervals that do not hold; and its report."""

import json

import numpy as np
import pytest

from pocketkernel.cli import main
from pocketkernel.evaluate.metrics.pairs import MOST, Pairs
from pocketkernel.evaluate.order import warnings_of
from pocketkernel.evaluate.remarks import remarks_of


def written(file, X, y):
    header = ",".join([*(f"x{k}" for k in range(X.shape[1])), "price"])
    lines = [",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    file.write_text("\n".join([header, *lines]) + "\n")
    return file


def ran(capsys, file, *options):
    folder = file.with_suffix(".run")
    command = ["run", str(file), "--label", "price", "--out", str(folder), "--force", *options]
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["metrics"], (folder / "report.html").read_text()


@pytest.fixture
def prices():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)).round(3)
    return X, (100 + 20 * X[:, 0] + 20 * rng.uniform(-1, 1, size=3000)).round(2)


def test_rows_in_the_order_of_the_label_are_told_and_shuffled(tmp_path, capsys, prices):
    X, y = prices
    order = np.argsort(y)
    found, page = ran(capsys, written(tmp_path / "sorted.csv", X[order], y[order]))
    assert "the last value again has an RMSE of" in found["warnings"][0]
    assert "sorted by label" in found["warnings"][1] and "go up" in found["warnings"][1]
    assert found["target"]["rising"] > 0.99
    assert "Worse than the last value again" in found["remarks"][0]
    assert found["baselines"]["last_value"]["beaten_by"] < -2
    shuffled = found["shuffled"]
    assert f"RMSE {shuffled['rmse']:.4g}, the mean {shuffled['baselines']['mean']:.4g}" in found["warnings"][-1]
    permuted, _ = ran(capsys, written(tmp_path / "sorted.csv", X[order], y[order]), "--permute", "0")
    assert permuted["rmse"] == shuffled["rmse"] and permuted["interval"]["coverage"] == shuffled["coverage"]
    assert permuted["warnings"] == permuted["remarks"] == []
    assert "rows shuffled" in page and "sorted by label" in page


def test_the_report_draws_predictions_and_lists_columns(tmp_path, capsys, prices):
    found, page = ran(capsys, written(tmp_path / "prices.csv", *prices))
    pairs = found["pairs"]
    assert len(pairs["true"]) == len(pairs["predicted"]) and MOST // 2 <= len(pairs["true"]) <= MOST
    assert set(pairs["true"]) <= set(prices[1].tolist())
    assert np.corrcoef(pairs["true"], pairs["predicted"])[0, 1] > 0.5
    assert "Predicted against true" in page and page.count("<circle") > len(pairs["true"])
    assert "How the columns are read" in page and "different values" in page
    assert "promised_bytes" not in page and '<th scope="row">level<' not in page


def test_pairs_are_spread_evenly_and_in_step_with_nothing():
    pairs, rows = Pairs(), 100_000
    for start in range(0, rows, 1000):
        numbers = np.arange(start, start + 1000.0)
        pairs.update(numbers, -numbers)
    found = np.array(pairs.points()["true"])
    assert MOST // 2 <= len(found) <= MOST and np.all(np.diff(found) > 0)
    assert np.array_equal(found, -np.array(pairs.points()["predicted"]))
    assert np.max(np.diff(found)) < 3 * rows / len(found)
    for period in (2, 7, 24, 256, 1000):
        counts = np.bincount((found % period * min(period, 8) // period).astype(int))
        assert counts.min() > 0.5 * counts.mean()


def results(rows=1000, coverage=0.9, mean=10.0, last=10.0):
    interval = {"asked": 0.9, "coverage": coverage}
    baselines = {"mean": {"rmse": 2.0, "beaten_by": mean}, "last_value": {"rmse": 1.5, "beaten_by": last}}
    found = {"task": "regression", "rows": rows, "rmse": 1.0, "interval": interval, "baselines": baselines}
    return found | {"target": {"rising": 0.5}}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, []),
        ({"coverage": 0.88}, []),  # two points below are not worth a word
        ({"coverage": 0.96}, []),  # first intervals are wide
        ({"coverage": 0.8, "rows": 50}, []),  # may be chance
        ({"coverage": 0.8}, ["hold only 80.0%"]),
        ({"mean": 1.0}, ["Not clearly better than the mean"]),
        ({"mean": None}, ["Not clearly better than the mean"]),
        ({"last": -1.0}, []),
        ({"last": -5.0}, ["Worse than the last value again"]),
    ],
)
def test_what_is_said_of_numbers(given, words):
    said = remarks_of(results(**given))
    assert len(said) == len(words) and all(word in text for word, text in zip(words, said, strict=True))


@pytest.mark.parametrize(("rising", "rows", "count"), [(0.5, 1000, 0), (0.75, 1000, 0), (0.1, 1000, 1), (0.1, 50, 0)])
def test_rows_are_sorted_if_most_changes_go_the_same_way(rising, rows, count):
    said = warnings_of(results(rows=rows) | {"target": {"rising": rising}})
    assert len(said) == count and all("go down" in text for text in said)
