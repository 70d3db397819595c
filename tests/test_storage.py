"""Rows held in sixteen bits: the course is that of rounded rows, the bytes are fewer."""

import math

import numpy as np
import pytest
from scipy import sparse

import streams
from pocketkernel import (
    MOMDH,
    MOMDS,
    Gaussian,
    Laplacian,
    Linear,
    LKMBooks,
    MulticlassMOMDS,
    Polynomial,
    SharedMOMDH,
    gaussians,
)

MIXED = (Gaussian(1.0), Laplacian(2.0), Polynomial(3), Gaussian(0.5), Gaussian(0.3), Linear())
FIVE = gaussians([0.25, 1, 4, 16, 64])
LEARNERS = {
    "MOMDS": lambda **given: MOMDS(**{"kernels": MIXED, "budget": 21, "random_state": 1} | given),
    "MOMDH": lambda **given: MOMDH(
        **{"kernels": MIXED, "budget": 15, "reservoir": 4, "horizon": 20, "random_state": 1} | given
    ),
    "SharedMOMDH": lambda **given: SharedMOMDH(
        **{"kernels": MIXED, "budget": 15, "reservoir": 4, "horizon": 20, "random_state": 1} | given
    ),
    "LKMBooks": lambda **given: LKMBooks(**{"kernels": MIXED, "budget": 40, "horizon": 300, "random_state": 1} | given),
    "MulticlassMOMDS": lambda **given: MulticlassMOMDS(**{"kernels": MIXED, "budget": 21, "random_state": 1} | given),
}
STREAMS = {
    "rings": streams.rings(300)[0],
    "duplicates": streams.with_duplicates(300)[0],
    "sparse": streams.sparse_numbers(300)[0],
    "tiny": streams.sparse_numbers(300)[0] * 1e-7,  # most are subnormal in float16, or vanish
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_storage = pytest.mark.parametrize("storage", ["float16", "bfloat16"])


def rounded(X, storage):
    """X as float32, to the nearest number of sixteen bits, ties to even."""
    X = X.astype(np.float32)
    if storage == "float16":
        return X.astype(np.float16).astype(np.float32)
    bits = X.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def test_the_reference_rounds():
    one = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -0.1, 3e38])
    np.testing.assert_array_equal(rounded(one[:4], "bfloat16"), np.float32([1, 1, 1 + 2**-6, -0.10009765625]))
    np.testing.assert_array_equal(rounded(np.array([2**-25, 65504, 0.1]), "float16"), [0, 65504, 0.0999755859375])


def run(model, X, y, weights):
    scores = model.predict_then_learn(X, y, classes=np.unique(y), sample_weight=weights)
    return scores, model.decision_function(X), model.diagnostics_, model.kernel_weights_


@pytest.mark.parametrize("stream", STREAMS)
@every_storage
@every_learner
def test_the_course_is_that_of_rounded_rows(name, storage, stream):
    X = STREAMS[stream]
    assert np.any(rounded(X, storage) != X.astype(np.float32))
    y = streams.in_classes(X, 4 if name == "MulticlassMOMDS" else 2)
    weights = streams.weights(len(y)) if stream == "rings" else None
    expected = run(LEARNERS[name](), rounded(X, storage), y, weights)
    assert np.ptp(expected[0]) > 0
    for rows in (X, X.astype(np.float32), sparse.csr_matrix(X), sparse.csr_matrix(X.astype(np.float32))):
        answer = run(LEARNERS[name](storage=storage), rows, y, weights)
        for one, other in zip(answer, expected, strict=True):
            if isinstance(one, dict):
                assert one.keys() == other.keys()
                for key in one:
                    np.testing.assert_array_equal(one[key], other[key], err_msg=key)
            else:
                np.testing.assert_array_equal(one, other)
    if stream == "rings":  # and rounding is no detail that nothing depends on
        assert not np.array_equal(run(LEARNERS[name](), X, y, weights)[0], expected[0])


@every_storage
@every_learner
def test_rounded_rows_lose_nothing_more(name, storage):
    X = rounded(STREAMS["rings"], storage)
    y = streams.in_classes(X, 2)
    full, halves = run(LEARNERS[name](), X, y, None), run(LEARNERS[name](storage=storage), X, y, None)
    np.testing.assert_array_equal(full[0], halves[0])
    np.testing.assert_array_equal(full[1], halves[1])


# ---- bytes ----------------------------------------------------------------------------------------------------------


def taught(name, d, **given):
    """A learner of d columns after two rows."""
    return LEARNERS[name](**given).partial_fit(np.eye(2, d), [0, 1])


@pytest.mark.parametrize("d", [1, 7, 16, 100])
@every_storage
@every_learner
def test_a_value_takes_half(name, storage, d):
    """Tiles of 16 rows take 64 d bytes, or 32 d; each array ends at a multiple of 64. All else is as it was."""
    for B in (2, 16, 17, 100):
        full, halves = taught(name, d, budget=B), taught(name, d, budget=B, storage=storage)
        archive = [4 * (1 + math.ceil(math.log(20)))] if "MOMDH" in name else []
        rows = [B] * (len(MIXED) if name == "MOMDH" else 1) + archive
        tiles = [math.ceil(n / 16) for n in rows]
        saved = sum(64 * t * d - 64 * math.ceil(32 * t * d / 64) for t in tiles)
        assert full.nbytes - halves.nbytes == saved
        assert full._core.state_bytes - halves._core.state_bytes == saved


@pytest.mark.parametrize("memory", ["256KiB", "1MiB"])
@every_storage
@pytest.mark.parametrize("name", ["MOMDS", "LKMBooks", "MulticlassMOMDS"])
def test_wide_rows_nearly_double(name, storage, memory):
    """A stored row takes 4 d + o bytes, or 2 d + o, where o is what goes with it: its norm, its coefficients.

    So B grows by the factor r = (4 d + o) / (2 d + o), in steps of 16 rows; and never to twice as many and more.
    """
    d = 784
    full = taught(name, d, kernels=FIVE, budget=None, memory=memory)
    halves = taught(name, d, kernels=FIVE, budget=None, memory=memory, storage=storage)
    o = 8 + 4 * {"MOMDS": 5, "LKMBooks": 1, "MulticlassMOMDS": 5 * 2}[name]
    r = (4 * d + o) / (2 * d + o)
    B = full.budget_
    assert B % 16 == 0
    assert 16 * math.floor(B // 16 * r) <= halves.budget_ < 2 * (B + 16)
    assert halves.budget_ >= 1.9 * B
    assert halves.nbytes <= {"256KiB": 2**18, "1MiB": 2**20}[memory]


@every_storage
def test_wide_rows_of_m_omd_h(storage):
    """Its archive shrinks as well, so that B may even more than double."""
    given = {"kernels": FIVE, "budget": None, "memory": "2MiB"}
    full, halves = taught("MOMDH", 784, **given), taught("MOMDH", 784, **given, storage=storage)
    assert halves.budget_ >= 1.9 * full.budget_
