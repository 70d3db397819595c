"""What the demo shows, within 80 columns and 24 lines."""

import math
import shutil
import sys
from pathlib import Path

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pocketkernel.lab.demo.contest import FRAMES, Contest
from pocketkernel.memory import parse_bytes

HEIGHT = 12
TOP = 0.6
"""Lines of the curve, and the mistake rate at its upper end."""
STYLES = ("bold cyan", "yellow", "dim")
MARKS, PLAIN_MARKS = "●○·", "#o."
BEFORE, AFTER = 1_000, 50
"""Rows before the flip, and rows after it that are shown on their own."""


def introduction(contest: Contest, memory: str) -> str:
    """Say what is going to happen."""
    return (
        f"PocketClassifier is going to predict and learn {len(contest.stream.y):,} rows, one by one, in\n"
        f"{parse_bytes(memory):,} bytes; at row {contest.stream.flip:,} all labels flip their meaning."
    )


def panel(contest: Contest, encoding: str) -> Panel:
    """The curve so far, its legend, and the bytes."""
    marks = MARKS if encoding.lower().startswith("utf") else PLAIN_MARKS
    legend = Text("  ")
    for one, mark, style in zip(contest.everyone, marks, STYLES, strict=True):
        legend.append(f"{mark} {one.name} {one.rates[-1]:.0%}   ", style=style)
    nbytes = contest.learner.model.nbytes
    state = Text(f"  row {contest.rows:>9,} of {len(contest.stream.y):,}    ", end="")
    state.append(f"{nbytes:,} bytes", style="bold")
    state.append(f", {contest.first_bytes:,} at the first row")
    title = "mistakes in the last rows"
    return Panel(Group(*_curve(contest, marks), legend, state), title=title, title_align="left", width=78)


def _curve(contest: Contest, marks: str) -> list[Text]:
    """A line of text for each height, a column for each block; the learner is drawn last, over the others."""
    cells = [[(" ", "")] * FRAMES for _ in range(HEIGHT)]
    flip = FRAMES * contest.stream.flip // len(contest.stream.y)
    for line in cells:
        line[flip] = ("|", "dim red")
    for one, mark, style in reversed(list(zip(contest.everyone, marks, STYLES, strict=True))):
        for column, rate in enumerate(one.rates):
            place = min(HEIGHT - 1, int(HEIGHT * rate / TOP))
            cells[HEIGHT - 1 - place][column] = (mark, style)
    lines = []
    for number, line in enumerate(cells):
        share = TOP * (HEIGHT - number) / HEIGHT
        text = Text(f"{share:>6.0%} |" if number % 4 == 0 else "       |")
        for mark, style in line:
            text.append(mark, style=style)
        lines.append(text)
    axis = Text("    0% +" + "-" * FRAMES)
    note = Text(" " * (8 + max(0, flip - 5)) + "labels flip", style="red")
    return [*lines, axis, note]


def line(contest: Contest) -> str:
    """Say the same in a few words, for where nothing can be redrawn."""
    learner, linear, majority = contest.everyone
    return (
        f"row {contest.rows:>9,}: PocketClassifier {learner.rates[-1]:>4.0%} mistakes, "
        f"linear {linear.rates[-1]:>4.0%}, majority {majority.rates[-1]:>4.0%}"
    )


def table(contest: Contest) -> Table:
    """How everyone has done before the flip, right after it, and later."""
    flip, end = contest.stream.flip, len(contest.stream.y)
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    grid.add_column("mistakes", style="cyan", no_wrap=True)
    headings = (f"{BEFORE:,} before", f"next {AFTER} rows", "later", "all rows", "bytes")
    for heading in headings:
        grid.add_column(heading, justify="right")
    spans = ((flip - BEFORE, flip), (flip, flip + AFTER), (flip + AFTER, end), (0, end))
    for one in contest.everyone:
        rates = (one.rate(*span) for span in spans)
        cells = ["-" if math.isnan(rate) else f"{rate:.1%}" for rate in rates]
        grid.add_row(one.name, *cells, f"{one.model.nbytes:,}")
    return grid


def conclusion(contest: Contest) -> str:
    """Say what was seen, and what to do next."""
    learner, flip = contest.learner, contest.stream.flip
    before, later = learner.rate(flip - BEFORE, flip), learner.rate(flip + AFTER, len(contest.stream.y))
    same = "never changed" if contest.first_bytes == learner.model.nbytes else "changed"
    seen = f"PocketClassifier: {before:.1%} mistakes before the flip; " if not math.isnan(before) else ""
    after = f"{later:.1%} from {AFTER} rows after it on. " if not math.isnan(later) else ""
    return (
        f"{seen}{after}Its bytes {same}.\nNow try your own file, and open the report that it writes:\n\n"
        f"  {_command()} run FILE.csv --label COLUMN\n"
    )


def _command() -> str:
    """How the command line is called from here."""
    if shutil.which("pocketkernel"):
        return "pocketkernel"
    beside = Path(sys.executable).parent / "pocketkernel"
    if not beside.is_file():
        return "python -m pocketkernel"
    return str(beside.relative_to(Path.cwd())) if beside.is_relative_to(Path.cwd()) else str(beside)
