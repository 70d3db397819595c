"""How many rows fit into how many bytes: `plan` for every learner, checked against a fit.

python benchmarks/sizes.py
"""

import numpy as np

from pocketkernel import learners

MEMORIES = ("4KiB", "64KiB", "1MiB")
FEATURES = (10, 100, 1000)


def cell(name: str, features: int, memory: str, storage: str | None) -> str:
    estimator = getattr(learners, name)
    given = {} if storage is None else {"storage": storage}
    try:
        plan = estimator.plan(features, memory=memory, **given)
    except ValueError as error:
        return f"needs {int(str(error).split()[-2]):,} bytes"
    X = np.random.default_rng(0).normal(size=(4, features))
    model = estimator(memory=memory, random_state=0, **given).fit(X, [0, 1, 0, 1])
    equal = model.nbytes == plan.nbytes and model.budget_ == plan.budget
    return f"{plan.budget:,} in {plan.nbytes:,} bytes{'' if equal else ', NOT AS PLANNED'}"


def main() -> None:
    print("Planned B (Raker: D) and bytes, float32, five kernels, two classes; checked against nbytes after a fit\n")
    print("| learner | rows as | features | " + " | ".join(MEMORIES) + " |\n|---|---|--:|" + "--:|" * len(MEMORIES))
    for name in learners.__all__:
        for storage in (None, "float16") if "storage" in getattr(learners, name)().get_params() else (None,):
            for features in FEATURES:
                cells = " | ".join(cell(name, features, memory, storage) for memory in MEMORIES)
                print(f"| {name} | {storage or 'float32'} | {features} | {cells} |")


if __name__ == "__main__":
    main()
