"""Several threads: they score a block together with the same bits, and meet at one model in order."""

import itertools
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import pocketkernel
import streams
from meeting import met, switching_often
from pocketkernel import (
    MOMDH,
    MOMDS,
    LKMBooks,
    MulticlassMOMDS,
    PocketClassifier,
    PocketRegressor,
    Raker,
    SharedMOMDH,
    TableClassifier,
    _threads,
    learners,
)
from pocketkernel._alone import alone
from pocketkernel.evaluate import Job, run_job
from pocketkernel.fleet import Fleet
from pocketkernel.learners import _learner
from waiting import until

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


# ---- threads at one model -------------------------------------------------------------------------------------------

LONG, LONG_Y = streams.rings(20_000, d=5)
SHARED = {
    "MOMDS": lambda: MOMDS(budget=400, random_state=0, n_jobs=1).fit(X, Y),
    "MulticlassMOMDS": lambda: MulticlassMOMDS(budget=400, random_state=0, n_jobs=1).fit(X, Y),
    "PocketClassifier": lambda: PocketClassifier(random_state=0, n_jobs=1).fit(X, Y),
}
SLICE = 256
"""Rows that are learned at once: between two slices, those who predict come in."""


def bits(*arrays):
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def told(met_with):
    """The model; the counts are shown by `pytest -s`."""
    model, answers, moments = met_with
    print(f"{type(model).__name__}: {answers} answers of {moments} moments")
    assert moments > 3
    return model


STREAM, STREAM_Y = streams.rings(30 * SLICE, d=5)
PIECES = [slice(start, start + SLICE) for start in range(0, len(STREAM), SLICE)]
EVERY = {
    "MOMDS": lambda: MOMDS(budget=60, random_state=1),
    "MOMDH": lambda: MOMDH(budget=30, random_state=1),
    "SharedMOMDH": lambda: SharedMOMDH(budget=40, random_state=1),
    "LKMBooks": lambda: LKMBooks(budget=50, horizon=9000, random_state=1),
    "Raker": lambda: Raker(features=40, random_state=1),
    "MulticlassMOMDS": lambda: MulticlassMOMDS(budget=60, random_state=1),
    "PocketClassifier": lambda: PocketClassifier(memory="40KiB", random_state=1),
    "PocketClassifier, 3": lambda: PocketClassifier(memory="60KiB", random_state=1),
    "PocketRegressor": lambda: PocketRegressor(memory="40KiB", random_state=1),
}


def test_every_learner_is_here():
    assert {name.split(",")[0] for name in EVERY} == set(learners.__all__)


@pytest.mark.parametrize("rows", ["dense", "csr"])
@pytest.mark.parametrize("name", EVERY)
def test_every_answer_is_that_of_some_moment(name, rows):
    """Eight threads predict, one learns, in calls of one to three slices."""
    given = sparse.csr_matrix(STREAM) if rows == "csr" else STREAM
    y = streams.in_classes(STREAM, 3) if name in ("MulticlassMOMDS", "PocketClassifier, 3") else STREAM_Y

    def teach(model, pieces):
        some = slice(pieces[0].start, pieces[-1].stop)
        model.partial_fit(given[some], y[some])

    def ask(model):
        if name == "PocketRegressor":
            return bits(model.predict(given[:3]))
        return bits(model.decision_function(given[:3]))

    model = told(met(lambda: EVERY[name]().partial_fit(given[:9], y[:9]), PIECES, teach, ask, together=3))
    assert model.nbytes == EVERY[name]().partial_fit(given[:9], y[:9]).nbytes


@pytest.mark.parametrize("kind", ["numbers", "names", "descending"])
def test_labels_come_with_their_rows(kind, monkeypatch):
    """Every call brings a new one. No answer has a label that is not yet learned, nor lacks one that is."""
    count, original = 60, PocketClassifier._coded

    def coded(self, y):
        time.sleep(0.0005)  # between the label and its rows, where nobody may predict
        return original(self, y)

    monkeypatch.setattr(PocketClassifier, "_coded", coded)
    labels = {"numbers": np.arange(count), "names": np.array([f"label {n:02}" for n in range(count)])}
    labels["descending"] = labels["numbers"][::-1].copy()
    y = np.repeat(labels[kind], 3)

    def make():
        return PocketClassifier(memory="256KiB", n_classes=count, random_state=1).partial_fit(STREAM[:6], y[:6])

    def teach(model, pieces):
        for some in pieces:
            model.partial_fit(STREAM[some], y[some])

    def ask(model):
        assert model.predict(STREAM[:2]).shape == (2,)
        return bits(model.predict_proba(STREAM[:2]))

    told(met(make, [slice(start, start + 3) for start in range(6, 3 * count, 3)], teach, ask))


@pytest.mark.parametrize("class_", [MOMDS, PocketClassifier])
@pytest.mark.parametrize("what", ["to_bytes", "pickle", "diagnostics_", "certificate", "balanced"])
def test_what_is_read_is_of_one_moment(what, class_):
    def make():
        weight = "balanced" if what == "balanced" else None
        return class_(memory="40KiB", class_weight=weight, random_state=1).partial_fit(STREAM[:9], STREAM_Y[:9])

    def teach(model, pieces):
        some = slice(pieces[0].start, pieces[-1].stop)
        model.partial_fit(STREAM[some], STREAM_Y[some])

    asked = {
        "to_bytes": lambda model: model.to_bytes(),
        "pickle": lambda model: pickle.loads(pickle.dumps(model)).to_bytes(),
        "diagnostics_": lambda model: repr(model.diagnostics_),
        "certificate": lambda model: repr(model.certificate()),
        "balanced": lambda model: model.to_bytes(),
    }
    together = 1 if what == "balanced" else 3
    told(met(make, PIECES[:20], teach, asked[what], together=together, readers=4))


def test_scores_of_kernels():
    model = EVERY["MOMDH"]().fit(STREAM, STREAM_Y)
    expected = model.kernel_scores(STREAM)
    for scores in run_all(model.kernel_scores, [STREAM] * 16):
        np.testing.assert_array_equal(scores, expected)


def test_an_interval_is_of_one_moment():
    def make():
        return PocketRegressor(memory="40KiB", random_state=1).partial_fit(STREAM[:9], STREAM[:9, 0])

    def teach(model, pieces):
        some = slice(pieces[0].start, pieces[-1].stop)
        model.partial_fit(STREAM[some], STREAM[some, 0] * STREAM[some, 1])

    told(met(make, PIECES, teach, lambda model: bits(model.predict_interval(STREAM[:2])), together=3))


def test_a_fit_is_seen_when_it_is_whole():
    """Those who predict meanwhile do so with the old model; other columns, labels and all."""
    given = []
    for count in (200, 300, 400):
        given += [(STREAM[:count], STREAM_Y[:count]), (WIDE[:count], np.where(WIDE_Y[:count] > 0, "b", "a"))]
        given += [(STREAM[:count, :3], STREAM_Y[:count])]

    def ask(model):
        while True:  # by the time that it is asked, the model may have other columns than were tried
            for row in (STREAM[:1], WIDE[:1], STREAM[:1, :3]):
                with suppress(ValueError):
                    return bits(model.predict_proba(row))

    def make():
        return PocketClassifier(memory="20KiB", random_state=0).fit(STREAM[:100], STREAM_Y[:100])

    def teach(model, pieces):
        for X, y in pieces:
            model.fit(X, y)

    told(met(make, given, teach, ask))


@pytest.mark.parametrize("count", [2, 5])
def test_those_who_learn_come_one_after_the_other(count):
    """A block is learned as a whole: the end is that of some order."""
    parts = [slice(n * 3 * SLICE, (n + 1) * 3 * SLICE) for n in range(count)]
    for rows in (STREAM, sparse.csr_matrix(STREAM)):
        model = LEARNERS["MOMDS"]().fit(STREAM[:100], STREAM_Y[:100])
        ready = threading.Barrier(count)

        def learn(part, model=model, rows=rows, ready=ready):
            ready.wait()
            model.partial_fit(rows[part], STREAM_Y[part])

        run_all(learn, parts)
        ends = []
        for order in itertools.permutations(parts):
            one = LEARNERS["MOMDS"]().fit(STREAM[:100], STREAM_Y[:100])
            for part in order:
                one.partial_fit(rows[part], STREAM_Y[part])
            ends.append(one.to_bytes())
        assert model.to_bytes() in ends


def run_all(work, given):
    """Each in a thread of its own; the first error is raised."""
    with ThreadPoolExecutor(len(given)) as pool:
        return list(pool.map(work, given))


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
    """They come one after the other; names, labels and learner always belong together."""
    rng = np.random.default_rng(0)
    wide, narrow = rng.normal(size=(300, 5)), rng.normal(size=(300, 3))
    given = [(wide, np.where(wide[:, 0] > 0, "a", "b")), (narrow, (narrow[:, 0] > 0).astype(int))]
    with switching_often():
        for _ in range(60):
            model = LEARNERS["MOMDS"]()
            run_all(lambda data, model=model: model.fit(*data), given)
            assert model.n_features_in_ == model._recipe.features == (5 if model.classes_.dtype.kind == "U" else 3)
            assert model.diagnostics_.rounds == 300


def test_scikit_learn_from_a_pool():
    model = SHARED["PocketClassifier"]()
    calls = {
        "predict": lambda: model.predict(X),
        "predict_proba": lambda: model.predict_proba(X),
        "decision_function": lambda: model.decision_function(sparse.csr_matrix(X)),
        "score": lambda: model.score(X, Y),
        "a list": lambda: model.predict(X.tolist()),
    }
    expected = {name: call() for name, call in calls.items()}
    with switching_often():
        for name, answer in run_all(lambda name: (name, calls[name]()), list(calls) * 20):
            np.testing.assert_array_equal(answer, expected[name])


def test_errors_are_those_of_the_call():
    """Not of the row that another thread was refused."""
    model = LEARNERS["MOMDS"]().fit(X, Y)

    def ask(place):
        bad = X.copy()
        bad[place, place % 5] = np.nan
        with pytest.raises(ValueError, match=f"row {place}, column {place % 5}"):
            model.decision_function(bad)
        with pytest.raises(ValueError, match=f"row {place}, column {place % 5}"):
            model.partial_fit(bad, Y)

    with switching_often():
        run_all(ask, list(range(0, 400, 10)))
    assert model.to_bytes() == LEARNERS["MOMDS"]().fit(X, Y).to_bytes()


def test_nobody_waits_for_ever():
    """Some predict all the time, and some learn all the time: both get on."""
    model = SHARED["MOMDS"]()
    over, counts = threading.Event(), {"ask": 0, "learn": 0}

    def ask(_):
        while not over.is_set():
            model.decision_function(LONG[:300])
            counts["ask"] += 1

    def learn(_):
        while not over.is_set():
            model.partial_fit(LONG[:300], LONG_Y[:300])
            counts["learn"] += 1

    threads = [threading.Thread(target=work, args=(n,)) for work in (ask, learn) for n in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: min(counts.values()) > 50)
    over.set()
    for thread in threads:
        thread.join()


def test_scratch_is_for_those_who_meet():
    """Alone, a prediction takes nothing; the second one at a time takes as much as is said."""
    for name, make in EVERY.items():
        y = streams.in_classes(X, 3) if name in ("MulticlassMOMDS", "PocketClassifier, 3") else Y
        model = make().partial_fit(X, y)
        assert 0 < model.scratch_bytes < model.nbytes


# ---- fleets, River, runs --------------------------------------------------------------------------------------------

FLEETS = {
    "memory": {},
    "base": {"base": "shared"},
    "evictions": {"max_keys": 4},
    "archive": {"max_keys": 4, "store": True},
    "balanced": {"class_weight": "balanced"},
}


@pytest.mark.parametrize("rows", ["dense", "csr"])
@pytest.mark.parametrize("kind", FLEETS)
def test_fleets(kind, rows, tmp_path):
    given = dict(FLEETS[kind])
    rng = np.random.default_rng(0)
    keys, made = np.minimum(rng.zipf(1.5, 2000), 9), itertools.count()
    few = sparse.csr_matrix(STREAM[:2000]) if rows == "csr" else STREAM[:2000]
    learner = PocketClassifier(memory="4KiB", class_weight=given.pop("class_weight", None), random_state=0)
    store = given.pop("store", False)

    def make():
        more = {"store": tmp_path / str(next(made))} if store else {}
        return Fleet(learner, features=5, classes=[-1, 1], n_jobs=2, **given, **more)

    def teach(fleet, pieces):
        for some in pieces:
            fleet.partial_fit(keys[some], few[some], STREAM_Y[some])

    def ask(fleet):
        return bits(fleet.decision_function(np.arange(1, 11), few[:10]))  # one of them is never learned

    told(met(make, [slice(at, at + 50) for at in range(0, 2000, 50)], teach, ask)).close()


@pytest.mark.parametrize("name", [name for name in EVERY if "," not in name])
def test_a_fleet_of_every_learner(name):
    keys = np.arange(600) % 7

    def make():
        return Fleet(EVERY[name](), features=5, classes=None if name == "PocketRegressor" else [-1, 1], n_jobs=1)

    def teach(fleet, pieces):
        for some in pieces:
            fleet.partial_fit(keys[some], STREAM[some], STREAM_Y[some])

    def ask(fleet):
        counters = fleet.tally()
        assert len(counters["keys"]) == len(counters["rounds"]) <= len(fleet)
        if len(fleet):
            fleet[fleet.keys()[0]].to_bytes()
        answer = fleet.predict if name == "PocketRegressor" else fleet.decision_function
        return bits(answer(keys[:4], STREAM[:4]))

    pieces = [slice(at, at + 20) for at in range(0, 600, 20)]
    fleet = told(met(make, pieces, teach, ask))
    assert fleet.nbytes >= make().nbytes


@pytest.mark.parametrize("width", [160, 80])
@pytest.mark.parametrize("how", ["one", "many"])
def test_river(how, width):
    """Names and labels appear while others predict; of 80 columns, names come to share them."""
    river = pytest.importorskip("pocketkernel.river")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows, labels = [], []
    for n in range(160):
        names = [f"x{k}" for k in (n, *rng.permutation(n + 1)[:3]) if n]  # every row has a new name
        rows.append({name: float(rng.normal()) for name in names})
        labels.append("abcdef"[rng.integers(1 + n // 32)])
    asked = {f"x{k}": 0.01 * k for k in range(160)}

    def make():
        model = river.KernelClassifier(PocketClassifier(memory="40KiB", n_classes=6), width=width, seed=0)
        model.learn_one(rows[0], labels[0])
        return model

    def teach(model, pieces):
        for at in pieces:
            if how == "one":
                model.learn_one(rows[at], labels[at])
            else:
                some = slice(at, at + 4)
                frame = pandas.DataFrame(rows[some], index=range(4)).fillna(0.0)
                model.learn_many(frame, pandas.Series(labels[some]))

    def ask(model):
        if how == "one":
            return repr(model.predict_proba_one(asked))
        answers = model.predict_proba_many(pandas.DataFrame([asked, rows[100]]).fillna(0.0))
        return repr(answers.columns.tolist()), bits(answers.to_numpy())

    told(met(make, list(range(1, 157, 1 if how == "one" else 4)), teach, ask))


@pytest.mark.parametrize("what", ["to_bytes", "pickle"])
def test_river_is_saved_whole(what):
    river = pytest.importorskip("pocketkernel.river")

    def make():
        model = river.KernelClassifier(MOMDS(budget=20), width=40, seed=0)
        model.learn_one({"x0": 1.0}, True)
        return model

    def teach(model, pieces):
        for n in pieces:
            model.learn_one({f"x{n}": 1.0, "y": float(n)}, n % 2 == 0)

    def ask(model):
        return (model if what == "to_bytes" else pickle.loads(pickle.dumps(model))).to_bytes()

    told(met(make, list(range(1, 35)), teach, ask, readers=4))


def test_a_loaded_run(tmp_path):
    """Categories get places and the scale moves while others predict."""
    rng = np.random.default_rng(0)
    sizes = rng.normal(size=300)
    rows = [{"size": float(size), "colour": f"c{rng.integers(2 + n // 30)}"} for n, size in enumerate(sizes)]
    for row in rows:
        row["kind"] = "apple" if (row["size"] > 0) == (row["colour"] > "c1") else "pear"
    file = tmp_path / "fruit.csv"
    file.write_text("size,colour,kind\n" + "".join(f"{r['size']},{r['colour']},{r['kind']}\n" for r in rows[:100]))
    parameters = {"random_state": 0, "memory": "32KiB"}
    run_job(
        Job(str(file), parameters=parameters, reading={"label": "kind", "strict": False}, scale="standard"),
        tmp_path / "fruit.run",
    )

    def teach(model, pieces):
        for at in pieces:
            model.partial_fit(rows[at : at + 8])

    def ask(model):
        return bits(model.predict_proba([{"size": 0.3, "colour": "c7"}, {"size": -1.0, "colour": "c0"}]))

    def make():
        return pocketkernel.load(tmp_path / "fruit.run")

    pieces = list(range(100, 292, 8))
    told(met(make, pieces, teach, ask))
    told(met(make, pieces, teach, lambda model: pickle.loads(pickle.dumps(model)).to_bytes(), readers=3))


def test_a_table_model():
    """It is fitted anew while others predict, and goes on with new levels and new classes."""
    rows = [{"size": float(k % 11), "colour": f"c{k % (3 + k // 40)}"} for k in range(240)]
    labels = ["apple" if (row["size"] > 5) == (row["colour"] > "c1") else "pear" for row in rows]

    def make():
        return TableClassifier(PocketClassifier(memory="16KiB"), random_state=0).fit(rows[:40], labels[:40])

    def teach(model, pieces):
        for at in pieces:
            part = slice(at, at + 8)
            if at % 64:
                model.partial_fit(rows[part], labels[part])
            else:
                model.fit(rows[:at], labels[:at])

    def ask(model):
        return bits(model.predict_proba([{"size": 0.3, "colour": "c7"}, {"size": 9.0, "colour": "c0"}]))

    pieces = list(range(40, 240, 8))
    told(met(make, pieces, teach, ask))
    told(met(make, pieces, teach, lambda model: pickle.loads(pickle.dumps(model)).to_bytes(), readers=3))


# ---- one thread, and signals ----------------------------------------------------------------------------------------

posix = pytest.mark.skipif(sys.platform == "win32", reason="it has no such alarm")
WAITING = {
    "decision_function": lambda model: model.decision_function(X[:1]),
    "a block": lambda model: model.decision_function(X),
    "CSR": lambda model: model.predict(sparse.csr_matrix(X)),
    "partial_fit": lambda model: model.partial_fit(X[:1], Y[:1]),
    "partial_fit, CSR": lambda model: model.partial_fit(sparse.csr_matrix(X), Y),
    "diagnostics_": lambda model: model.diagnostics_,
    "to_bytes": lambda model: model.to_bytes(),
}


@contextmanager
def taken(*owners):
    """Another thread has turns of these objects."""
    has, end = threading.Event(), threading.Event()

    def hold():
        with ExitStack() as turns:
            for owner in owners:
                turns.enter_context(alone(owner))
            has.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    has.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextmanager
def alarm(seconds, handler):
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@posix
@pytest.mark.parametrize("call", WAITING)
def test_who_waits_answers_ctrl_c(call):
    model = SHARED["MOMDS"]()
    before = model.to_bytes()
    with (
        taken(model, model._core),
        alarm(0.1, signal.default_int_handler),
        pytest.raises(KeyboardInterrupt),
    ):
        WAITING[call](model)
    assert model.to_bytes() == before
    WAITING[call](model)  # it is free, and nobody stands in the queue


@posix
def test_ctrl_c_of_one_who_lets_others_in():
    """The first rows have been learned, and readers go on."""
    model, over = SHARED["MOMDS"](), threading.Event()

    def ask():
        while not over.is_set():
            model.decision_function(LONG[:2000])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        with alarm(0.2, signal.default_int_handler), pytest.raises(KeyboardInterrupt):
            while True:
                model.partial_fit(LONG, LONG_Y)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    rounds, fresh = model.diagnostics_.rounds - 400, SHARED["MOMDS"]()
    for _ in range(rounds // len(LONG)):
        fresh.partial_fit(LONG, LONG_Y)
    left = rounds % len(LONG)
    if left:
        fresh.partial_fit(LONG[:left], LONG_Y[:left])
    assert fresh.to_bytes() == model.to_bytes()


@posix
def test_a_handler_cannot_wait_for_its_own_thread():
    """In the middle of learning it gets an error; in the middle of a prediction it may predict."""
    model, never = SHARED["MOMDS"](), SHARED["MOMDS"]()
    met_with, answers = [], []
    expected = model.decision_function(X[:3])

    def handle(*_):
        try:
            answers.append(np.array_equal(model.decision_function(X[:3]), expected))
        except RuntimeError as error:
            met_with.append(str(error))
        try:
            model.partial_fit(X[:1], Y[:1])
        except RuntimeError as error:
            met_with.append(str(error))

    big = np.tile(LONG, (20, 1))
    with alarm(0.05, handle):
        scores = model.decision_function(big)
        assert answers and all(answers) and met_with  # it predicted, and could not learn
        learned = len(met_with)
        answers.clear()
        while len(met_with) < learned + 4:
            model.partial_fit(LONG, LONG_Y)
            never.partial_fit(LONG, LONG_Y)
            signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    assert all("this very thread" in message for message in met_with)
    np.testing.assert_array_equal(scores[: len(LONG)], SHARED["MOMDS"]().decision_function(LONG))


def test_a_callback_in_the_middle_of_a_call():
    """Rows whose conversion uses the model: it may predict, and not learn."""
    model = SHARED["MOMDS"]()
    seen = []

    class Odd:
        def __array__(self, dtype=None, copy=None):
            seen.append(model.predict(X[:2]).tolist())
            with pytest.raises(RuntimeError, match="this very thread"):
                model.partial_fit(X[:1].tolist(), Y[:1])
            return np.array(X)

    expected = model.predict(X[:2]).tolist()
    model.partial_fit(Odd(), Y)
    assert seen == [expected] * len(seen) and seen
    assert model.diagnostics_.rounds == 800


# ---- the end of the process -----------------------------------------------------------------------------------------

ENDING = """
import atexit, sys, threading, time
atexit.register(lambda: sys.argv[1] == "save" and print(len(model.to_bytes()) == size))
import streams
from pocketkernel import MOMDS

X, y = streams.rings(20_000, d=5)
model = MOMDS(budget=400, n_jobs=1, random_state=0).partial_fit(X[:500], y[:500])
size = len(model.to_bytes())

def again(call, *given):
    while True:
        call(*given)

for call, *given in [(model.partial_fit, X, y), (model.decision_function, X)] * 2:
    threading.Thread(target=again, args=(call, *given), daemon=True).start()
time.sleep(0.2)
print("the end")
"""


@pytest.mark.parametrize("what", ["save", "nothing"])
def test_the_process_ends_while_threads_are_at_work(what):
    """It aborted: daemon threads were ended in the middle of C++. A model may still be saved at the end."""
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", ENDING, what], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=300
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split("\n")[:2] == ["the end", "True" if what == "save" else ""]
