"""PocketClassifier's time per row beside an earlier version's: dense rows at equal bytes, and sparse rows.

    python benchmarks/versions.py [COMMIT] [--turns 5]

Compiles versions.cpp with the core of that commit and with the present one; both run in turn, and the least of the
turns counts. The default is the last commit at which the learner had kernels and the linear expert alone. Data: as for
pocket.py; data sets whose file is missing are left out. Exits with 1 if two classes take more than 1.3 times as long.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse

from datasets import load, missing
from pocket import budget
from pocketkernel import PocketClassifier
from pocketkernel.lab.catalogue import NAMES
from pocketkernel.stream import permutation

HERE = Path(__file__).resolve().parent
BEFORE = "930eb15"
FLAGS = [
    "-std=c++17",
    "-O3",
    "--param=max-inline-insns-single=100",
    "-mavx2",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Wno-psabi",
]
ROWS = 3000
"""To measure, after as many to warm up."""
STREAMS = ("higgs-11k", "eeg", "spambase", "flights07", "covtype-50k", "letter")
LIMIT = 1.3
SPARSE = ((123, 64), (1000, 256), (10_000, 2048), (100_000, 16_384))
"""Columns and KiB."""
VALUES = (1, 10, 40)


def compile_both(folder: Path, commit: str) -> list[Path]:
    """The program with the core of the commit, and with that of the working tree."""
    archive = subprocess.run(["git", "archive", commit, "core"], cwd=HERE.parent, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    programs = [folder / "before", folder / "now"]
    for program, core in zip(programs, (folder / "core", HERE.parent / "core"), strict=True):
        subprocess.run(["g++", *FLAGS, f"-I{core}", HERE / "versions.cpp", "-o", program], check=True)
    return programs


def micros(programs: list[Path], X, y, memory: int, turns: int) -> list[float]:
    """Per row, of each version: of the second half of the rows."""
    classes, labels = np.unique(y, return_inverse=True)
    dense = not scipy.sparse.issparse(X)
    rows, columns = X.shape
    values = np.ascontiguousarray(X, dtype=np.float32).ravel() if dense else X.data.astype(np.float32)
    starts = np.arange(rows + 1) * columns if dense else X.indptr
    places = np.tile(np.arange(columns), rows) if dense else X.indices
    path = programs[0].parent / "rows"
    with path.open("wb") as file:
        for part, kind in (
            ([rows, columns, len(classes), len(values)], np.int64), (starts, np.int64), (places, np.int32),
            (values, np.float32), (labels, np.int32),
        ):  # fmt: skip
            np.asarray(part, dtype=kind).tofile(file)
    recipe = PocketClassifier(memory=memory).partial_fit(X[:2], y[:2], classes=classes)._recipe
    kernels = [f"{kernel.family}:{kernel.parameter}:{kernel.order}" for kernel in recipe.kernels]
    common = [path, memory, rows // 2, 1]
    commands = [[programs[0], *common], [programs[1], *common, recipe.budget, *kernels]]
    runs = [[run(command) for command in commands] for _ in range(turns)]
    return [min(each) for each in zip(*runs, strict=True)]


def run(command: list) -> float:
    return float(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)


def dense(programs: list[Path], turns: int) -> bool:
    good = True
    print(f"Microseconds per row at equal bytes, {ROWS:,} rows after as many. Limit for two classes: {LIMIT}.\n")
    print("| data set | classes | before | now | ratio |\n|---|--:|--:|--:|--:|")
    for name in (*NAMES, *STREAMS):
        stream = name in STREAMS
        if missing([f"streams/{name}" if stream else name]):
            continue
        X, y = load(f"streams/{name}" if stream else name)
        order = np.arange(len(y)) if stream else permutation(len(y), seed=0)
        order = order[: min(2 * ROWS, len(y)) // 2 * 2]
        before, now = micros(programs, X[order], y[order], 65536 if stream else budget(name), turns)
        classes = len(np.unique(y[order]))
        good &= classes > 2 or now <= LIMIT * before
        print(f"| {name} | {classes} | {before:.2f} | {now:.2f} | {now / before:.2f} |", flush=True)
    return good


def sparse(programs: list[Path], turns: int) -> None:
    counts = ", ".join(map(str, VALUES))
    print(f"\nSparse rows with {counts} values, microseconds per row, 1,500 rows after as many.\n")
    print("| columns | memory | before | now |\n|--:|--:|--:|--:|")
    rng = np.random.default_rng(0)
    for columns, kibibytes in SPARSE:
        both = []
        for values in VALUES:
            places = np.concatenate([np.sort(rng.choice(columns, values, replace=False)) for _ in range(3000)])
            numbers, starts = rng.random(len(places)), values * np.arange(3001)
            X = scipy.sparse.csr_matrix((numbers, places, starts), (3000, columns))
            both.append(micros(programs, X, np.where(rng.random(3000) < 0.5, 1, -1), 1024 * kibibytes, turns))
        cells = (", ".join(f"{each:.3g}" for each in version) for version in zip(*both, strict=True))
        print(f"| {columns:,} | {kibibytes:,} KiB | " + " | ".join(cells) + " |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        programs = compile_both(Path(name), options.commit)
        good = dense(programs, options.turns)
        sparse(programs, options.turns)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
