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
