"""PocketClassifier on random streams: how often is it worse than something simpler, or than a fresh start?

    python benchmarks/random_streams.py [--streams 500] [--first 0] [--memory 64KiB] [--worst 10] [--after-noise]

A stream is a kind of columns times a kind of concept, and most streams change half-way. Each is predicted, then
learned, row by row. Counts the streams in which the learner makes more mistakes, by more than 1 and 3 points of the
rows compared, than its own linear part, the majority so far and the last label (all rows), and than a fresh learner
that starts half-way (the second half). Stream n depends on n alone. On pure noise two learners differ by chance: such
streams are counted apart.

`--after-noise` prints the mistakes on a plane in 30 columns that comes after 5,000 rows of random labels.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pocketkernel import PocketClassifier

Numbers = np.ndarray
Rng = np.random.Generator
RIVALS = ("linear part", "majority", "last label", "fresh start")
POINTS = (1, 3)


# ---- columns: rows as they come, in the order of time ----------------------------------------------------------------


def normal(rng: Rng, n: int, d: int) -> Numbers:
    return rng.standard_normal((n, d))


def heavy_tails(rng: Rng, n: int, d: int) -> Numbers:
    return rng.standard_t(rng.uniform(1.2, 3.0), (n, d))


def integers(rng: Rng, n: int, d: int) -> Numbers:
    return rng.poisson(rng.uniform(0.5, 20.0, d), (n, d)).astype(float)


def booleans(rng: Rng, n: int, d: int) -> Numbers:
    return (rng.random((n, d)) < rng.uniform(0.05, 0.95, d)).astype(float)


def categories(rng: Rng, n: int, d: int) -> Numbers:
    """A few categories, one-hot."""
    parts = [np.eye(k)[rng.choice(k, n, p=rng.dirichlet(np.ones(k)))] for k in rng.integers(2, 9, max(d // 5, 1))]
    return np.hstack(parts)


def sparse(rng: Rng, n: int, d: int) -> Numbers:
    return np.where(rng.random((n, d)) < rng.uniform(0.02, 0.2), rng.exponential(1.0, (n, d)), 0.0)


def correlated(rng: Rng, n: int, d: int) -> Numbers:
    hidden = max(d // 4, 1)
    return rng.standard_normal((n, hidden)) @ rng.standard_normal((hidden, d)) + 0.3 * rng.standard_normal((n, d))


def idle(rng: Rng, n: int, d: int) -> Numbers:
    """A third of the columns are constant, a third are copies."""
    X = rng.standard_normal((n, d))
    X[:, : d // 3] = rng.standard_normal(d // 3)
    copies = np.arange(d // 3, 2 * (d // 3))
    X[:, copies] = X[:, rng.integers(d // 3, d, len(copies))]
    return X


def counters(rng: Rng, n: int, d: int) -> Numbers:
    """A row number, a random walk, and normal columns."""
    X = rng.standard_normal((n, max(d, 3)))
    X[:, 0] = np.arange(n)
    X[:, 1] = np.cumsum(X[:, 1])
    return X


def scales(rng: Rng, n: int, d: int) -> Numbers:
    unit = 10.0 ** rng.uniform(-6, 6, d)
    return unit * (np.exp(rng.standard_normal((n, d)) * rng.uniform(0, 1.5, d)) + rng.uniform(-100, 100, d))


def autocorrelated(rng: Rng, n: int, d: int) -> Numbers:
    keep, X = rng.uniform(0.8, 0.99), rng.standard_normal((n, d))
    for t in range(1, n):
        X[t] = keep * X[t - 1] + np.sqrt(1 - keep**2) * X[t]
    return X


def mixed(rng: Rng, n: int, d: int) -> Numbers:
    kinds = rng.choice([normal, heavy_tails, integers, booleans, sparse, scales], 3, replace=False)
    return np.hstack([make(rng, n, max(d // 3, 1)) for make in kinds])


COLUMNS = (
    normal, heavy_tails, integers, booleans, categories, sparse, correlated, idle, counters, scales, autocorrelated,
    mixed,
)  # fmt: skip

# ---- concepts: drawn once, then a function from rows in one scale to a score for each class --------------------------

Concept = Callable[[Numbers, Rng], Numbers]


def chosen(rng: Rng, d: int, most: int) -> Numbers:
    return rng.choice(d, min(int(rng.integers(1, most + 1)), d), replace=False)


def plane(rng: Rng, Z: Numbers, classes: int) -> Concept:
    a = rng.standard_normal((Z.shape[1], classes))
    return lambda Z, _: Z @ a


def few_columns(rng: Rng, Z: Numbers, classes: int) -> Concept:
    few = chosen(rng, Z.shape[1], 3)
    a = rng.standard_normal((len(few), classes))
    return lambda Z, _: Z[:, few] @ a


def products(rng: Rng, Z: Numbers, classes: int) -> Concept:
    """Of two columns each, as in XOR."""
    left, right = rng.integers(Z.shape[1], size=(2, classes))
    return lambda Z, _: np.sign(Z[:, left]) * np.sign(Z[:, right]) + 0.1 * Z[:, left] * Z[:, right]


def balls(rng: Rng, Z: Numbers, classes: int) -> Concept:
    few = chosen(rng, Z.shape[1], 5)
    centres = rng.standard_normal((classes, len(few)))
    return lambda Z, _: -np.stack([((Z[:, few] - c) ** 2).sum(axis=1) for c in centres], axis=1)


def tree(rng: Rng, Z: Numbers, classes: int) -> Concept:
    depth = int(rng.integers(2, 6))
    columns, rows = rng.integers(Z.shape[1], size=2**depth), rng.integers(len(Z), size=2**depth)
    limits, leaves = Z[rows, columns], rng.integers(classes, size=2**depth)

    def scores(Z, _):
        at = np.ones(len(Z), int)
        for _ in range(depth):
            at = 2 * at + (Z[np.arange(len(Z)), columns[at]] > limits[at])
        return np.eye(classes)[leaves[at - 2**depth]]

    return scores


def clusters(rng: Rng, Z: Numbers, classes: int) -> Concept:
    few = chosen(rng, Z.shape[1], 6)
    centres = Z[rng.integers(len(Z), size=int(rng.integers(classes, 4 * classes + 1)))][:, few]
    labels = np.eye(classes)[np.arange(len(centres)) % classes]
    return lambda Z, _: labels[np.argmin([((Z[:, few] - c) ** 2).sum(axis=1) for c in centres], axis=0)]


def waves(rng: Rng, Z: Numbers, classes: int) -> Concept:
    few = chosen(rng, Z.shape[1], 2)
    a = rng.uniform(1.0, 3.0) * rng.standard_normal((len(few), classes))
    return lambda Z, _: np.sin(Z[:, few] @ a)


def rare(rng: Rng, Z: Numbers, classes: int) -> Concept:
    """The first class is what most rows are."""
    a = rng.standard_normal((Z.shape[1], classes))
    usual = np.quantile((Z @ a).max(axis=1), rng.uniform(0.9, 0.99))
    return lambda Z, _: np.column_stack([np.full(len(Z), usual), (Z @ a)[:, 1:]])


def noise(rng: Rng, Z: Numbers, classes: int) -> Concept:
    chances = rng.dirichlet(np.full(classes, 2.0))
    return lambda Z, rng: np.eye(classes)[rng.choice(classes, len(Z), p=chances)]


def periodic(rng: Rng, Z: Numbers, classes: int) -> Concept:
    cycle = rng.integers(classes, size=int(rng.integers(2, 13)))
    return lambda Z, _: np.eye(classes)[np.resize(cycle, len(Z))]


def sticky(rng: Rng, Z: Numbers, classes: int) -> Concept:
    """The next label is mostly the last one."""
    leave = rng.uniform(0.02, 0.3)

    def scores(Z, rng):
        labels = rng.integers(classes, size=len(Z))
        run = np.maximum.accumulate(np.where(rng.random(len(Z)) < leave, np.arange(len(Z)), 0))
        return np.eye(classes)[labels[run]]

    return scores


CONCEPTS = (plane, few_columns, products, balls, tree, clusters, waves, rare, noise, periodic, sticky)

# ---- streams ---------------------------------------------------------------------------------------------------------

CHANGES = (
    "none", "none", "none", "new concept", "other kind", "gradual", "labels swapped", "noise before", "noise after",
    "columns permuted", "new units",
)  # fmt: skip


@dataclass
class Stream:
    name: str
    X: Numbers
    y: Numbers
    classes: int

    @property
    def half(self) -> int:
        return len(self.y) // 2


def standard(X: Numbers) -> Numbers:
    """As concepts see columns: centred, and far values nearer."""
    spread = X.std(axis=0)
    return 2 * np.arcsinh((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0) / 2)


def balanced(scores: Numbers, like: Numbers) -> Numbers:
    """Shifted so that classes are about equally frequent, unless all scores are 0 or 1."""
    return scores if np.isin(like, (0, 1)).all() else scores - np.median(like, axis=0)


def random_stream(n: int) -> Stream:
    rng = np.random.default_rng([25, n])
    columns, concept = COLUMNS[n % len(COLUMNS)], CONCEPTS[n // len(COLUMNS) % len(CONCEPTS)]
    change = CHANGES[int(rng.integers(len(CHANGES)))]
    rows, classes = int(rng.integers(2000, 12001)), 2 if rng.random() < 0.65 else int(rng.integers(3, 11))
    X = columns(rng, rows, int(rng.choice([2, 3, 5, 8, 12, 20, 30, 40])))
    if rng.random() < 0.25:  # among many others, which say nothing
        X = np.hstack([X, rng.standard_normal((rows, int(rng.integers(5, 41))))])
    Z = standard(X)

    def labels(make: Callable, Z: Numbers) -> Numbers:
        drawn = make(rng, Z, classes)
        scores = drawn(Z, rng)
        if make is not rare:
            scores = balanced(scores, scores)
        return scores.argmax(axis=1)

    half = rows // 2
    first = noise if change == "noise before" else concept
    y = labels(first, Z)
    if change in ("new concept", "gradual", "other kind", "noise before", "noise after"):
        second = noise if change == "noise after" else concept
        if change == "other kind":
            second = CONCEPTS[int(rng.integers(len(CONCEPTS)))]
        later = labels(second, Z)
        when = np.arange(rows) >= half
        if change == "gradual":
            when = rng.random(rows) < np.clip((np.arange(rows) - 0.4 * rows) / (0.2 * rows), 0, 1)
        y = np.where(when, later, y)
    elif change == "labels swapped":
        y[half:] = np.roll(np.arange(classes), 1)[y[half:]]
    elif change == "columns permuted":
        X[half:] = X[half:][:, rng.permutation(X.shape[1])]
    elif change == "new units":
        X[half:] = X[half:] * 10.0 ** rng.uniform(-3, 3, X.shape[1]) + rng.uniform(-10, 10, X.shape[1])
    wrong = rng.random(rows) < rng.choice([0.0, 0.02, 0.1, 0.2])
    y = np.where(wrong, rng.integers(classes, size=rows), y)
    return Stream(f"{n}: {columns.__name__}, {concept.__name__}, {change}", X.astype(np.float32), y, classes)


# ---- mistakes --------------------------------------------------------------------------------------------------------


def answers(scores: Numbers) -> Numbers:
    return (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def learned(X: Numbers, y: Numbers, classes: int, memory: str) -> tuple[Numbers, Numbers]:
    """Answers made before the labels: the learner's, and its linear part's."""
    model = PocketClassifier(memory=memory, random_state=0, n_jobs=1)
    scores, linear = model.predict_then_learn_both(X, y, classes=np.arange(classes))
    return answers(scores), answers(linear)


def majority(y: Numbers, classes: int) -> Numbers:
    """The most frequent label before each row."""
    seen = np.cumsum(np.eye(classes, dtype=int)[y], axis=0)
    return np.append(0, seen[:-1].argmax(axis=1))


def excess(stream: Stream, memory: str) -> Numbers:
    """By how many points the learner is worse than each of RIVALS."""
    y, half = stream.y, stream.half
    own, linear = learned(stream.X, y, stream.classes, memory)
    fresh, _ = learned(stream.X[half:], y[half:], stream.classes, memory)
    rate = lambda answers, since=0: 100 * float(np.mean(answers[since:] != y[since:]))  # noqa: E731
    rivals = [rate(linear), rate(majority(y, stream.classes)), rate(np.append(0, y[:-1]))]
    excesses = [rate(own) - rival for rival in rivals]
    return np.array([*excesses, rate(own, half) - 100 * float(np.mean(fresh != y[half:]))])


def count(first: int, streams: int, memory: str, worst: int) -> None:
    names, table = [], []
    for n in range(first, first + streams):
        stream = random_stream(n)
        names.append(stream.name)
        table.append(excess(stream, memory))
    excesses = np.array(table)
    random = np.array([", noise," in name for name in names])
    last = first + streams - 1
    print(f"\nStreams {first} to {last} in which PocketClassifier({memory}) is worse, in brackets noise only.\n")
    print("| than its | " + " | ".join(f"by more than {points}" for points in POINTS) + " |\n|---|--:|--:|")
    for rival, column in zip(RIVALS, excesses.T, strict=True):
        cells = [f"{np.sum(column > points)} ({np.sum((column > points) & random)})" for points in POINTS]
        print(f"| {rival} | {' | '.join(cells)} |")
    for rival, column in zip(RIVALS, excesses.T, strict=True):
        print(f"\nMost points worse than: {rival}")
        for place in np.argsort(-column)[:worst]:
            print(f"  {column[place]:6.2f}  {names[place]}")


def after_noise(memory: str, seeds: int = 5) -> None:
    """A plane in 30 columns after 5,000 rows of random labels."""
    print("\nMistakes in % on a plane in 30 columns after 5,000 rows of random labels, mean of 5 seeds.\n")
    print("| rows after | learner | its linear part | a fresh learner |\n|---|--:|--:|--:|")
    wrong = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((10_000, 30)).astype(np.float32)
        y = np.where(np.arange(10_000) < 5000, rng.integers(2, size=10_000), X @ rng.standard_normal(30) > 0)
        own, linear = learned(X, y, 2, memory)
        fresh, _ = learned(X[5000:], y[5000:], 2, memory)
        wrong.append([own[5000:] != y[5000:], linear[5000:] != y[5000:], fresh != y[5000:]])
    rates = 100 * np.mean(wrong, axis=0)
    for begin, end in ((0, 1000), (1000, 5000)):
        cells = [f"{rate:.1f}" for rate in rates[:, begin:end].mean(axis=1)]
        print(f"| {begin:,} - {end:,} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the first stream")
    parser.add_argument("--memory", default="64KiB")
    parser.add_argument("--worst", type=int, default=0, help="streams to name")
    parser.add_argument("--after-noise", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.after_noise:
        after_noise(given.memory)
    else:
        count(given.first, given.streams, given.memory, given.worst)


if __name__ == "__main__":
    main()
