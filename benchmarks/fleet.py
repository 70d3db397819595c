"""What a fleet costs: over the bare learner, on disk, against other ways to keep a model per key, and at cold start.

python benchmarks/fleet.py [cost|ways|stores|cold|kills] [--keys N] [--rows N]

Times are wall-clock, and those of the processor where said: on a busy machine only these tell. Ratios are to the bare
learner on the same rows in the same run.
"""

import argparse
import os
import pickle
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from pocketkernel import PocketClassifier
from pocketkernel._core import KeyColumn
from pocketkernel.fleet import Fleet, FolderStore

COLUMNS = 4
MODEL = PocketClassifier(memory="4KiB", random_state=0)


def stream(rows, keys, kind="uniform", seed=0):
    """Keys, rows and labels; every key has a rule of its own, one of a few."""
    rng = np.random.default_rng(seed)
    of = rng.integers(0, keys, rows) if kind == "uniform" else np.minimum(rng.zipf(1.1, rows) - 1, keys - 1)
    X = rng.normal(size=(rows, COLUMNS))
    angle = 0.5 * (of % 7)
    return of, X, (np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] > 0).astype(int)


def seconds(function, *given):
    start = time.perf_counter()
    function(*given)
    return time.perf_counter() - start


def both(function, *given):
    """Seconds by the clock, and of the processor: on a busy machine only the latter tells."""
    start = time.process_time()
    taken = seconds(function, *given)
    return np.array([taken, time.process_time() - start])


def bare(X, y):
    """Microseconds per row of one model."""
    model = PocketClassifier(memory="4KiB", random_state=0).partial_fit(X[:2], y[:2], classes=[0, 1])
    return 1e6 * both(model.predict_then_learn, X, y) / len(X)


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def new_fleet(**given):
    return Fleet(MODEL, features=COLUMNS, classes=[0, 1], **given)


def feed(fleet, keys, X, y, block=10_000):
    for at in range(0, len(keys), block):
        fleet.predict_then_learn(keys[at : at + block], X[at : at + block], y[at : at + block])


def cost(rows, most_keys, repeats=5):
    print(
        f"PocketClassifier 4KiB, {COLUMNS} columns, {rows:,} rows in blocks of 10,000; "
        f"slot {new_fleet().slot_bytes} bytes"
    )
    print(f"best of {repeats}")
    print("keys       rows of a key  threads  store            us/row   ratio to bare   of the processor's time")
    for keys in (1, 1_000, most_keys):
        for kind in ("uniform", "zipf"):
            of, X, y = stream(rows, keys, kind)
            for threads in (1, 2):
                for synced in (False, True):
                    with tempfile.TemporaryDirectory() as folder:
                        store = FolderStore(Path(folder) / "fleet") if synced else None
                        with new_fleet(n_jobs=threads, store=store) as fleet:
                            fleet.partial_fit(np.arange(keys), np.zeros((keys, COLUMNS)), np.arange(keys) % 2)
                            fleet.commit()
                            alone, taken = np.full(2, np.inf), np.full(2, np.inf)
                            for _ in range(repeats):  # in turn, so that both see the same neighbours
                                alone = np.minimum(alone, bare(X, y))
                                taken = np.minimum(taken, 1e6 * both(feed, fleet, of, X, y) / rows)
                        where, ratio = "log, synced" if synced else "memory", taken / alone
                        line = f"{keys:<10,} {kind:<14} {threads:<8} {where:<16} {taken[0]:6.2f}   {ratio[0]:5.2f}"
                        print(f"{line} {ratio[1]:15.2f}", flush=True)


def bytes_per_key(keys):
    before = resident()
    fleet = new_fleet()
    for at in range(0, keys, 10_000):
        some = np.arange(at, min(at + 10_000, keys))
        fleet.partial_fit(some, np.zeros((len(some), COLUMNS)), some % 2)
    print(
        f"{keys:,} int keys: resident {(resident() - before) / keys:.0f} bytes per key, "
        f"memory 4096, slot {fleet.slot_bytes}"
    )


def ways(rows, keys):
    """The same rows through other ways to keep a model per key."""
    from river import tree

    of, X, y = stream(rows, keys)
    fleet_time = 1e6 * seconds(feed, new_fleet(n_jobs=1), of, X, y) / rows

    def through_bytes():
        saved = {}
        for key, x, label in zip(of.tolist(), X, y, strict=True):
            model = (
                PocketClassifier.from_bytes(saved[key])
                if key in saved
                else PocketClassifier(memory="4KiB", random_state=0)
            )
            model.partial_fit(x[None], [label], classes=[0, 1])
            saved[key] = model.to_bytes()

    def through_river():
        models = {}
        for key, x, label in zip(of.tolist(), X.tolist(), y.tolist(), strict=True):
            model = models.setdefault(key, tree.HoeffdingAdaptiveTreeClassifier(seed=0))
            row = dict(enumerate(x))
            model.predict_one(row)
            model.learn_one(row, label)
        return models

    bytes_time = 1e6 * seconds(through_bytes) / rows
    start = time.perf_counter()
    models = through_river()
    river_time = 1e6 * (time.perf_counter() - start) / rows
    size = np.mean([len(pickle.dumps(model)) for model in list(models.values())[:50]])
    print(f"{rows:,} rows, {keys:,} keys, microseconds per row (ratio to the fleet)")
    print(f"  fleet                              {fleet_time:9.2f}  (1)")
    print(f"  from_bytes, learn, to_bytes        {bytes_time:9.2f}  ({bytes_time / fleet_time:.0f})")
    print(
        f"  dict of River's adaptive trees     {river_time:9.2f}  ({river_time / fleet_time:.0f}), "
        f"pickle {size:,.0f} bytes"
    )


def stores(rows, keys):
    """States of touched keys written per batch of 10,000 rows, against the log of events."""
    of, X, y = stream(rows, keys)
    block = 10_000
    alone = bare(X, y)
    print(f"{keys:,} keys, {rows:,} uniform rows, a durable commit every {block:,}")
    print(f"us/row, ratio to the bare learner ({alone[0]:.2f}), the same of the processor's time")

    def show(name, taken):
        ratio = 1e6 * taken / rows / alone
        print(f"  {name:<58} {1e6 * taken[0] / rows:8.2f}  {ratio[0]:6.1f} {ratio[1]:6.1f}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        with new_fleet(n_jobs=1, store=FolderStore(Path(folder) / "log")) as fleet:
            show("event log", both(feed, fleet, of, X, y))

        def touched(write, commit):
            fleet = new_fleet(n_jobs=1)
            for at in range(0, rows, block):
                some = slice(at, at + block)
                fleet.predict_then_learn(of[some], X[some], y[some])
                numbers = np.unique(of[some])
                slots, states = np.empty_like(numbers), np.empty((len(numbers), fleet.slot_bytes), dtype=np.uint8)
                fleet._models.of.find(KeyColumn.of_integers(numbers), slots, -1)
                fleet._models.core.read(slots, states)
                write(numbers.tolist(), states)
                commit()

        base = sqlite3.connect(Path(folder) / "sqlite", isolation_level=None)
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("CREATE TABLE models (key INTEGER PRIMARY KEY, state BLOB)")

        def to_sqlite(keys_, states):
            base.execute("BEGIN")
            base.executemany("INSERT OR REPLACE INTO models VALUES (?, ?)", zip(keys_, map(bytes, states), strict=True))

        show("SQLite, touched states", both(touched, to_sqlite, lambda: base.execute("COMMIT")))
        base.close()
        try:
            import lmdb
        except ImportError:
            print("  LMDB: pip install lmdb")
        else:
            with lmdb.open(str(Path(folder) / "lmdb"), map_size=2**36) as environment:

                def to_lmdb(keys_, states):
                    with environment.begin(write=True) as transaction:
                        for key, state in zip(keys_, states, strict=True):
                            transaction.put(key.to_bytes(8, "big"), bytes(state))

                show("LMDB, touched states", both(touched, to_lmdb, lambda: None))
        slab = np.memmap(Path(folder) / "slab", dtype=np.uint8, mode="w+", shape=(keys, new_fleet().slot_bytes))

        def to_slab(keys_, states):
            slab[keys_] = states

        show("memory-mapped slab, flushed", both(touched, to_slab, slab.flush))


def cold(keys, rows_of_key=60):
    """Mistakes of new keys in their first rows, with and without a shared base."""
    rng = np.random.default_rng(0)
    print(
        f"{keys:,} keys that come one after the other, {rows_of_key} rows each; "
        "mistakes in % in the first 5, 20 and all rows"
    )
    for name, turn in (("alike", 0.0), ("a bit different", 0.3), ("two kinds", np.pi)):
        of = np.repeat(np.arange(keys), rows_of_key)
        X = rng.normal(size=(len(of), COLUMNS))
        angle = rng.normal(size=keys) * turn if turn < 3 else turn * rng.integers(0, 2, keys)
        y = (np.cos(angle[of]) * X[:, 0] + np.sin(angle[of]) * X[:, 1] > 0).astype(int)
        age = np.tile(np.arange(rows_of_key), keys)
        late = of >= keys // 5  # the base has learned by then
        for base in (None, "shared"):
            wrong = (new_fleet(base=base).predict_then_learn(of, X, y) >= 0) != (y == 1)
            figures = "  ".join(f"{100 * wrong[late & (age < n)].mean():5.1f}" for n in (5, 20, rows_of_key))
            print(f"  {name:<16} base={base!s:<8} {figures}")


def kills(rows, wanted=20):
    """`pocketkernel fleet run`, killed with -9 at random moments and run again until it ends: the same bits."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        of, X, y = stream(rows, 500)
        lines = [
            ",".join(map(str, (f"u{key}", *row, label))) for key, row, label in zip(of, X.tolist(), y, strict=True)
        ]
        (folder / "events.csv").write_text("\n".join(["user,a,b,c,d,y", *lines]) + "\n")

        def command(out):
            given = ["fleet", "run", str(folder / "events.csv"), "--key", "user", "--label", "y", "--block", "500"]
            given += ["--sync-every", "1000", "--max-keys", "300", "--no-report", "--json", "--out", str(folder / out)]
            return subprocess.Popen([sys.executable, "-m", "pocketkernel", *given], stdout=subprocess.DEVNULL)

        def records():
            """When the files of the store were written last: with every commit."""
            return sorted((path.name, path.stat().st_mtime_ns) for path in (folder / "parts").glob("fleet.sqlite*"))

        command("whole").wait()
        killed, ended, places = 0, 0, set()
        while killed < wanted:
            process, last, left = command("parts"), None, rng.randint(2, 5)
            while process.poll() is None and left > 0:
                time.sleep(0.001)
                with suppress(FileNotFoundError):
                    left -= records() != last
                    last = records()
            time.sleep(rng.uniform(0, 0.03))
            process.kill()
            if process.wait() == 0:
                ended += 1
                compare(folder / "whole", folder / "parts", rows)
                shutil.rmtree(folder / "parts")
                continue
            killed += 1
            places.add(str(last))
        command("parts").wait()
        compare(folder / "whole", folder / "parts", rows)
    print(f"killed {killed} times, at {len(places)} states of the store; {ended + 1} runs ended, with the same bits")


def compare(one, other, rows):
    """Whether the fleets of two folders are the same, to the bit."""
    with Fleet.load(one) as expected, Fleet.load(other) as found:
        assert found.clock == expected.clock == rows
        assert found.offset == expected.offset
        assert sorted(found) == sorted(expected)
        for key in {f"u{number}" for number in range(500)}:
            assert (key in found) == (key in expected)
            assert key not in found or found[key].to_bytes() == expected[key].to_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=["all", "cost", "ways", "stores", "cold", "kills"])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=400_000)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores")
    if given.what in ("all", "cost"):
        bytes_per_key(given.keys)
        cost(given.rows, given.keys)
    if given.what in ("all", "ways"):
        ways(min(given.rows, 20_000), 1_000)
    if given.what in ("all", "stores"):
        stores(min(given.rows, 200_000), min(given.keys, 100_000))
    if given.what in ("all", "cold"):
        cold(2_000)
    if given.what in ("all", "kills"):
        kills(min(given.rows, 40_000))


if __name__ == "__main__":
    main()
