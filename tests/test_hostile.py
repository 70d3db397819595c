"""Callers that change their arrays while these are read, interrupt, or fork: memory, learners and answers survive."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import streams
from alarm import rung, rung_in_the_middle
from discover import ESTIMATORS, small
from pocketkernel import MOMDH, MOMDS, MulticlassMOMDS, PocketClassifier, PocketRegressor, Raker
from pocketkernel._alone import together
from pocketkernel._threads import allowed_threads
from pocketkernel.fleet import Fleet
from pocketkernel.kernels import Gaussian
from waiting import cpu_seconds, until, until_at_work

# ---- arrays that another thread refills -----------------------------------------------------------------------------

# In a process of its own, since wrong memory ends it. What is learned and answered there is rubbish, and may be.
REFILL = """
import sys, threading, time, warnings
import numpy as np
from scipy import sparse
from discover import ESTIMATORS, REGRESSORS, small

rng = np.random.default_rng(int(sys.argv[2]))
seconds = float(sys.argv[1]) / (2 * len(ESTIMATORS + REGRESSORS))
n, d = 600, 80
few, many = np.zeros((n, d)), rng.normal(size=(n, d))
few[:, ::8] = many[:, ::8]
rubbish = np.where(rng.random((n, d)) < 0.1, rng.choice([np.nan, np.inf, -np.inf, 1e300, -0.0], (n, d)), many)
y = rng.integers(2, size=n)
done = False


def refilling(arrays, contents):
    def refill():
        while not done:
            for array, content in zip(arrays, contents[refills[0] % len(contents)]):
                array[:] = content
            refills[0] += 1
    thread = threading.Thread(target=refill)
    thread.start()
    return thread


rows = 0
refills = [0]
warnings.simplefilter("ignore")
for class_ in ESTIMATORS + REGRESSORS:
    for kind in ("dense", "csr"):
        room = {"memory": "16KiB"} if class_ in REGRESSORS else {}
        model = small(class_, n_jobs=2, **room).fit(few, y)
        score = getattr(model, "decision_function", model.predict)
        if kind == "dense":
            X = few.copy()
            y_, w = (y * 1.0 if class_ in REGRESSORS else y.copy()), np.ones(n)
            thread = refilling([X, y_, w], [[few, y, 1.0], [many, y, 1e9], [rubbish, 7, np.nan]])
        else:
            X = sparse.csr_matrix(np.where(rng.random((n, d)) < 0.3, many, 0.0))
            columns, starts = X.indices.copy(), X.indptr.copy()
            wild = rng.choice([-1, 0, d, 2**31 - 1, -(2**31)], len(columns))
            y_, w = (y * 1.0 if class_ in REGRESSORS else y.copy()), np.ones(n)
            thread = refilling(
                [X.data, X.indices, X.indptr, y_, w],
                [[X.data.copy(), columns, starts, y, 1.0], [np.nan, wild, rng.permutation(starts), 7, -1.0],
                 [1.0, columns[::-1], 2**31 - 1, y, 1e300]],
            )
        begin, before = time.monotonic(), refills[0]
        while time.monotonic() - begin < seconds or refills[0] < before + 3:
            for call in (lambda: model.partial_fit(X, y_, sample_weight=w), lambda: score(X)):
                rows += n
                try:
                    call()
                except (ValueError, IndexError, OverflowError):
                    pass  # it was caught in the act
        done = True
        thread.join()
        done = False
print(rows, refills[0])
"""


REFILL_FLEET = """
import sys, threading, time, warnings
import numpy as np
from scipy import sparse
from pocketkernel import MOMDS, PocketClassifier, PocketRegressor
from pocketkernel.fleet import Fleet

rng = np.random.default_rng(int(sys.argv[2]))
n, d = 600, 80
few, many = np.zeros((n, d)), rng.normal(size=(n, d))
few[:, ::8] = many[:, ::8]
rubbish = np.where(rng.random((n, d)) < 0.1, rng.choice([np.nan, np.inf, -np.inf, 1e300, -0.0], (n, d)), many)
y = rng.integers(2, size=n)
LEARNERS = (PocketClassifier(memory="24KiB", random_state=0), MOMDS(budget=12, random_state=0),
            PocketRegressor(memory="24KiB", random_state=0))
WAYS = [(learner, kind, given) for learner in LEARNERS for kind in ("dense", "csr")
        for given in ({}, {"base": "shared"}, {"max_keys": 20})]
rows, refills, done = 0, 0, False
warnings.simplefilter("ignore")


def refill(arrays, contents):
    global refills
    while not done:
        for array, content in zip(arrays, contents[refills % len(contents)]):
            array[:] = content
        refills += 1


for learner, kind, given in WAYS:
    numbers = isinstance(learner, PocketRegressor)
    fleet = Fleet(learner, features=d, classes=None if numbers else [0, 1], n_jobs=2, **given)
    keys, y_, w = rng.integers(0, 50, n), y * 1.0 if numbers else y.copy(), np.ones(n)
    fleet.partial_fit(keys, few, y_)
    others = rng.integers(-(2**62), 2**62, n)
    if kind == "dense":
        X = few.copy()
        arrays, odd = [X], [[few], [many], [rubbish]]
    else:
        X = sparse.csr_matrix(np.where(rng.random((n, d)) < 0.3, many, 0.0))
        wild = rng.choice([-1, 0, d, 2**31 - 1, -(2**31)], len(X.indices))
        arrays = [X.data, X.indices, X.indptr]
        odd = [[array.copy() for array in arrays], [np.nan, wild, rng.permutation(X.indptr)],
               [1.0, X.indices[::-1].copy(), 2**31 - 1]]
    rest = [[keys.copy(), y, 1.0], [others, y, 1e9], [keys[::-1].copy(), 7, np.nan]]
    contents = [some + more for some, more in zip(odd, rest)]
    thread = threading.Thread(target=refill, args=(arrays + [keys, y_, w], contents))
    thread.start()
    begin, before = time.monotonic(), refills
    while time.monotonic() - begin < float(sys.argv[1]) / len(WAYS) or refills < before + 3:
        answer = fleet.predict if numbers else fleet.decision_function
        for call in (lambda: fleet.partial_fit(keys, X, y_, sample_weight=w), lambda: answer(keys, X)):
            rows += n
            try:
                call()
            except (ValueError, IndexError, OverflowError):
                pass
    done = True
    thread.join()
    done = False
print(rows, refills)
"""


@pytest.mark.parametrize("script", [REFILL, REFILL_FLEET], ids=["learners", "fleets"])
def test_arrays_refilled_while_they_are_read(capsys, script):
    """Each way to read them goes on until its arrays have had all three contents, however busy the machine is."""
    seconds = float(os.environ.get("POCKETKERNEL_REFILL_SECONDS", "6"))
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script, str(seconds), "1"],
        capture_output=True, text=True, timeout=60 + 10 * seconds, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    rows, refills = map(int, run.stdout.split())
    with capsys.disabled():
        print(f"\n{rows:,} rows in {seconds:.0f} s while their arrays were refilled {refills:,} times")
    assert refills > len(ESTIMATORS)


# ---- states that streams lead to -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("class_", ESTIMATORS)
def test_states_of_extreme_streams_are_valid(class_, dtype):
    """What a learner has become by learning, it can save and load, however large its rows and weights are."""
    rng = np.random.default_rng(2)
    largest = 1e18 if dtype == "float32" else 1e70
    model = small(class_, dtype=dtype)
    for block in range(60):
        X = rng.normal(size=(100, 6)) * 10.0 ** rng.choice([-30, -3, 0, 3, 12, np.log10(largest)], size=(100, 1))
        X = np.clip(np.where(rng.random(X.shape) < 0.3, 0.0, X), -largest, largest)
        y = rng.integers(2, size=100) if block % 3 else np.full(100, block % 2)
        weights = rng.choice([1e-300, 1e-3, 1.0, 1e4, 1e9], size=100) if block % 2 else None
        scores = model.predict_then_learn(X, y, classes=[0, 1], sample_weight=weights)
        assert np.all(np.isfinite(scores))
        assert class_.from_bytes(model.to_bytes())._core.save() == model._core.save()


# ---- signs of zero --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [5, 80])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("class_", ESTIMATORS)
def test_negative_zeros_leave_no_trace(class_, dtype, width):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, width)) * (rng.random((80, width)) < 0.15)
    y = rng.integers(2, size=80)
    negative = np.where(X == 0, -0.0, X)
    stored = sparse.csr_matrix(np.where(X == 0, 7.0, X))  # with every zero in it, too
    stored.data[stored.data == 7.0] = -0.0
    given = {"dtype": dtype} | ({"memory": "24KiB"} if class_ is PocketClassifier else {})
    expected = small(class_, **given).fit(X, y).to_bytes()
    for rows in (negative, sparse.csr_matrix(X), sparse.csr_matrix(negative), stored, negative.astype(np.float64)):
        assert small(class_, **given).fit(rows, y).to_bytes() == expected


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------

# The process says when it begins and then works for much longer than the answer may take.
INTERRUPTED = """
import sys, time
import numpy as np
from scipy import sparse
from pocketkernel import MOMDH, MOMDS, MulticlassMOMDS, PocketClassifier
from pocketkernel.kernels import Gaussian

rng = np.random.default_rng(0)
class_, way = {"MOMDS": MOMDS, "PocketClassifier": PocketClassifier}[sys.argv[1]], sys.argv[2]
X = rng.normal(size=(30_000, 20))
y = np.where(rng.random(len(X)) < 0.5, 1, 0)
model = class_(memory="8MiB", random_state=0, n_jobs=2 if way == "decision_function" else 1)
model.partial_fit(X[:4_000 if class_ is MOMDS else 60], y[:4_000 if class_ is MOMDS else 60])
before, rounds = model.to_bytes(), model.diagnostics_.rounds
X, y = np.concatenate([X] * 20), np.concatenate([y] * 20)
if way.endswith("CSR"):
    X = sparse.csr_matrix(X)
print("begin", flush=True)
try:
    if way in ("partial_fit", "fit"):
        getattr(model, way)(X, y)
    elif way == "partial_fit, CSR":
        model.partial_fit(X, y)
    else:
        getattr(model, way)(X)
    print("too fast", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()
learned = model.diagnostics_.rounds - rounds
print(learned, len(y), model.to_bytes() == before, flush=True)
again = class_.from_bytes(before)
again.partial_fit(X[:learned], y[:learned]) if learned else None
print(again.to_bytes() == model.to_bytes(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
@pytest.mark.parametrize(
    ("name", "way"),
    [
        *(("MOMDS", way) for way in ("partial_fit", "partial_fit, CSR", "fit", "decision_function", "kernel_scores")),
        *(("PocketClassifier", way) for way in ("partial_fit", "decision_function")),
    ],
)
def test_ctrl_c(name, way, capsys):
    """Answered in well under a second, and what the learner is afterwards is what the docstrings say."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, name, way],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "begin\n", process.stderr.read()
        until_at_work(process)
        sent = cpu_seconds(process)
        process.send_signal(2)
        answer = process.stdout.readline()
        latency = cpu_seconds(process) - sent
        rest, errors = process.communicate(timeout=120)  # closes its input, for which it waits
    assert answer == "interrupted\n", errors
    with capsys.disabled():
        print(f"\n{name}, {way}: {1000 * latency:.0f} ms of CPU time")
    assert latency < 1.0  # most often a tenth of that
    (learned, rows, unchanged), (same,) = (line.split() for line in rest.splitlines())
    assert same == "True"  # the rows that it counts, and nothing else, were learned
    assert int(learned) < int(rows)
    assert (unchanged == "True") == (int(learned) == 0)
    if not way.startswith("partial_fit"):
        assert unchanged == "True"


# The row that empties half of a large buffer takes long: several times the 50 ms after which signals are looked for.
ROOMY = {
    "MOMDS": (lambda: MOMDS(kernels=[Gaussian(1.0)], budget=24_000, random_state=0)),
    "MulticlassMOMDS": (lambda: MulticlassMOMDS(kernels=[Gaussian(1.0)], budget=20_000, random_state=0)),
    "MOMDH": (lambda: MOMDH(kernels=[Gaussian(1.0)], budget=28_000, reservoir=20, random_state=0)),
}


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such alarm")
@pytest.mark.parametrize("name", ROOMY)
def test_interrupted_in_the_middle_of_a_row(name):
    """Nothing of that row is learned, and going on gives the same bits as a run that was never interrupted."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80_000, 8)).astype(np.float32), rng.integers(0, 2, 80_000)
    weights = np.full(len(y), 100.0)  # heavy rows are stored almost always
    model = ROOMY[name]()
    model.partial_fit(X[:2], y[:2], classes=[0, 1], sample_weight=weights[:2])
    row = 2
    while (left := model.budget - max(model.diagnostics_.stored)) > 0:
        model.partial_fit(X[row : row + left], y[row : row + left], sample_weight=weights[row : row + left])
        row += left
    assert model.diagnostics_.removals == 0

    def learn(learner, row):
        learner.partial_fit(X[row : row + 1], y[row : row + 1], sample_weight=weights[row : row + 1])

    while model.diagnostics_.removals == 0:
        state = model.to_bytes()
        learn(model, row)
        row += 1
    row -= 1

    def begin():
        nonlocal model
        model = type(model).from_bytes(state)

    assert rung_in_the_middle(begin, lambda: learn(model, row), lambda: model.diagnostics_.removals > 0)
    assert model.to_bytes() == state
    never = type(model).from_bytes(state)
    for learner in (model, never):
        learn(learner, row)
        assert learner.diagnostics_.removals == 1
        learner.partial_fit(X[row + 1 : row + 50], y[row + 1 : row + 50])
    assert model.to_bytes() == never.to_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such alarm")
@pytest.mark.parametrize("class_", [PocketClassifier, PocketRegressor, Raker])
def test_interrupted_while_it_is_built(class_):
    """A large learner takes long to build: the first call ends in the middle of it, and the next one starts anew."""
    X, y = np.random.default_rng(0).normal(size=(2, 250)), np.array([0, 1])
    given = {} if class_ is PocketRegressor else {"classes": [0, 1]}
    memory = "128MiB" if class_ is Raker else "64MiB"
    model, never = (class_(memory=memory, random_state=0) for _ in range(2))
    whole, _ = rung(0, lambda: never.partial_fit(X, y, **given))
    took, ended = rung(0.1 * whole, lambda: model.partial_fit(X, y, **given))
    assert ended and took < 0.8 * whole
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.partial_fit(X, y, **given).to_bytes() == never.to_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such alarm")
@pytest.mark.skipif(allowed_threads(2) < 2, reason="needs a second core")
def test_interrupted_while_a_fleet_prepares_a_thread():
    """Each further thread has an engine of its own, of which nothing is left; no row is learned."""
    X, y, keys = np.random.default_rng(0).normal(size=(128, 250)), np.arange(128) % 2, ["a", "b"] * 64
    never, other, fleet = (
        Fleet(PocketClassifier(memory="16MiB", random_state=0), features=250, classes=[0, 1], n_jobs=jobs)
        for jobs in (1, 2, 2)
    )
    learning, _ = rung(0, lambda: never.partial_fit(keys, X, y))
    both, _ = rung(0, lambda: other.partial_fit(keys, X, y))
    took, ended = rung(0.2 * (both - learning), lambda: fleet.partial_fit(keys, X, y))
    assert ended and fleet.clock == 0 and took < both - learning
    fleet.partial_fit(keys, X, y)
    assert fleet["a"].to_bytes() == never["a"].to_bytes()


# ---- forks ----------------------------------------------------------------------------------------------------------

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
LONG, LONG_Y = streams.rings(40_000, d=5)
MESSAGE = "when the process forked"


def in_child(work, parent=lambda: None):
    """What work() answers, or the error that it raises, in a forked process; and what parent() answers meanwhile."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)  # one that waits for a thread of its parent would wait for ever
        try:
            text = str(work())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    meanwhile = parent()
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text, meanwhile


def forked_while_learning(make, work):
    """What work(model) answers in a process that is forked while another thread learns, after 100 rows."""
    for _ in range(100):
        text, rounds = forked_once(make(), work)
        if rounds < 100 + len(LONG):
            return text
    raise AssertionError("the other thread had always learned everything")


def forked_once(model, work):
    """The same, and how many rounds there were after the fork."""
    learner = threading.Thread(target=lambda: model.partial_fit(LONG, LONG_Y))
    learner.start()
    until(lambda: model.diagnostics_.rounds > 100)
    text, rounds = in_child(lambda: work(model), lambda: model.diagnostics_.rounds)
    learner.join()
    assert model.diagnostics_.rounds == 100 + len(LONG)  # the parent has noticed nothing
    return text, rounds


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("class_", [MOMDS, PocketClassifier])
def test_a_fork_while_another_thread_learns(class_):
    """The child has half a row: it says so, instead of waiting for a thread that it does not have."""

    def make():
        return class_(random_state=0, n_jobs=1).partial_fit(LONG[:100], LONG_Y[:100])

    for work in (lambda model: model.decision_function(LONG[:1]), lambda model: model.partial_fit(LONG[:1], LONG_Y[:1]),
                 lambda model: model.to_bytes()):  # fmt: skip
        text = forked_while_learning(make, work)
        assert text.startswith("RuntimeError"), text
        assert MESSAGE in text


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_others_score_and_wait():
    """Nothing was being changed: the child goes on with its copy, and does not wait for those who waited."""
    model = MOMDS(random_state=0, n_jobs=1).fit(LONG[:100], LONG_Y[:100])
    expected, over = model.decision_function(LONG[:3]), threading.Event()

    def score():
        while not over.is_set():
            model.decision_function(LONG)

    def work():
        scores = model.decision_function(LONG[:3])
        model.partial_fit(LONG[:1], LONG_Y[:1])
        return np.array_equal(scores, expected), int(model.diagnostics_.rounds)

    def wait():
        with together(model._core):
            over.wait()

    threads = [threading.Thread(target=score), threading.Thread(target=score), threading.Thread(target=wait)]
    threads += [threading.Thread(target=lambda: model.partial_fit(LONG[:5], LONG_Y[:5]))]  # behind one who reads
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    texts = [in_child(work)[0] for _ in range(5)]
    over.set()
    for thread in threads:
        thread.join()
    assert texts == ["(True, 101)"] * 5
    assert model.diagnostics_.rounds == 105


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_of_an_idle_learner():
    model = MOMDS(random_state=0).fit(LONG[:100], LONG_Y[:100])
    assert in_child(lambda: model.partial_fit(LONG[:5], LONG_Y[:5]).diagnostics_.rounds)[0] == "105"
    assert model.diagnostics_.rounds == 100


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_changes_the_estimator():
    """The estimator itself was being changed, in Python, by a thread that the child does not have."""
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def __array__(self, dtype=None, copy=None):
            begun.set()
            go_on.wait()
            return np.array(LONG[:50])

    model = MOMDS(random_state=0).fit(LONG[:30], LONG_Y[:30])
    worker = threading.Thread(target=lambda: model.partial_fit(Slow(), LONG_Y[:50]))
    worker.start()
    assert begun.wait(120)
    text = in_child(lambda: model.partial_fit(LONG[:50].tolist(), LONG_Y[:50]))[0]
    saved = in_child(lambda: model.to_bytes())[0]
    predicted = in_child(lambda: model.predict(LONG[:1]).shape)[0]
    fitted = in_child(lambda: MOMDS(random_state=0).fit(LONG[:50], LONG_Y[:50]).diagnostics_.rounds)[0]
    go_on.set()
    worker.join()
    for refused in (text, saved):
        assert refused.startswith("RuntimeError"), refused
        assert MESSAGE in refused
    assert (predicted, fitted) == ("(1,)", "50")
    assert model.diagnostics_.rounds == 80
