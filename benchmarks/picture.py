"""Draws docs/images/mistakes_against_bytes.svg: PocketClassifier, M-OMD-S and peers on one generated stream.

python benchmarks/picture.py          measures, writes the .csv beside it, and draws
python benchmarks/picture.py --draw   draws what is in the .csv

The labels are those of a Gaussian kernel expansion, 5 % of them flipped. Peers get what they want to know: RBFSampler
the true width, and River's models all the memory that they ask for. Their bytes are measured after the last row.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from river import forest, linear_model, neighbors, preprocessing, tree
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from pocketkernel import MOMDS, PocketClassifier
from pocketkernel.report import Chart, Series, write_picture
from pocketkernel.stream import known_kernel

ROWS = 10_000
KIB = 1024
OUT = Path(__file__).parents[1] / "docs" / "images" / "mistakes_against_bytes"


def ours(class_, X, y):
    for memory in (2, 4, 8, 16, 32, 64, 128, 256):
        model = class_(memory=memory * KIB, random_state=0)
        try:
            scores = model.predict_then_learn(X, y, classes=[-1, 1])
        except ValueError:  # too small for these rows
            continue
        yield model.nbytes, np.mean((scores >= 0) != (y > 0))


def sampled(X, y):
    for features in (25, 100, 400, 1600):
        sampler = RBFSampler(gamma=0.5, n_components=features, random_state=0).fit(X[:1])
        model, wrong = SGDClassifier(loss="log_loss", random_state=0), 0
        Z = sampler.transform(X)
        for z, label in zip(Z[:, None], y, strict=True):
            wrong += not hasattr(model, "coef_") or model.predict(z)[0] != label
            model.partial_fit(z, [label], classes=[-1, 1])
        arrays = (sampler.random_weights_, sampler.random_offset_, model.coef_, model.intercept_)
        yield sum(array.nbytes for array in arrays), wrong / len(y)


def rivers(models):
    def run(X, y):
        rows = [dict(enumerate(row)) for row in X.tolist()]
        labels = (y > 0).tolist()  # River expects Booleans
        for model in models:
            wrong = 0
            for row, label in zip(rows, labels, strict=True):
                wrong += model.predict_one(row) != label
                model.learn_one(row, label)
            yield model._raw_memory_usage, wrong / len(y)

    return run


CONTESTANTS = {
    "PocketClassifier": lambda X, y: ours(PocketClassifier, X, y),
    "M-OMD-S": lambda X, y: ours(MOMDS, X, y),
    "scikit-learn RBFSampler + SGD": sampled,
    "River nearest neighbours": rivers(
        [
            neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=size))
            for size in (30, 100, 300)
        ]
    ),
    "River logistic regression": rivers([preprocessing.StandardScaler() | linear_model.LogisticRegression()]),
    "River Hoeffding tree": rivers([tree.HoeffdingAdaptiveTreeClassifier(seed=0)]),
    "River adaptive forest": rivers([forest.ARFClassifier(seed=0)]),
}


def measure():
    X, y = known_kernel(ROWS)
    for name, run in CONTESTANTS.items():
        for nbytes, rate in run(X, y):
            print(f"{name:<32} {nbytes:>12,} bytes {rate:>7.2%}", flush=True)
            yield name, nbytes, round(float(rate), 5)


def draw(points):
    series = [
        Series(name, [float(b) for n, b, _ in points if n == name], [float(r) for n, _, r in points if n == name])
        for name in CONTESTANTS
    ]
    chart = Chart(
        f"Mistakes against bytes, {ROWS:,} rows, 8 columns",
        series,
        x_label="bytes",
        y_label="mistakes",
        x_unit="bytes",
        y_unit="percent",
        log_x=True,
    )
    write_picture(chart, OUT.with_suffix(".svg"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    if not parser.parse_args().draw:
        points = [("model", "bytes", "mistake_rate"), *measure()]
        with OUT.with_suffix(".csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(points)
    with OUT.with_suffix(".csv").open(newline="") as file:
        draw(list(csv.reader(file))[1:])
