"""Hinge learners with a buffer for each kernel and with one for all, and M-OMD-S, in the same bytes.

    python benchmarks/shared_buffer.py [--permutations 10] [--rows 20000] [--data-sets a9a ...] [--removal]

The bytes are those of M-OMD-H with the paper's budgets, B = 100 and B = 400 for each of the five kernels; every learner
stores as many rows as fit. Raw rows, float32, the first rows of each permutation. Mean and standard deviation of the
mistakes in percent, for the step c of 1/2, 1 and 2 with the fewest. --removal compares lazy with eager removal instead,
at the same B.
"""

import argparse

import numpy as np

from datasets import load, missing
from pocketkernel import MOMDH, MOMDS, SharedMOMDH
from pocketkernel.lab.catalogue import NAMES
from pocketkernel.stream import permutation

STEPS = (0.5, 1.0, 2.0)
LEARNERS = {"M-OMD-H": MOMDH, "shared": SharedMOMDH, "M-OMD-S": MOMDS}


def rates(make, X: np.ndarray, y: np.ndarray, permutations: int, rows: int) -> tuple[np.ndarray, int]:
    """Mistakes in percent of each permutation, and the rows that the learner stores."""
    found = []
    for seed in range(permutations):
        order = permutation(len(y), seed=seed)[:rows]
        model = make(random_state=seed)
        scores = model.predict_then_learn(X[order], y[order], classes=[-1, 1])
        found.append(100 * np.mean((scores >= 0) != (y[order] > 0)))
    return np.array(found), model.budget_


def best(class_, X: np.ndarray, y: np.ndarray, permutations: int, rows: int, **given: object) -> str:
    """The mistakes with the best step, and how many rows were stored."""
    runs = [
        rates(lambda random_state, c=c: class_(step=c, random_state=random_state, **given), X, y, permutations, rows)
        for c in STEPS
    ]
    found, budget = min(runs, key=lambda run: run[0].mean())
    spread = f" ± {found.std(ddof=1):.2f}" if permutations > 1 else ""
    return f"{found.mean():.2f}{spread} | {budget:,}"


def equal_bytes(name: str, permutations: int, rows: int, budgets: list[int]) -> None:
    X, y = load(name)
    X = X.astype(np.float32)
    for B in budgets:
        memory = MOMDH.plan(X.shape[1], budget=B, horizon=len(y)).nbytes
        cells = []
        for class_ in LEARNERS.values():
            given = {"horizon": len(y)} if class_ is not MOMDS else {}
            cells.append(best(class_, X, y, permutations, rows, memory=memory, **given))
        print(f"| {name} | {min(rows, len(y)):,} | {memory:,} | {' | '.join(cells)} |", flush=True)


def removal(name: str, permutations: int, rows: int) -> None:
    X, y = load(name)
    X = X.astype(np.float32)
    cells = []
    for class_ in (MOMDS, MOMDH):
        for way in ("half", "eager"):
            found, _ = rates(
                lambda random_state, class_=class_, way=way: class_(removal=way, random_state=random_state),
                *(X, y, permutations, rows),
            )
            cells.append(f"{found.mean():.2f}")
    print(f"| {name} | {min(rows, len(y)):,} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--permutations", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10**9)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--data-sets", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--removal", action="store_true")
    given = parser.parse_args()
    if why := missing(given.data_sets):
        raise SystemExit(why)
    if given.removal:
        print("| data set | rows | M-OMD-S lazy | eager | M-OMD-H lazy | eager |\n|---|" + "--:|" * 5, flush=True)
        for name in given.data_sets:
            removal(name, given.permutations, given.rows)
        return
    learners = " | ".join(f"{name} % | B" for name in LEARNERS)
    print(f"| data set | rows | bytes | {learners} |\n|---|" + "--:|" * (2 + 2 * len(LEARNERS)), flush=True)
    for name in given.data_sets:
        equal_bytes(name, given.permutations, given.rows, given.budgets)


if __name__ == "__main__":
    main()
