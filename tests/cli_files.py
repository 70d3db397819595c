"""Small files for the tests of the command line."""

import numpy as np

from pocketkernel.lab.streams import line_of
from pocketkernel.stream import known_kernel


def svm(path, rows=1000, features=4, seed=0, begin=0):
    """LIBSVM text with labels -1 and 1; answers rows and labels."""
    X, y = known_kernel(begin + rows, features=features, seed=seed)
    X, y = X[begin:].round(4), y[begin:]
    columns = np.arange(features)
    path.write_bytes(b"".join(line_of(label, columns, row) for label, row in zip(y, X, strict=True)))
    return X, y


def table(path, rows=900, seed=0, labels=("ham", "spam", "eggs"), missing=False, label_column=True):
    """A CSV with a number, a category and a label that follows from them."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(size=rows).round(3), rng.integers(3, size=rows)
    places = (colour + (size > 0)) % len(labels)
    lines = ["size,colour,kind" if label_column else "size,colour"]
    for a, b, c in zip(size.tolist(), colour.tolist(), places.tolist(), strict=True):
        value = "" if missing and rng.random() < 0.1 else a
        lines.append(f"{value},{('red', 'green', 'blue')[b]}" + (f",{labels[c]}" if label_column else ""))
    path.write_text("\n".join(lines) + "\n")


def numbers(path, rows=900, seed=0):
    """A CSV with two numbers and a target that is not linear in them; answers the targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, 2)).round(4)
    y = (500 + 30 * X[:, 0] + 60 * np.cos(2 * X[:, 1]) + rng.normal(0, 3, rows)).round(4)
    lines = [f"{a},{b},{c}" for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,price", *lines]) + "\n")
    return y
