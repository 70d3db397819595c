"""The same bits everywhere: compiles the core for many machines, runs it in emulators and compares.

    python tests/everywhere/run.py [--quick] [--table FILE] [TARGET ...]
    python tests/everywhere/run.py --python

Two things are run. `digest`, where there is an operating system: the C++ tests' digest of all learners, in both
precisions. `models`, everywhere: models trained in Python go on learning in a project of `pocketkernel.device`; scores
and state are compared with Python's, byte by byte. --quick leaves out the digests, which take a minute of compilation
each. What is not installed is left out, by name. --table writes the results to a file; lines of targets that were not
chosen stay as they are there. --python compiles nothing: it prints the digest of the models in this Python.
"""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pocketkernel as pk
from pocketkernel import device

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "cpp"
BUILD = Path(os.environ.get("EVERYWHERE_BUILD", HERE / "build"))
SOURCES = ("main.cpp", "test_learners.cpp", "any_learner.cpp")
FLAGS = "-std=c++17 -ffp-contract=off -fno-math-errno -fno-exceptions -fno-rtti -Wno-psabi"


@dataclass(frozen=True)
class Target:
    """A machine: how to compile for it, and how to run what was compiled."""

    name: str
    compiler: str
    flags: str = "-O1"
    runner: str = ""
    big_endian: bool = False
    chip: str = ""  # of a project's Makefile, which knows the rest

    def missing(self) -> str | None:
        """A tool that is not installed."""
        tools = [shlex.split(self.compiler)[0], *shlex.split(self.runner)[:1]]
        tools += ["arm-none-eabi-g++", "qemu-system-arm"] if self.chip else []
        if (
            self.compiler == ZIG
            and subprocess.run([sys.executable, "-c", "import ziglang"], capture_output=True).returncode
        ):
            return "ziglang"
        if "avx2" in self.name and "avx2" not in Path("/proc/cpuinfo").read_text():
            return "AVX2"
        return next((tool for tool in tools if shutil.which(tool) is None), None)


ZIG = f"{sys.executable} -m ziglang c++ -target wasm32-wasi"
WASI = f"node --no-warnings {HERE / 'wasi.mjs'}"
TARGETS = (
    Target("x86-64 scalar, g++", "g++", "-O1 -DPOCKETKERNEL_SCALAR"),
    Target("x86-64 base, g++", "g++"),
    Target("x86-64 avx2, g++", "g++", "-O1 -mavx2"),
    Target("x86-64 scalar, clang", "clang++", "-O1 -DPOCKETKERNEL_SCALAR"),
    Target("x86-64 base, clang", "clang++"),
    Target("x86-64 avx2, clang", "clang++", "-O1 -mavx2"),
    Target("aarch64", "aarch64-linux-gnu-g++", runner="qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    Target("armhf", "arm-linux-gnueabihf-g++", runner="qemu-arm -L /usr/arm-linux-gnueabihf"),
    Target("riscv64", "riscv64-linux-gnu-g++", runner="qemu-riscv64 -L /usr/riscv64-linux-gnu"),
    Target("s390x", "s390x-linux-gnu-g++", runner="qemu-s390x -L /usr/s390x-linux-gnu", big_endian=True),
    Target("Cortex-M3", "arm-none-eabi-g++", chip="cortex-m3"),
    Target("Cortex-M4F", "arm-none-eabi-g++", chip="cortex-m4"),
    Target("wasm32", ZIG, "-O1", WASI),
    Target("wasm32 SIMD128", ZIG, "-O1 -msimd128", WASI),
)  # fmt: skip


def run(command: str, folder: Path | None = None) -> str:
    """What a command prints, or the error that it failed."""
    done = subprocess.run(shlex.split(command), cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


# ---- digest ---------------------------------------------------------------------------------------------------------


def digest(target: Target) -> str:
    """The digest of the learners, as the C++ tests print it."""
    folder = BUILD / target.name.replace(" ", "_").replace(",", "")
    folder.mkdir(parents=True, exist_ok=True)
    root = TESTS.parents[1]
    flags = f"{FLAGS} {target.flags} -I{root / 'core'} -I{root / 'bindings'} -I{TESTS}"
    sources = {Path(name).stem: f"{TESTS / name}" for name in SOURCES}
    for element in ("float", "double"):
        defined = f"-DPOCKETKERNEL_ELEMENT={element} -DPOCKETKERNEL_TABLE=base_{element}"
        sources[f"engine_{element}"] = f"{root / 'bindings' / 'engine.cpp'} {defined}"
    objects = [str(folder / f"{name}.o") for name in sources]
    for object_file, source in zip(objects, sources.values(), strict=True):
        run(f"{target.compiler} {flags} -c {source} -o {object_file}")
    program = folder / "digest"
    run(f"{target.compiler} {target.flags} {' '.join(objects)} -lm -o {program}")
    printed = run(f"{target.runner} {program} bits")
    return next(line.split()[1] for line in printed.splitlines() if line.startswith("bits "))


# ---- models ---------------------------------------------------------------------------------------------------------


def models(quick: bool) -> dict[str, tuple[object, np.ndarray, np.ndarray]]:
    """Models that have learned 300 rows, and 200 more rows for them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    z = X[:, 0] * X[:, 1] + X[:, 2]
    two, three = (z > 0).astype(np.int64), np.digitize(z, [-0.7, 0.7])
    made = {
        "PocketClassifier": (pk.PocketClassifier(memory="8KiB", random_state=0), three),
        "MOMDS": (pk.MOMDS(memory="8KiB", random_state=0), two),
    }
    if not quick:
        made |= {
            "PocketClassifier of two": (pk.PocketClassifier(memory="4KiB", random_state=0), two),
            "PocketRegressor": (pk.PocketRegressor(memory="8KiB", random_state=0), z.astype(np.float64)),
        }
    return {name: (model.fit(X[:300], y[:300]), X[300:], y[300:]) for name, (model, y) in made.items()}


def lessons(model: object, X: np.ndarray, y: np.ndarray, order: str) -> bytes:
    """Rows as a project's main.cpp reads them."""
    kind = "f8" if isinstance(model, pk.PocketRegressor) else "i4"
    records = np.zeros(len(X), [("row", f"{order}f4", X.shape[1]), ("y", f"{order}{kind}")])
    records["row"] = X
    records["y"] = y if isinstance(model, pk.PocketRegressor) else np.searchsorted(model.classes_, y)
    return records.tobytes()


def scores_and_state(target: Target, name: str, model: object, X: np.ndarray, y: np.ndarray) -> bytes:
    """What a project computes on the target: scores, little-endian, then the state."""
    folder = BUILD / "models" / f"{name} on {target.name}".replace(" ", "_").replace(",", "")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    device.export(model, folder, target.chip or "host", measure=False)
    order = ">" if target.big_endian else "<"
    (folder / "rows.bin").write_bytes(lessons(model, X, y, order))
    if target.chip:
        run("make -s run", folder)
    else:
        program = "program.wasm" if target.compiler == ZIG else "./program"
        sources = ("pk_model.cpp", "main.cpp", "board/board_host.cpp")
        for source in sources:
            run(f"{target.compiler} {FLAGS} {target.flags} -Iinclude -I. -c {source} -o {Path(source).stem}.o", folder)
        # Linked as C: nothing of the C++ library is needed, which Zig would build first.
        linker = target.compiler.replace("ziglang c++", "ziglang cc")
        run(
            f"{linker} {target.flags} {' '.join(f'{Path(source).stem}.o' for source in sources)} -lm -o {program}",
            folder,
        )
        run(f"{target.runner} {program}", folder)
    scores = np.frombuffer((folder / "scores.bin").read_bytes(), f"{order}f8").astype("<f8")
    return scores.tobytes() + (folder / "state.bin").read_bytes()


def expected(model: object, X: np.ndarray, y: np.ndarray) -> bytes:
    """The same in Python."""
    stayed = type(model).from_bytes(model.to_bytes())
    scores = []
    for row, target in zip(X, y, strict=True):
        seen = np.zeros_like(pk.learners.room_for_scores(stayed, 1))
        seen[:] = pk.learners.raw_scores(stayed, row[None])
        scores.append(seen.ravel())
        stayed.partial_fit(row[None], [target])
    return np.concatenate(scores).astype("<f8").tobytes() + pk.learners.contents_of(stayed).state


# ---- table ----------------------------------------------------------------------------------------------------------


def main() -> int:
    """Run all targets; 0 if nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="parts of names of targets; all by default")
    parser.add_argument("--quick", action="store_true", help="models only")
    parser.add_argument("--python", action="store_true", help="only the digest of the models in this Python")
    parser.add_argument("--table", type=Path, help="write a Markdown table to this file")
    options = parser.parse_args()
    chosen = [
        target for target in TARGETS if not options.targets or any(part in target.name for part in options.targets)
    ]
    made = models(options.quick)
    python = {name: expected(*parts) for name, parts in made.items()}
    everything = hashlib.sha256(b"".join(python.values())).hexdigest()[:16]
    if options.python:
        print(everything)
        return 0
    rows, digests, bad = [], set(), False
    for target in chosen:
        missing = target.missing()
        if missing:
            print(f"{target.name}: left out, {missing} is not there", flush=True)
            rows.append((target.name, "left out", f"{missing} is not there"))
            continue
        begin = time.monotonic()
        hosted = not target.chip and target.compiler != ZIG  # the C++ tests need an operating system's memory
        own = digest(target) if hosted and not options.quick else "not run"
        digests |= {own} - {"not run"}
        wrong = [name for name, parts in made.items() if scores_and_state(target, name, *parts) != python[name]]
        seen = f"differ: {', '.join(wrong)}" if wrong else f"{len(made)} of {len(made)} as in Python"
        bad = bad or bool(wrong)
        print(f"{target.name}: digest {own}, models {seen} ({time.monotonic() - begin:.0f} s)", flush=True)
        rows.append((target.name, own, seen))
    if len(digests) > 1:
        print(f"the digests differ: {', '.join(sorted(digests))}")
    if options.table:
        before = options.table.read_text().splitlines() if options.table.exists() else []
        lines = {line.split(" | ")[0].removeprefix("| "): line for line in before if line.startswith("| ")}
        lines |= {name: f"| {name} | {own} | {seen} |" for name, own, seen in rows}
        shown = "\n".join(lines[target.name] for target in TARGETS if target.name in lines)
        options.table.write_text(TABLE.format(rows=shown, digest=everything))
    return int(bad or len(digests) > 1)


TABLE = """# The same bits everywhere

`make test-everywhere` made this table: it compiles the core for each machine, runs it (where it is another machine than
this one, in QEMU or node), and compares. The digest, where there is an operating system, is that of the C++ tests, over
the scores and states of all learners in both precisions; the test programs need more memory than the chips have. The
models were trained in Python and went on learning on the machine; their scores and states were compared byte by byte
with Python's (SHA-256 of all of them: `{digest}`). A digest takes about a minute of one core to compile:
`QUICK=1`, as in CI, leaves the digests out, and two of the four models.

Another library may change how a thread computes: with `fesetround` it rounds otherwise, and one that was compiled with
`-ffast-math` may make subnormal numbers 0. What a learner learns and answers in Python has the same bits even so: every
call computes in the usual modes, and then puts the thread's own back. (Probabilities use the exponential of SciPy or
of Python.)

| machine | digest | models |
|---|---|---|
{rows}
"""

if __name__ == "__main__":
    raise SystemExit(main())
