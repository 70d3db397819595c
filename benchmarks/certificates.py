"""What M-OMD-S proves about its regret on the paper's data sets, with default parameters (B = 400, U = 20).

    python benchmarks/certificates.py [--data-sets a9a cod-rna ...]

One permutation of the raw rows, float32. The bound from the proof of Theorem 3 beside the dual bound, both against
functions of norm U, with probability 0.95; the least loss of any function of norm 1, 5 and 10 by the dual bound, and in
brackets what is true in any case, because no score exceeds the norm; and the norm up to which the dual bound is
informative. Then the intervals for the rate of mistakes.
"""

import argparse

import numpy as np

from datasets import load, missing
from pocketkernel import MOMDS
from pocketkernel.lab.bounds import theorem_3_afterwards
from pocketkernel.lab.catalogue import NAMES
from pocketkernel.stream import permutation

NORMS = (1.0, 5.0, 10.0)


def row(name: str) -> tuple[str, str]:
    X, y = load(name)
    order = permutation(len(y), seed=0)
    model = MOMDS(random_state=0).partial_fit(X[order].astype(np.float32), y[order])
    proved, done = model.certificate(), model.diagnostics_
    dual = proved.guarantee.dual
    old = theorem_3_afterwards(
        done.cumulative_loss, removals=done.removals, rows=len(y), kernels=5, budget=400, norm_bound=20.0
    )
    cells = [name, f"{len(y):,}", f"{dual.own_loss:,.0f}", f"{old.value:,.0f}", f"{proved.value:,.0f}"]
    cells += [f"{dual.least_loss(norm):,.0f} ({dual.anyway(norm):,.0f})" for norm in NORMS]
    rates = proved.mistake_rate, proved.recent_mistake_rate
    return (
        " | ".join([*cells, f"{dual.informative_up_to:.1f}"]),
        " | ".join([name, *(f"{100 * r.rate:.2f} | {100 * r.low:.2f} to {100 * r.high:.2f}" for r in rates)]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", nargs="+", default=NAMES, choices=NAMES)
    names = parser.parse_args().data_sets
    if why := missing(names):
        raise SystemExit(why)
    rows = [row(name) for name in names]
    norms = " | ".join(f"least loss, norm {norm:g}" for norm in NORMS)
    print(f"| data set | rows | own loss | Theorem 3, afterwards | dual bound | {norms} | informative up to |")
    print("|---|" + "--:|" * (5 + len(NORMS)))
    for one, _ in rows:
        print(f"| {one} |")
    print("\n| data set | mistakes % | interval | latest % | interval |\n|---|--:|---|--:|---|")
    for _, other in rows:
        print(f"| {other} |")


if __name__ == "__main__":
    main()
