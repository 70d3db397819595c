"""What models need on chips: code, flash, RAM, stack and instructions per row, in QEMU, as a table.

    python benchmarks/devices.py [--targets cortex-m4 ...] [--models PART ...] [--validation]

Ten columns, float32, 300 rows learned in Python and 2,000 on the chip. Code is that of the model without the first
state and the constants of its seed; flash is that of the whole program with them. --validation lets pk_load check the
contents of a state, too.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from pocketkernel import MOMDS, PocketClassifier, PocketRegressor, device

ROWS, COLUMNS = 300, 10
MODELS = {
    "PocketClassifier, 2 classes, 8 KiB": (PocketClassifier(memory="8KiB", random_state=0), 2),
    "PocketClassifier, 2 classes, 32 KiB": (PocketClassifier(memory="32KiB", random_state=0), 2),
    "PocketClassifier, 2 classes, 64 KiB": (PocketClassifier(memory="64KiB", random_state=0), 2),
    "PocketClassifier, 4 classes, 8 KiB": (PocketClassifier(memory="8KiB", random_state=0), 4),
    "PocketClassifier, 4 classes, 32 KiB": (PocketClassifier(memory="32KiB", random_state=0), 4),
    "PocketRegressor, 8 KiB": (PocketRegressor(memory="8KiB", random_state=0), 0),
    "M-OMD-S, 8 KiB": (MOMDS(memory="8KiB", random_state=0), 2),
    "M-OMD-S, 32 KiB": (MOMDS(memory="32KiB", random_state=0), 2),
}
TARGETS = ("cortex-m4", "cortex-m3")


def learned(model: object, classes: int) -> object:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    z = X[:, 0] * X[:, 1] + X[:, 2]
    y = z if classes == 0 else np.digitize(z, np.linspace(-1, 1, classes + 1)[1:-1])
    return model.fit(X, y)


def measured(model: object, target: str, validation: bool) -> tuple[int, ...]:
    """Code, flash, block, stack, mean and longest row."""
    with tempfile.TemporaryDirectory() as name:
        folder = device.export(model, Path(name) / "project", target, measure=False)
        printed = run(
            ["make", "-s", "measure", *(["DEFINE=-DPOCKETKERNEL_VALIDATION=1"] if validation else [])], folder
        )
        sizes = {key: int(number) for key, number in re.findall(r"^(\w+) (\d+)$", printed, re.MULTILINE)}
        parts = run(["arm-none-eabi-size", "-A", f"build/{target}/pk_model.o"], folder)
        taken = sum(
            int(number) for number in re.findall(r"^\.(?:text|rodata|data|init)\S* +(\d+)", parts, re.MULTILINE)
        )
        named = run(["arm-none-eabi-nm", "-S", "-t", "d", f"build/{target}/pk_model.o"], folder)
        data = sum(int(number) for number in re.findall(r" (\d+) \w \S*pk_(?:first_state|constants)", named))
        block = int(re.search(r"PK_BLOCK_BYTES (\d+)", (folder / "pk_sizes.h").read_text())[1])
    return taken - data, sizes["flash"], block, sizes["stack"], sizes["mean"], sizes["longest"]


def run(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=[t for t in device.TARGETS if "cortex" in t])
    parser.add_argument("--models", nargs="+", default=[""], help="parts of names")
    parser.add_argument("--validation", action="store_true")
    given = parser.parse_args()
    columns = ("model", "target", "code", "flash", "block", "stack", "instructions per row", "longest row")
    print(f"| {' | '.join(columns)} | rows a second at 64 MHz |")
    print("|---|---|" + "--:|" * 7)
    for name, (model, classes) in MODELS.items():
        if any(part in name for part in given.models):
            trained = learned(model, classes)
            for target in given.targets:
                found = measured(trained, target, given.validation)
                numbers = " | ".join(f"{number:,}" for number in (*found, round(64_000_000 / found[4])))
                print(f"| {name} | {target} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
