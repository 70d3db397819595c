"""The measures of a run on the screen: rows of its panel, and tables below it."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.panel import Panel
from rich.table import Table

from pocketkernel.cli.show import escape
from pocketkernel.evaluate.events import told
from pocketkernel.evaluate.metrics.names import BASELINES
from pocketkernel.evaluate.task import CLASSIFICATION

MOST_CLASSES = 10
"""Classes that have a line in a table: the most frequent ones."""


MOST_EVENTS = 5
"""Changes of the stream that are shown: the latest."""


def measures(results: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, explanation and value of each measure, for a panel."""
    return _of_classes(results) if results["task"] == CLASSIFICATION else _of_numbers(results)


def sentence(results: dict[str, Any]) -> str:
    """How a run has gone, beside a linear model and a guess, if they were measured.

    Examples
    --------
    >>> rates = {"linear": {"mistake_rate": 0.173}, "majority": {"mistake_rate": 0.208}}
    >>> sentence({"task": "classification", "rows": 20_000, "mistake_rate": 0.16, "baselines": rates})
    'Of 20,000 rows 16.0 % were predicted wrongly, a linear model 17.3 %, guessing 20.8 %.'
    """
    is_rate = results["task"] == CLASSIFICATION
    measure, guess = ("mistake_rate", "majority") if is_rate else ("rmse", "mean")
    found = {"a linear model": "linear", "guessing" if is_rate else "the mean so far": guess}
    baselines = {name: results["baselines"].get(key, {}).get(measure) for name, key in found.items()}
    others = {name: value for name, value in baselines.items() if value is not None}
    if results[measure] is None:
        return ""
    if is_rate:
        parts = [f"{_share(results[measure])} were predicted wrongly"]
        parts += [f"{name} {_share(value)}" for name, value in others.items()]
        return f"Of {results['rows']:,} rows {', '.join(parts)}."
    parts = [f"off by {number(results[measure])} (RMSE)", *(f"{name} by {number(one)}" for name, one in others.items())]
    return f"The answers to {results['rows']:,} rows were {', '.join(parts)}."


def _share(rate: float) -> str:
    return f"{100 * rate:.1f} %" if rate >= 0.01 or not rate else f"{100 * rate:.2g} %"


def details(results: dict[str, Any]) -> Iterator[RenderableType]:
    """What is shown below the panel when a run has ended: classes, loud warnings, and remarks."""
    if results.get("task") == CLASSIFICATION:
        yield _classes(results["classes"])
    if results.get("events"):
        yield _events(results["events"])
    warnings = list(results.get("warnings", []))
    if warnings:
        yield _warning(warnings, results.get("shuffled"))
    if results.get("remarks"):
        text = "\n".join(map(escape, results["remarks"]))
        yield Panel(text, title="[bold]What this means[/]", border_style="yellow", width=78)


def _of_classes(results: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = [("mistakes", "this learner", f"[bold]{_percent(results['mistake_rate'])}[/]")]
    rows += [("", BASELINES[name], _percent(one["mistake_rate"])) for name, one in results["baselines"].items()]
    rows.append(("balanced", "mean recall of the classes", _percent(results["balanced_accuracy"])))
    if "auc" in results:
        area = "-" if results["auc"] is None else f"{results['auc']:.4f}"
        rows.append(("AUC", f"within {results['auc_error'] or 0.0:.4f}", area))
    if "log_loss" in results:
        rows.append(("log loss", "mean", number(results["log_loss"])))
        rows.append(("calibration", "error of the probabilities", _percent(results["calibration"]["error"])))
    return rows


def _of_numbers(results: dict[str, Any]) -> list[tuple[str, str, str]]:
    interval = results["interval"]
    rows = [("RMSE", "this learner", f"[bold]{number(results['rmse'])}[/]")]
    rows += [("", BASELINES[name], number(one["rmse"])) for name, one in results["baselines"].items()]
    return [
        *rows,
        ("nRMSE", "RMSE / deviation of the label", number(results["nrmse"])),
        ("R2", "share of variance explained", number(results["r2"])),
        ("MAE", "mean absolute error", number(results["mae"])),
        (f"{interval['asked']:.0%} interval", "labels inside", _percent(interval["coverage"])),
        ("", "mean width", number(interval["mean_width"])),
    ]


def _classes(classes: list[dict[str, Any]]) -> Table:
    """Recall and precision of each class."""
    table = Table(box=None, padding=(0, 2), header_style="cyan")
    table.add_column("  class", max_width=28, no_wrap=True, overflow="ellipsis")
    for name in ("rows", "recall", "precision"):
        table.add_column(name, justify="right")
    shown = sorted(classes, key=lambda one: -int(one["rows"]))[:MOST_CLASSES]
    for one in shown:
        table.add_row(
            f"  {escape(one['label'])}", f"{one['rows']:,}", _percent(one["recall"]), _percent(one["precision"])
        )
    if len(classes) > len(shown):
        table.add_row(f"  {len(classes) - len(shown)} more", "", "", "")
    return table


def _events(events: list[dict[str, Any]]) -> str:
    """The latest changes of the stream."""
    shown = [f"{escape(told(event))} at row {event['row']:,}" for event in events[-MOST_EVENTS:]]
    more = len(events) - len(shown)
    return "  [cyan]changes[/]  " + "; ".join(shown) + (f"; and {more} before" if more else "")


def _warning(warnings: list[str], shuffled: dict[str, Any] | None) -> Panel:
    lines = [escape(text) for text in warnings]
    if shuffled is not None:
        lines.append(f"(The second pass took {shuffled['seconds']:.1f} s.)")
    return Panel("\n".join(lines), title="[bold]Look at the order of the rows[/]", border_style="bold red", width=78)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def number(value: float | None) -> str:
    """Four digits, and thousands as people write them.

    Examples
    --------
    >>> number(41_932.7), number(1234.5), number(0.09482), number(2.5e12)
    ('41,930', '1,234', '0.09482', '2.5e+12')
    """
    if value is None:
        return "-"
    if not 1e3 <= abs(value) < 1e9:
        return f"{value:.4g}"
    return f"{float(f'{value:.4g}'):,.0f}"
