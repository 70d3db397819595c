"""Every level of the core, and dense or CSR input, give the same bits."""

import ctypes
import pickle
import platform
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import streams
from pocketkernel import PocketRegressor, _core
from pocketkernel.fleet import Fleet
from pocketkernel.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Polynomial,
    RationalQuadratic,
    gaussians,
)
from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker, SharedMOMDH

MIXED = (
    *(Gaussian(1.0), Laplacian(2.0), Polynomial(3), Gaussian(0.5), Gaussian(0.3), Linear(), Laplacian(0.5)),
    *(Matern32(1.5), Matern52(0.7), RationalQuadratic(0.5, alpha=3)),
)
LEARNERS = {
    "MOMDS": lambda **given: MOMDS(budget=21, random_state=1, **given),
    "MOMDS oldest": lambda **given: MOMDS(budget=9, removal="oldest", random_state=1, **given),
    "MOMDH oldest": lambda **given: MOMDH(budget=9, removal="oldest", random_state=1, **given),
    "MOMDS mixed": lambda **given: MOMDS(kernels=MIXED, budget=9, removal="restart", random_state=1, **given),
    "MOMDH": lambda **given: MOMDH(budget=21, reservoir=5, horizon=20, random_state=1, **given),
    "MOMDH mixed": lambda **given: MOMDH(kernels=MIXED, budget=9, reservoir=3, random_state=1, **given),
    "SharedMOMDH": lambda **given: SharedMOMDH(budget=21, reservoir=5, horizon=20, random_state=1, **given),
    "SharedMOMDH mixed": lambda **given: SharedMOMDH(kernels=MIXED, budget=9, reservoir=3, random_state=1, **given),
    "MOMDS eager": lambda **given: MOMDS(budget=9, removal="eager", random_state=1, **given),
    "LKMBooks": lambda **given: LKMBooks(budget=50, horizon=500, random_state=1, **given),
    "LKMBooks mixed": lambda **given: LKMBooks(kernels=MIXED, budget=50, horizon=500, random_state=1, **given),
    "Raker": lambda **given: Raker(features=27, random_state=1, **given),
    "Raker, no ladder": lambda **given: Raker(kernels=gaussians([0.3, 0.7, 2]), features=8, random_state=1, **given),
    "Multiclass": lambda **given: MulticlassMOMDS(budget=21, random_state=1, **given),
    "Pocket": lambda **given: PocketClassifier(memory="20KiB", random_state=1, **given),
    "Pocket linear": lambda **given: PocketClassifier(memory="9KiB", random_state=1, **given),
    "Multiclass Pocket": lambda **given: PocketClassifier(memory="60KiB", random_state=1, **given),
    "Multiclass mixed": lambda **given: MulticlassMOMDS(kernels=MIXED, budget=9, random_state=1, **given),
}
PRECISIONS = {
    "float32": {"dtype": "float32"},
    "float64": {"dtype": "float64"},
    "float16": {"dtype": "float32", "storage": "float16"},
    "bfloat16": {"dtype": "float32", "storage": "bfloat16"},
}
every_precision = pytest.mark.parametrize(
    ("name", "precision"),
    [
        (name, p)
        for name in LEARNERS
        for p in PRECISIONS
        if "storage" not in PRECISIONS[p] or not any(of in name for of in ("Raker", "Pocket"))
    ],
)
STREAMS = {
    "rings": streams.rings(500),
    "duplicates": streams.with_duplicates(500),
    "one_hot": streams.one_hot(400),
    "sparse": streams.sparse_numbers(400),
    "wide": streams.sparse_numbers(300, d=70),
}


def labels(name, stream):
    """Labels of a stream, and all that there are."""
    X, y = STREAMS[stream]
    return (streams.in_classes(X, 3), range(3)) if "Multiclass" in name else (y, [-1, 1])


def run(name, precision, stream, rows=None, weights=None):
    """Scores and the bytes of the state after the stream, whose rows may come in another form."""
    X = STREAMS[stream][0] if rows is None else rows
    y, classes = labels(name, stream)
    model = LEARNERS[name](**PRECISIONS[precision])
    scores = model.predict_then_learn(X, y, classes=classes, sample_weight=weights)
    return scores, model._core.save(), model.decision_function(X)


def same(one, other):
    return np.array_equal(one[0], other[0]) and one[1] == other[1] and np.array_equal(one[2], other[2])


def test_the_best_level_is_that_of_the_processor():
    processor = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not processor.exists():
        pytest.skip("levels are those of x86-64, and Linux lists what a processor has")
    has_avx2 = " avx2 " in f"{processor.read_text()} ".replace("\n", " ")
    assert _core.levels() == ["base", "avx2"][: 1 + has_avx2]


@pytest.mark.parametrize("stream", STREAMS)
@every_precision
def test_same_bits(name, precision, stream, monkeypatch):
    X, y = STREAMS[stream]
    weights = streams.weights(len(y)) if stream in ("duplicates", "sparse") else None
    results = {}
    for level in _core.levels():
        monkeypatch.setenv("POCKETKERNEL_LEVEL", level)
        results[level, "dense"] = run(name, precision, stream, X, weights)
        results[level, "csr"] = run(name, precision, stream, sparse.csr_matrix(X), weights)
    expected = results["base", "dense"]
    assert np.ptp(expected[0]) > 0  # it has learned something
    for way, result in results.items():
        assert same(result, expected), way


def test_the_level_is_really_chosen_by_the_variable(monkeypatch):
    X, y = STREAMS["rings"]
    monkeypatch.setenv("POCKETKERNEL_LEVEL", "abacus")
    with pytest.raises(ValueError, match=r"'abacus' is not available.*base"):
        MOMDS().fit(X, y)


@every_precision
def test_a_state_moves_from_level_to_level(name, precision, monkeypatch):
    X, _ = STREAMS["duplicates"]
    y, classes = labels(name, "duplicates")
    weights = streams.weights(len(y))
    expected, _, _ = run(name, precision, "duplicates", weights=weights)
    model, scores = LEARNERS[name](**PRECISIONS[precision]), []
    pieces = np.array_split(np.arange(len(y)), 6)
    for n, rows in enumerate(pieces):
        monkeypatch.setenv("POCKETKERNEL_LEVEL", _core.levels()[n % len(_core.levels())])
        model = pickle.loads(pickle.dumps(model))
        scores.append(model.predict_then_learn(X[rows], y[rows], classes=classes, sample_weight=weights[rows]))
    np.testing.assert_array_equal(np.concatenate(scores), expected)


@every_precision
def test_the_other_precision_is_read_as_rounded(name, precision):
    X, _ = STREAMS["sparse"]
    narrow = X.astype(np.float32)
    # float32 rows hold the same numbers in either type; a float32 learner rounds float64 rows itself.
    expected = run(name, precision, "sparse", narrow.astype(np.float64))
    assert same(run(name, precision, "sparse", narrow), expected)
    assert same(run(name, precision, "sparse", sparse.csr_matrix(narrow)), expected)
    if PRECISIONS[precision]["dtype"] == "float32" and "Pocket" not in name:  # which scales rows before it rounds them
        assert same(run(name, precision, "sparse", X), expected)
        assert same(run(name, precision, "sparse", sparse.csr_matrix(X)), expected)


@pytest.mark.parametrize("name", LEARNERS)
def test_stored_zeros_do_not_matter(name):
    X, _ = STREAMS["one_hot"]
    full = sparse.csr_matrix(np.ones_like(X))
    full.data = X.ravel().copy()
    assert same(run(name, "float32", "one_hot", full), run(name, "float32", "one_hot"))


# ---- modes of the processor -----------------------------------------------------------------------------------------

MODES = {"upward": 0x800, "downward": 0x400, "towards 0": 0xC00}  # of x86-64; the last word of its fenv_t is MXCSR
FLUSH = 1 << 15 | 1 << 6  # results below the normal range are 0, and so are inputs


@pytest.fixture
def modes():
    """Sets modes of this thread as other libraries do; and what they are now."""
    if platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
        pytest.skip("the numbers are those of x86-64 and glibc")
    libm = ctypes.CDLL("libm.so.6")
    usual = (ctypes.c_uint32 * 8)()
    libm.fegetenv(usual)

    def change(rounding=0, mxcsr=0):
        env = type(usual).from_buffer_copy(usual)
        env[7] |= mxcsr
        assert libm.fesetenv(env) == 0
        assert libm.fesetround(rounding) == 0

    def now():
        env = type(usual)()
        libm.fegetenv(env)
        return libm.fegetround(), env[7] & FLUSH

    yield change, now
    libm.fesetenv(usual)


def subnormal(rows=400):
    """Columns of which some are below the normal range of single precision."""
    X, y = streams.rings(rows, d=6)
    return X * 10.0 ** np.array([0, 0, -40, -42, 3, -39]), np.where(y > 0, 1, 0)


def as_it_learns(model, X, y):
    """All that comes of building a learner, learning, scoring with two threads, saving and loading."""
    classes = {} if isinstance(model, PocketRegressor) else {"classes": [0, 1]}
    scores = model.predict_then_learn(X, y, **classes)
    state = model._core.save()
    assert model._core.load(state) == 0
    score = model.predict if isinstance(model, PocketRegressor) else model.decision_function
    more = model.predict_interval if isinstance(model, PocketRegressor) else getattr(model, "predict_proba", score)
    told = scores, score(X), score(X[:1]), more(X)
    return *(each.tobytes() for each in told), state, model._core.constants()


@pytest.mark.parametrize("mode", [*MODES, "flush"])
@pytest.mark.parametrize("name", ["MOMDS", "MOMDH", "LKMBooks", "Raker", "Pocket", "PocketRegressor"])
def test_modes_that_another_library_has_set_change_no_bits(name, mode, modes):
    change, now = modes
    X, y = subnormal()
    more = {"PocketRegressor": lambda **given: PocketRegressor(memory="16KiB", random_state=1, **given)}
    make = (LEARNERS | more)[name]
    y = X[:, 0] + 1e-40 * y if name == "PocketRegressor" else y
    expected = as_it_learns(make(n_jobs=2), X, y)
    given = (0, FLUSH) if mode == "flush" else (MODES[mode], 0)
    change(*given)
    try:
        found = as_it_learns(make(n_jobs=2), X, y)
        after = now()
    finally:
        change()
    assert found == expected
    assert after == given  # what the library relies on is left to it


def test_nor_in_a_fleet(modes):
    change, _ = modes
    X, y = subnormal()
    keys = np.arange(len(X)) % 3
    answers = []
    for rounding, mxcsr in ((0, 0), (MODES["upward"], FLUSH)):
        change(rounding, mxcsr)
        try:
            fleet = Fleet(PocketClassifier(memory="4KiB", random_state=1), features=6, classes=[0, 1])
            answers.append(fleet.predict_then_learn(keys, X, y).tobytes())
        finally:
            change()
    assert answers[0] == answers[1]
