"""Several threads: they score together and give the same bits, or meet at a learner and one is refused."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest
from scipy import sparse

import streams
from meeting import met
from pocketkernel import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker, _threads
from pocketkernel.learners import _learner

X, Y = streams.rings(400, d=5)
WIDE, WIDE_Y = streams.sparse_numbers(400, d=70)
LEARNERS = {
    "MOMDS": lambda **given: MOMDS(**{"budget": 60, "random_state": 1} | given),
    "MOMDS, float64": lambda **given: MOMDS(**{"budget": 60, "random_state": 1, "dtype": "float64"} | given),
    "MOMDS, halves": lambda **given: MOMDS(**{"budget": 60, "random_state": 1, "storage": "float16"} | given),
    "MOMDH": lambda **given: MOMDH(**{"budget": 30, "random_state": 1} | given),
    "LKMBooks": lambda **given: LKMBooks(**{"budget": 50, "horizon": 400, "random_state": 1} | given),
    "Raker": lambda **given: Raker(**{"features": 40, "random_state": 1} | given),
    "MulticlassMOMDS": lambda **given: MulticlassMOMDS(**{"budget": 60, "random_state": 1} | given),
    "PocketClassifier": lambda **given: PocketClassifier(**{"memory": "40KiB", "random_state": 1} | given),
    "PocketClassifier, 5": lambda **given: PocketClassifier(**{"memory": "60KiB", "random_state": 1} | given),
}


@pytest.fixture
def threads(monkeypatch):
    """How many threads each block was given; a byte of work is enough for one more."""
    counts = []

    def counting(n_jobs, work):
        counts.append(_threads.thread_count(n_jobs, work))
        return counts[-1]

    monkeypatch.setattr(_threads, "BYTES_PER_THREAD", 1)
    monkeypatch.setattr(_threads, "_cores", lambda: 64)
    monkeypatch.setattr(_learner, "thread_count", counting)
    for name in _threads.THREADS_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return counts


# ---- scoring together -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["dense", "float32", "csr", "wide csr"])
@pytest.mark.parametrize("name", LEARNERS)
def test_same_bits(name, rows, threads):
    wide = rows == "wide csr"
    data = WIDE if wide else X
    y = streams.in_classes(data, 5) if name in ("MulticlassMOMDS", "PocketClassifier, 5") else (WIDE_Y if wide else Y)
    given = {"dense": data, "float32": data.astype(np.float32)}.get(rows)
    given = sparse.csr_matrix(data) if given is None else given
    model = LEARNERS[name](n_jobs=1).fit(given, y)
    before = model._core.save()
    ways = ["decision_function", "predict"] + ["predict_proba"] * (name != "MOMDH")
    for count in (len(y), 8, 7, 3, 1):  # fewer rows than threads, too
        some = given[:count]
        model.set_params(n_jobs=1)
        expected = {way: getattr(model, way)(some) for way in ways}
        assert count < 8 or np.ptp(expected["decision_function"]) > 0
        for n_jobs in (2, 3, 7, 64):
            model.set_params(n_jobs=n_jobs)
            for way in ways:
                np.testing.assert_array_equal(getattr(model, way)(some), expected[way])
                assert threads[-1] == n_jobs
    assert model._core.save() == before


def test_each_row_has_its_own_score(threads):
    """No part of a block is left out, done twice or written elsewhere."""
    model = LEARNERS["MulticlassMOMDS"](n_jobs=7).fit(X, streams.in_classes(X, 3))
    one_by_one = np.concatenate([model.decision_function(row[None]) for row in X])
    for count in (*range(1, 30), 399, 400):
        np.testing.assert_array_equal(model.decision_function(X[:count]), one_by_one[:count])


def test_a_bad_row_is_found_whatever_its_part(threads):
    model = LEARNERS["MOMDS"](n_jobs=3).fit(X, Y)
    for place in (0, 200, 399):
        bad = X.copy()
        bad[place, 1] = np.nan
        with pytest.raises(ValueError, match=f"row {place}, column 1"):
            model.decision_function(bad)


def test_learning_after_scoring_together(threads):
    """The scratch of the others is not that of the learner."""
    model, alone = LEARNERS["MOMDH"](n_jobs=3), LEARNERS["MOMDH"](n_jobs=1)
    for start in range(0, 400, 50):
        part = slice(start, start + 50)
        for learner in (model, alone):
            learner.partial_fit(X[part], Y[part], classes=[-1, 1])
        np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    assert model._core.save() == alone._core.save()


def test_the_core_takes_any_number_of_threads():
    model = LEARNERS["MOMDS"]().fit(X, Y)
    expected, scores = model.decision_function(X), np.empty(400)
    for count in (0, 1, 2, 400, 1000):
        scores[:] = np.nan
        assert model._core.score_dense(X, scores, count) == 0
        np.testing.assert_array_equal(scores, expected)
    none = np.zeros(0)
    columns, starts = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
    assert model._core.score_sparse(none, columns, starts, none, 2) == 0  # no rows, no scores


# ---- how many -------------------------------------------------------------------------------------------------------

ENOUGH = 10**12


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(_threads, "_cores", lambda: 8)
    for name in _threads.THREADS_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_n_jobs(eight_cores):
    for n_jobs, count in [(None, 8), (-1, 8), (1, 1), (3, 3), (99, 8), (10**6, 8), (np.int64(4), 4)]:
        assert _threads.thread_count(n_jobs, ENOUGH) == count


def test_a_file_cannot_ask_for_more_threads_than_cores(eight_cores):
    """One that says n_jobs=10**6 started as many."""
    model = MOMDS(budget=8, n_jobs=10**6, random_state=1).fit(X, Y)
    loaded = MOMDS.from_bytes(model.to_bytes())
    assert loaded.n_jobs == 10**6
    assert _threads.thread_count(loaded.n_jobs, ENOUGH) == 8
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_little_work_is_done_alone(eight_cores):
    least = _threads.BYTES_PER_THREAD
    for work, count in [(0, 1), (least, 1), (2 * least - 1, 1), (2 * least, 2), (5 * least, 5), (50 * least, 8)]:
        assert _threads.thread_count(None, work) == count
        assert _threads.thread_count(2, work) == min(2, count)


@pytest.mark.parametrize(
    ("ours", "openmp", "count"),
    [
        ("3", None, 3), (None, "2", 2), ("3", "2", 3), ("2", "3", 2), ("16", None, 16), (None, "4,2", 4),
        (" 5 ", "2", 5), ("", "2", 2), ("0", "2", 2), ("-1", None, 8), ("many", "2", 2),
        ("1.5", None, 8), (None, "", 8), ("", "x", 8),
    ],
)  # fmt: skip
def test_the_environment(eight_cores, ours, openmp, count):
    for name, value in zip(_threads.THREADS_VARIABLES, (ours, openmp), strict=True):
        if value is not None:
            eight_cores.setenv(name, value)
    assert _threads.THREADS_VARIABLES == ("POCKETKERNEL_NUM_THREADS", "OMP_NUM_THREADS")
    assert _threads.thread_count(None, ENOUGH) == count
    for n_jobs, given in [(1, 1), (6, 6), (-1, 8)]:  # the parameter says it
        assert _threads.thread_count(n_jobs, ENOUGH) == given


@pytest.mark.parametrize("variable", _threads.THREADS_VARIABLES)
def test_the_environment_counts_when_it_is_used(variable, threads, monkeypatch):
    model = LEARNERS["MOMDS"]().fit(X, Y)
    expected = model.decision_function(X)
    for count in (1, 3, 5):
        monkeypatch.setenv(variable, str(count))
        np.testing.assert_array_equal(model.decision_function(X), expected)
        assert threads[-1] == count


@pytest.mark.parametrize("n_jobs", [0, -2, 2.0, "2", False, np.array([2])], ids=repr)
def test_bad_n_jobs(n_jobs):
    with pytest.raises(ValueError, match="n_jobs="):
        _threads.thread_count(n_jobs, ENOUGH)
    with pytest.raises(ValueError, match=r"n_jobs=.*use 1 or more, -1 for all cores, or None"):
        LEARNERS["MOMDS"](n_jobs=n_jobs).fit(X, Y)


# ---- two threads at one learner -------------------------------------------------------------------------------------

LONG, LONG_Y = streams.rings(20_000, d=5)
ASKING = {
    "decision_function": lambda model: model.decision_function(X[:1]),
    "a block": lambda model: model.decision_function(X),
    "predict": lambda model: model.predict(sparse.csr_matrix(X[:1])),
    "predict_proba": lambda model: model.predict_proba(X[:1]),
    "kernel_weights_": lambda model: model.kernel_weights_,
    "diagnostics_": lambda model: model.diagnostics_,
    "pickle": pickle.dumps,
    "deepcopy": copy.deepcopy,
}
LEARNING = {
    "partial_fit": lambda model: model.partial_fit(X[:1], Y[:1]),
    "partial_fit, CSR": lambda model: model.partial_fit(sparse.csr_matrix(X[:1]), Y[:1]),
    "predict_then_learn": lambda model: model.predict_then_learn(X[:1], Y[:1]),
}
SHARED = {
    "MOMDS": lambda: MOMDS(budget=400, random_state=0, n_jobs=1).fit(X, Y),
    "MulticlassMOMDS": lambda: MulticlassMOMDS(budget=400, random_state=0, n_jobs=1).fit(X, Y),
    "PocketClassifier": lambda: PocketClassifier(random_state=0, n_jobs=1).fit(X, Y),
}


@pytest.mark.parametrize("call", ASKING)
@pytest.mark.parametrize("name", SHARED)
def test_asking_while_another_thread_learns(name, call):
    model, _, scores = met(SHARED[name], lambda model: model.predict_then_learn(LONG, LONG_Y), ASKING[call])
    alone = SHARED[name]()
    np.testing.assert_array_equal(scores, alone.predict_then_learn(LONG, LONG_Y))
    assert model._core.save() == alone._core.save()
    ASKING[call](model)  # it is free again


@pytest.mark.parametrize("call", LEARNING)
@pytest.mark.parametrize("name", SHARED)
def test_learning_while_another_thread_learns(name, call):
    model, before, _ = met(SHARED[name], lambda model: model.partial_fit(LONG, LONG_Y), LEARNING[call])
    alone = SHARED[name]()
    for _ in range(before):
        LEARNING[call](alone)
    alone.partial_fit(LONG, LONG_Y)
    assert model.diagnostics_.rounds == SHARED[name]().diagnostics_.rounds + before + len(LONG_Y)
    assert model._core.save() == alone._core.save()
    LEARNING[call](model)
    LEARNING[call](alone)
    assert model._core.save() == alone._core.save()


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("call", LEARNING)
def test_learning_while_others_score(call, n_jobs):
    def make():
        return SHARED["MOMDS"]().set_params(n_jobs=n_jobs)

    model, before, scores = met(make, lambda model: model.decision_function(LONG), LEARNING[call])
    alone = make()
    for _ in range(before):
        LEARNING[call](alone)
    np.testing.assert_array_equal(scores, alone.set_params(n_jobs=1).decision_function(LONG))
    assert model._core.save() == alone._core.save()


def test_a_fit_begins_anew_and_disturbs_no_one():
    def fit_once_it_is_held(model):
        try:
            model.decision_function(X[:1])
        except RuntimeError:
            model.fit(X, Y)
            raise

    make = SHARED["MOMDS"]
    model, _, scores = met(make, lambda model: model.predict_then_learn(LONG, LONG_Y), fit_once_it_is_held)
    np.testing.assert_array_equal(scores, make().predict_then_learn(LONG, LONG_Y))
    assert model._core.save() == make()._core.save()


def test_learners_of_their_own_do_not_meet():
    models = [SHARED[name]() for name in ("MOMDS", "MulticlassMOMDS") * 2]
    expected = [pickle.loads(pickle.dumps(model)).predict_then_learn(LONG, LONG_Y) for model in models[:2]]
    answers = {}

    def learn(n):
        answers[n] = models[n].predict_then_learn(LONG, LONG_Y)

    workers = [threading.Thread(target=learn, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for n in range(4):
        np.testing.assert_array_equal(answers[n], expected[n % 2])


def test_two_fits_at_once_leave_one_whole_model():
    """One of them is refused, or they come one after the other; names, labels and learner always belong together."""
    rng = np.random.default_rng(0)
    wide, narrow = rng.normal(size=(300, 5)), rng.normal(size=(300, 3))
    names, numbers = np.where(wide[:, 0] > 0, "a", "b"), (narrow[:, 0] > 0).astype(int)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    refused = []

    def fit(model, rows, labels):
        try:
            model.fit(rows, labels)
        except RuntimeError as error:
            refused.append(str(error))

    try:
        for _ in range(60):
            model = LEARNERS["MOMDS"]()
            threads = [threading.Thread(target=fit, args=(model, *data)) for data in ((wide, names), (narrow, numbers))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert model.n_features_in_ == model._recipe.features == (5 if model.classes_.dtype.kind == "U" else 3)
            assert model.diagnostics_.rounds == 300
    finally:
        sys.setswitchinterval(interval)
    assert all("in use by another thread" in message for message in refused)
