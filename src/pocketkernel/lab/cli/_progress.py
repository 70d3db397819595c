"""Progress of an experiment on standard error: a bar in a terminal, otherwise a line from time to time."""

import time
from contextlib import AbstractContextManager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pocketkernel.lab.experiments import Status

EVERY = 15.0
"""Seconds between two lines."""


class CellProgress(AbstractContextManager["CellProgress"]):
    """Called with a Status whenever there is something new.

    Parameters
    ----------
    title : str
        What is being run.
    console : Console, default=None
        None: standard error.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._title = title
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("cells"),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(title, total=None, left="")
        self._latest = 0.0
        self.status: Status | None = None

    def __enter__(self) -> "CellProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, status: Status) -> None:
        """Show it."""
        self.status = status
        left = "" if status.left is None else f"about {duration(status.left)} left"
        self._bar.update(self._task, completed=status.done, total=status.total, left=left)
        if self._console.is_terminal:
            return
        now, last = time.monotonic(), status.done == status.total
        if now - self._latest >= EVERY or last:
            kept = f" ({status.kept} of them from before)" if status.kept else ""
            more = f", {left}" if left and not last else ""
            self._console.print(f"{self._title}: {status.done} of {status.total} cells{kept}{more}", soft_wrap=True)
            self._latest = now

    @property
    def summary(self) -> str:
        """How many cells it was, and the time if all of them were run now."""
        if self.status is None:
            return ""
        total, kept, time_ = self.status.total, self.status.kept, duration(self.status.elapsed)
        if kept == total:
            return f"{total} cells, all of them from before"
        return f"{total} cells in {time_}" if not kept else f"{total} cells, {kept} from before, the others in {time_}"


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(3.24), duration(75), duration(7260)
    ('3.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
