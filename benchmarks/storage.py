"""How 16-bit rows affect mistakes and bytes.

    python benchmarks/storage.py [--permutations 5] [--data-sets a9a cod-rna ...]

M-OMD-S, float32, raw files. First at equal B = 400: only the rounding differs. Then at equal bytes, those of B = 400
with float32 rows: 16-bit storage holds more rows. Mean mistake rate in percent, and the mean difference to float32 on
the same permutations with its standard error.
"""

import argparse

import numpy as np
from joblib import Parallel, delayed

from datasets import load, missing
from pocketkernel import MOMDS
from pocketkernel.lab.catalogue import NAMES
from pocketkernel.stream import permutation

STORAGES = (None, "float16", "bfloat16")


def mistakes(X: np.ndarray, y: np.ndarray, seed: int, **parameters: object) -> float:
    order = permutation(len(y), seed=seed)
    model = MOMDS(random_state=seed, **parameters)
    scores = model.predict_then_learn(X[order], y[order], classes=[-1, 1])
    return float(100 * np.mean((scores >= 0) != (y[order] > 0)))


def cells(name: str, permutations: int) -> list[str]:
    X, y = load(name)
    X = X.astype(np.float32)
    memory = MOMDS(budget=400).plan(X.shape[1]).nbytes
    row = [name]
    for size in ({"budget": 400}, {"memory": memory}):
        rates = {
            storage: np.array([mistakes(X, y, seed, storage=storage, **size) for seed in range(permutations)])
            for storage in STORAGES
            if not (storage == "float16" and np.abs(X).max() > 65504)
        }
        for storage in STORAGES:
            if storage not in rates:
                row.append("values beyond float16")
                continue
            plan = MOMDS(storage=storage, **size).plan(X.shape[1])
            difference = rates[storage] - rates[None]
            error = difference.std(ddof=1) / np.sqrt(permutations)
            change = "" if storage is None else f" ({difference.mean():+.2f} ± {error:.2f})"
            row.append(f"{rates[storage].mean():.2f}{change}, B = {plan.budget}, {plan.nbytes:,} B")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--permutations", type=int, default=5)
    parser.add_argument("--data-sets", nargs="+", default=NAMES, choices=NAMES, metavar="NAME")
    arguments = parser.parse_args()
    if reason := missing(arguments.data_sets):
        raise SystemExit(f"skipped: {reason}")
    print("| data set | B = 400: float32 | float16 | bfloat16 | equal bytes: float32 | float16 | bfloat16 |")
    print("|---|---|---|---|---|---|---|")
    tasks = (delayed(cells)(name, arguments.permutations) for name in arguments.data_sets)
    for row in Parallel(n_jobs=-1, return_as="generator")(tasks):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
