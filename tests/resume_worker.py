"""Goes on with saved models in a process of its own: one folder per line of input, each with model.pk and rest.npz."""

import sys
from pathlib import Path

import numpy as np

import pocketkernel


def go_on(folder):
    """Learn the rest of the stream; leave the scores, and the model that has become of it."""
    model = pocketkernel.load(folder / "model.pk")
    with np.load(folder / "rest.npz") as rest:
        X, y, w = rest["X"], rest["y"], rest["w"]
    scores = model.predict_then_learn(X, y, sample_weight=w)
    np.savez(folder / "scores.npz", learning=scores, after=model.decision_function(X))
    (folder / "model.pk").write_bytes(model.to_bytes())


if __name__ == "__main__":
    for line in sys.stdin:
        go_on(Path(line.rstrip("\n")))
        print("done", flush=True)
