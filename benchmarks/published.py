"""The paper's tables against pocketkernel: mistake rates on its data sets, over ten permutations.

    python benchmarks/published.py [--data-sets mushrooms ...] [--learners MOMDS ...] [--jobs 2]

Every run streams one permutation of the raw file in float64; a row is the best mean over the learner's published grid,
beside the published mean and the distance that is allowed. Data: $POCKETKERNEL_DATA, then ../shared/data.
"""

import argparse
import math
from typing import NamedTuple

import numpy as np
from datasets import load, missing
from joblib import Parallel, delayed

from pocketkernel import MOMDH, MOMDS, LKMBooks, Raker, gaussians

# The authors' script divides the projections by each width in turn, in place: kernel i gets the product of the first i.
SLIPPED = gaussians([2.0**-2, 2.0**-2, 2.0**0, 2.0**4, 2.0**10])

DATA_SETS = ("mushrooms", "phishing", "magic04", "a9a", "w8a", "SUSY", "ijcnn1", "cod-rna")

PUBLISHED = {  # mean, sd of the mistake rate in percent
    ("MOMDS", "logistic", 400): ((2.70, 0.32), (10.38, 0.31), (23.97, 0.23), (19.43, 0.16), (2.83, 0.03), (29.03, 0.16), (9.42, 0.05), (13.09, 0.04)),
    ("MOMDH", "hinge", 400): ((0.69, 0.07), (8.87, 0.40), (22.75, 0.57), (19.88, 1.44), (2.65, 0.12), (27.76, 1.04), (9.57, 0.43), (12.46, 0.54)),
    ("MOMDH", "hinge", 100): ((8.09, 2.51), (19.41, 3.78), (29.08, 3.78), (24.84, 1.43), (2.99, 0.10), (36.21, 2.08), (9.98, 0.29), (14.59, 1.47)),
    ("LKMBooks", "hinge", 400): ((6.04, 0.62), (12.81, 0.54), (23.66, 0.51), (21.29, 1.36), (2.97, 0.0), (29.37, 0.87), (9.58, 0.01), (12.57, 0.26)),
    ("LKMBooks", "logistic", 400): ((10.01, 1.44), (15.86, 1.28), (25.72, 0.64), (22.38, 1.29), (2.98, 0.01), (30.72, 1.33), (9.57, 0.0), (13.91, 1.31)),
    ("Raker", "hinge", 400): ((11.97, 0.93), (9.13, 0.28), (32.14, 0.43), (23.47, 0.23), (2.98, 0.0), (29.62, 0.46), (9.49, 0.08), (11.90, 0.31)),
    ("Raker", "logistic", 400): ((11.47, 0.75), (9.07, 0.44), (30.74, 1.11), (23.13, 0.17), (2.97, 0.0), (28.62, 0.44), (9.53, 0.03), (12.27, 0.57)),
}  # fmt: skip
ALLOWED = {"MOMDS": 0.4, "MOMDH": 0.8, "LKMBooks": 1.0, "Raker": 1.0}  # or two published sd, if that is more
ASKED = {"MOMDS": DATA_SETS, "MOMDH": DATA_SETS, "LKMBooks": ("mushrooms", "magic04", "a9a"), "Raker": ("mushrooms", "magic04")}


def grid(learner: str, loss: str, budget: int, rows: int) -> list:
    """The learner's published settings, as unfitted models by description."""
    common = {"dtype": "float64"}
    if learner == "MOMDS":
        return [(f"c={c:g}", MOMDS(budget=budget, step=c, **common)) for c in (2, 1, 0.5)]
    if learner == "MOMDH":
        return [(f"c={c:g}", MOMDH(budget=budget, step=c, **common)) for c in (2, 1, 0.5)]
    if learner == "LKMBooks":
        return [
            (f"nu=1/{n}", LKMBooks(budget=budget, nu=1 / n, horizon=rows, loss=loss, **common)) for n in (2, 3, 4)
        ]
    return [
        (
            f"eta=1e{e:+d}/sqrt(T) mu={mu:g}",
            Raker(kernels=SLIPPED, features=budget, rate=10.0**e / math.sqrt(rows), regularization=mu, loss=loss, **common),
        )
        for e in range(-3, 4)
        for mu in (0.05, 0.005, 0.0005)
        if 10.0**e / math.sqrt(rows) * mu < 1
    ]


def mistake_rate(model, data_set: str, repetition: int) -> float:
    X, y = load(data_set)
    order = np.random.default_rng(repetition).permutation(len(y))
    model = type(model)(**{**model.get_params(), "random_state": repetition})
    scores = model.predict_then_learn(X[order], y[order], classes=[-1, 1])
    return 100 * float(np.mean((scores >= 0) != (y[order] > 0)))


class Line(NamedTuple):
    data_set: str
    learner: str
    loss: str
    budget: int
    setting: str
    mean: float
    sd: float
    published: tuple[float, float]

    @property
    def allowed(self) -> float:
        return max(ALLOWED[self.learner], 2 * self.published[1])

    @property
    def asked(self) -> bool:
        return self.data_set in ASKED[self.learner]

    @property
    def within(self) -> bool:
        return abs(self.mean - self.published[0]) <= self.allowed


def measure(parallel: Parallel, data_set: str, key: tuple[str, str, int], repetitions: int) -> Line:
    learner, loss, budget = key
    settings = grid(learner, loss, budget, len(load(data_set)[1]))
    rates = parallel(
        delayed(mistake_rate)(model, data_set, r) for _, model in settings for r in range(repetitions)
    )
    table = np.reshape(rates, (len(settings), repetitions))
    best = int(np.argmin(table.mean(axis=1)))
    sd = float(table[best].std(ddof=1)) if repetitions > 1 else 0.0
    published = PUBLISHED[key][DATA_SETS.index(data_set)]
    return Line(data_set, learner, loss, budget, settings[best][0], float(table[best].mean()), sd, published)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", nargs="+", default=DATA_SETS, choices=DATA_SETS)
    parser.add_argument("--learners", nargs="+", default=list(ASKED), choices=list(ASKED))
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="also the data sets that no tolerance is set for")
    args = parser.parse_args()
    if reason := missing(args.data_sets):
        raise SystemExit(reason)

    print("| data set | learner | loss | B or D | best setting | mistakes % | published % | difference | allowed | |")
    print("|---|---|---|--:|---|--:|--:|--:|--:|---|")
    outside = 0
    with Parallel(n_jobs=args.jobs) as parallel:
        for key in PUBLISHED:
            for data_set in args.data_sets:
                if key[0] not in args.learners or not (args.all or data_set in ASKED[key[0]]):
                    continue
                line = measure(parallel, data_set, key, args.repetitions)
                verdict = ("within" if line.within else "OUTSIDE") if line.asked else ""
                outside += verdict == "OUTSIDE"
                print(
                    f"| {line.data_set} | {line.learner} | {line.loss} | {line.budget} | {line.setting} "
                    f"| {line.mean:.2f} ± {line.sd:.2f} | {line.published[0]:.2f} ± {line.published[1]:.2f} "
                    f"| {line.mean - line.published[0]:+.2f} | {line.allowed:.2f} | {verdict} |",
                    flush=True,
                )
    raise SystemExit(f"{outside} outside" if outside else 0)


if __name__ == "__main__":
    main()
