"""Flash, RAM, stack and instructions of a project, measured with its own Makefile."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("make", "arm-none-eabi-g++", "arm-none-eabi-size", "qemu-system-arm")


@dataclass(frozen=True)
class Figures:
    """What a project needs on a target."""

    target: str
    flash: int
    ram: int
    stack: int
    instructions: int
    longest: int

    def text(self) -> str:
        """A table for a README."""
        rate = 64_000_000 / max(self.instructions, 1)
        return (
            f"Measured on `{self.target}` with `make measure`, -Os, over the rows of `main.cpp`:\n\n"
            "| flash | static RAM | stack | instructions per row | longest row | rows a second at 64 MHz |\n"
            "|--:|--:|--:|--:|--:|--:|\n"
            f"| {self.flash:,} | {self.ram:,} | {self.stack:,} | {self.instructions:,} | {self.longest:,} "
            f"| {rate:,.0f} |\n\n"
            "Flash includes the first state, static RAM a buffer for a saved one. Rows a second count one cycle for "
            "each instruction; a real core needs 1 to 2.\n"
        )


def measured(folder: Path, target: str) -> Figures | None:
    """The figures of a project; None if a tool is missing or the target is not a chip."""
    if target == "host" or not all(shutil.which(tool) for tool in TOOLS):
        return None
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", str(folder), "measure"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"the project could not be built and run for {target}; measure=False (--no-measure) exports it without. "
            f"make says:\n{(done.stderr or done.stdout)[-2000:]}"
        )
    found = {
        name: int(value) for name, value in re.findall(r"^(flash|ram|stack|mean|longest) (\d+)", done.stdout, re.M)
    }
    subprocess.run(["make", "--no-print-directory", "-C", str(folder), "clean"], capture_output=True, check=False)
    (folder / "state.bin").unlink(missing_ok=True)  # of the simulated sensor
    return Figures(target, found["flash"], found["ram"], found["stack"], found["mean"], found["longest"])
