"""The cost of the measures of a run, as a share of the learner's time.

    python benchmarks/metrics.py [--rows 24576] [--block 4096] [--turns 5]

One process, one thread. The same rows are learned twice: by `predict_then_learn` alone, and with everything that a run
counts beside it (the linear part, baselines, confusion, AUC, calibration, intervals, curves). Each time is
CPU time, the best of several turns, taken in rotation in the same process.
"""

import argparse
import time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from pocketkernel import MOMDS, PocketClassifier, PocketRegressor
from pocketkernel.evaluate.metrics import ClassificationMetrics, RegressionMetrics
from pocketkernel.evaluate.progressive import follow, follow_values

BALANCED = {"class_weight": "balanced"}
STREAMS: tuple[tuple[int, int, Any, dict[str, Any]], ...] = (  # columns (negative: CSR), classes (0: numbers), learner
    (5, 2, PocketClassifier, {}),
    (30, 2, PocketClassifier, {}),
    (10, 2, PocketClassifier, BALANCED),
    (10, 2, PocketClassifier, {"n_classes": 10}),
    (10, 7, PocketClassifier, {}),
    (30, 26, PocketClassifier, {}),
    (10, 200, PocketClassifier, {}),
    (-10, 200, PocketClassifier, {}),
    (10, 200, PocketClassifier, BALANCED),
    (10, 20, PocketClassifier, {"n_classes": 200}),
    (-10, 190, PocketClassifier, {"n_classes": 200}),
    (10, 2, MOMDS, {}),
    (5, 0, PocketRegressor, {}),
    (30, 0, PocketRegressor, {}),
)


def stream(columns: int, classes: int, rows: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, abs(columns)))
    waves = np.sin(X @ rng.normal(size=(abs(columns), max(classes, 1))))
    return X if columns > 0 else csr_matrix(X), waves.argmax(axis=1) if classes else waves[:, 0]


def bare(model, blocks, classes: int) -> None:
    for n, (X, y) in enumerate(blocks):
        if classes:
            model.predict_then_learn(X, y, classes=np.arange(classes) if n == 0 else None)
        else:
            model.predict_then_learn(X, y)


def measured(model, blocks, classes: int) -> None:
    if classes:
        linear = hasattr(model, "predict_then_learn_both")
        metrics = ClassificationMetrics([str(k) for k in range(classes)], probabilities=True, linear=linear)
        passes = follow(model, blocks, np.arange(classes), metrics=metrics)
    else:
        metrics = RegressionMetrics()
        passes = follow_values(model, blocks, metrics=metrics)
    for _ in passes:
        pass
    metrics.results()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=24576)
    parser.add_argument("--block", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    print(f"{'learner':<18}{'columns':>8}{'classes':>8}{'µs a row':>10}{'with measures':>15}{'more':>8}")
    for columns, classes, learner, settings in STREAMS:
        X, y = stream(columns, classes, asked.rows)
        parts = [slice(start, start + asked.block) for start in range(0, asked.rows, asked.block)]
        blocks = [(X[part], y[part]) for part in parts]
        best = dict.fromkeys((bare, measured), float("inf"))
        for _ in range(asked.turns):
            for job in best:
                model = learner(memory="64KiB", random_state=0, **settings)
                begin = time.process_time()
                job(model, blocks, classes)
                best[job] = min(best[job], time.process_time() - begin)
        plain, more = (1e6 * best[job] / asked.rows for job in (bare, measured))
        what = f"{learner.__name__:<18}{columns:>8}{classes or 'numbers':>8}"
        with_settings = "".join(f"  {name}={value!r}" for name, value in settings.items())
        print(f"{what}{plain:>10.2f}{more:>15.2f}{more / plain - 1:>8.1%}{with_settings}")


if __name__ == "__main__":
    main()
