"""The dual bound of M-OMD-S against computed competitors, on streams with removals, restarts, merges and spite."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from pocketkernel import MOMDS, MulticlassMOMDS, gaussians
from pocketkernel.certificate import dual_bound
from pocketkernel.certificate.dual import deviation
from pocketkernel.lab.theory import best_in_ball
from pocketkernel.lab.theory.rows import gram
from pocketkernel.stream import known_kernel

KERNELS = gaussians([0.5, 1, 4])
ROWS = 600


def calm(model, seed):
    X, y = known_kernel(ROWS, features=2, centres=6, noise=0.05, seed=seed)
    model.fit(X, y)
    return X, y


def coarse(model, seed):
    """Rows on a grid, so that many are merged."""
    X, y = known_kernel(ROWS, features=2, centres=6, noise=0.05, seed=seed)
    X = np.round(2 * X) / 2
    model.fit(X, y)
    return X, y


def spiteful(model, seed):
    """Rows that react to the learner: labels that it gets wrong, at places where it has drawn a row before."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(ROWS, 2)), np.ones(ROWS, dtype=int)
    y[1] = -1
    model.partial_fit(X[:2], y[:2])
    for t in range(2, ROWS):
        if (t + model.diagnostics_.additions) % 3 == 0:
            X[t] = X[rng.integers(t)]
        score = float(model.decision_function(X[t : t + 1])[0])
        y[t] = -1 if (score >= 0) == (rng.random() < 0.6) else 1
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    return X, y


@pytest.mark.parametrize("stream", [calm, coarse, spiteful])
@pytest.mark.parametrize("removal", ["half", "restart", "oldest", "eager"])
def test_no_competitor_does_better_than_is_proved(removal, stream):
    for U in (0.5, 4.0):
        model = MOMDS(kernels=KERNELS, budget=30, norm_bound=U, step=2.0, removal=removal, random_state=3)
        X, y = stream(model, 3)
        assert model.diagnostics_.removals > 1
        if stream is not calm:
            assert model.diagnostics_.proxies > 20
        dual = model.certificate().guarantee.dual
        for kernel in KERNELS:
            for norm in (0.5 * U, U, 3 * U):  # also beyond the ball of the learner
                best = best_in_ball(X, y, kernel, norm, "logistic", landmarks=100)
                assert dual.least_loss(norm) <= best.loss * (1 + 1e-9), (U, kernel, norm)


def test_it_is_informative_where_competitors_are_not_much_better():
    model = MOMDS(kernels=KERNELS, budget=100, random_state=0)
    X, y = known_kernel(4000, features=2, centres=6, noise=0.05)
    dual = model.fit(X, y).certificate().guarantee.dual
    assert dual.informative_up_to > 3
    best = min(best_in_ball(X, y, kernel, 3.0, "logistic", landmarks=100).loss for kernel in KERNELS)
    assert 0.4 * best < dual.least_loss(3.0) <= best


def even(rng):
    return np.ones(ROWS)


def light(rng):
    return np.full(ROWS, 0.1)


def heavy(rng):
    return np.full(ROWS, 7.0)


def mixed(rng):
    """Few rows outweigh all others, most hardly count, some not at all."""
    return rng.choice([0, 0.1, 0.3, 1, 20], ROWS, p=[0.1, 0.5, 0.2, 0.15, 0.05])


def random(rng):
    return rng.exponential(2.0, ROWS)


def weighted_loss(X, y, weights, kernel, norm):
    """Least loss found of a function of at most this norm: regularised fits on landmarks, shrunk into the ball."""
    Z = X[:60]
    triangle = np.linalg.cholesky(gram(Z, Z, kernel) + 1e-9 * np.eye(len(Z)))
    M = y[:, None] * np.linalg.solve(triangle, gram(X, Z, kernel).T).T

    def penalised(w, nu):
        margins = M @ w
        value = weights @ np.logaddexp(0, -margins) + nu / 2 * w @ w
        return value, nu * w - (weights * expit(-margins)) @ M

    fits = [minimize(penalised, np.zeros(len(Z)), nu, jac=True).x for nu in np.geomspace(0.1, 1000, 5)]
    fits = [w * min(1.0, norm / np.linalg.norm(w)) for w in fits]
    return min(float(weights @ np.logaddexp(0, -(M @ w))) for w in fits)


@pytest.mark.parametrize("weights", [light, heavy, mixed, random])
@pytest.mark.parametrize("epochs", [1, 3])
def test_no_competitor_does_better_on_weighted_rows(weights, epochs):
    for seed, U in ((0, 0.5), (1, 2.0), (2, 5.0)):
        X, y = known_kernel(ROWS + 100, features=2, centres=6, noise=0.05, seed=seed)
        w = np.append(weights(np.random.default_rng(seed)), np.ones(100))
        model = MOMDS(kernels=KERNELS, budget=30, norm_bound=U, random_state=seed, epochs=epochs)
        model.fit(X[:ROWS], y[:ROWS], sample_weight=w[:ROWS])
        model.partial_fit(X[ROWS:], y[ROWS:])  # new rows after the last pass
        dual = model.certificate().guarantee.dual
        assert dual.weight == pytest.approx(w.sum())
        for kernel in KERNELS:
            for norm in (0.5 * U, U, 3 * U):
                loss = weighted_loss(X, y, w, kernel, norm)
                assert dual.least_loss(norm) <= loss, (seed, U, kernel, norm)
                assert dual.anyway(norm) <= loss


@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
def test_it_is_informative_with_weights(weight):
    X, y = known_kernel(3000, features=2, centres=6, noise=0.05)
    proved = MOMDS(norm_bound=1.5, random_state=0).fit(X, y, sample_weight=np.full(3000, weight)).certificate()
    dual = proved.guarantee.dual
    assert dual.anyway(1.5) < proved.least_loss < proved.cumulative_loss


@pytest.mark.parametrize("weights", [even, mixed, heavy])
def test_several_classes(weights):
    """A competitor for three classes: functions of one kernel, with coefficients of regularised least squares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * ROWS, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    w = np.concatenate([weights(rng), weights(rng)])
    dual = MulticlassMOMDS(kernels=KERNELS, budget=60, random_state=0).fit(X, y, w).certificate().guarantee.dual
    assert weights is mixed or dual.informative_up_to > 1  # there, 5 % of the rows have most of the weight
    assert dual.weight == pytest.approx(w.sum())
    landmarks = X[:150]
    for kernel in KERNELS:
        K = np.exp(-((landmarks[:, None] - landmarks) ** 2).sum(2) / (2 * kernel.width**2))
        a = np.linalg.solve(K + 1e-2 * np.eye(150), np.eye(3)[y[:150]] - 1 / 3)
        a /= math.sqrt(np.sum(a * (K @ a)))
        values = np.exp(-((X[:, None] - landmarks) ** 2).sum(2) / (2 * kernel.width**2)) @ a
        for norm in (1.0, 3.0, 10.0):
            F = norm * values
            loss = w @ (np.log(np.exp(F).sum(axis=1)) - F[np.arange(len(y)), y])
            assert dual.least_loss(norm) <= loss
            assert dual.anyway(norm) <= loss


@pytest.mark.parametrize("heaviest", [1.0, 30.0])
def test_the_martingale_stays_below_its_bound(heaviest):
    """Of sampled slopes, in the plane: the largest ratio to the bound at any time exceeds 1 as rarely as promised."""
    rng, rows, missed = np.random.default_rng(1), 400, 0
    for _ in range(300):
        g = rng.random(rows) * rng.choice([1.0, heaviest], rows, p=[0.9, 0.1])
        P = g / (g + 1)
        b = rng.random(rows) < P
        angle = rng.choice([0.0, 0.3], rows)
        steps = (g * (1 - b / P))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        norms, v = np.linalg.norm(np.cumsum(steps, axis=0), axis=1), np.cumsum(g)
        at, longest = [0, 1, 3, 9, 30, 99, 200, rows - 1], np.maximum(np.maximum.accumulate(g), 1.0)
        missed += any(norms[t] > deviation(v[t], 1.0, longest[t], kernels=1, delta=0.2) for t in at)
    assert missed <= 0.2 * 300
    assert deviation(100.0, 1.0, kernels=1, delta=0.2) < 80  # it is no more than a few standard deviations of 10


def test_a_larger_scale_is_the_same_bound():
    once, twice = (deviation(100.0 * G1**2, G1, kernels=3, delta=0.05) for G1 in (1.0, 2.0))
    assert twice == pytest.approx(2 * once)


def test_the_bound_by_hand():
    bound = dual_bound(
        900.0, -50.0, unmerged=0.0, steepest=0.0, gammas=[10.0, 40.0], norms=[3.0, 1.0], rate=0.1, weight=1500.0
    )
    assert dict(bound.terms)["last function"] == 10
    assert bound.slope == pytest.approx(50 + math.log(2 * 2 * 2 / 0.05))
    assert bound.anyway(0.0) == pytest.approx(1500 * math.log(2))
    assert bound.least_loss(2.0) == pytest.approx(950 - 2 * bound.slope)
