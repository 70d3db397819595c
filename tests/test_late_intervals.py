"""LateIntervals: coverage although targets come late, its factors, bad input."""

import math

import numpy as np
import pytest

from pocketkernel import LateIntervals, PocketRegressor


def correlated(n, keep, seed):
    rng = np.random.default_rng(seed)
    y = np.zeros(n)
    for t in range(1, n):
        y[t] = keep * y[t - 1] + rng.normal()
    return rng.normal(size=(n, 2)), y


def held(X, y, block, intervals):
    """Whether each target was inside, if rows are answered in blocks before their targets come."""
    model, inside = PocketRegressor(memory="16KiB", random_state=0).partial_fit(X[:block], y[:block]), []
    for begin in range(block, len(y), block):
        rows = slice(begin, begin + block)
        given = intervals.predict(model, X[rows]) if intervals else model.predict_interval(X[rows])
        inside.append((given[..., 0] <= y[rows]) & (y[rows] <= given[..., 1]))
        if intervals:
            intervals.learn(given, y[rows])
        model.partial_fit(X[rows], y[rows])
    return np.concatenate(inside)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keep", [0.9, 0.97, 1.0])
def test_blocks_are_covered(keep, seed):
    X, y = correlated(10_000, keep, seed)
    shares = np.convolve(held(X, y, 24, LateIntervals()), np.full(5000, 1 / 5000), "valid")
    print(shares.min(), shares.max())
    assert shares.min() > 0.87 and shares.max() < 0.93
    assert held(X, y, 24, None).mean() < 0.8  # else nothing was to be mended


def test_rows_that_come_one_by_one_are_covered_at_any_delay():
    X, y = correlated(8000, 0.97, 0)
    model, intervals, waiting = PocketRegressor(memory="16KiB", random_state=0), LateIntervals(), []
    model.partial_fit(X[:1], y[:1])
    inside = []
    for row in range(1, len(y)):
        waiting.append((row, intervals.predict(model, X[row : row + 1])))
        if len(waiting) == 24:
            old, given = waiting.pop(0)
            inside.append(given[0, 0] <= y[old] <= given[0, 1])
            intervals.learn(given, y[old : old + 1], late=24)
            model.partial_fit(X[old : old + 1], y[old : old + 1])
    shares = np.convolve(inside, np.full(5000, 1 / 5000), "valid")
    assert shares.min() > 0.87 and shares.max() < 0.93


def test_factors_stay_near_1_where_targets_come_at_once():
    X, y = correlated(3000, 0.5, 0)
    model, intervals, factors = PocketRegressor(memory="16KiB", random_state=0), LateIntervals(), []
    model.partial_fit(X[:100], y[:100])
    for row in range(100, len(y)):
        given = intervals.predict(model, X[row : row + 1])
        intervals.learn(given, y[row : row + 1])
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        factors.append(intervals.factors)
    assert np.all(np.abs(np.mean(factors, axis=0) - 1) < 0.1)


def test_the_share_of_misses_is_what_the_notes_say():
    """Of targets that nobody foresaw, among them long runs outside."""
    rng, intervals = np.random.default_rng(0), LateIntervals(0.8)
    before, misses, rows = intervals.factors, np.zeros(2), 0
    for call in range(400):
        y = rng.normal(size=10) * (1 + 3 * (call // 50 % 2)) + 0.5
        given = np.tile([-1.0, 1.0], (10, 1)) * intervals.factors
        intervals.learn(given, y)
        misses += [(y < given[:, 0]).sum(), (y > given[:, 1]).sum()]
        rows += 10
    bound = np.abs(np.log(intervals.factors / before)) * (9 + 10) / rows
    assert np.all(np.abs(misses / rows - 0.1) <= bound + 0.002)  # (1 + u/2) / (1 - u/2) is not quite e^u


def test_several_targets():
    X, y = correlated(3000, 0.97, 0)
    Y = np.column_stack([y, np.random.default_rng(1).normal(size=len(y))])
    intervals = LateIntervals()
    inside = held(X, Y, 24, intervals)
    assert intervals.factors.shape == (2, 2)
    assert np.all(intervals.factors[0] > 1.5 * intervals.factors[1])  # only the first one needs more room
    assert np.all(np.abs(inside[600:].mean(axis=0) - 0.9) < 0.04)


def test_factors_come_from_plain_arithmetic():
    """No function of a library whose last bits differ from machine to machine."""
    intervals = LateIntervals(0.5)
    intervals.learn([[-1, 1], [-1, 1]], [2.0, 0.0], late=7)
    below, above = -0.5 * 0.5 / 16, 0.5 * 0.5 / 16
    assert intervals.factors.tolist() == [(1 + below) / (1 - below), (1 + above) / (1 - above)]
    assert math.isclose(intervals.factors[1], math.exp(2 * above), rel_tol=1e-4)


@pytest.mark.parametrize(
    ("given", "y", "late", "words"),
    [
        ([[0, 1]], [1, 2], None, "one interval"),
        ([], [], None, "one interval"),
        ([[0, np.nan]], [1], None, "finite"),
        ([[0, 1]], [np.inf], None, "finite"),
        ([[0, 1]], [1], -1, "late=-1 is not a number of rows"),
        ([[0, 1]], [1], 2.5, "late=2.5 is not a number of rows"),
    ],
)
def test_what_cannot_be_learned_changes_nothing(given, y, late, words):
    intervals = LateIntervals()
    with pytest.raises(ValueError, match=words):
        intervals.learn(given, y, late)
    assert intervals.factors.tolist() == [1.0, 1.0]
