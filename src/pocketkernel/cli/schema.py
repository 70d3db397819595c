"""What was inferred of the columns of a table, as people read it."""

from collections import Counter

from rich.console import Console

from pocketkernel._text import plain
from pocketkernel.cli.show import prose
from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION
from pocketkernel.stream import Stream
from pocketkernel.stream.schema import Inferred

SHOWN = 30
WIDTH = 110
"""Columns of a table that are listed, and signs of a line where there is no terminal."""

MANY = 20
"""Different numbers of a label that may be classes or quantities."""

TITLES = ("column", "role", "encoded as", "examples")
WIDEST = (20, 8, 54, 60)


def show_schema(console: Console, stream: Stream, task: str | None) -> None:
    """Print what becomes of each column, and how to change it; the task may be known or not."""
    inferred = stream.inferred
    assert inferred is not None
    columns = [(one.name, one.role, one.encoded, one.examples) for one in inferred.columns[:SHOWN]]
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
    further = Counter(column.role for column in inferred.columns[SHOWN:])
    notes = [f"... and {', '.join(f'{count:,} x {role}' for role, count in further.items())}"] if further else []
    seen = f"all {inferred.rows:,} rows" if inferred.whole else f"the first {inferred.rows:,} rows"
    notes.append(f"{len(inferred.columns):,} columns of the file became {width:,} of the model, judged by {seen}.")
    notes += inferred.remarks
    notes.append("To change it: --drop, --categorical, --numeric or --date COLUMN; --label COLUMN; or --strict.")
    return notes


def _hints(stream: Stream, task: str | None) -> list[str]:
    """What the label may be instead."""
    encoding, values = stream.encoding, len(set(stream.seen))
    if encoding is None or not encoding.label_is_number or values <= MANY or task is None:
        return []
    name, other = plain(str(encoding.label), kept=""), REGRESSION if task == CLASSIFICATION else CLASSIFICATION
    what = "classes" if task == CLASSIFICATION else "quantities"
    instead = "if it is a quantity" if task == CLASSIFICATION else "if they are classes"
    return [f"Hint: {name!r} has {values:,} different numbers, treated as {what}; {instead}, add --task {other}."]
