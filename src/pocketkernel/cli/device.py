"""`pocketkernel device`: a model as a C++ project for a chip."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from pocketkernel.cli.show import out
from pocketkernel.device import export

Name = Literal["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "host", "arduino"]


def device(
    model: Path,
    /,
    *,
    out_: Annotated[Path, Parameter(name="--out")],
    target: Name = "cortex-m4",
    measure: bool = True,
) -> None:
    """Write a C++ project that contains the model and keeps learning, on a chip or on this computer.

    Parameters
    ----------
    model
        Folder of a run, or a model file.
    out_
        Folder to create; it must not exist, or be empty.
    target
        Processor that `make` compiles for by default, or a library for the Arduino IDE.
    measure
        Compile the project and run it in QEMU, if both are installed, and write flash, stack and instructions per row
        into its README.
    """
    folder = export(model, out_, target, measure=measure)
    next_step = "see its README.md" if target == "arduino" else f"try: make -C {shlex.quote(str(folder))} run"
    out().print(f"{folder}: a project for {target}; {next_step}.", highlight=False)
