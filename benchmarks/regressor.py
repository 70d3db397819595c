"""PocketRegressor: errors on data sets, coverage of intervals, late targets, difficult streams, cost, and
River's regressors.

    python benchmarks/regressor.py [table coverage late unkind cost peers] [--permutations 3] [--memory 64KiB]

nRMSE is the root of the mean squared error of answers made before the target was seen, over the deviation of the
target; nobody is tuned for a data set. Data: files NAME.svm.xz in the folder `regression` of $POCKETKERNEL_DATA, or of
../shared/data.
"""

import argparse
import time

import numpy as np

from datasets import load
from pocketkernel import LateIntervals, PocketClassifier, PocketRegressor

GOALS = {"housing": 0.54, "kin8nm": 0.55, "elevators": 0.39, "protein": 0.75, "power-plant": 0.235}
SECOND_HALF = ("power-plant",)
WINDOW = 5000


def rows_of(name: str, seed: int):
    """A data set in the order of a permutation."""
    X, y = load(f"regression/{name}")
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def error(name, y, answers):
    begin = len(y) // 2 if name in SECOND_HALF else 0
    return np.sqrt(np.mean((y - answers)[begin:] ** 2)) / y.std()


def table(options):
    print(f"nRMSE in {options.memory}, {options.permutations} permutations (power-plant: second half)")
    for name, goal in GOALS.items():
        errors, took, rows = [], 0.0, 0
        for seed in range(options.permutations):
            X, y = rows_of(name, seed)
            begin = time.perf_counter()
            answers = PocketRegressor(memory=options.memory, random_state=seed).predict_then_learn(X, y)
            took, rows = took + time.perf_counter() - begin, rows + len(y)
            errors.append(error(name, y, answers))
        each = " ".join(f"{value:.4f}" for value in errors)
        print(f"  {name:12} {np.mean(errors):.4f}  each {each}  goal {goal}  {1e6 * took / rows:.1f} us", flush=True)


def changed(kind, y, rng):
    """The targets of a difficult stream: disturbed from its middle on, or all the time."""
    late = np.arange(len(y)) >= len(y) // 2
    return {
        "as they are": lambda: y,
        "times 100": lambda: np.where(late, 100 * y, y),
        "/ 100": lambda: np.where(late, y / 100, y),
        "+ 1000 sd": lambda: y + 1000 * y.std() * late,
        "sign flips": lambda: np.where(late, -y, y),
        "growing": lambda: y * np.exp(np.arange(len(y)) / 1000),
        "0.1% times 1e6": lambda: np.where(rng.random(len(y)) < 0.001, 1e6 * y, y),
        "first 5 are 1e6": lambda: np.concatenate([np.full(5, 1e6), y[5:]]),
    }[kind]()


KINDS = (
    "as they are", "times 100", "/ 100", "+ 1000 sd", "sign flips", "growing", "0.1% times 1e6", "first 5 are 1e6",
)  # fmt: skip


def coverage(options):
    shares = (0.5, 0.8, 0.9, 0.95, 0.99)
    print(f"lowest and highest deviation of coverage in points, over all windows of {WINDOW} rows")
    streams = [("protein", "as they are"), ("housing", "as they are"), *(("elevators", kind) for kind in KINDS)]
    for name, kind in streams:
        X, y = rows_of(name, 0)
        y = changed(kind, y, np.random.default_rng(1))
        model = PocketRegressor(memory=options.memory, random_state=0)
        inside = np.zeros((len(y), len(shares)), dtype=bool)
        model.partial_fit(X[:1], y[:1])
        for t in range(1, len(y)):
            bounds = [model._core.margins(share) for share in shares]
            miss = y[t] - model.predict_then_learn(X[t : t + 1], y[t : t + 1])[0]
            inside[t] = [-below <= miss <= above for below, above in bounds]
        kernel = np.full(WINDOW, 1 / WINDOW)
        spans = [np.convolve(inside[1:, i], kernel, "valid") - share for i, share in enumerate(shares)]
        text = "  ".join(
            f"{share:g}: {100 * span.min():+.2f} {100 * span.max():+.2f}"
            for share, span in zip(shares, spans, strict=True)
        )
        print(f"  {name:10} {kind:16} {text}", flush=True)


def made(rows=30_000):
    """Streams whose errors are more or less like the ones before."""
    rng, t = np.random.default_rng(0), np.arange(rows)
    noise = rng.normal(size=rows)
    for keep in (0.9, 0.97, 0.99, 1.0):
        y = np.zeros(rows)
        for i in range(1, rows):
            y[i] = keep * y[i - 1] + noise[i]
        yield f"{keep:g} of the last y, and noise", rng.normal(size=(rows, 2)), y
    X, moving = rng.normal(size=(rows, 5)), 0.03 * np.cumsum(rng.normal(size=(rows, 5)), axis=0)
    yield "coefficients that move", X, (X * moving).sum(axis=1) + noise
    X = np.column_stack([np.sin(2 * np.pi * t / 24), rng.normal(size=rows)])
    yield "two seasons, one in no column", X, 5 * X[:, 0] + 3 * np.sin(2 * np.pi * t / 700) + noise
    yield "elevators, shuffled", *rows_of("elevators", 0)


def late(options):
    """Blocks of rows are answered before their targets come, beginning with the second block."""
    print(f"coverage of 90 % in %, and lowest to highest over {WINDOW} rows: next row's intervals, LateIntervals")
    for name, X, y in made():
        for block in (1, 24, 200):
            cells = []
            for intervals in (None, LateIntervals()):
                model = PocketRegressor(memory=options.memory, random_state=0).partial_fit(X[:block], y[:block])
                inside = []
                for begin in range(block, len(y), block):
                    rows = slice(begin, begin + block)
                    given = intervals.predict(model, X[rows]) if intervals else model.predict_interval(X[rows])
                    inside.append((given[:, 0] <= y[rows]) & (y[rows] <= given[:, 1]))
                    if intervals:
                        intervals.learn(given, y[rows])
                    model.partial_fit(X[rows], y[rows])
                shares = 100 * np.convolve(np.concatenate(inside), np.full(WINDOW, 1 / WINDOW), "valid")
                cells.append(f"{100 * np.concatenate(inside).mean():.1f} ({shares.min():.1f} to {shares.max():.1f})")
            print(f"| {name} | {block} | " + " | ".join(cells) + " |", flush=True)


def unkind(options):
    """A robust measure: the root of the median squared error over that of a normal one, in deviations of the target."""
    print("elevators, error before the middle, and 200, 1000 and 3000 rows after it")
    X, y = rows_of("elevators", 0)
    for kind in KINDS:
        targets = changed(kind, y, np.random.default_rng(1))
        answers = PocketRegressor(memory=options.memory, random_state=0).predict_then_learn(X, targets)
        scale = targets / np.where(y == 0, 1, y) if kind == "growing" else 1.0
        half, deviations = len(y) // 2, []
        for begin, end in ((1000, half), (half, half + 200), (half + 200, half + 1000), (half + 1000, half + 3000)):
            part = targets[begin:end]
            sd = y.std() * np.mean(scale[begin:end]) if kind == "growing" else _deviation(part)
            deviations.append(np.sqrt(np.median((part - answers[begin:end]) ** 2) / 0.455) / sd)
        print(f"  {kind:16} " + "  ".join(f"{value:.3f}" for value in deviations), flush=True)


def _deviation(y):
    """A standard deviation that ignores outliers."""
    return np.subtract(*np.quantile(y, [0.84, 0.16])) / 2


def cost(options):
    print("microseconds per row, predict then learn, least of 5 runs, beside PocketClassifier with y > median")
    for name in GOALS:
        X, y = rows_of(name, 0)
        X, y = X[:5000], y[:5000]
        times = []
        for class_, targets in ((PocketRegressor, y), (PocketClassifier, (y > np.median(y)).astype(int))):
            runs = []
            for _ in range(5):
                model = class_(memory=options.memory, random_state=0)
                model.fit(X[:2000], targets[:2000])
                begin = time.perf_counter()
                model.predict_then_learn(X[2000:], targets[2000:])
                runs.append((time.perf_counter() - begin) / 3000 * 1e6)
            times.append(min(runs))
        print(f"  {name:12} {times[0]:6.1f} {times[1]:6.1f}  ratio {times[0] / times[1]:.2f}", flush=True)


def peers(options):
    """River's regressors on the first 5,000 rows of the first permutation, the slow ones among them."""
    from river import forest, neighbors, preprocessing, rules

    contestants = {
        "kNN": lambda: preprocessing.StandardScaler() | neighbors.KNNRegressor(),
        "AMRules": lambda: preprocessing.StandardScaler() | rules.AMRules(),
        "ARF": lambda: forest.ARFRegressor(seed=0),
        "AMF": lambda: forest.AMFRegressor(seed=0),
    }
    for name in GOALS:
        X, y = (part[:5000] for part in rows_of(name, 0))
        answers = PocketRegressor(memory=options.memory, random_state=0).predict_then_learn(X, y)
        print(f"  {name:12} {'PocketRegressor':16} {error('', y, answers):.4f}", flush=True)
        for peer, make in contestants.items():
            model, given, begin = make(), [], time.thread_time()
            for x, target in zip(X, y, strict=True):
                row = dict(enumerate(x))
                given.append(model.predict_one(row) or 0.0)
                model.learn_one(row, target)
            took = 1e6 * (time.thread_time() - begin) / len(y)
            size = f"{took:.0f} us {model._raw_memory_usage:,} bytes"
            print(f"  {name:12} {peer:16} {error('', y, np.array(given)):.4f} {size}", flush=True)


PARTS = {part.__name__: part for part in (table, coverage, late, unkind, cost, peers)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["table", "coverage", "unkind", "cost"], metavar="PART")
    parser.add_argument("--permutations", type=int, default=3)
    parser.add_argument("--memory", default="64KiB")
    given = parser.parse_args()
    for part in given.parts:
        PARTS[part](given)
