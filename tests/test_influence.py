"""A sample of the rows, and what a model leans on."""

import numpy as np
import pytest
from scipy import sparse

from pocketkernel import MOMDS, PocketClassifier, PocketRegressor
from pocketkernel.evaluate.influence import MOST, influence_of
from pocketkernel.evaluate.reservoir import MOST_COLUMNS, ROWS, Reservoir
from pocketkernel.model_file import ModelFileError

X = np.random.default_rng(0).normal(size=(5000, 3))


@pytest.mark.parametrize("sizes", [[5000], [1] * 10 + [4990], [64] * 78 + [8]])
def test_the_same_rows_whatever_the_block(sizes):
    whole, parts, start = Reservoir(3), Reservoir(3), 0
    whole.update(X)
    for size in sizes:
        rows = X[start : start + size]
        parts.update(sparse.csr_matrix(rows) if size == 64 else rows)
        start += size
    np.testing.assert_array_equal(parts.rows(), whole.rows())
    assert len(whole.rows()) == ROWS


def test_every_part_of_the_stream_has_its_share():
    reservoir = Reservoir(1)
    reservoir.update(np.arange(100_000.0)[:, None])
    quarters = np.histogram(reservoir.rows(), bins=4, range=(0, 100_000))[0]
    assert quarters.sum() == ROWS and quarters.min() >= 5


def test_few_rows_and_wide_rows():
    few = Reservoir(3)
    few.update(X[:5])
    assert sorted(few.rows().tolist()) == sorted(X[:5].tolist())
    wide = Reservoir(MOST_COLUMNS + 1)
    wide.update(np.zeros((10, MOST_COLUMNS + 1)))
    assert wide.rows().size == 0 and wide.state()["kept"].size == 0


def test_resumed_with_missing_values():
    rows = X.copy()
    rows[::3, 1] = np.nan
    whole, before, after = Reservoir(3), Reservoir(3), Reservoir(3)
    whole.update(rows)
    before.update(rows[:2000])
    after.restore(before.state())
    after.update(rows[2000:])
    for name, array in whole.state().items():
        assert array.tobytes() == after.state()[name].tobytes()
    with pytest.raises(ModelFileError, match="wrong shape"):
        Reservoir(2).restore(whole.state())


@pytest.mark.parametrize("kind", ["classes", "many classes", "numbers", "paper"])
def test_the_column_that_matters_comes_first(kind):
    wave = np.sin(2 * X[:, 2]) + 0.3 * X[:, 0]
    model, y = {
        "classes": (PocketClassifier(random_state=0), wave > 0),
        "many classes": (PocketClassifier(random_state=0), np.digitize(wave, [-0.5, 0, 0.5])),
        "numbers": (PocketRegressor(random_state=0), wave),
        "paper": (MOMDS(random_state=0), wave > 0),
    }[kind]
    model.partial_fit(X, y)
    found = influence_of(model, X[:64], ["a", "b", "c"], ["a", "b", "c"])
    assert [one["column"] for one in found] == ["c", "a", "b"]
    assert sum(one["share"] for one in found) == pytest.approx(1)
    assert found[0]["share"] > 0.5


class Straight:
    """A linear model of known slopes."""

    def __init__(self, slopes):
        self.slopes = np.array(slopes)

    def predict(self, X):
        return np.nan_to_num(X) @ self.slopes


def test_shares_of_a_linear_model_are_its_slopes():
    rows = np.array([[1.0, 0, 3, 5], [-1, 0, -3, 5]] * 10)
    found = influence_of(Straight([3.0, 5.0, 1.0, 9.0]), rows, list("abcd"), [])
    assert found == [
        {"column": "a", "share": 0.5},
        {"column": "c", "share": 0.5},  # a third of the slope, and three times as wide
        {"column": "b", "share": 0.0},  # these two never change
        {"column": "d", "share": 0.0},
    ]


def test_places_of_a_category_count_together():
    rows = np.random.default_rng(0).normal(size=(50, 5))
    names = ["colour#1", "colour#2", "colour is missing", "colour size", "x#y"]
    found = influence_of(Straight([1.0] * 5), rows, names, ["colour", "colour size", "x#y"])
    assert {one["column"] for one in found} == {"colour", "colour size", "x#y"}


def test_the_noise_of_many_places_does_not_outweigh_a_column():
    rows = np.sign(np.random.default_rng(0).normal(size=(50, 49)))
    rows -= rows.mean(axis=0)
    names = [*(f"shop#{k}" for k in range(48)), "x"]
    found = influence_of(Straight([0.1] * 48 + [1.0]), rows, names, ["shop", "x"])
    assert [one["column"] for one in found] == ["x", "shop"] and found[1]["share"] == pytest.approx(0.41, abs=0.02)


def test_odd_samples():
    assert influence_of(Straight([]), np.empty((0, 0)), [], []) == []
    assert influence_of(Straight([0.0, 0.0]), X[:9, :2], ["a", "b"], []) == []
    rows = X[:20].copy()
    rows[:, 1] = np.nan
    assert [one["share"] for one in influence_of(Straight([1.0, 1.0, 0.0]), rows, list("abc"), [])] == [1.0, 0.0, 0.0]
    wide = np.random.default_rng(0).normal(size=(64, 400))
    assert len(influence_of(Straight(np.ones(400)), wide, [f"x{k}" for k in range(400)], [])) == MOST
