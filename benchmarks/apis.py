"""Events per second through each API, compared with the bare core, in one run.

    python benchmarks/apis.py [--rows 20000]

A stream of 10 features, five kernels, B = 100, float32, one thread except in the last table. The bare core is one call
of the compiled learner with the whole stream; every API processes the same events. Times are the best of several turns
taken in rotation.
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from river import linear_model
from sklearn.linear_model import SGDClassifier

from pocketkernel import MOMDS, MulticlassMOMDS
from pocketkernel.river import KernelClassifier
from speed import in_rotation

B, FEATURES = 100, 10
CLASSES = [False, True]


def stream(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and labels that say whether a row is inside a sphere."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    return X, (X[:, :4] ** 2).sum(axis=1) > 4


def learned(rows: int) -> MOMDS:
    """A learner whose buffer is full."""
    X, y = stream(rows)
    return MOMDS(budget=B, random_state=0).partial_fit(X, y, classes=CLASSES)


def learned_river(rows: int) -> KernelClassifier:
    """The same, behind River's API."""
    X, y = stream(rows)
    model = KernelClassifier(MOMDS(budget=B), width=FEATURES, seed=0)
    model.learn_many(pd.DataFrame(X, columns=names()), pd.Series(y))
    return model


def names() -> list[str]:
    return [f"x{k}" for k in range(FEATURES)]


def jobs(rows: int) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """API, what an event is, and how to run all of them."""
    X, y = stream(rows)
    single = [(X[t : t + 1], y[t : t + 1]) for t in range(rows)]
    events = [(dict(zip(names(), x, strict=True)), bool(label)) for x, label in zip(X.tolist(), y, strict=True)]
    frame, series = pd.DataFrame(X, columns=names()), pd.Series(y)
    blocks = [slice(start, start + 1000) for start in range(0, rows, 1000)]

    core, scores = learned(rows)._core, np.empty(rows)
    yield "bare core", "learn, all in one call", lambda: core.learn_dense(X, y, None, scores)

    a, b, c, d = (learned(rows) for _ in range(4))
    yield "scikit-learn", "partial_fit, blocks of 1,000", lambda: [a.partial_fit(X[s], y[s]) for s in blocks]
    yield "scikit-learn", "partial_fit, one row", lambda: [b.partial_fit(x, label) for x, label in single]
    yield "scikit-learn", "predict_then_learn, one row", lambda: [c.predict_then_learn(*event) for event in single]
    yield "scikit-learn", "predict, one row", lambda: [d.predict(x) for x, _ in single]

    e, f, g, h = (learned_river(rows) for _ in range(4))
    yield "River", "learn_one", lambda: [e.learn_one(x, label) for x, label in events]
    yield "River", "predict_one", lambda: [f.predict_one(x) for x, _ in events]
    yield "River", "predict_one, then learn_one", lambda: [(g.predict_one(x), g.learn_one(x, t)) for x, t in events]
    yield "River", "learn_many, blocks of 1,000", lambda: [h.learn_many(frame[s], series[s]) for s in blocks]

    few = events[: rows // 10]
    linear = linear_model.LogisticRegression()
    yield "(peer) River", "LogisticRegression.learn_one", lambda: [linear.learn_one(x, label) for x, label in few]
    sgd = SGDClassifier(loss="log_loss").partial_fit(X[:100], y[:100], classes=CLASSES)
    pairs = single[: rows // 10]
    yield "(peer) scikit-learn", "SGDClassifier.partial_fit, one row", lambda: [sgd.partial_fit(*p) for p in pairs]


def apis(rows: int) -> bool:
    """Table 1."""
    described = list(jobs(rows))
    best = in_rotation({(api, what): job for api, what, job in described}, 5)
    print(f"{FEATURES} features, 5 kernels, B = {B}, {rows} events\n")
    print("| API | event | events/s | us/event | relative to the bare core |\n|---|---|--:|--:|--:|")
    core = rows / best["bare core", "learn, all in one call"]
    for api, what, _ in described:
        speed = (rows // 10 if api.startswith("(peer)") else rows) / best[api, what]
        print(f"| {api} | {what} | {speed:,.0f} | {1e6 / speed:.2f} | {speed / core:.0%} |")
    learn_one = rows / best["River", "learn_one"]
    print(
        f"\nRiver learn_one: {learn_one:,.0f} events/s, at least 100,000: {'passed' if learn_one >= 1e5 else 'FAILED'}"
    )
    return learn_one >= 1e5


def threads(rows: int) -> bool:
    """Table 2: a block scored by one and by two threads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 50))
    y = np.argmax(X[:, :3] + rng.normal(size=(rows, 3)), axis=1)
    print(f"\n| decision_function of {rows} rows, B = 400 | one thread, s | two threads, s | faster by | same bits |")
    print("|---|--:|--:|--:|---|")
    good = True
    for model, labels in ((MOMDS(random_state=0), y > 0), (MulticlassMOMDS(random_state=0), y)):
        model.fit(X[:5000], labels[:5000])
        answers = {}

        def score(n_jobs: int, model=model, answers=answers) -> None:
            answers[n_jobs] = model.set_params(n_jobs=n_jobs).decision_function(X)

        best = in_rotation({1: lambda: score(1), 2: lambda: score(2)}, 9)
        same = np.array_equal(answers[1], answers[2])
        good &= same and best[1] / best[2] >= 1.7
        name = type(model).__name__
        print(f"| {name} | {best[1]:.3f} | {best[2]:.3f} | {best[1] / best[2]:.2f} | {'yes' if same else 'NO'} |")
    print(f"\nAt least 1.7 times as fast: {'passed' if good else 'FAILED'}")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    rows = parser.parse_args().rows
    passed = [apis(rows), threads(8 * rows)]
    raise SystemExit(0 if all(passed) else "some limits were exceeded")


if __name__ == "__main__":
    main()
