"""Kernel alignment: the blocked pass against brute force, intervals that hold, and a running estimate without bias."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from oracle.parts import gram
from pocketkernel import Gaussian, Laplacian, Linear, Polynomial, gaussians
from pocketkernel.kernels import PAPER_KERNELS
from pocketkernel.lab.streams import rings
from pocketkernel.lab.theory import RunningAlignment, _pairs, estimate_alignment, kernel_alignment
from pocketkernel.lab.theory.rows import gram as fast_gram
from pocketkernel.stream import known_kernel

EVERY_KERNEL = (
    *PAPER_KERNELS, *gaussians([0.5, 3.0, 1000.0]), Laplacian(1.0), Laplacian(7.0), Linear(), Polynomial(1),
    Polynomial(2), Polynomial(7),
)  # fmt: skip


def brute_force(X, y, kernels):
    return np.array([len(y) - y @ gram(kernel, X) @ y / len(y) for kernel in kernels])


def data(rows, features=5, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.6)
    X[::17] = 0  # zero rows, which are also duplicates
    return X, np.where(rng.random(rows) < 0.4, -1.0, 1.0)


# ---- exact ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, np.asfortranarray, np.ndarray.tolist]
)
def test_every_kernel_against_brute_force(make):
    X, y = data(150)
    found = kernel_alignment(make(X), y, EVERY_KERNEL)
    np.testing.assert_allclose(found / 150, brute_force(X, y, EVERY_KERNEL) / 150, atol=3e-6)


@pytest.mark.parametrize("rows", [1, 2, 63, 130])
@pytest.mark.parametrize("block", [5, 64, 129, None])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blocks_and_threads_do_not_matter(rows, block, n_jobs, monkeypatch):
    monkeypatch.setattr(_pairs, "TILE", (31, 50))  # tiles that divide nothing
    X, y = data(130)
    X, y = X[:rows], y[:rows]
    kernels = (*gaussians([0.25, 1, 64]), Laplacian(2), Polynomial(3))
    found = kernel_alignment(X, y, kernels, block=block, n_jobs=n_jobs)
    np.testing.assert_allclose(found / rows, brute_force(X, y, kernels) / rows, atol=3e-6)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e5])
def test_raw_features_are_no_less_precise(scale, offset):
    """Near-duplicates of rows with large numbers: naive float32 distances are all rounding."""
    X, y = data(80, scale=scale)
    X = np.vstack((X, X + 0.3 * np.random.default_rng(1).normal(size=X.shape))) + offset
    y = np.concatenate((y, y))
    found, expected = kernel_alignment(X, y), brute_force(X, y, PAPER_KERNELS)
    np.testing.assert_allclose(found / 160, expected / 160, atol=1e-6)


def test_float32_where_it_will_do():
    X, _ = data(50)
    assert _pairs._SquaredDistance([Gaussian(0.25)], X, False).dtype == np.float32
    assert _pairs._SquaredDistance([Gaussian(0.25)], X, True).dtype == np.float64
    assert _pairs._SquaredDistance([Gaussian(0.25)], 100 * X, False).dtype == np.float64
    assert _pairs._SquaredDistance([Gaussian(25.0)], 100 * X, False).dtype == np.float32


def test_series_and_ladders_are_both_used():
    """Else the tests above would say nothing about one of them."""
    X, _ = data(50)
    metric = _pairs._SquaredDistance(PAPER_KERNELS, X, False)
    assert metric._wide == [16.0, 64.0]
    assert [len(ladder.steps) for ladder in metric._ladders] == [3]


@pytest.mark.parametrize("precise", [False, True])
def test_quadratic_forms_of_any_weights(precise):
    X, _ = data(200)
    w = np.random.default_rng(5).normal(size=200)
    expected = [w @ gram(kernel, X) @ w for kernel in EVERY_KERNEL]
    found = _pairs.quadratic_forms(X, w, EVERY_KERNEL, precise=precise)
    np.testing.assert_allclose(found, expected, rtol=1e-9 if precise else 3e-4, atol=1e-9 if precise else 1e-3)


def test_limits():
    """Orthogonal examples have A = T - 1, a constant kernel sees only the balance, the ideal kernel has 0."""
    rows = 40
    y = np.resize([1.0, -1.0], rows)
    assert kernel_alignment(1e6 * np.eye(rows), y, [Gaussian(1)]) == pytest.approx(rows - 1)
    assert kernel_alignment(np.eye(rows), y, [Gaussian(1e6)]) == pytest.approx(rows)
    assert kernel_alignment(np.eye(rows), np.ones(rows), [Gaussian(1e6)]) == pytest.approx(0, abs=1e-6)
    assert kernel_alignment(y[:, None], y, [Linear(), Polynomial(3)]) == pytest.approx([0, 0], abs=1e-9)
    assert kernel_alignment(np.zeros((rows, 2)), y, PAPER_KERNELS) == pytest.approx(rows)


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(-50, 50, width=32)),
    st.lists(st.sampled_from(EVERY_KERNEL), min_size=1, max_size=4),
    st.integers(0, 2**12 - 1),
)
def test_properties(X, kernels, bits):
    y = np.array([1.0 if bits >> t & 1 else -1.0 for t in range(len(X))])
    A = kernel_alignment(X, y, kernels)
    np.testing.assert_allclose(A, brute_force(X, y, kernels), atol=1e-4 * len(y))
    assert np.all(np.abs(A / len(y) - 0.5) < 0.5001)  # 0 <= A <= T
    np.testing.assert_allclose(A, kernel_alignment(X, -y, kernels), atol=1e-9)
    order = np.random.default_rng(bits).permutation(len(y))
    np.testing.assert_allclose(A, kernel_alignment(X[order], y[order], kernels), atol=1e-4 * len(y))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([2.0**k for k in range(-8, 9)] + [1.5, 3.0, 6.0, 2**0.5]), min_size=1), st.integers(0, 9)
)
def test_ladders_hold_every_width_once(widths, most):
    found = [step for ladder in _pairs.ladders(widths, most) for step in ladder.steps]
    assert sorted(width for _, width in found) == sorted(set(widths))
    for ladder in _pairs.ladders(widths, most):
        for squarings, width in ladder.steps:
            assert 0 <= squarings <= most
            assert ladder.width == pytest.approx(width * 2 ** (squarings / 2))


@pytest.mark.parametrize("kernel", EVERY_KERNEL, ids=str)
def test_gram(kernel):
    X, _ = data(40)
    np.testing.assert_allclose(fast_gram(sparse.csr_matrix(X), X, kernel), gram(kernel, X), atol=1e-12)


# ---- random pairs ---------------------------------------------------------------------------------------------------


def test_intervals_hold_as_often_as_they_say():
    X, y = rings(300)
    exact = kernel_alignment(X, y, EVERY_KERNEL) / 300
    held = []
    for seed in range(200):
        guess = estimate_alignment(X, y, EVERY_KERNEL, pairs=300, confidence=0.8, seed=seed)
        assert np.all((guess.low <= guess.value) & (guess.value <= guess.high))
        held.append((guess.low <= exact) & (exact <= guess.high))
    assert np.all(np.mean(held, axis=0) >= 0.8)


def test_estimates_have_no_bias_and_shrink():
    X, y = data(37)  # few rows: that a row is no pair of its own matters
    exact = kernel_alignment(X, y, EVERY_KERNEL) / 37
    few, many = (estimate_alignment(sparse.csr_matrix(X), y, EVERY_KERNEL, pairs=n) for n in (1000, 400_000))
    np.testing.assert_allclose(many.value, exact, atol=0.006)
    assert np.all((many.high - many.low)[:-1] < 0.2 * (few.high - few.low)[:-1])
    assert np.all((many.low <= exact) & (exact <= many.high))


# ---- a stream -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["random", "sorted by label"])
def test_running_estimates_have_no_bias(order):
    X, y = data(60)
    if order != "random":
        X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    kernels = (*gaussians([0.25, 4, 64]), Laplacian(2), Linear())
    exact = kernel_alignment(X, y, kernels)
    values = np.array([RunningAlignment(kernels, 3, seed).learn(X, y).value for seed in range(200)])
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert np.all(abs(values.mean(axis=0) - exact) < 4 * error + 1e-4)
    assert np.all(error < 0.05 * 60)


def test_a_reservoir_of_all_rows_is_exact():
    X, y = data(50)
    running = RunningAlignment(EVERY_KERNEL, reservoir=50)
    for t in range(50):
        running.learn(X[t : t + 1], y[t : t + 1])
        np.testing.assert_allclose(running.value, brute_force(X[: t + 1], y[: t + 1], EVERY_KERNEL), atol=1e-9)
    assert running.rounds == 50


def test_running_needs_bounded_memory_and_is_near():
    X, y = known_kernel(6000)
    running = RunningAlignment(reservoir=100)
    for start in range(0, 6000, 700):
        running.learn(sparse.csr_matrix(X[start : start + 700]), y[start : start + 700])
        assert running._rows.shape == (100, 8)
    np.testing.assert_allclose(running.value, kernel_alignment(X, y), atol=0.02 * 6000)


# ---- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y: kernel_alignment(X, y[:-1]), "y has 9 labels for the 10 rows"),
        (lambda X, y: kernel_alignment(X, (y + 1) / 2), "the label 0.0: use only -1 and 1"),
        (lambda X, y: kernel_alignment(X, y.astype(str)), "use only -1 and 1"),
        (lambda X, y: kernel_alignment(np.where(X > 0, np.nan, X), y), "NaN"),
        (lambda X, y: kernel_alignment(np.where(X > 0, np.inf, X), y), "infinity"),
        (lambda X, y: kernel_alignment(1e200 * X, y), "scale the features first"),
        (lambda X, y: kernel_alignment(X[:0], y[:0]), "0 sample"),
        (lambda X, y: kernel_alignment(X[0], y), "1 dimensions"),
        (lambda X, y: kernel_alignment(X, y, []), "kernels is empty"),
        (lambda X, y: kernel_alignment(X, y, [1.0]), "1.0 is not a kernel"),
        (lambda X, y: kernel_alignment(X, y, [Gaussian(0)]), "width=0"),
        (lambda X, y: kernel_alignment(X, y, [Laplacian(np.nan)]), "width=nan"),
        (lambda X, y: kernel_alignment(X, y, [Polynomial(65)]), "degree=65"),
        (lambda X, y: kernel_alignment(X, y, block=0), "block=0 is too small"),
        (lambda X, y: kernel_alignment(X, y, n_jobs=0), "n_jobs=0"),
        (lambda X, y: estimate_alignment(X[:1], y[:1]), "at least 2"),
        (lambda X, y: estimate_alignment(X, y, pairs=1), "pairs=1"),
        (lambda X, y: estimate_alignment(X, y, confidence=1.0), "confidence=1.0"),
        (lambda X, y: estimate_alignment(X, y + 3), "use only -1 and 1"),
        (lambda X, y: RunningAlignment(reservoir=1), "reservoir=1"),
        (lambda X, y: RunningAlignment().learn(X, y).learn(X[:, :2], y), "2 features"),
        (lambda X, y: RunningAlignment().learn(X, y[1:]), "9 labels"),
    ],
)
def test_mistakes_are_named(call, words):
    X, y = data(10)
    with pytest.raises(ValueError, match=words):
        call(X, y)


def test_what_to_install(monkeypatch):
    X, y = np.eye(4), np.array([1, -1, 1, -1])
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs threadpoolctl: pip install 'pocketkernel\[lab\]'"):
        _pairs.quadratic_forms(X, y, [Gaussian(1.0)])
