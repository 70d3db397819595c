"""Predictions of several threads on one model: how many more per second than with one thread.

    python benchmarks/threads.py [--seconds 0.5] [--turns 5] [--threads 2]

For each learner and block size, one thread and then N threads call `decision_function` of the same model for some time,
in turns. Printed are the ratios of rows per second in each turn, and their median, which is N at most; and the median
ratio of rows per second of CPU time, which is 1 if threads cost each other nothing. In the
last column one more thread learns meanwhile, blocks of 1,000 rows: the longest time that a prediction took.
"""

import argparse
import threading
import time

import numpy as np

from pocketkernel import MOMDS, MulticlassMOMDS, PocketClassifier

LEARNERS = {
    "MOMDS": MOMDS(budget=400, n_jobs=1, random_state=0),
    "MulticlassMOMDS": MulticlassMOMDS(budget=400, n_jobs=1, random_state=0),
    "PocketClassifier": PocketClassifier(n_jobs=1, random_state=0),
}


def rate(model, rows, threads: int, seconds: float, learn=None) -> tuple[float, float, float]:
    """Rows predicted by all threads per second and per second of CPU time, and the longest call in seconds."""
    over, counts, longest = threading.Event(), [0] * threads, [0.0] * threads

    def predict(n: int) -> None:
        while not over.is_set():
            start = time.perf_counter()
            model.decision_function(rows)
            longest[n] = max(longest[n], time.perf_counter() - start)
            counts[n] += len(rows)

    def teach() -> None:
        while not over.is_set():
            learn()

    workers = [threading.Thread(target=predict, args=(n,)) for n in range(threads)]
    workers += [threading.Thread(target=teach)] if learn else []
    start, worked = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.start()
    time.sleep(seconds)
    over.set()
    for worker in workers:
        worker.join()
    total = sum(counts)
    return total / (time.perf_counter() - start), total / (time.process_time() - worked), max(longest)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    print(f"| learner | rows of a call | {given.threads} threads / one | median | per CPU second | longest call (ms) |")
    print("|---|--:|---|--:|--:|--:|")
    for name, learner in LEARNERS.items():
        model = learner.partial_fit(X, y)
        for size in (1, 10, 100, 1000):
            rows, ratios, work = X[:size], [], []
            for _ in range(given.turns):
                one = rate(model, rows, 1, given.seconds)
                all_ = rate(model, rows, given.threads, given.seconds)
                ratios.append(all_[0] / one[0])
                work.append(all_[1] / one[1])

            def learn(model=model) -> None:
                model.partial_fit(X[:1000], y[:1000])

            waited = 1e3 * rate(model, rows, given.threads, given.seconds, learn)[2]
            turns = " ".join(f"{ratio:.2f}" for ratio in ratios)
            print(
                f"| {name} | {size} | {turns} | {np.median(ratios):.2f} | {np.median(work):.2f} | {waited:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
