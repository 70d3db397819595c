"""Instructions for one row in each API, beside an earlier version: they are counted, so a busy machine does no harm.

    python benchmarks/instructions.py [COMMIT] [--rows 1000] [--limit 2]

Installs that commit into a temporary folder, runs both versions under callgrind, and counts only what is done between
two marks. The default is the last commit before threads could share a model. Needs valgrind with its headers, gcc, and
what `pip install .` needs. Exits with 1 if a call takes more than `--limit` per cent more.
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
BEFORE = "d74e0a0"
MARKS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char* what) { CALLGRIND_DUMP_STATS_AT(what); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def calls() -> dict[str, Callable[[int], object]]:
    """What is counted, for the row of a given number."""
    import numpy as np

    from pocketkernel import MOMDS, PocketClassifier, PocketRegressor
    from pocketkernel.river import KernelClassifier, KernelRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 9))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    rows, targets = [X[i : i + 1] for i in range(200)], [y[i : i + 1] for i in range(200)]
    dicts = [dict(zip("abcdefghi", map(float, row), strict=True)) for row in X]
    labels = [bool(label > 0) for label in y]
    all_: dict[str, Callable[[int], object]] = {}
    for name, learner in (
        ("MOMDS", lambda seed: MOMDS(budget=100, random_state=seed)),
        ("PocketClassifier", lambda seed: PocketClassifier(memory="16KiB", random_state=seed)),
    ):
        model = learner(0).partial_fit(X, y)
        all_[f"{name}, decision_function"] = lambda i, model=model: model.decision_function(rows[i])
        all_[f"{name}, predict"] = lambda i, model=model: model.predict(rows[i])
        all_[f"{name}, predict_proba"] = lambda i, model=model: model.predict_proba(rows[i])
        all_[f"{name}, predict_then_learn"] = lambda i, model=model: model.predict_then_learn(rows[i], targets[i])
        river = KernelClassifier(learner(None), width=9, seed=0)
        for row, label in zip(dicts, labels, strict=True):
            river.learn_one(row, label)
        all_[f"River, {name}, predict_one"] = lambda i, river=river: river.predict_one(dicts[i])
        all_[f"River, {name}, predict_proba_one"] = lambda i, river=river: river.predict_proba_one(dicts[i])
        all_[f"River, {name}, learn_one"] = lambda i, river=river: river.learn_one(dicts[i], labels[i])
    regressor = PocketRegressor(memory="16KiB", random_state=0).partial_fit(X, y)
    all_["PocketRegressor, predict"] = lambda i: regressor.predict(rows[i])
    all_["PocketRegressor, predict_interval"] = lambda i: regressor.predict_interval(rows[i])
    all_["PocketRegressor, predict_then_learn"] = lambda i: regressor.predict_then_learn(rows[i], targets[i])
    river, numbers = KernelRegressor(PocketRegressor(memory="16KiB"), width=9, seed=0), y.tolist()
    for row, target in zip(dicts, numbers, strict=True):
        river.learn_one(row, target)
    all_["River, PocketRegressor, predict_one"] = lambda i: river.predict_one(dicts[i])
    all_["River, PocketRegressor, learn_one"] = lambda i: river.learn_one(dicts[i], numbers[i])
    return all_


def counted(marks: str, count: int) -> None:
    """In the process that is watched."""
    library = ctypes.CDLL(marks)
    for name, call in calls().items():
        for i in range(10):
            call(i)
        library.begin()
        for i in range(count):
            call(i % 200)
        library.end(name.encode())


def measure(folder: Path, marks: Path, package: Path | None, count: int) -> dict[str, float]:
    """Instructions for a call, of the version in a folder, or of the one that is installed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # The same hashes, one thread, and the same level on every machine: what valgrind knows.
    settings = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "POCKETKERNEL_LEVEL": "avx2"}
    settings |= {"PYTHONPATH": str(package)} if package else {}
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
    command += [sys.executable, __file__, "--marks", str(marks), "--rows", str(count)]
    subprocess.run(command, check=True, env=os.environ | settings, stderr=subprocess.DEVNULL, cwd=folder)
    found = {}
    for part in folder.glob("out.*"):  # one of each call
        fields = dict(line.split(": ", 1) for line in part.read_text().splitlines() if ": " in line)
        if fields["desc"].startswith("Trigger: Client Request: "):
            found[fields["desc"].removeprefix("Trigger: Client Request: ")] = int(fields["summary"]) / count
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--limit", type=float, default=2.0)
    parser.add_argument("--marks", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.marks:
        counted(options.marks, options.rows)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "marks.c").write_text(MARKS)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "marks.so", folder / "marks.c"], check=True)
        archive = subprocess.run(["git", "archive", options.commit], cwd=HERE.parent, check=True, capture_output=True)
        (folder / "source").mkdir()
        subprocess.run(["tar", "-x", "-C", folder / "source"], input=archive.stdout, check=True)
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder / "package"]
        subprocess.run([*install, folder / "source"], check=True)
        before = measure(folder / "runs", folder / "marks.so", folder / "package", options.rows)
        now = measure(folder / "runs", folder / "marks.so", None, options.rows)
    print(f"| call of one row | {options.commit} | now | % |\n|---|--:|--:|--:|")
    good = True
    for what, count in now.items():
        more = 100 * (count / before[what] - 1)
        good &= more <= options.limit
        print(f"| {what} | {before[what]:,.0f} | {count:,.0f} | {more:+.1f} |")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
