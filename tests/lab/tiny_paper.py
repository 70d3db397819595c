"""Tiny files under the names of the paper's data sets, and grids that suit them."""

import lzma
import os
import signal
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import dump_svmlight_file

ROWS, FEATURES = 150, 4
CELLS_PER_PERMUTATION = 34  # hinge: Raker 2 x 4, LKMBooks 3, M-OMD-H 3 x 3; logistic: Raker 2 x 4, 3, M-OMD-S 3

FEWER = """
from pocketkernel.lab.experiments import paper
for name in ("Raker", "Raker, published slip"):  # the largest of the rates are too large for short streams
    paper.GRIDS[name] = tuple(
        (("log10_rate", e), ("regularization", mu)) for e in (0, 1) for mu in (0.05, 0.0005)
    )
"""


def write_data_set(folder, name, rows=ROWS, seed=0, share=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, FEATURES)) * (rng.random((rows, FEATURES)) <= share)
    y = np.where((X**2).sum(axis=1) > 3, 1, -1)
    with lzma.open(folder / f"{name}.svm.xz", "wb") as file:
        dump_svmlight_file(X, y, file, zero_based=False)
    return X, y


def run_and_kill(program, arguments, cells, enough):
    """Run a program until so many lines are in the file of cells, and kill it and all its workers."""
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], start_new_session=True)
    try:
        while process.poll() is None and (not cells.exists() or cells.read_bytes().count(b"\n") < enough):
            time.sleep(0.002)
        assert process.poll() is None, "it was not killed in time"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
