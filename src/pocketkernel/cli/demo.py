"""`pocketkernel demo`: two streams through M-OMD-S, live, and then through everything else."""

import argparse
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.live import Live

from pocketkernel.cli import _demo_view as view
from pocketkernel.cli._contest import FRAMES, Contestant, Stream, contestants, generated, handwriting
from pocketkernel.cli._errors import UsageError
from pocketkernel.memory import parse_bytes


def add_to(verbs: Any) -> None:
    """Add the verb and its options to the command line."""
    parser = verbs.add_parser(
        "demo",
        help="watch M-OMD-S learn within a byte budget, then compare it with others",
        description="Streams scikit-learn's digits and a generated stream, whose best kernel is known, through M-OMD-S "
        "and compares it with three other kernel learners, a linear model and always the majority. Downloads nothing.",
    )
    parser.add_argument("--memory", default="64KiB", help="bytes for each kernel learner (%(default)s)")
    parser.add_argument("--rows", type=_from(1), default=1_000_000, help="length of the generated stream (%(default)s)")
    parser.add_argument("--seed", type=_from(0), default=0, help="seed of streams and learners (%(default)s)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Show both streams, one after the other."""
    console = Console(highlight=False)
    _show(console, handwriting(options.seed), options)
    with console.status(f"making {options.rows:,} rows"):
        stream = generated(options.rows, options.seed)
    _show(console, stream, options)


def _show(console: Console, stream: Stream, options: argparse.Namespace) -> None:
    everyone = contestants(stream, options.memory, options.seed)
    learner, *others = everyone
    if learner.refusal:
        raise UsageError(learner.refusal)
    _watch(console, learner, stream, parse_bytes(options.memory))
    with _live(console) as live:
        for contestant in others:
            for _ in contestant.run(stream):
                live.update(view.table(everyone), refresh=True)
    console.print(view.table(everyone))
    console.print(view.verdict(everyone, stream))
    console.print()


def _watch(console: Console, learner: Contestant, stream: Stream, allowed: int) -> None:
    """Redraw the learner's panel as it learns; where nothing can be redrawn, print some lines and the last panel."""
    with _live(console) as live:
        for number, progress in enumerate(learner.run(stream), start=1):
            panel = view.panel(learner, stream, progress, allowed)
            live.update(panel, refresh=True)
            if not console.is_interactive and number % (FRAMES // 4) == 0:
                console.print(view.line(learner, progress))
    console.print(panel)


def _live(console: Console) -> Live:
    """Draw only when told to, and leave nothing behind."""
    return Live(console=console, auto_refresh=False, transient=True)


def _from(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is too small: use {least} or more")
        return int(text)

    return whole_number
