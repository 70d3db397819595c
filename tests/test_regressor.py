"""PocketRegressor: agreement with its transcription, what it learns, intervals, unkind streams, files, bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracle
import pocketkernel
from pocketkernel import PocketRegressor
from streams import weights as some_weights


def friedman(n, d=10, seed=0, noise=0.5):
    """Rows in a cube, and a smooth function of the first five columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.normal(size=n)


def small(**given):
    return PocketRegressor(**{"memory": "8KiB", "random_state": 1} | given)


# ---- agreement with the oracle --------------------------------------------------------------------------------------


def compare(X, y, memory, quantile=0.0, sparse=False, weights=None):
    """Run both, row by row; answer the transcription."""
    given = {"loss": "quantile", "quantile": quantile} if quantile else {}
    model = PocketRegressor(memory=memory, dtype="float64", random_state=1, **given)
    first = clone(model).fit(X[:1], y[:1])
    m = 1 if y.ndim == 1 else y.shape[1]
    widths = [kernel.width for kernel in first._recipe.kernels[1:]]
    reference = oracle.PocketRegressor(widths, first.frequencies_, X.shape[1], m, 8, quantile)
    rows = scipy.sparse.csr_array(X) if sparse else X
    answers = model.predict_then_learn(rows, y, sample_weight=weights)
    w = np.ones(len(X)) if weights is None else weights
    with np.errstate(invalid="ignore"):
        expected = np.array([reference.learn(*row) for row in zip(X, y, w, strict=True)]).reshape(answers.shape)
    np.testing.assert_allclose(answers, expected, rtol=1e-9, atol=1e-9 * np.abs(y).max())
    done = model.diagnostics_
    assert done.rounds == reference.rounds
    assert done.stored.tolist() == [reference.count(i) for i in range(reference.K)]
    np.testing.assert_allclose(done.cumulative_loss, reference.cumulative_loss, rtol=1e-8)
    for share in (0.3, 0.9, 0.93, 0.995):
        bounds = [t.interval(share) for t in reference.targets]
        np.testing.assert_allclose(np.reshape(model._core.margins(share), (-1, 2)), bounds, rtol=1e-8)
    np.testing.assert_allclose(model.column_relevance_, np.exp(reference.rho), rtol=1e-8)
    return reference


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize(
    ("memory", "parts"),
    [("3KiB", 2), ("8KiB", 5), ("32KiB", 8)],
    ids=["linear", "small", "all"],
)
def test_follows_the_oracle(memory, parts, weighted):
    X, y = friedman(700, 5)
    reference = compare(X, y, memory, weights=some_weights(700) if weighted else None)
    assert reference.E >= parts
    assert memory != "32KiB" or (reference.capacity and reference.with_tables and reference.with_matrix)


@pytest.mark.parametrize("quantile", [0.1, 0.5])
def test_quantiles_follow_the_oracle(quantile):
    compare(*friedman(500, 5), "16KiB", quantile)


def test_several_targets_follow_the_oracle():
    X, y = friedman(500, 5)
    reference = compare(X, np.column_stack([y, 1e6 * X[:, 0] ** 2, np.ones(500)]), "48KiB")
    assert reference.m == 3


def test_changes_follow_the_oracle():
    X, y = friedman(1500, 5)
    for changed in (np.where(np.arange(1500) < 700, y, 100 * y + 5000), np.where(np.arange(1500) < 900, y, 0.01 * y)):
        reference = compare(X, changed, "16KiB")
        assert sum(t.alarms for t in reference.targets) + sum(t.rebases for t in reference.targets) > 0


@pytest.mark.parametrize("sparse", [False, True])
def test_wide_rows_follow_the_oracle(sparse):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((400, 80)) < 0.15, rng.normal(size=(400, 80)), 0.0)
    reference = compare(X, X[:, :9].sum(axis=1) + np.abs(X[:, 1]), "48KiB", sparse=sparse)
    assert reference.stands_still
    assert not reference.with_matrix


def test_missing_values_follow_the_oracle():
    X, y = friedman(500, 5)
    compare(np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X), y, "16KiB")
