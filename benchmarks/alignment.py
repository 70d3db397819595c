"""Kernel alignment: its time compared with the bare product XX', and the paper's goal G1 in numbers.

    python benchmarks/alignment.py                       # everything
    python benchmarks/alignment.py --speed               # only the time
    python benchmarks/alignment.py --data-set mushrooms  # the table for one data set

G1 of the paper: the two complexities, kernel alignment A and smallest loss L*, are far below T on data that can be
learned in little memory. The paper prints proxies of both from one run of its own learner, for the best kernel; here A
is exact and L* has a lower and an upper bound. Data: $POCKETKERNEL_DATA, then the cache of `pocketkernel lab data`.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from pocketkernel._threads import allowed_threads
from pocketkernel.kernels import PAPER_KERNELS
from pocketkernel.lab.catalogue import NAMES
from pocketkernel.lab.experiments.data import load, locate
from pocketkernel.lab.experiments.published import published
from pocketkernel.lab.experiments.writing import markdown
from pocketkernel.lab.report import Column, Table
from pocketkernel.lab.theory import RunningAlignment, best_in_ball, kernel_alignment
from pocketkernel.lab.theory._pairs import BLOCK, TILE

U = 20.0  # the root of B = 400
MOST_ROWS = 10_000  # for L*
LANDMARKS = 400
TURNS = 3
LIMIT = 3.0
PROXIES = {"hinge": "M-OMD-H", "logistic": "M-OMD-S"}


def data(name, dtype):
    return load(name, locate(name).parent, dtype).permuted(0)


# ---- time -----------------------------------------------------------------------------------------------------------


def bare_product(X):
    """Only the product XX', in the same tiles, each pair of blocks once, on as many threads."""
    tile = TILE

    def strip(start):
        out = np.empty(tile[0] * tile[1], X.dtype)
        for other in range(start, len(X), BLOCK):
            left, right = X[start : start + BLOCK], X[other : other + BLOCK]
            for i in range(0, len(left), tile[0]):
                for j in range(0, len(right), tile[1]):
                    above, beside = left[i : i + tile[0]], right[j : j + tile[1]]
                    shape = (len(above), len(beside))
                    np.matmul(above, beside.T, out=out[: shape[0] * shape[1]].reshape(shape))

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(allowed_threads(None)) as pool:
        list(pool.map(strip, range(0, len(X), BLOCK)))


def speed():
    X, y = data("a9a", "float32")
    dense = np.ascontiguousarray(X.toarray())
    bare, ours = [], []
    for _ in range(TURNS):
        start = time.perf_counter()
        bare_product(dense)
        middle = time.perf_counter()
        kernel_alignment(X, y)
        bare.append(middle - start)
        ours.append(time.perf_counter() - middle)
    ratio = min(ours) / min(bare)
    widths = ", ".join(f"{kernel.width:g}" for kernel in PAPER_KERNELS)
    print(
        f"a9a, {len(y):,} rows, widths {widths}, float32, {allowed_threads(None)} threads, best of {TURNS} in rotation"
    )
    print(f"alignment of all widths {min(ours):.2f} s, bare product XX' {min(bare):.2f} s: {ratio:.2f} times")
    print(f"each turn: {', '.join(f'{a / b:.2f}' for a, b in zip(ours, bare, strict=True))}; at most {LIMIT}: ", end="")
    print("passed" if ratio <= LIMIT else "FAILED", flush=True)
    return ratio <= LIMIT


# ---- G1 -------------------------------------------------------------------------------------------------------------


def printed(name, loss):
    """The paper's complexity divided by its T."""
    (cell,) = (
        cell
        for cell in published()
        if (cell.data_set, cell.loss, cell.learner) == (name, loss, PROXIES[loss]) and cell.complexity is not None
    )
    return cell.complexity / cell.rows


def lines(name):
    X, y = data(name, "float64")
    exact = kernel_alignment(X, y) / len(y)
    running = RunningAlignment().learn(X, y).value / len(y)
    rows = min(len(y), MOST_ROWS)
    some, labels = X[:rows], y[:rows]
    for kernel, share, near in zip(PAPER_KERNELS, exact, running, strict=True):
        line = [name, f"{kernel.width:g}", float(share), float(near), printed(name, "hinge"), rows]
        for loss in PROXIES:
            best = best_in_ball(some, labels, kernel, U, loss, landmarks=LANDMARKS)
            line += [f"{best.lower_bound / rows:.3f} to {best.loss / rows:.3f}"]
        yield [*line, printed(name, "logistic")]


def table(names):
    columns = [
        "data set", "width", Column("A/T", 4, "min"), Column("running", 4), Column("printed Â/T", 3), "rows for L*",
        "hinge L*/T", "logistic L*/T", Column("printed L̂/T", 3),
    ]  # fmt: skip
    made = Table("G1", columns, [line for name in names for line in lines(name)], block=0)
    print(markdown(made), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--data-set", choices=NAMES, action="append")
    given = parser.parse_args()
    passed = speed() if given.speed or not given.data_set else True
    if given.data_set or not given.speed:
        print(
            f"\nA/T exact on all rows, from a reservoir of 30 (running), and the paper's proxy for its best kernel. "
            f"L\\*/T for U = {U:g} on the first {MOST_ROWS:,} rows of a permutation, with {LANDMARKS} landmarks: "
            "the smallest loss on these rows lies between the two numbers; that on all rows is not smaller on average. "
            "The paper's L̂ is the loss of M-OMD-S.\n"
        )
        table(given.data_set or NAMES)
    raise SystemExit(0 if passed else "the limit was exceeded")


if __name__ == "__main__":
    main()
