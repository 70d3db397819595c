"""The cost of a round: compared with a bare pass and with peers, one row at a time, and over a million rounds.

    python benchmarks/speed.py [--rows 20000]

One process, one thread. All comparisons are ratios of times taken in the same run, each the best of several turns taken
in rotation. Data: $POCKETKERNEL_DATA, then ../shared/data; streams whose file is missing are skipped.
"""

import argparse
import gc
import os
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy import sparse

from datasets import load, load_sparse, missing
from pocketkernel import MOMDH, MOMDS, LKMBooks, Raker, _core
from pocketkernel.stream import permutation

B = 400
TURNS = 9
DTYPES = ("float32", "float64")


def streams(rows: int) -> Iterator[tuple[str, object, np.ndarray]]:
    """Name, rows and labels: permuted, twice as many as are timed, so that buffers are full before timing starts."""
    for name, data_set, loader in (
        ("a9a CSR", "a9a", load_sparse), ("a9a dense", "a9a", load), ("cod-rna", "cod-rna", load),
    ):  # fmt: skip
        if reason := missing([data_set]):
            print(f"{name} skipped: {reason}")
            continue
        X, y = loader(data_set)
        order = permutation(len(y), seed=0)[: 2 * rows]
        yield name, X[order], y[order]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * rows, 64))
    yield "64 features", X, np.where((X[:, :8] ** 2).sum(axis=1) > 8, 1.0, -1.0)


def in_rotation(jobs: dict[object, Callable[[], object]], turns: int = TURNS) -> dict[object, float]:
    """Best time of each job in seconds."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(turns):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def learners(rows: int, dtype: str) -> dict[str, object]:
    common = {"dtype": dtype, "random_state": 0}
    return {
        "M-OMD-S": MOMDS(budget=B, **common),
        "M-OMD-H": MOMDH(budget=B, **common),
        "LKMBooks": LKMBooks(budget=B, horizon=2 * rows, **common),
        "Raker": Raker(features=B, **common),
    }


def bare(X, dtype: str) -> Callable[[], float]:
    if sparse.issparse(X):
        arrays = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        return lambda: _core.bare_pass(*arrays, X.shape[1], B, dtype == "float64", "")
    return lambda: _core.bare_pass(X, None, None, X.shape[1], B, dtype == "float64", "")


def rounds(rows: int) -> bool:
    """Table 1: microseconds per round, and their ratio to the bare pass."""
    good = True
    print(f"\nMicroseconds per round (times the bare pass), B = D = {B}, K = 5, {rows} rows after as many to warm up")
    print("Limits: M-OMD-S at most 2.0 bare passes, M-OMD-H at most 10 M-OMD-S")
    print("| stream | dtype | bare pass | M-OMD-S | M-OMD-H | LKMBooks | Raker | M-OMD-H / M-OMD-S | limits |")
    print("|---|---|--:|--:|--:|--:|--:|--:|---|")
    for name, X, y in streams(rows):
        for dtype in DTYPES:
            late, labels = X[rows:], y[rows:]
            jobs: dict[object, Callable[[], object]] = {"bare": bare(late, dtype)}
            for learner, model in learners(rows, dtype).items():
                model.predict_then_learn(X[:rows], y[:rows], classes=[-1, 1])
                jobs[learner] = partial(model.predict_then_learn, late, labels)
            best = {job: seconds / rows * 1e6 for job, seconds in in_rotation(jobs).items()}
            ratio = {job: value / best["bare"] for job, value in best.items()}
            h_to_s = best["M-OMD-H"] / best["M-OMD-S"]
            passed = ratio["M-OMD-S"] <= 2.0 and h_to_s <= 10.0
            good &= passed
            cells = " | ".join(f"{best[job]:.2f} ({ratio[job]:.2f})" for job in jobs if job != "bare")
            verdict = "passed" if passed else "FAILED"
            print(f"| {name} | {dtype} | {best['bare']:.2f} | {cells} | {h_to_s:.2f} | {verdict} |", flush=True)
    return good


def peers(rows: int) -> bool:
    """Table 2: one row at a time, compared with existing libraries."""
    from river import linear_model, neighbors
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import SGDClassifier

    good = True
    few = min(rows, 1000)
    print(f"\nMicroseconds per event, predict then learn, one event per call ({few} events, the same for all)")
    print(
        "| stream | M-OMD-S | River LogisticRegression | River KNN(400) | RBFSampler(400) + SGD | M-OMD-S is fastest |"
    )
    print("|---|--:|--:|--:|--:|---|")
    for name, X, y in streams(rows):
        if sparse.issparse(X):
            continue  # the peers take the same rows dense
        early, late = X[:few], np.ascontiguousarray(X[rows : rows + few])
        labels = y[rows : rows + few]
        as_dicts = [dict(enumerate(row.tolist())) for row in late]
        as_rows = [(late[i : i + 1], labels[i : i + 1]) for i in range(few)]

        model = MOMDS(budget=B, random_state=0)
        model.predict_then_learn(X[:rows], y[:rows], classes=[-1, 1])
        river_linear = linear_model.LogisticRegression()
        river_knn = neighbors.KNNClassifier(engine=neighbors.LazySearch(window_size=B))
        for row, label in zip(early, y[:few], strict=True):
            river_knn.learn_one(dict(enumerate(row.tolist())), label > 0)
        sampler = RBFSampler(n_components=B, random_state=0).fit(early)
        sgd = SGDClassifier(loss="log_loss", random_state=0)
        sgd.partial_fit(sampler.transform(early), y[:few], classes=[-1, 1])

        def ours(model=model, as_rows=as_rows):
            for row, label in as_rows:
                model.predict_then_learn(row, label)

        def river(river_model, as_dicts=as_dicts, labels=labels):
            for row, label in zip(as_dicts, labels, strict=True):
                river_model.predict_one(row)
                river_model.learn_one(row, label > 0)

        def sklearn(sgd=sgd, sampler=sampler, as_rows=as_rows):
            for row, label in as_rows:
                features = sampler.transform(row)
                sgd.predict(features)
                sgd.partial_fit(features, label)

        jobs = {
            "ours": ours,
            "linear": lambda river=river, m=river_linear: river(m),
            "knn": lambda river=river, m=river_knn: river(m),
            "sgd": sklearn,
        }
        best = {job: seconds / few * 1e6 for job, seconds in in_rotation(jobs, 2).items()}
        passed = best["ours"] < min(best["linear"], best["knn"], best["sgd"])
        good &= passed
        print(
            f"| {name} | {best['ours']:.2f} | {best['linear']:.1f} | {best['knn']:.1f} | {best['sgd']:.1f} "
            f"| {'passed' if passed else 'FAILED'} |",
            flush=True,
        )
    return good


def single_rows(rows: int) -> bool:
    """Table 3: the overhead of a call."""
    good = True
    print("\nMicroseconds per row with one row per call, and in one block")
    print("| stream | one per call | block | difference | <= 3 |")
    print("|---|--:|--:|--:|---|")
    for name, X, y in streams(rows):
        if sparse.issparse(X):
            continue
        late, labels = X[rows:], y[rows:]
        as_rows = [(late[i : i + 1], labels[i : i + 1]) for i in range(rows)]
        block, single = MOMDS(budget=B, random_state=0), MOMDS(budget=B, random_state=0)
        for model in (block, single):
            model.predict_then_learn(X[:rows], y[:rows], classes=[-1, 1])

        def one_by_one(single=single, as_rows=as_rows):
            for row, label in as_rows:
                single.predict_then_learn(row, label)

        best = in_rotation({"single": one_by_one, "block": partial(block.predict_then_learn, late, labels)})
        one, many = best["single"] / rows * 1e6, best["block"] / rows * 1e6
        passed = one - many <= 3
        good &= passed
        verdict = "passed" if passed else "FAILED"
        print(f"| {name} | {one:.2f} | {many:.2f} | {one - many:.2f} | {verdict} |", flush=True)
    return good


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def million() -> bool:
    """Table 4: memory over a million rounds."""
    if not os.path.exists("/proc/self/statm"):
        print("\nMemory over a million rounds: skipped, this system has no /proc")
        return True
    good = True
    print("\nMemory over 1,000,000 rounds of 10 features, in blocks of 1,000")
    print("| learner | nbytes at the start | at the end | resident memory grew by, after 100,000 rounds | < 1 MiB |")
    print("|---|--:|--:|--:|---|")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10))
    y = np.where((X[:, :3] ** 2).sum(axis=1) > 3, 1, -1)
    for name, model in learners(500_000, "float32").items():
        sizes, grown = [], []
        for _ in range(10):
            for start in range(0, len(y), 1000):
                model.partial_fit(X[start : start + 1000], y[start : start + 1000], classes=[-1, 1])
                sizes.append(model.nbytes)
            gc.collect()
            grown.append(resident())
        passed = len(set(sizes)) == 1 and max(grown) - grown[0] < 2**20
        good &= passed
        verdict = "passed" if passed else "FAILED"
        print(f"| {name} | {sizes[0]} | {sizes[-1]} | {max(grown) - grown[0]} | {verdict} |", flush=True)
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    rows = parser.parse_args().rows
    print(f"level {os.environ.get('POCKETKERNEL_LEVEL') or _core.levels()[-1]} of {', '.join(_core.levels())}")
    passed = [rounds(rows), peers(rows), single_rows(rows), million()]
    raise SystemExit(0 if all(passed) else "some limits were exceeded")


if __name__ == "__main__":
    main()
