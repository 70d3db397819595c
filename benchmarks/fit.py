"""`fit` and 5-fold cross-validation on scikit-learn's data sets as loaded, beside a scaled linear model.

    python benchmarks/fit.py [--seeds 20]

Prints the share of right answers in %, mean and deviation over seeds; nobody is tuned. First with `cv=5`, which is the
same split for every seed, then with rows that each seed shuffles before they are split.
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketkernel import PocketClassifier

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
MODELS = {
    "SGDClassifier": lambda seed: make_pipeline(StandardScaler(), SGDClassifier(random_state=seed)),
    "PocketClassifier": lambda seed: PocketClassifier(random_state=seed),
    "epochs=1": lambda seed: PocketClassifier(random_state=seed, epochs=1),
    "shuffle=False": lambda seed: PocketClassifier(random_state=seed, shuffle=False, epochs=1),
}
FOLDS = {
    "cv=5": lambda seed: 5,
    "shuffled": lambda seed: StratifiedKFold(5, shuffle=True, random_state=seed),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(parser.parse_args().seeds)
    for what, folds in FOLDS.items():
        print(f"{what:14}" + "".join(f"{name:>18}" for name in MODELS))
        for name, load in SETS.items():
            X, y = load(return_X_y=True)
            print(f"{name:14}", end="")
            for make in MODELS.values():
                rates = [100 * cross_val_score(make(seed), X, y, cv=folds(seed)).mean() for seed in seeds]
                print(f"{np.mean(rates):11.1f} ± {np.std(rates):4.1f}", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
