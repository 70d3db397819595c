"""What was inferred of the columns of a table, as people read it."""

from collections import Counter
from itertools import groupby

import numpy as np
from rich.console import Console

from pocketkernel._text import plain
from pocketkernel.cli.show import err, prose
from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION
from pocketkernel.stream import Stream
from pocketkernel.stream.errors import listed
from pocketkernel.stream.schema import Inferred
from pocketkernel.stream.stream import MOST_CLASSES

SHOWN = 30
WIDTH = 110
"""Columns of a table that are listed, and signs of a line where there is no terminal."""

FEW = 2
"""Different numbers of a label that can only be classes."""

TITLES = ("column", "role", "encoded as", "examples")
WIDEST = (20, 8, 54, 60)


def show_schema(console: Console, stream: Stream, task: str | None) -> None:
    """Print what becomes of each column, and how to change it; the task may be known or not."""
    inferred = stream.inferred
    assert inferred is not None
    shown = inferred.columns[:SHOWN] + [one for one in inferred.columns[SHOWN:] if one.role == "label"]
    columns = [(one.name, one.role, one.encoded, one.examples) for one in shown]
    cells = [TITLES, *(tuple(plain(text, kept="") for text in column) for column in columns)]
    widths = [min(most, max(len(row[k]) for row in cells)) for k, most in enumerate(WIDEST)]
    most = console.width if console.is_terminal else WIDTH
    for row in cells:
        line = "  ".join(_cut(text, width).ljust(width) for text, width in zip(row, widths, strict=True))
        style = "bold" if row is TITLES else {"label": "green", "left out": "dim"}.get(row[1])
        console.print(_cut(line.rstrip(), most), style=style, markup=False)
    for line in [*_notes(inferred, stream.n_features), *_hints(stream, task)]:
        prose(console, line)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _notes(inferred: Inferred, width: int) -> list[str]:
    further = Counter(column.role for column in inferred.columns[SHOWN:] if column.role != "label")
    notes = [f"... and {', '.join(f'{count:,} x {role}' for role, count in further.items())}"] if further else []
    seen = f"all {inferred.rows:,} rows" if inferred.whole else f"the first {inferred.rows:,} rows"
    notes.append(f"{len(inferred.columns):,} columns of the file became {width:,} of the model, judged by {seen}.")
    notes += inferred.remarks + inferred.leaks
    notes.append("To change it: --drop, --categorical, --numeric or --date COLUMN; --label COLUMN; or --strict.")
    return notes


def _hints(stream: Stream, task: str | None) -> list[str]:
    """What the label may be instead."""
    values = np.unique(stream.seen_labels())
    if stream.encoding is None or not stream.encoding.label_is_number or len(values) <= FEW or task is None:
        return []
    if task == REGRESSION and (len(values) > MOST_CLASSES or (values != np.floor(values)).any()):
        return []  # nobody would take them for classes
    name, other = plain(str(stream.encoding.label), kept=""), REGRESSION if task == CLASSIFICATION else CLASSIFICATION
    what = "classes" if task == CLASSIFICATION else "quantities"
    instead = "if it is a quantity" if task == CLASSIFICATION else "if they are classes"
    return [f"Hint: {name!r} has {len(values):,} different numbers, treated as {what}; {instead}, add --task {other}."]


def tell_absent(stream: Stream, told: int = 0) -> int:
    """Say which columns of the model the files do not have, but for the first ones; how many there are."""
    for file, found in groupby(list(stream.absent.items())[told:], lambda one: one[1]):
        names = [name for name, _ in found]
        which = f"column {names[0]!r}" if len(names) == 1 else f"columns {listed(names)}"
        prose(err(), f"{file} has no {which}: taken as missing.")
    return len(stream.absent)
