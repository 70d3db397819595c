"""Kernel weights as a picture."""

import io
import os
from collections.abc import Sequence
from pathlib import Path

from pocketkernel._files import write_atomically
from pocketkernel._optional import optional

FORMATS = (".png", ".svg", ".pdf")


def write_weights(
    path: str | os.PathLike[str], names: Sequence[str], weights: Sequence[float], *, title: str = ""
) -> None:
    """Draw the weight of each kernel as a bar.

    Needs matplotlib.

    Parameters
    ----------
    path : path
        Its suffix says how: .png, .svg or .pdf.
    names : list of str
        Kernels.
    weights : list of float
        Their weights, from 0 to 1.
    title : str, default=""
        Above the bars.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"path={os.fspath(path)!r} does not end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    matplotlib = optional("matplotlib", "a picture", "report")
    figures = optional("matplotlib.figure", "a picture", "report")
    style = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "pocketkernel"}
    with matplotlib.rc_context(style):
        figure = figures.Figure(figsize=(4.8, 0.8 + 0.32 * len(names)), layout="constrained")
        axes = figure.add_subplot()
        bars = axes.barh(range(len(names)), weights, color="#2a78d6", height=0.7)
        axes.bar_label(bars, labels=[f"{weight:.3f}" for weight in weights], padding=3, fontsize="small")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.12)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
        axes.set_xlabel("weight")
        axes.set_title(title, loc="left", fontsize="medium")
        axes.spines[["top", "right"]].set_visible(False)
        file = io.BytesIO()
        kind = path.suffix.lower().removeprefix(".")
        dates = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(file, format=kind, dpi=200, metadata=dates[kind])
    write_atomically(path, file.getvalue())
