"""Every level of the core, and dense or CSR input, give the same bits."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import streams
from pocketkernel import MOMDH, MOMDS, Gaussian, Laplacian, Linear, LKMBooks, Polynomial, Raker, _core, gaussians

MIXED = (Gaussian(1.0), Laplacian(2.0), Polynomial(3), Gaussian(0.5), Gaussian(0.3), Linear(), Laplacian(0.5))
LEARNERS = {
    "MOMDS": lambda dtype: MOMDS(budget=21, dtype=dtype, random_state=1),
    "MOMDS mixed": lambda dtype: MOMDS(kernels=MIXED, budget=9, removal="restart", dtype=dtype, random_state=1),
    "MOMDH": lambda dtype: MOMDH(budget=21, reservoir=5, horizon=20, dtype=dtype, random_state=1),
    "MOMDH mixed": lambda dtype: MOMDH(kernels=MIXED, budget=9, reservoir=3, dtype=dtype, random_state=1),
    "LKMBooks": lambda dtype: LKMBooks(budget=50, horizon=500, dtype=dtype, random_state=1),
    "LKMBooks mixed": lambda dtype: LKMBooks(kernels=MIXED, budget=50, horizon=500, dtype=dtype, random_state=1),
    "Raker": lambda dtype: Raker(features=27, dtype=dtype, random_state=1),
    "Raker, no ladder": lambda dtype: Raker(kernels=gaussians([0.3, 0.7, 2]), features=8, dtype=dtype, random_state=1),
}
STREAMS = {
    "rings": streams.rings(500),
    "duplicates": streams.with_duplicates(500),
    "one_hot": streams.one_hot(400),
    "sparse": streams.sparse_numbers(400),
}


def run(name, dtype, X, y):
    """Scores and the bytes of the state after the stream."""
    model = LEARNERS[name](dtype)
    scores = model.predict_then_learn(X, y, classes=[-1, 1])
    return scores, model._core.save(), model.decision_function(X)


def same(one, other):
    return np.array_equal(one[0], other[0]) and one[1] == other[1] and np.array_equal(one[2], other[2])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", LEARNERS)
def test_same_bits(name, stream, dtype, monkeypatch):
    X, y = STREAMS[stream]
    results = {}
    for level in _core.levels():
        monkeypatch.setenv("POCKETKERNEL_LEVEL", level)
        results[level, "dense"] = run(name, dtype, X, y)
        results[level, "csr"] = run(name, dtype, sparse.csr_matrix(X), y)
    expected = results["scalar", "dense"]
    assert np.ptp(expected[0]) > 0  # it has learned something
    for way, result in results.items():
        assert same(result, expected), way


def test_the_level_is_really_chosen_by_the_variable(monkeypatch):
    X, y = STREAMS["rings"]
    monkeypatch.setenv("POCKETKERNEL_LEVEL", "abacus")
    with pytest.raises(ValueError, match=r"'abacus' is unknown.*scalar base"):
        MOMDS().fit(X, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_state_moves_from_level_to_level(name, dtype, monkeypatch):
    X, y = STREAMS["duplicates"]
    expected, _, _ = run(name, dtype, X, y)
    model, scores = LEARNERS[name](dtype), []
    pieces = np.array_split(np.arange(len(y)), 6)
    for n, rows in enumerate(pieces):
        monkeypatch.setenv("POCKETKERNEL_LEVEL", _core.levels()[n % len(_core.levels())])
        model = pickle.loads(pickle.dumps(model))
        scores.append(model.predict_then_learn(X[rows], y[rows], classes=[-1, 1]))
    np.testing.assert_array_equal(np.concatenate(scores), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_other_precision_is_read_as_rounded(name, dtype):
    X, y = STREAMS["sparse"]
    narrow = X.astype(np.float32)
    # float32 rows hold the same numbers in either type; a float32 learner rounds float64 rows itself.
    expected = run(name, dtype, narrow.astype(np.float64), y)
    assert same(run(name, dtype, narrow, y), expected)
    assert same(run(name, dtype, sparse.csr_matrix(narrow), y), expected)
    if dtype == "float32":
        assert same(run(name, dtype, X, y), expected)
        assert same(run(name, dtype, sparse.csr_matrix(X), y), expected)


@pytest.mark.parametrize("name", LEARNERS)
def test_stored_zeros_do_not_matter(name):
    X, y = STREAMS["one_hot"]
    full = sparse.csr_matrix(np.ones_like(X))
    full.data = X.ravel().copy()
    assert same(run(name, "float32", full, y), run(name, "float32", X, y))
