"""Writes the project: headers, this model's configuration and state as constants, and the files of the template."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pocketkernel import _core
from pocketkernel._include import get_include
from pocketkernel.device.figures import Figures, measured
from pocketkernel.device.model import Exported, clip_of, exported
from pocketkernel.learners import contents_of, core_of
from pocketkernel.model_file import LIBRARY_VERSION


@dataclass(frozen=True)
class Target:
    """A processor, and the board on which QEMU emulates it."""

    about: str
    arduino: bool = False


TARGETS = {
    "cortex-m0plus": Target("Cortex-M0+, no FPU (compiled for it, run on an emulated Cortex-M3)"),
    "cortex-m3": Target("Cortex-M3, no FPU"),
    "cortex-m4": Target("Cortex-M4 with FPU for single precision"),
    "cortex-m7": Target("Cortex-M7 with FPU for double precision"),
    "cortex-m33": Target("Cortex-M33 with FPU for single precision"),
    "cortex-m55": Target("Cortex-M55 with FPU"),
    "host": Target("this computer"),
    "arduino": Target("a library for the Arduino IDE", arduino=True),
}
"""What a project can be made for. All but arduino make the same files, and differ in what `make` builds by default."""

SOURCES = (
    "pk_model.h", "pk_model.hpp", "pk_model.cpp", "pk_scaler.hpp", "pk_soft_double.hpp", "pk_sizes.h.in",
    "pk_config.hpp.in", "pk_state.hpp.in",
)  # fmt: skip
PROGRAM = (
    "main.cpp", "Makefile", "CMakeLists.txt", "board/board.h", "board/board_host.cpp", "board/board_semihosting.cpp",
    "board/mps2.ld", "board/arm-none-eabi.cmake",
)  # fmt: skip
ARDUINO = ("library.properties", "examples/Learn/Learn.ino", "src/PocketModel.h")


def export(model: Any, path: str | os.PathLike[str], target: str = "cortex-m4", *, measure: bool = True) -> Path:
    """Write a folder with a C++ project that contains this model and keeps learning, on a chip or on this computer.

    Parameters
    ----------
    model : estimator, what `load` returns, or path of a model file or of a run's folder
        A learner of pocketkernel that has learned something. Of a run that scales its rows (`--scale`), the scaling is
        exported too. Other steps before the learner are refused.
    path : path
        The folder to create. It must not exist, or be empty; if anything fails it stays so.
    target : str, default="cortex-m4"
        One of `TARGETS`: what `make` builds by default; "arduino" makes a library for the Arduino IDE instead.
    measure : bool, default=True
        Compile the project and run it in QEMU, if both are installed, and write flash, stack and instructions per row
        into its README.

    Returns
    -------
    Path
        The folder. `make run` in it compiles and runs the project; its README says more.
    """
    if target not in TARGETS:
        raise ValueError(f"target={target!r} is unknown: use one of {', '.join(TARGETS)}.")
    known = exported(model)
    with _complete(Path(path)) as folder:
        _write(known, folder, target, measure)
    return Path(path)


@contextmanager
def _complete(folder: Path) -> Iterator[Path]:
    """A folder to write into that becomes `folder` when it is complete; if anything fails, nothing is left of it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists and is not an empty folder: choose another one.")
    near = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not near.is_dir():
        raise NotADirectoryError(f"{folder} cannot be made: {near} is not a folder.")
    with tempfile.TemporaryDirectory(prefix=".pocketkernel-", dir=near) as name:
        made = Path(name) / "project"
        made.mkdir()
        yield made
        if near == folder:  # it may be somebody's working folder, or a mounted one
            for part in made.iterdir():
                part.rename(folder / part.name)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
            made.rename(folder)


def _write(known: Exported, folder: Path, target: str, measure: bool) -> None:
    """All files of a project."""
    template = Path(str(files("pocketkernel.device") / "template"))
    arduino = TARGETS[target].arduino
    sources = folder / "src" if arduino else folder
    values = {"TARGET": target, "VERSION": LIBRARY_VERSION} | _constants(known)
    texts = {sources / name.removesuffix(".in"): template / name for name in SOURCES}
    texts |= {folder / name: template / "arduino" / name for name in ARDUINO} if arduino else {}
    texts |= {} if arduino else {folder / name: template / name for name in PROGRAM}
    for place, text in texts.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_filled(text.read_text(), values), encoding="utf-8")
    _copy_headers(known, sources if arduino else folder / "include")
    figures = measured(folder, target) if measure and not arduino else None
    readme = (template / ("arduino" if arduino else "") / "README.md").read_text()
    (folder / "README.md").write_text(_filled(readme, values | _description(known, figures)), encoding="utf-8")


def _filled(text: str, values: dict[str, str]) -> str:
    """A template with its @NAMES@ replaced."""
    return re.sub("@([A-Z_]+)@", lambda found: values.get(found[1], found[0]), text)


# ---- headers --------------------------------------------------------------------------------------------------------


def _copy_headers(known: Exported, to: Path) -> None:
    """The headers that this learner includes, and those that they include."""
    include = Path(get_include()) / "pocketkernel"
    wanted, found = [include / "learners" / f"{known.recipe.learner}.hpp"], set()
    while wanted:
        header = wanted.pop().resolve()
        if header in found:
            continue
        found.add(header)
        names = re.findall(r'^#include "(.*)"', header.read_text(), re.MULTILINE)
        wanted += [header.parent / name for name in names]
    for header in found:
        place = to / "pocketkernel" / header.relative_to(include.resolve())
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(header, place)


# ---- constants ------------------------------------------------------------------------------------------------------


def _text(value: str) -> str:
    """A C string: everything but plain ASCII in octal."""
    plain = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in value.encode("utf-8", "replace")
    )
    return f'"{plain}"'


def _constants(known: Exported) -> dict[str, str]:
    """What the templates of pk_sizes.h, pk_config.hpp and pk_state.hpp name."""
    recipe, labels = known.recipe, known.labels
    kernels = (
        f"{{pocketkernel::Family::{kernel.family}, {_number(kernel.parameter)}, {kernel.order}}}"
        for kernel in recipe.kernels
    )
    numbers = {"features": recipe.features, "classes": recipe.classes, "budget": recipe.budget} | recipe.parameters
    places = [_core.KERNELS.index(kernel.family) for kernel in recipe.kernels]
    names = ", ".join(map(_text, labels or []))
    values = {
        "VALUE": "double" if recipe.doubles else "float",
        "REGRESSION": int(labels is None),
        "FEATURES": recipe.features,
        "CLASSES": recipe.classes,
        "OUTPUTS": known.outputs,
        "BLOCK_BYTES": recipe.size()[0],
        "STATE_BYTES": len(known.state),
        "SPARSE_ROWS": int(recipe.features >= (64 if recipe.learner.startswith("pocket_") else 16)),
        "HALVES": int(recipe.storage != "full"),
        "FAMILIES": hex(sum({1 << place for place in places})),
        "FAMILY_LIST": ", ".join(map(str, places)),
        "FUNCTIONS": 1 if labels is not None and recipe.classes == 2 else recipe.classes,
        "BUDGET": recipe.budget,
        "DIGEST": hex(int.from_bytes(known.state[8:16], "little")),
        "HEADER": recipe.learner,
        "LEARNER": contents_of(known.learner).model["estimator"],
        "KERNELS": ",\n    ".join(kernels),
        "NUMBERS": "\n".join(f"    c.{name} = {_number(value)};" for name, value in numbers.items()),
        "LOSS": recipe.loss,
        "REMOVAL": recipe.removal,
        "STORAGE": recipe.storage,
        "SEED": recipe.seed,
        "SCALER": _scaler(known),
        "FIRST_STATE": _bytes(known.state),
        "CONSTANTS": _bytes(core_of(known.learner).constants() or bytes(1)),
        "LABEL_NAMES": ""
        if labels is None
        else f'\nextern "C" {{\nconst char* const pk_labels[PK_CLASSES] = {{{names}}};\n}}\n',
    }
    return {name: str(value) for name, value in values.items()}


def _scaler(known: Exported) -> str:
    """The type of the scaler."""
    if known.scaler is None:
        return "using Scaler = pk_scale::None<pk_value>;"
    base = f"pk_scale::{type(known.scaler).__name__.removeprefix('Online')}<pk_value, PK_FEATURES>"
    clip = clip_of(known.scaler)
    begin = "" if clip is None else f"\n    Scaler() : {base}({_number(clip)}) {{}}\n"
    return f"struct Scaler : {base} {{{begin}}};"


def _number(value: float) -> str:
    """A number that C++ reads exactly."""
    return str(value) if isinstance(value, int) else value.hex()


def _bytes(data: bytes) -> str:
    return "\n".join("    " + ", ".join(str(b) for b in data[at : at + 24]) + "," for at in range(0, len(data), 24))


# ---- README ---------------------------------------------------------------------------------------------------------


_CALLS = """\
    int guess = pk_score(row, scores);           /* pk_value row[PK_FEATURES]; double scores[PK_OUTPUTS] */
    int before = pk_learn(row, label, scores);   /* learns, and returns what it would have guessed */"""
_CALLS_OF_A_REGRESSOR = """\
    int status = pk_score(row, answers);         /* pk_value row[PK_FEATURES]; double answers[PK_OUTPUTS] */
    status = pk_learn(row, targets, answers);    /* learns double targets[PK_OUTPUTS]; answers are from before */"""


def _description(known: Exported, figures: Figures | None) -> dict[str, str]:
    """What the template of README.md names."""
    recipe, labels = known.recipe, known.labels
    name = contents_of(known.learner).model["estimator"]
    scaler = f" Rows are scaled first ({known.scaler.kind})." if known.scaler is not None else ""
    what = f"{recipe.classes} classes" if labels is not None else f"{known.outputs} numbers to predict"
    precision = "double" if recipe.doubles else "single"
    return {
        "ABOUT": f"{name}, {recipe.features} columns, {what}, {precision} precision.{scaler}",
        "LABELS": "" if labels is None else f"The classes are, from 0 on: {', '.join(map(_quoted, labels))}.\n\n",
        "CALLS": _CALLS_OF_A_REGRESSOR if labels is None else _CALLS,
        "TARGETS": "\n".join(f"| `{one}` | {TARGETS[one].about} |" for one in TARGETS if not TARGETS[one].arduino),
        "BLOCK": f"{recipe.size()[0]:,}",
        "STATE": f"{len(known.state):,}",
        "FIGURES": figures.text() if figures is not None else "",
    }


def _quoted(label: str) -> str:
    """A label as code in Markdown, which it cannot end: in JSON, with its backquotes escaped."""
    return "`" + json.dumps(label).replace("`", "\\u0060") + "`"
