"""`pocketkernel demo`: PocketClassifier on a stream whose labels flip half-way, beside two baselines."""

import time
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.live import Live

from pocketkernel.cli.errors import UsageError
from pocketkernel.cli.options import Seed, at_least
from pocketkernel.lab.demo import view
from pocketkernel.lab.demo.contest import FRAMES, Contest, contestants, generated

Rows = Annotated[int, Parameter(validator=at_least(2))]

PACE = 0.3
"""Seconds per frame on a terminal, where people watch; the learners need far less."""
LINES = 6
"""Frames that are printed where nothing can be redrawn."""


def demo(*, memory: str = "64KiB", rows: Rows = 12_000, seed: Seed = 0) -> None:
    """Watch PocketClassifier learn a stream in a fixed number of bytes, and recover when the labels flip.

    Every row is predicted before its label is used. A linear model and always the majority get the same rows. Downloads
    nothing.

    Parameters
    ----------
    memory
        Bytes for PocketClassifier.
    rows
        Length of the generated stream; all labels flip half-way.
    seed
        Of the stream and the learner.
    """
    console = Console(highlight=False)
    stream = generated(rows, seed)
    contest = Contest(stream, contestants(memory, seed))
    if contest.refusal:
        raise UsageError(contest.refusal)
    console.print(view.introduction(contest, memory))
    _watch(console, contest)
    console.print(view.table(contest))
    console.print(view.conclusion(contest))


def _watch(console: Console, contest: Contest) -> None:
    """Redraw the curve as it grows; where nothing can be redrawn, print some lines and the curve at the end."""
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for frame in contest.run():
            if console.is_interactive:
                live.update(view.panel(contest, console.encoding), refresh=True)
                time.sleep(PACE)
            elif (frame + 1) % (FRAMES // LINES) == 0:
                console.print(view.line(contest))
    console.print(view.panel(contest, console.encoding))
