"""PocketClassifier beside River's learners on the same rows: mistakes, bytes, time, and a count of wins and losses.

    python benchmarks/peers.py [STREAM ...] [--rows 5000] [--learners arf srp amf hat knn last] [--results peers.csv]

Streams are River's generators (generators.py), those in the folder `streams` of the data in their own order, and the
paper's data sets in the order of their first permutation; of each the first --rows rows. River's learners have their
default parameters and 10 trees; kNN gets scaled rows and keeps the last 1,000. They take up to 25 ms per row: results
are appended to the file --results, and what is in it already is not run again. Bytes are those of River's own
estimate. One seed.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import generators
from datasets import load, missing
from pocket import STREAMS as REAL
from pocket import rows_of
from pocketkernel.lab.catalogue import NAMES as PAPER

TIE = 0.5
"""Points by which two learners may differ and still be equal."""
FIXED_CYCLE = "rialto"
"""Its labels come in a fixed cycle: to read that off is no skill, so PocketClassifier counts without its lag expert."""
NAMES = [*generators.STREAMS, *REAL, *PAPER]
FIELDS = ["stream", "rows", "learner", "mistakes", "bytes", "microseconds"]


def river() -> dict[str, Callable]:
    from river import dummy, ensemble, forest, neighbors, preprocessing, tree

    nearest = lambda: neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=1000))  # noqa: E731
    return {
        "arf": lambda: forest.ARFClassifier(n_models=10, seed=0),
        "srp": lambda: ensemble.SRPClassifier(n_models=10, seed=0),
        "amf": lambda: forest.AMFClassifier(n_estimators=10, seed=0),
        "hat": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
        "knn": lambda: preprocessing.StandardScaler() | nearest(),
        "last": lambda: dummy.NoChangeClassifier(),
    }


def data_of(name: str, rows: int):
    if name in generators.STREAMS:
        X, y = generators.STREAMS[name](max(rows, 40_000), 0)  # where concepts change depends on the number of rows
    elif name in REAL:
        X, y = load(f"streams/{name}")
    else:
        X, y = rows_of(name, 0)
    X = X[:rows]
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32), y[:rows].astype(int)


def peer(model, X, y) -> tuple[float, int, float]:
    """Mistakes in %, bytes, microseconds per row."""
    rows = [dict(enumerate(row)) for row in X.tolist()]
    start, wrong = time.thread_time(), 0
    for x, label in zip(rows, y.tolist(), strict=True):
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return 100 * wrong / len(y), model._raw_memory_usage, 1e6 * (time.thread_time() - start) / len(y)


def known(path: Path) -> dict[tuple, tuple[float, int, float]]:
    """Stream, rows and learner, and what was measured."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            (row["stream"], int(row["rows"]), row["learner"]): (
                float(row["mistakes"]), int(row["bytes"]), float(row["microseconds"]),
            )
            for row in csv.DictReader(file)
        }  # fmt: skip


def measure(path: Path, names: list[str], rows: int, learners: list[str]) -> None:
    """Runs River's learners where the file has no result yet."""
    makers = river()
    for learner in learners:
        for name in names:
            X, y = data_of(name, rows)
            if (name, len(y), learner) in known(path):
                continue
            figures = peer(makers[learner](), X, y)
            new = not path.exists()
            with path.open("a", newline="") as file:
                lines = csv.writer(file)
                if new:
                    lines.writerow(FIELDS)
                lines.writerow([name, len(y), learner, f"{figures[0]:.4f}", figures[1], f"{figures[2]:.1f}"])


def table(path: Path, names: list[str], rows: int, learners: list[str], memory: str) -> None:
    results = known(path)
    counts = {learner: [0, 0, 0] for learner in learners}
    print(
        f"Mistakes in %, the first {rows:,} rows of each stream (all if it has fewer); PocketClassifier in {memory}.\n"
    )
    print("| stream | rows | PocketClassifier | without lag | " + " | ".join(learners) + " |")
    print("|---|--:|--:|--:|" + "--:|" * len(learners))
    sizes: dict[str, list] = {learner: [] for learner in ["PocketClassifier", *learners]}
    for name in names:
        X, y = data_of(name, rows)
        ours = generators.pocket(X, y, 0, memory=memory)
        without = generators.pocket(X, y, 0, memory=memory, lag=False)[0]
        sizes["PocketClassifier"].append(ours[1:])
        counted = without if name == FIXED_CYCLE else ours[0]
        cells = []
        for learner in learners:
            theirs = results.get((name, len(y), learner))
            if theirs is None:
                cells.append("")
                continue
            better = theirs[0] - counted
            counts[learner][0 if better > TIE else 2 if better < -TIE else 1] += 1
            sizes[learner].append(theirs[1:])
            cells.append(f"{theirs[0]:.2f}" + (" (better)" if better < -TIE else ""))
        print(f"| {name} | {len(y):,} | {ours[0]:.2f} | {without:.2f} | " + " | ".join(cells) + " |", flush=True)
    print("\n| | " + " | ".join(sizes) + " |\n|---|" + "--:|" * len(sizes))
    figures = [np.array(sizes[learner], dtype=float).reshape(-1, 2) for learner in sizes]
    for title, column, most in (
        ("bytes, median", 0, np.median),
        ("bytes, most", 0, np.max),
        ("µs per row", 1, np.median),
    ):
        print(f"| {title} | " + " | ".join(f"{most(f[:, column]):,.0f}" if len(f) else "" for f in figures) + " |")
    for place, title in enumerate(("wins", "ties", "losses")):
        print(f"| {title} of PocketClassifier | | " + " | ".join(str(counts[k][place]) for k in learners) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("streams", nargs="*", choices=[*NAMES, []], help="all if not given")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--memory", default="64KiB")
    parser.add_argument("--learners", nargs="*", default=list(river()), choices=list(river()))
    parser.add_argument("--results", type=Path, default=Path("peers.csv"))
    parser.add_argument("--table", action="store_true", help="run none of River's learners: use what the file has")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = options.streams or NAMES
    names = [n for n in names if n in generators.STREAMS or not missing([f"streams/{n}" if n in REAL else n])]
    if not options.table:
        measure(options.results, names, options.rows, options.learners)
    table(options.results, names, options.rows, options.learners, options.memory)


if __name__ == "__main__":
    main()
