"""A stored fleet loses nothing: threads, interrupts, forks, kills, full disks, missing and damaged files."""

import gc
import itertools
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import pocketkernel.fleet
from pocketkernel import PocketClassifier
from pocketkernel.cli import main
from pocketkernel.fleet import Fleet, FleetStoreError, FolderStore, backup, check, repair

POCKET = PocketClassifier(memory="4KiB", random_state=0)
GIVEN = [{}, {"base": "shared"}, {"max_keys": 4}, {"max_keys": 4, "base": "shared"}]
EVERY = int(os.environ.get("POCKETKERNEL_FLEET_EVERY", "0"))
"""Interrupt at every so many places; 1 tries all of them."""
MEMORY = Path("/dev/shm")
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, or signals of POSIX")


@pytest.fixture
def tmp_path(tmp_path):
    """In memory, if that is there: a disk would be synced some ten thousand times."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    here = Path(tempfile.mkdtemp(dir=MEMORY))
    yield here
    shutil.rmtree(here)


def keyed(rows=600, keys=15, seed=0):
    """A stream of keys, rows and labels; half of the keys have the labels exchanged."""
    rng = np.random.default_rng(seed)
    of = np.minimum(rng.zipf(1.3, rows), keys)
    X = rng.normal(size=(rows, 3))
    return of, X, ((X[:, 0] > 0) ^ (of % 2 == 0)).astype(int)


def new(folder=None, *, sync_every=50, log_bytes=None, **given):
    store = None if folder is None else FolderStore(folder, sync_every=sync_every, log_bytes=log_bytes)
    return Fleet(POCKET, features=3, classes=[0, 1], store=store, n_jobs=1, **given)


def models(fleet, keys=range(1, 16)):
    """The state of every key, in memory or evicted."""
    return {key: fleet[key].to_bytes() for key in keys if key in fleet}


def stored(folder):
    with Fleet.load(folder) as fleet:
        return models(fleet)


def fed(folder, rows=300, **given):
    """A closed store of some rows; its models."""
    keys, X, y = keyed(rows)
    with new(folder, **given) as fleet:
        for at in range(0, rows, 50):
            fleet.partial_fit(keys[at : at + 50], X[at : at + 50], y[at : at + 50], offset=at + 50)
        return models(fleet)


def left_open(folder, into, rows=300, **given):
    """A store as a killed process leaves it, with its write-ahead log; its models."""
    keys, X, y = keyed(rows)
    with new(folder, **given) as fleet:
        for at in range(0, rows, 50):
            fleet.partial_fit(keys[at : at + 50], X[at : at + 50], y[at : at + 50], offset=at + 50)
        shutil.copytree(folder, into, ignore=shutil.ignore_patterns(".lock", "*-shm"))
        return models(fleet)


# ---- what comes back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log_bytes", [None, 20_000, 1])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_models_that_come_and_go_come_back(given, log_bytes, tmp_path):
    """Rows, sets, removals and evictions, in any order, with slabs that were stored at different times."""
    rng = np.random.default_rng(1)
    keys, X, y = keyed(1500, keys=40)
    every = range(1, 41)
    fleet = new(tmp_path / "fleet", log_bytes=log_bytes, **given)
    at = 0
    while at < 1500:
        some = slice(at, at + int(rng.integers(1, 120)))
        fleet.partial_fit(keys[some], X[some], y[some], offset=some.stop)
        at = some.stop
        for key in rng.integers(1, 41, 3).tolist():
            if rng.random() < 0.5 and key in fleet:
                del fleet[key]
            elif rng.random() < 0.5:
                fleet[key] = fleet[int(keys[some][-1])]
        if rng.random() < 0.4:
            before = models(fleet, every), fleet.clock, fleet.offset, sorted(fleet), fleet.evicted
            fleet.close()
            fleet = Fleet.load(FolderStore(tmp_path / "fleet", log_bytes=log_bytes).path)
            assert (models(fleet, every), fleet.clock, fleet.offset, sorted(fleet), fleet.evicted) == before
    fleet.close()
    _, faults = check(tmp_path / "fleet")
    assert faults == []


@pytest.mark.parametrize("log_bytes", [None, 3000])
def test_large_slots_and_sparse_rows_come_back(log_bytes, tmp_path):
    """Slabs of one model, and rows of a CSR matrix with weights."""
    from scipy import sparse

    keys, X, y = keyed(200)
    learner = PocketClassifier(memory="512KiB", class_weight="balanced", random_state=0)
    store = FolderStore(tmp_path / "fleet", sync_every=40, log_bytes=log_bytes)
    fleet = Fleet(learner, features=3, classes=["a", "b"], store=store, base="shared")
    names = [f"é{key}" for key in keys]
    for at in range(0, 200, 40):
        some = slice(at, at + 40)
        fleet.partial_fit(names[some], sparse.csr_matrix(X[some]), np.array(["a", "b"])[y[some]], np.full(40, 0.5))
    before = models(fleet, set(names))
    fleet.commit()
    with closing(fleet):
        shutil.copytree(tmp_path / "fleet", tmp_path / "copy", ignore=shutil.ignore_patterns(".lock"))
    for folder in ("fleet", "copy"):
        with Fleet.load(tmp_path / folder) as again:
            assert models(again, set(names)) == before


@pytest.mark.parametrize("key", [b"PKEV\1\0\0\0", b"PKEV" * 10_000, b"\x37\x7f\x06\x82" * 50, b"SQLite format 3\0"])
def test_a_key_may_be_any_bytes(key, tmp_path):
    with new(tmp_path / "fleet") as fleet:
        fleet.partial_fit([key, key + b"x"] * 5, np.ones((10, 3)), [0, 1] * 5)
        before = models(fleet, [key, key + b"x"])
    with Fleet.load(tmp_path / "fleet") as fleet:
        assert models(fleet, [key, key + b"x"]) == before


def test_the_archive_has_one_model_for_each_key(tmp_path):
    """Also if two keys take turns, 10,000 times."""
    rows = 10_000
    X = np.random.default_rng(0).normal(size=(rows, 3))
    keys, y = np.arange(rows) % 2, (X[:, 0] > 0).astype(int)
    with new(tmp_path / "fleet", max_keys=1, sync_every=500, log_bytes=2**20) as fleet:
        for at in range(0, rows, 500):
            some = slice(at, at + 500)
            fleet.partial_fit(keys[some], X[some], y[some])
        assert fleet.evicted == rows - 1
        slot = fleet.slot_bytes
    with closing(sqlite3.connect(tmp_path / "fleet" / "fleet.sqlite")) as base:
        assert base.execute("SELECT count(*) FROM archive").fetchone() == (2,)
    # The log of one call has what was evicted in it; there is no more than a few of them.
    assert (tmp_path / "fleet" / "fleet.sqlite").stat().st_size < 8 * 500 * slot


def test_the_log_stays_below_what_was_asked_for(tmp_path):
    keys, X, y = keyed(20_000, keys=400)
    with new(tmp_path / "fleet", sync_every=100, log_bytes=100_000) as fleet:
        longest = 0
        for at in range(0, 20_000, 100):
            some = slice(at, at + 100)
            fleet.partial_fit(keys[some], X[some], y[some])
            base = fleet._store._database.base
            longest = max(longest, base.execute("SELECT total(length(record)) FROM log").fetchone()[0])
    assert 50_000 < longest <= 110_000


def test_files_are_private(tmp_path):
    left_open(tmp_path / "fleet", tmp_path / "copy")
    with new(tmp_path / "fleet") as fleet:
        fleet.backup(tmp_path / "backup")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "fleet").glob("fleet.*")}
    modes["backup"] = stat.S_IMODE((tmp_path / "backup" / "fleet.sqlite").stat().st_mode)
    assert len(modes) > 2
    assert set(modes.values()) == {0o600}


# ---- threads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_threads_commit_and_copy_while_another_learns(given, tmp_path):
    keys, X, y = keyed(3000)
    fleet = new(tmp_path / "fleet", sync_every=10**9, log_bytes=20_000, **given)
    copies, failures, done = itertools.count(), [], threading.Event()

    def commit():
        while not done.is_set():
            fleet.commit()

    def ask():
        while not done.is_set():
            assert np.isfinite(fleet.decision_function(keys[:20], X[:20])).all()
            len(fleet), fleet.tally(), 3 in fleet

    def copy():
        while not done.is_set():
            fleet.backup(tmp_path / f"copy{next(copies)}")
            fleet.snapshot()

    def told(call):
        try:
            call()
        except BaseException as error:
            failures.append(error)
            done.set()

    threads = [threading.Thread(target=told, args=(call,)) for call in (commit, commit, ask, copy)]
    for thread in threads:
        thread.start()
    try:
        for at in range(0, 3000, 10):
            some = slice(at, at + 10)
            fleet.partial_fit(keys[some], X[some], y[some], offset=some.stop)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
    live = models(fleet)
    fleet.close()
    assert stored(tmp_path / "fleet") == live
    assert next(copies) > 0
    if "base" not in given:
        for folder in tmp_path.glob("copy*"):
            with Fleet.load(folder) as one, new() as expected:
                if one.clock:
                    expected.partial_fit(keys[: one.clock], X[: one.clock], y[: one.clock])
                assert models(one) == models(expected)
                assert (one.offset or 0) == one.clock


def test_a_fleet_that_another_thread_has_made(tmp_path):
    keys, X, y = keyed(200)
    made = []
    thread = threading.Thread(target=lambda: made.append(new(tmp_path / "fleet", max_keys=4)))
    thread.start()
    thread.join()
    with made[0] as fleet:
        fleet.partial_fit(keys, X, y)
        before = models(fleet)
    assert stored(tmp_path / "fleet") == before


# ---- interrupts -----------------------------------------------------------------------------------------------------


class StoppedError(Exception):
    """What a signal handler may raise."""


def operations():
    """What may happen to a fleet, one after the other."""
    keys, X, y = keyed(200, keys=12)
    few = slice(100, 108)

    def learn(fleet):
        fleet.partial_fit(keys[few], X[few], y[few])

    def learn_to(fleet):
        some = slice(108, 116)
        fleet.predict_then_learn(keys[some], X[some], y[some], offset={"row": 116})

    def learn_new(fleet):
        fleet.partial_fit([31, 32, 31, 2], X[:4], y[:4], offset=lambda scores: len(scores))

    def put(fleet):
        fleet[33] = fleet[int(keys[few][0])]

    def remove(fleet):
        del fleet[int(keys[few][1])]

    def ask(fleet):
        fleet.decision_function(np.arange(12), X[:12])

    return [learn, learn_to, learn_new, put, remove, ask, Fleet.commit, Fleet.snapshot, Fleet.close]


PACKAGE = str(Path(pocketkernel.fleet.__file__).parent)


def raised_at(place, error, call, *, opcodes):
    """Call, and raise at a line (or opcode) of the fleet's Python; whether it was raised."""
    left, hit = place, False

    def local(frame, event, given):
        nonlocal left, hit
        if event == ("opcode" if opcodes else "line"):
            left -= 1
            if left == 0:
                hit = True
                raise error
        return local

    def trace(frame, event, given):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = opcodes
        return local

    sys.settrace(trace)
    try:
        call()
    except type(error):
        sys.settrace(None)
    except FleetStoreError:
        sys.settrace(None)
        if not hit:
            raise
    finally:
        sys.settrace(None)
    return hit


@pytest.mark.parametrize("opcodes", [False, True], ids=["lines", "opcodes"])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_interrupted_anywhere(given, opcodes, tmp_path, capsys):
    """What is in memory and what is stored are equal, or the fleet refuses, and the store has whole calls."""
    every = EVERY or (61 if not opcodes else 499)
    here = tmp_path / "here"
    names = [*range(12), 31, 32, 33]
    begin, work = here / "begin", here / "work"
    errors = itertools.cycle([KeyboardInterrupt, TimeoutError, MemoryError, StoppedError])
    counts = {"equal": 0, "refused": 0}
    here.mkdir()
    try:
        keys, X, y = keyed(200, keys=12)
        with new(begin, sync_every=30, log_bytes=20_000, **given) as fleet:
            fleet.partial_fit(keys[:100], X[:100], y[:100], offset=100)
        for number, operation in enumerate(operations()):
            start = 1 + number * 7 % every
            for place in itertools.count(start, every):
                shutil.rmtree(work, ignore_errors=True)
                shutil.copytree(begin, work)
                fleet = new(work, sync_every=12, log_bytes=20_000, **given)
                before = models(fleet, names), fleet.clock, fleet.offset
                hit = raised_at(place, next(errors)(), lambda f=fleet, o=operation: o(f), opcodes=opcodes)
                try:
                    live = models(fleet, names), fleet.clock, fleet.offset
                    scores = fleet.decision_function(names, np.ones((len(names), 3)))
                    assert np.isfinite(scores).all()
                    fleet.commit()
                except FleetStoreError:
                    live = None
                with suppress(FleetStoreError):
                    fleet.close()
                with new(work, **given) as again:
                    found = models(again, names), again.clock, again.offset
                    assert np.isfinite(again.decision_function(names, np.ones((len(names), 3)))).all()
                what = operation.__name__, place
                if live is not None:
                    assert found == live, what
                    counts["equal"] += hit
                else:
                    assert found == before or not hit or operation not in (Fleet.commit, Fleet.snapshot, Fleet.close)
                    counts["refused"] += hit
                if not hit:
                    after = found
                    break
                assert found in (before, whole(begin, given, operation, here, names)), what
            assert after is not None
            shutil.rmtree(begin)
            shutil.move(work, begin)
    finally:
        shutil.rmtree(here, ignore_errors=True)
    with capsys.disabled():
        print(f"\n{given}: interrupted at {sum(counts.values())} {'opcodes' if opcodes else 'lines'}: {counts}")
    assert min(counts.values()) > 3


_whole = {}


def whole(begin, given, operation, here, names):
    """What is stored after an operation that nothing interrupts."""
    key = str(given), operation.__name__, str(here)
    if key not in _whole:
        shutil.copytree(begin, here / "whole")
        with new(here / "whole", sync_every=12, log_bytes=20_000, **given) as fleet:
            operation(fleet)
        with new(here / "whole", **given) as fleet:
            _whole[key] = models(fleet, names), fleet.clock, fleet.offset
        shutil.rmtree(here / "whole")
    return _whole[key]


@POSIX
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, StoppedError])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_interrupted_at_any_time(given, error, tmp_path, capsys):
    """Alarms that raise in calls: the store has what was learned, whether the fleet goes on or refuses."""

    def ring(number, frame):
        raise error

    rng = np.random.default_rng(3)
    keys, X, y = keyed(60_000)
    before = signal.signal(signal.SIGALRM, ring)
    calls = interrupted = refused = at = 0
    fleet, expected = new(tmp_path / "fleet", sync_every=200, log_bytes=30_000, **given), new(**without_most(given))
    gc.disable()  # an alarm in what others do at its end is nobody's to catch
    try:
        for _ in range((EVERY and 1500) or 120):
            rows = int(rng.integers(1, 400))
            some, offset = slice(at, at + rows), None if rng.random() < 0.7 else at
            clock = fleet.clock
            calls += 1
            try:
                signal.setitimer(signal.ITIMER_REAL, float(rng.exponential(0.001)) + 1e-6)
                try:
                    fleet.partial_fit(keys[some], X[some], y[some], offset=offset)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except error:
                interrupted += 1
            except FleetStoreError:
                pass
            try:
                learned = fleet.clock - clock
            except FleetStoreError:
                refused += 1
                with suppress(FleetStoreError):
                    fleet.close()
                fleet = Fleet.load(tmp_path / "fleet")
                learned = fleet.clock - clock
                assert learned in (0, rows)
            if learned:
                expected.partial_fit(keys[at : at + learned], X[at : at + learned], y[at : at + learned])
            at += learned
        live = models(fleet)
        with suppress(FleetStoreError):
            fleet.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    with capsys.disabled():
        print(f"\n{error.__name__} {given}: {calls} calls, {interrupted} interrupted, {refused} refused to go on")
    assert interrupted > 10
    assert stored(tmp_path / "fleet") == live
    if "base" not in given or "max_keys" not in given:
        assert live == models(expected)


def without_most(given):
    return {name: value for name, value in given.items() if name != "max_keys"}


# ---- processes ------------------------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_a_fork_leaves_the_store_alone(given, tmp_path):
    keys, X, y = keyed(400)
    fleet = new(tmp_path / "fleet", **given)
    fleet.partial_fit(keys[:200], X[:200], y[:200], offset=200)
    fleet.partial_fit(keys[200:230], X[200:230], y[200:230], offset=230)  # which waits
    script = (fleet.commit, fleet.snapshot, lambda: fleet.partial_fit(keys[:1], X[:1], y[:1]), lambda: fleet[99])
    for leave in (os._exit, sys.exit):
        pid = os.fork()
        if pid == 0:
            refused = 0
            for call in script:
                try:
                    call()
                except FleetStoreError as error:
                    refused += "is a fork" in str(error)
            fleet.close()
            del fleet
            if leave is os._exit:
                os._exit(refused)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = f"import sys; sys.exit({refused})"
            try:
                exec(code)
            finally:
                import gc

                gc.collect()
                os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == len(script)
        assert (tmp_path / "fleet" / ".lock").exists()
        with pytest.raises(ValueError, match="in use by another run"):
            new(tmp_path / "fleet", **given)
    fleet.partial_fit(keys[230:], X[230:], y[230:], offset=400)
    live = models(fleet)
    fleet.close()
    with Fleet.load(tmp_path / "fleet") as again:
        assert models(again) == live
        assert (again.clock, again.offset) == (400, 400)


FORKED = """
import os, sys
from pocketkernel import PocketClassifier
from pocketkernel.fleet import Fleet
fleet = Fleet(PocketClassifier(memory="4KiB", random_state=0), features=2, classes=[0, 1], store=sys.argv[1])
fleet.partial_fit([1, 2], [[1.0, 2.0], [2.0, 1.0]], [0, 1], offset=2)
fleet.commit()
if os.fork() == 0:
    sys.exit()  # as a child ends: everything is torn down
os.wait()
fleet.partial_fit([1, 2], [[1.0, 2.0], [2.0, 1.0]], [0, 1], offset=4)
fleet.commit()
assert os.path.exists(sys.argv[1] + "/.lock") and os.path.getsize(sys.argv[1] + "/fleet.sqlite-wal") > 0
os.kill(os.getpid(), 9)
"""


@POSIX
def test_a_forked_interpreter_that_ends_removes_nothing(tmp_path):
    run = subprocess.run([sys.executable, "-c", FORKED, str(tmp_path / "fleet")], capture_output=True, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr
    with Fleet.load(tmp_path / "fleet") as fleet:
        assert (fleet.clock, fleet.offset) == (4, 4)


DROPPED = """
import sys
from pocketkernel import PocketClassifier
from pocketkernel.fleet import Fleet
fleet = Fleet(PocketClassifier(memory="4KiB", random_state=0), features=2, classes=[0, 1], store=sys.argv[1])
fleet.partial_fit([1, 2], [[1.0, 2.0], [2.0, 1.0]], [0, 1], offset=2)
fleet.commit()
"""


def test_a_process_that_ends_without_closing_its_fleet(tmp_path):
    for rows in (2, 4, 6):
        subprocess.run([sys.executable, "-c", DROPPED, str(tmp_path / "fleet")], check=True)
        with Fleet.load(tmp_path / "fleet") as fleet:
            assert fleet.clock == rows


def test_a_fleet_that_is_forgotten_releases_its_store(tmp_path):
    keys, X, y = keyed(100)
    fleet = new(tmp_path / "fleet")
    fleet.partial_fit(keys, X, y)
    fleet.commit()
    del fleet
    gc.collect()
    with new(tmp_path / "fleet") as fleet:
        assert fleet.clock == 100


def test_files_that_are_taken_away_while_a_fleet_uses_them(tmp_path):
    keys, X, y = keyed(200)
    for name in ("fleet.sqlite", "fleet.sqlite-wal"):
        folder = tmp_path / name
        fleet = new(folder, sync_every=10**6)
        fleet.partial_fit(keys[:100], X[:100], y[:100])
        fleet.commit()
        (folder / name).rename(tmp_path / f"away-{name}")
        fleet.partial_fit(keys[100:], X[100:], y[100:])
        for _ in range(2):
            with pytest.raises(FleetStoreError, match="was removed or replaced"):
                fleet.commit()
        fleet.export(tmp_path / "export")
        assert Fleet.load(tmp_path / "export").clock == 200
        with suppress(FleetStoreError, OSError):
            fleet.close()


@POSIX
def test_a_backup_by_another_process_while_rows_are_learned(tmp_path):
    keys, X, y = keyed(4000)
    copies = 3
    code = "import time\nfrom pocketkernel.fleet import backup\n" + "\n".join(
        f"backup({str(tmp_path / 'fleet')!r}, {str(tmp_path / f'copy{n}')!r})" for n in range(copies)
    )
    fleet = new(tmp_path / "fleet", sync_every=1, max_keys=6, log_bytes=9000)
    fleet.partial_fit(keys[:20], X[:20], y[:20], offset=20)
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    at = 20
    while process.poll() is None and at < 4000:
        fleet.partial_fit(keys[at : at + 5], X[at : at + 5], y[at : at + 5], offset=at + 5)
        at += 5
    _, said = process.communicate()
    assert process.returncode == 0, said
    live = models(fleet)
    fleet.close()
    assert stored(tmp_path / "fleet") == live
    for n in range(copies):
        with Fleet.load(tmp_path / f"copy{n}") as copy, new() as expected:
            assert 20 <= copy.clock == copy.offset <= at
            expected.partial_fit(keys[: copy.clock], X[: copy.clock], y[: copy.clock])
            assert models(copy) == models(expected)
    with pytest.raises(FileExistsError, match="has a fleet already"):
        backup(tmp_path / "fleet", tmp_path / "copy0")


def test_a_backup_of_a_fleet_in_memory_or_from_an_export(tmp_path):
    keys, X, y = keyed(200)
    fleet = new(base="shared")
    fleet.partial_fit(keys, X, y, offset=200)
    fleet.backup(tmp_path / "one")
    fleet.export(tmp_path / "export")
    Fleet.load(tmp_path / "export").backup(tmp_path / "two")
    for name in ("one", "two"):
        with Fleet.load(tmp_path / name) as again:
            assert models(again) == models(fleet)
            assert (again.clock, again.offset) == (200, 200)
            again.partial_fit(keys, X, y)
        assert check(tmp_path / name)[1] == []


@pytest.mark.skipif(shutil.which("cc") is None or not Path("/proc").exists(), reason="needs a C compiler and /proc")
def test_killed_and_failing_at_every_operation(tmp_path, capsys):
    """Writes, syncs, cuts and removals of SQLite: killed before or in them, a full disk, I/O errors."""
    here = Path(__file__).parent
    library = tmp_path / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, here / "faults.c", "-ldl"], check=True)
    run = subprocess.run(
        [sys.executable, here / "fault_worker.py", tmp_path / "fleet", str(EVERY or 37)],
        capture_output=True, text=True, check=False, env=os.environ | {"LD_PRELOAD": str(library)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    with capsys.disabled():
        print(f"\n{run.stdout.strip()}")
    assert all(int(number) >= 5 for number in "".join(c if c.isdigit() else " " for c in run.stdout).split())


# ---- damage ---------------------------------------------------------------------------------------------------------


def edited(folder, *statements):
    """Change the rows of a store that is closed."""
    with closing(sqlite3.connect(folder / "fleet.sqlite", isolation_level=None)) as base:
        for statement in statements:
            base.execute(statement)
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET record = (SELECT record FROM log WHERE seq = 2) WHERE seq = 3",  # repeated
        "DELETE FROM log WHERE seq = 3",  # left out
        "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
        "DELETE FROM log WHERE seq = (SELECT min(seq) FROM log)",
        "UPDATE log SET seq = CASE seq WHEN 2 THEN -3 ELSE -2 END WHERE seq IN (2, 3)",  # exchanged
        "INSERT INTO log SELECT seq + 100, chain, base, record FROM log WHERE seq = 3",
        "UPDATE log SET record = x'00' || record WHERE seq = 3",
        "DELETE FROM archive WHERE key = (SELECT min(key) FROM archive)",
        "UPDATE archive SET state = zeroblob(length(state))",
        "UPDATE archive SET (digest, state) = (SELECT digest, state FROM archive LIMIT 1)",
        "DELETE FROM slab",
        "DELETE FROM slab_seq",
        "UPDATE slab_seq SET seq = seq - 1",
        "UPDATE slab SET body = body || x'00'",
        "DELETE FROM meta WHERE name = 'head'",
        "UPDATE meta SET value = value || x'20' WHERE name = 'head'",
        "UPDATE meta SET value = CAST(value AS TEXT)",
        "CREATE TABLE more (a)",
        "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM archive; END",
        "DROP TABLE archive",
    ],
)
def test_rows_that_are_missing_old_or_exchanged(statement, tmp_path):
    fed(tmp_path / "fleet", max_keys=4)
    edited(tmp_path / "fleet", statement, "UPDATE log SET seq = -seq WHERE seq < 0")
    with pytest.raises(FleetStoreError, match=r"fleet.sqlite cannot be read"):
        stored(tmp_path / "fleet")


def test_files_that_are_missing_or_of_another_time(tmp_path):
    """None of them is opened with less, without a word; nor is anything removed that would help."""
    left_open(tmp_path / "fleet", tmp_path / "early", rows=100)
    left_open(tmp_path / "fleet", tmp_path / "late", rows=200)
    whole = stored(tmp_path / "fleet")
    files = {name: {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("early", "late")}
    assert set(files["late"]) == {"fleet.sqlite", "fleet.sqlite-wal"}
    early, late = (files[name] for name in ("early", "late"))
    closed = {"fleet.sqlite": (tmp_path / "fleet" / "fleet.sqlite").read_bytes()}
    wal, file = "fleet.sqlite-wal", "fleet.sqlite"
    cases = {
        "no write-ahead log": {file: late[file]},
        "an empty write-ahead log": {file: late[file], wal: b""},
        "no file": {wal: late[wal]},
        "the log of an earlier session": {file: late[file], wal: early[wal]},
        "the file of an earlier session": {file: early[file], wal: late[wal]},
        "a log beside a closed file": {file: closed[file], wal: early[wal]},
        "a file cut short": {file: closed[file][:20_000]},
        "an empty log header": {file: late[file], wal: bytes(100)},
        "the file of another fleet": {file: b"SQLite format 3\0" + bytes(5000)},
    }
    for name, given in cases.items():
        folder = tmp_path / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file_name, data in given.items():
            (folder / file_name).write_bytes(data)
        with pytest.raises(FleetStoreError, match=r"fleet\.sqlite(-wal)? (is|cannot)"):
            fleet = Fleet.load(folder)
            fleet.close()
            pytest.fail(name)
        assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name in given} == given, name
    for name, given in {"late": late, "closed": closed}.items():
        folder = tmp_path / f"good-{name}"
        folder.mkdir()
        for file_name, data in given.items():
            (folder / file_name).write_bytes(data)
        assert stored(folder) == whole


@pytest.mark.parametrize("kind", ["closed", "open"])
def test_flipped_bits(kind, tmp_path, capsys):
    """What was opened is what was stored; else the error names the file. Bits in free pages do not matter."""
    options = {"max_keys": 4, "log_bytes": 30_000}
    if kind == "closed":
        expected = fed(tmp_path / "fleet", rows=600, **options)
        files = {"fleet.sqlite": (tmp_path / "fleet" / "fleet.sqlite").read_bytes()}
    else:
        expected = left_open(tmp_path / "fleet", tmp_path / "copy", rows=600, **options)
        files = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    rng = np.random.default_rng(5)
    counts = {"refused": 0, "equal": 0, "one commit less": 0}
    keys, X, y = keyed(600)
    before = new()
    before.partial_fit(keys[:550], X[:550], y[:550])
    for _ in range((EVERY and 600) or 60):
        folder = tmp_path / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        name = sorted(files)[rng.integers(len(files))]
        for file_name, data in files.items():
            (folder / file_name).write_bytes(data)
        bad = bytearray(files[name])
        bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        (folder / name).write_bytes(bad)
        try:
            found = stored(folder)
        except FleetStoreError as error:
            assert "fleet.sqlite" in str(error)
            counts["refused"] += 1
        else:
            if found == expected:
                counts["equal"] += 1
            else:  # a torn write of the last transaction, which is what a crash leaves
                assert kind == "open" and name.endswith("-wal")
                assert found == models(before)
                counts["one commit less"] += 1
    with capsys.disabled():
        print(f"\nflipped bits, {kind}: {counts}")
    assert counts["refused"] > 5


def test_check_and_repair(tmp_path, capsys):
    expected = fed(tmp_path / "fleet", rows=600, max_keys=4, log_bytes=30_000)
    assert main(["fleet", "check", str(tmp_path / "fleet")]) == 0
    assert "sound: 4 keys in memory after 600 rows" in capsys.readouterr().out
    assert main(["fleet", "backup", str(tmp_path / "fleet"), str(tmp_path / "copy")]) == 0
    assert stored(tmp_path / "copy") == expected
    edited(tmp_path / "fleet", "UPDATE archive SET state = zeroblob(length(state))")
    assert main(["fleet", "check", str(tmp_path / "fleet")]) == 1
    captured = capsys.readouterr()
    assert "the digest of the evicted model of key" in captured.err
    assert "faults, listed above; sound are 4 keys" in captured.err
    assert main(["fleet", "repair", str(tmp_path / "fleet"), str(tmp_path / "sound")]) == 1
    found = stored(tmp_path / "sound")
    assert len(found) == 4
    assert all(expected[key] == state for key, state in found.items())
    assert check(tmp_path / "sound")[1] == []


def test_repair_of_a_slab_a_log_and_a_missing_write_ahead_log(tmp_path):
    keys, X, y = keyed(3000, keys=300)
    every = range(1, 301)
    with new(tmp_path / "fleet", sync_every=100, log_bytes=50_000) as fleet:
        for at in range(0, 3000, 100):
            fleet.partial_fit(keys[at : at + 100], X[at : at + 100], y[at : at + 100])
        expected = models(fleet, every)
    shutil.copytree(tmp_path / "fleet", tmp_path / "slab")
    edited(tmp_path / "slab", "UPDATE slab SET body = zeroblob(9) WHERE id = 1")
    with pytest.raises(FleetStoreError, match="slab 1"):
        Fleet.load(tmp_path / "slab")
    _, faults = repair(tmp_path / "slab", tmp_path / "slab2")
    assert any("slab 1 is lost" in fault for fault in faults)
    with Fleet.load(tmp_path / "slab2") as again:
        found = models(again, every)
        assert 100 < len(found) < len(expected)
        assert all(expected[key] == state for key, state in found.items())
    shutil.copytree(tmp_path / "fleet", tmp_path / "log")
    edited(tmp_path / "log", "UPDATE log SET record = zeroblob(9) WHERE seq = (SELECT max(seq) FROM log)")
    _, faults = repair(tmp_path / "log", tmp_path / "log2")
    assert any("record 30 of its log is damaged" in fault for fault in faults)
    assert len(stored(tmp_path / "log2")) > 10
    left_open(tmp_path / "open", tmp_path / "copy")
    (tmp_path / "copy" / "fleet.sqlite-wal").unlink()
    _, faults = repair(tmp_path / "copy", tmp_path / "copy2")
    assert any("-wal is missing" in fault for fault in faults)
    Fleet.load(tmp_path / "copy2").close()


def test_files_of_before(tmp_path):
    """The error has the command that converts them."""
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "fleet.pk").write_bytes(b"old")
    with pytest.raises(FleetStoreError, match=r"before 0\.1\.0.*export"):
        Fleet.load(tmp_path / "fleet")


def test_another_version(tmp_path):
    fed(tmp_path / "fleet")
    with closing(sqlite3.connect(tmp_path / "fleet" / "fleet.sqlite", isolation_level=None)) as base:
        from pocketkernel.fleet._database import DIGEST, digest_of

        meta = dict(base.execute("SELECT name, value FROM meta").fetchall())
        text = meta["head"][DIGEST:].replace(b'"format":1', b'"format":2')
        head = digest_of(b"head", meta["configuration"], text) + text
        base.execute("UPDATE meta SET value = ? WHERE name = 'head'", (head,))
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with pytest.raises(FleetStoreError, match="it has format 2; this version of pocketkernel reads 1"):
        Fleet.load(tmp_path / "fleet")


def test_a_full_disk_while_a_store_is_made_or_closed(tmp_path, monkeypatch):
    """The next process finds a fleet, or none."""
    import resource

    keys, X, y = keyed(200)
    for most in (0, 1000, 20_000, 60_000):
        folder = tmp_path / str(most)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            try:
                with new(folder) as fleet:
                    fleet.partial_fit(keys, X, y)
            except OSError:
                os._exit(7)
            except BaseException:
                os._exit(9)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        with new(folder) as fleet:
            assert fleet.clock in (0, 200)
            fleet.partial_fit(keys, X, y)
        assert len(stored(folder)) == 15
