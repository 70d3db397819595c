"""`pocketkernel inspect`: the contents of a model."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from pocketkernel import model_file
from pocketkernel.cli.measures import number
from pocketkernel.cli.show import escape, out, print_json, prose
from pocketkernel.cli.watch import bar, figures_of, three_columns
from pocketkernel.evaluate.pipeline import Pipeline, load_with_pipeline
from pocketkernel.evaluate.recorder import kernel_names
from pocketkernel.evaluate.remarks import linear_only_remark
from pocketkernel.evaluate.run import plain_label
from pocketkernel.learners import budget_name
from pocketkernel.report import Chart, Series, write_picture


def inspect(
    model: Path, /, *, picture: Path | None = None, json: Annotated[bool, Parameter(negative=())] = False
) -> None:
    """Show a model: kernels and their weights, buffer, bytes, counters, labels and columns.

    Parameters
    ----------
    model
        Folder of a run, or a model file.
    picture
        Draw the kernel weights to this .svg file.
    json
        Print everything as one JSON document.
    """
    learner, pipeline, file = load_with_pipeline(model)
    learner = getattr(learner, "_model", learner) if not hasattr(learner, "diagnostics_") else learner
    found = facts(learner, pipeline, file)
    if picture is not None:
        write_picture(chart_of(found), picture)
    if json:
        print_json(found | ({} if picture is None else {"picture": str(picture)}))
    else:
        _show(out(), found)


def chart_of(found: dict[str, Any]) -> Chart:
    """The kernel weights as a bar, one part for each kernel."""
    weights = {one["kernel"]: one["weight"] for one in found["kernels"]}
    parts = [Series(f"{name}: {weight:.3f}", [found["rows"]], [weight]) for name, weight in weights.items()]
    title = f"Kernel weights of {found['learner']}"
    return Chart(title, tuple(parts), x_label="rows", y_label="weight", y_unit="percent", stacked=True)


def facts(model: Any, pipeline: Pipeline | None, file: Path) -> dict[str, Any]:
    """All information about a model, in a form that JSON can represent."""
    done = model.diagnostics_
    kernels = [
        {"kernel": name, "weight": weight, "norm": norm, "stored": stored}
        for name, weight, norm, stored in zip(
            kernel_names(model),
            model.kernel_weights_.tolist(),
            done["norms"].tolist(),
            done["stored"].tolist(),
            strict=True,
        )
    ]
    return {
        "file": str(file),
        "file_bytes": file.stat().st_size,
        "file_format": model_file.FORMAT_VERSION,
        "version": model_file.LIBRARY_VERSION,
        **figures_of(model),
        "kernels_from": getattr(model, "kernels_from_", None),
        "remarks": linear_only_remark(model),
        "parameters": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "budget_counts": "rows" if budget_name(model) == "budget" else "frequencies",
        "kernels": kernels,
        "diagnostics": {name: _plain(value) for name, value in done.items()},
        "labels": [plain_label(label) for label in getattr(model, "classes_", [])],
        "feature_names": pipeline.feature_names if pipeline else None,
        "scale": pipeline.scaler.kind if pipeline and pipeline.scaler else None,
        "format": pipeline.reading.get("format") if pipeline else None,
    }


def _show(console: Console, found: dict[str, Any]) -> None:
    grid = three_columns(36)
    rows = max(found["rows"], 1)
    grid.add_row("learner", found["learner"], found["version"])
    grid.add_row("rows learned", "", f"{found['rows']:,}")
    if "mistakes" in found:
        grid.add_row("mistakes", "each before its label was used", f"{found['mistakes'] / rows:.2%}")
        for key, words in (("", "95 % interval, all rows"), ("recent_", "the same, latest rows")):
            low, high = found[f"{key}mistake_rate_interval"]
            grid.add_row("", words, f"{low:.2%} to {high:.2%}")
    grid.add_row("loss", "mean", number(found["loss"] / rows))
    labels = escape(", ".join(found["labels"])) or "numbers"
    grid.add_row("labels", labels, f"{len(found['labels'])}" if found["labels"] else "")
    names = found["feature_names"] or []
    shown = escape(", ".join(names[:6])) + (" ..." if len(names) > 6 else "")
    grid.add_row("columns", shown + (f" scaled: {found['scale']}" if found["scale"] else ""), f"{found['features']:,}")
    grid.add_row("bytes", bar(found["bytes"] / found["promised_bytes"]), f"{found['bytes']:,}")
    counts = found["diagnostics"]
    if found["budget_counts"] == "rows":
        stored = max(kernel["stored"] for kernel in found["kernels"])
        grid.add_row("buffer", bar(stored / found["budget"]), f"{stored:,} of {found['budget']:,} rows")
        for name in ("additions", "proxies", "removals"):
            grid.add_row(f"  {name}", "", f"{counts[name]:,}")
    else:
        grid.add_row("frequencies", "", f"{found['budget']:,}")
    grid.add_row("kernel weights")
    for kernel in found["kernels"]:
        grid.add_row(f"  {kernel['kernel']}", bar(kernel["weight"]), f"{kernel['weight']:.3f}")
    console.print(grid)
    for remark in found["remarks"]:
        prose(console, remark)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
