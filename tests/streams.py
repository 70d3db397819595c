"""Small streams that the tests make."""

import numpy as np


def rings(n, d=3, seed=0):
    """Points in d dimensions, labelled by whether they are far from the origin; some noise in the labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where((X**2).sum(axis=1) > d, 1, -1) * np.where(rng.random(n) < 0.05, -1, 1)
    return X, y


def with_duplicates(n, d=3, seed=0):
    """Rings whose rows come from a pool of 40, so that most are exact repeats."""
    rng = np.random.default_rng(seed)
    pool, labels = rings(40, d, seed)
    which = rng.integers(40, size=n)
    return pool[which], np.where(rng.random(n) < 0.1, -1, 1) * labels[which]


def in_classes(X, C, seed=0):
    """Labels 0 .. C - 1 for the rows of X: shells of a random norm, all about as frequent; some noise."""
    rng = np.random.default_rng(seed)
    radius = np.abs(X) @ rng.random(X.shape[1]) + 1e-3 * rng.random(len(X))
    y = np.searchsorted(np.quantile(radius, np.arange(1, C) / C), radius)
    return np.where(rng.random(len(y)) < 0.05, rng.integers(C, size=len(y)), y)


def weights(n, seed=0):
    """Weights of every kind: none, little, one and much."""
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 1e-3, 0.3, 1.0, 2.5, 20.0], size=n) * np.where(rng.random(n) < 0.5, 1.0, rng.random(n))


def one_hot(n, d=40, on=5, seed=0):
    """Sparse rows of ones, zero rows among them."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, d))
    for row in X:
        row[rng.choice(d, size=rng.integers(0, on + 1), replace=False)] = 1
    w = rng.normal(size=d)
    return X, np.where(X @ w + 0.1 * rng.normal(size=n) > 0, 1, -1)


def sparse_numbers(n, d=60, on=8, seed=0):
    """Rows with a few nonzeros of different sizes."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < on / d, rng.normal(size=(n, d)), 0.0)
    w = rng.normal(size=d)
    return X, np.where(X @ w > 0, 1, -1)
