"""What the demo shows, within 80 columns."""

from collections.abc import Sequence

from rich import box
from rich.panel import Panel
from rich.table import Table

from pocketkernel.cli.watch import bar, three_columns
from pocketkernel.evaluate import Progress
from pocketkernel.evaluate.recorder import kernel_names
from pocketkernel.lab.demo.contest import Contestant, Stream


def panel(learner: Contestant, stream: Stream, progress: Progress, allowed: int) -> Panel:
    """Show a learner on its way through a stream, in at most `allowed` bytes."""
    rounds, used = len(stream.y), learner.model.nbytes
    grid = three_columns(30, 22)
    grid.add_row("rounds", bar(progress.rows / rounds), f"{progress.rows:,} of {rounds:,}")
    grid.add_row("bytes", bar(used / allowed), f"{used:,} of {allowed:,}")
    grid.add_row("speed", "", f"{progress.rows_per_second:,.0f} rows/s")
    grid.add_row("mistakes", "since the start", f"[bold]{progress.mistake_rate:.1%}[/]")
    grid.add_row("", f"in the last {progress.window_rows:,} rounds", f"{progress.window_mistake_rate:.1%}")
    grid.add_row("kernel weights")
    for name, weight in zip(kernel_names(learner.model), learner.model.kernel_weights_, strict=True):
        grid.add_row(f"  {name}", bar(weight), f"{weight:.3f}")
    return Panel(grid, title=f"[bold]{learner.name}[/] | {stream.title}", title_align="left", width=78)


def line(learner: Contestant, progress: Progress) -> str:
    """Say the same in a few words, for where nothing can be redrawn."""
    name, weight = _heaviest(learner)
    return (
        f"{progress.rows:>10,} rows  {progress.mistake_rate:>5.1%} mistakes  {progress.rows_per_second:>9,.0f} rows/s  "
        f"{name}: {weight:.2f}"
    )


def table(contestants: Sequence[Contestant]) -> Table:
    """Show how everyone has done so far."""
    grid = Table(box=box.SIMPLE_HEAD, caption="The last two are plain NumPy, made for clarity.", caption_justify="left")
    grid.add_column("learner", style="cyan")
    for heading in ("mistakes", "holds", "bytes", "us/row"):
        grid.add_column(heading, justify="right")
    for one in contestants:
        cells = ["does not fit" if one.refusal else ""]
        if one.progress:
            cells = [
                f"{one.progress.mistake_rate:.1%}",
                f"{one.model.budget_:,} {one.unit}" if one.unit else "",
                f"{one.model.nbytes:,}",
                f"{1e6 / one.progress.rows_per_second:.2f}",
            ]
        grid.add_row(one.name, *cells)
    return grid


def verdict(contestants: Sequence[Contestant], stream: Stream) -> str:
    """Say what the table shows."""
    learner, chooser, *_, linear, _ = contestants
    rates = {one.name: one.progress.mistake_rate for one in contestants if one.progress}
    best = min(rates, key=rates.__getitem__)
    other = learner.name if best == linear.name else linear.name
    sentences = [f"Fewest mistakes: {best}, {rates[best]:.1%}; {other}: {rates[other]:.1%}."]
    if chooser.progress:
        name, weight = _heaviest(chooser)
        made = ""
        if stream.kernel:
            true = f"{stream.kernel.family} {stream.kernel.parameter:g}"
            made = f", which {'is' if name == true else 'is not'} the one that made the stream"
        sentences.append(f"{chooser.name} gives its largest weight, {weight:.2f}, to the kernel {name}{made}.")
    return "\n".join(sentences + [f"{one.name} is left out: {one.refusal}" for one in contestants if one.refusal])


def _heaviest(learner: Contestant) -> tuple[str, float]:
    """Name and weight of the kernel with the largest weight."""
    weights = learner.model.kernel_weights_
    return kernel_names(learner.model)[weights.argmax()], weights.max()
