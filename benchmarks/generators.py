"""PocketClassifier on River's generators of drifting streams and on moving squares.

    python benchmarks/generators.py [NAME ...] [--rows 40000] [--seeds 3] [--memory 64KiB]
    python benchmarks/generators.py --curve    # mistakes from 4 KiB to 1 MiB: more memory must not hurt

The label of a row is predicted, then learned. peers.py has River's learners on the same rows.
"""

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from river.datasets import synth
from scipy import stats

from pocketkernel import PocketClassifier

PARTS = 4
"""Concepts one after the other, where a generator does not drift by itself."""
SIZES = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB"]
LEVEL = 0.05
"""Chance that a stream is said to rise with more memory though all sizes are equally good."""


def taken(stream, rows: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = list(itertools.islice(stream, rows))
    return np.array([[float(v) for v in x.values()] for x, _ in pairs]), np.array([int(y) for _, y in pairs])


def concepts(make: Callable, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The same generator with several concepts, one after the other."""
    parts = [taken(make(n), rows // PARTS) for n in range(PARTS)]
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def agrawal(rows: int, seed: int):
    functions = (0, 3, 6, 8)
    return concepts(lambda n: synth.Agrawal(functions[n], seed=100 + 10 * seed + n, perturbation=0.05), rows)


def rbf_drift(rows: int, seed: int):
    shape = {"n_classes": 4, "n_features": 10, "n_centroids": 20, "n_drift_centroids": 10}
    return taken(synth.RandomRBFDrift(200 + seed, 300 + seed, change_speed=0.001, **shape), rows)


def random_tree(rows: int, seed: int):
    return taken(synth.RandomTree(400 + seed, 500 + seed, n_classes=2, n_num_features=5, n_cat_features=5), rows)


def sea(rows: int, seed: int):
    return concepts(lambda n: synth.SEA(n, noise=0.1, seed=600 + 10 * seed + n), rows)


def hyperplane(rows: int, seed: int):
    return taken(
        synth.Hyperplane(700 + seed, n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05), rows
    )


def led(rows: int, seed: int):
    return taken(synth.LEDDrift(800 + seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=4), rows)


def sine(rows: int, seed: int):
    return concepts(lambda n: synth.Sine(n, seed=900 + 10 * seed + n, has_noise=True), rows)


def squares(rows: int, seed: int):
    """Four squares that go round in a circle, one class each."""
    rng = np.random.default_rng(1000 + seed)
    y = rng.integers(4, size=rows)
    angle = 2 * np.pi * (np.arange(rows) / 8000 + y / 4)
    centre = 0.5 + 0.3 * np.column_stack([np.cos(angle), np.sin(angle)])
    return centre + 0.2 * (rng.random((rows, 2)) - 0.5), y


STREAMS = {
    "agrawal": agrawal, "rbf-drift": rbf_drift, "random-tree": random_tree, "sea": sea, "hyperplane": hyperplane,
    "led-drift": led, "sine": sine, "squares": squares,
}  # fmt: skip


def pocket(X, y, seed: int, **given) -> tuple[float, int, float]:
    """Mistakes in %, bytes, microseconds per row."""
    model = PocketClassifier(random_state=seed, n_jobs=1, **given)
    start = time.thread_time()
    scores = model.predict_then_learn(X, y, classes=np.unique(y))
    cost = 1e6 * (time.thread_time() - start) / len(y)
    answers = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return 100 * float(np.mean(np.unique(y)[answers] != y)), model.nbytes, cost


def table(names: list[str], rows: int, seeds: int, memory: str) -> None:
    print(
        f"\nMistakes in %, {rows:,} rows, mean of {seeds} seeds of stream and learner; PocketClassifier in {memory}.\n"
    )
    print("| stream | learner | mistakes | bytes | µs per row |")
    print("|---|---|--:|--:|--:|")
    for name in names:
        data = [STREAMS[name](rows, seed) for seed in range(seeds)]
        for who, lag in (("PocketClassifier", True), ("without lag", False)):
            runs = [pocket(*data[seed], seed, memory=memory, lag=lag) for seed in range(seeds)]
            rate, size, cost = np.mean(runs, axis=0)
            print(f"| {name} | {who} | {rate:.2f} | {size:,.0f} | {cost:.1f} |", flush=True)


def curve(names: list[str], rows: int, seeds: int) -> bool:
    """Mistakes against bytes. They rise if some memory does worse than a smaller one by more than the seeds' noise."""
    good = True
    print(
        f"\nMistakes in % against memory, {rows:,} rows, mean of {seeds} seeds of stream and learner, and its standard"
    )
    print("error.\n")
    print("| stream | " + " | ".join(SIZES) + " | |")
    print("|---|" + "--:|" * len(SIZES) + "---|")
    for name in names:
        data = [STREAMS[name](rows, seed) for seed in range(seeds)]
        rates = np.array([[pocket(*data[seed], seed, memory=size)[0] for seed in range(seeds)] for size in SIZES])
        risen = rises(rates)
        good &= not risen
        cells = (f"{np.mean(rate):.2f} ± {stats.sem(rate):.2f}" for rate in rates)
        print(f"| {name} | " + " | ".join(cells) + f" | {f'RISES: {risen}' if risen else ''} |", flush=True)
    return good


def rises(rates: np.ndarray) -> str:
    """Which memory does worse than which smaller one on the same seeds, beyond chance: t-tests of all pairs at once."""
    pairs = list(itertools.combinations(range(len(rates)), 2))
    bound = stats.t.ppf(1 - LEVEL / len(pairs), rates.shape[1] - 1)
    for small, large in pairs:
        more = rates[large] - rates[small]
        if np.mean(more) > bound * stats.sem(more) and np.mean(more) > 0:
            return f"{SIZES[small]} to {SIZES[large]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("streams", nargs="*", choices=[*STREAMS, []], help="all if not given")
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--memory", default="64KiB")
    parser.add_argument("--curve", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    names = options.streams or list(STREAMS)
    if options.curve and options.seeds < 2:
        parser.error(f"--seeds {options.seeds} with --curve: noise is judged by seeds, so give at least 2.")
    if options.curve:
        return 0 if curve(names, options.rows, options.seeds) else 1
    table(names, options.rows, options.seeds, options.memory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
