"""`pocketkernel demo`: two streams through PocketClassifier, live, and then through everything else."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.live import Live

from pocketkernel.cli.errors import UsageError
from pocketkernel.cli.options import Seed, at_least
from pocketkernel.lab.demo import view
from pocketkernel.lab.demo.contest import FRAMES, Contestant, Stream, contestants, generated, handwriting
from pocketkernel.memory import parse_bytes

Rows = Annotated[int, Parameter(validator=at_least(1))]


def demo(*, memory: str = "64KiB", rows: Rows = 1_000_000, seed: Seed = 0) -> None:
    """Watch PocketClassifier learn within a byte budget, then compare it with others.

    Streams scikit-learn's digits and a generated stream, whose best kernel is known, through PocketClassifier and
    compares it with the paper's four learners, a linear model and always the majority. Downloads nothing.

    Parameters
    ----------
    memory
        Bytes for each kernel learner.
    rows
        Length of the generated stream.
    seed
        Of streams and learners.
    """
    console = Console(highlight=False)
    _show(console, handwriting(seed), memory, seed)
    with console.status(f"making {rows:,} rows"):
        stream = generated(rows, seed)
    _show(console, stream, memory, seed)


def _show(console: Console, stream: Stream, memory: str, seed: int) -> None:
    everyone = contestants(stream, memory, seed)
    learner, *others = everyone
    if learner.refusal:
        raise UsageError(learner.refusal)
    _watch(console, learner, stream, parse_bytes(memory))
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
