"""The progress of a run: a panel that is redrawn on a terminal, otherwise a line from time to time."""

from time import perf_counter
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from pocketkernel.certificate import MistakeRate
from pocketkernel.cli.measures import measures
from pocketkernel.cli.show import escape
from pocketkernel.evaluate import Run
from pocketkernel.evaluate.recorder import kernel_names
from pocketkernel.evaluate.task import CLASSIFICATION
from pocketkernel.memory import parse_bytes

REDRAW = 0.1
SAY = 10.0
"""Seconds between two panels, and between two lines."""

HEAVIEST = 3
"""Kernels that a panel shows, so that it fits into 24 lines; `inspect` shows all."""


class Watch:
    """Shows the progress of a run on standard error."""

    def __init__(self, console: Console, title: str) -> None:
        self.console, self.title = console, title
        self.live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self.began = self.shown = self.latest = perf_counter()
        self.rows_before = 0

    def __enter__(self) -> Self:
        if self.live:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            self.live.stop()

    def begun(self, run: Run) -> None:
        """A run starts, or resumes."""
        self.began = self.shown = self.latest = perf_counter()
        if run.progress is not None:
            self.rows_before = run.progress.rows
            self.console.print(f"resuming after row {run.progress.rows:,}")

    def step(self, run: Run) -> None:
        """A block has been learned."""
        now = self.latest = perf_counter()
        if now - self.shown < (REDRAW if self.live else SAY):
            return
        self.shown = now
        assert run.progress is not None
        if self.live:
            self.live.update(panel(run, self.title, self.speed(run), self.left(run)), refresh=True)
        else:
            self.console.print(line(run, self.speed(run), self.left(run)))

    def speed(self, run: Run) -> float:
        """Rows per second up to the latest block, including reading and recording."""
        assert run.progress is not None
        return (run.progress.rows - self.rows_before) / max(self.latest - self.began, 1e-9)

    def left(self, run: Run) -> float | None:
        """Seconds until the end, if known."""
        share = share_of(run)
        elapsed = perf_counter() - self.began
        if not share:
            return None
        assert run.progress is not None
        skipped = self.rows_before / run.progress.rows * share  # what was done before this process started
        return elapsed * (1 - share) / max(share - skipped, 1e-9)


def share_of(run: Run) -> float | None:
    """Fraction of the stream that is done, if known."""
    assert run.progress is not None
    if run.total:
        return min(1.0, run.progress.rows / run.total)
    if run.stream.size:
        return min(1.0, run.stream.consumed / run.stream.size)
    return None


def panel(run: Run, title: str, speed: float, left: float | None) -> Panel:
    """The panel of a run, within 80 columns."""
    progress, model = run.progress, run.model
    assert progress is not None and run.metrics is not None
    share = share_of(run)
    promised = promised_bytes(model)
    grid = three_columns(30, 22)
    of = f" of {run.total:,}" if run.total else ""
    grid.add_row("rows", bar(share) if share is not None else "", f"{progress.rows:,}{of}")
    grid.add_row("speed", "" if left is None else f"about {_time(left)} left", f"{speed:,.0f} rows/s")
    for row in measures(run.metrics.results()):
        grid.add_row(*row)
    if run.task == CLASSIFICATION:
        add_intervals(grid, model)
    grid.add_row("bytes", bar(model.nbytes / promised), f"{model.nbytes:,} of {promised:,}")
    weights = dict(zip(kernel_names(model), model.kernel_weights_.tolist(), strict=True))
    grid.add_row("kernel weights", f"the heaviest of {len(weights)}" if len(weights) > HEAVIEST else "")
    for name, weight in sorted(weights.items(), key=lambda one: -one[1])[:HEAVIEST]:
        grid.add_row(f"  {name}", bar(weight), f"{weight:.3f}")
    if run.stream.skipped.count:
        grid.add_row("skipped", "rows that cannot be used", f"{run.stream.skipped.count:,}")
    return Panel(grid, title=f"[bold]{type(model).__name__}[/] | {escape(title)}", title_align="left", width=78)


def add_intervals(grid: Table, model: Any) -> None:
    """What is proved about the rate of mistakes: rows of a table of three columns."""
    proved = model.certificate()
    grid.add_row("95 % interval", "of mistakes since the start", _interval(proved.mistake_rate))
    if proved.recent_mistake_rate.rounds < proved.rounds:
        recent = proved.recent_mistake_rate
        grid.add_row("", f"in the last {recent.rounds:,} rows", _interval(recent))


def _interval(rate: MistakeRate) -> str:
    return f"{rate.low:.2%} to {rate.high:.2%}"


def line(run: Run, speed: float, left: float | None) -> str:
    """The same as one line."""
    progress = run.progress
    assert progress is not None and run.metrics is not None
    rest = "" if left is None else f"  about {_time(left)} left"
    if run.task == CLASSIFICATION:
        rate = f"{progress.mistake_rate:>6.2%} mistakes  {progress.window_mistake_rate:>6.2%} recently"
    else:
        rate = f"RMSE {run.metrics.results()['rmse'] or 0.0:.4g}"
    return f"{progress.rows:>12,} rows  {rate}  {speed:>9,.0f} rows/s  {run.model.nbytes:,} bytes{rest}"


def three_columns(second: int, third: int | None = None) -> Table:
    """A table for names, bars or words, and numbers."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", width=16)
    grid.add_column(width=second)
    grid.add_column(justify="right", width=third)
    return grid


def figures_of(model: Any) -> dict[str, Any]:
    """What a model says of itself in numbers, as JSON can hold it."""
    done = model.diagnostics_
    return {
        "learner": type(model).__name__,
        "rows": done["rounds"],
        **(_mistakes_of(model) if hasattr(model, "classes_") else {}),
        "loss": done["cumulative_loss"],
        "features": model.n_features_in_,
        "budget": model.budget_,
        "bytes": model.nbytes,
        "promised_bytes": promised_bytes(model),
    }


def _mistakes_of(model: Any) -> dict[str, Any]:
    proved = model.certificate()
    whole, recent = proved.mistake_rate, proved.recent_mistake_rate
    return {
        "mistakes": whole.mistakes,
        "mistake_rate_interval": [whole.low, whole.high],
        "recent_mistake_rate_interval": [recent.low, recent.high],
    }


def promised_bytes(model: Any) -> int:
    """Bytes that the model may use: the memory that was requested, or the size of its budget."""
    return model.nbytes if model.memory is None else parse_bytes(model.memory)


def bar(share: float) -> ProgressBar:
    """A bar for a fraction from 0 to 1."""
    return ProgressBar(total=1.0, completed=float(share))


def _time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
