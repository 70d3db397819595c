"""What the results of a run show: headline numbers, charts against baselines, classes, probabilities and columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.evaluate.events import told
from pocketkernel.evaluate.metrics.names import BASELINES
from pocketkernel.report.axes import precisely, written
from pocketkernel.report.charts import Chart, Mark, Series
from pocketkernel.report.page import Tile
from pocketkernel.report.pieces import Bars, Matrix
from pocketkernel.report.tables import Column, Table

Floats = npt.NDArray[np.float64]
Part = Chart | Table | Matrix | Bars

MOST_CLASSES, MOST_COLUMNS = 12, 15
"""That a page shows: the most frequent classes, and the columns of the largest influence."""

WINDOW = 0.05
"""Share of the rows of a run over which recent rates are taken."""


def is_regression(results: Mapping[str, Any]) -> bool:
    """Whether labels were numbers."""
    return bool(results.get("task") == "regression")


def tiles_of(results: Mapping[str, Any]) -> list[Tile]:
    """Headline numbers."""
    if is_regression(results):
        interval, mean = results["interval"], results["baselines"]["mean"]["rmse"]
        return [
            Tile("RMSE", _number(results["rmse"]), f"the mean so far: {_number(mean)}"),
            Tile("R2", _number(results["r2"]), f"mean absolute error {_number(results['mae'])}"),
            Tile(f"inside the {interval['asked']:.0%} interval", _percent(interval["coverage"]), _width(interval)),
        ]
    majority = results["baselines"]["majority"]["mistake_rate"]
    tiles = [
        Tile("mistakes", _percent(results["mistake_rate"]), f"{BASELINES['majority']}: {_percent(majority)}"),
        Tile("balanced accuracy", _percent(results["balanced_accuracy"]), "mean recall of the classes"),
    ]
    if results.get("auc") is not None:
        tiles.append(Tile("AUC", f"{results['auc']:.4f}", f"within {results['auc_error']:.4f}"))
    elif results.get("log_loss") is not None:
        tiles.append(Tile("log loss", _number(results["log_loss"]), "mean over all rows"))
    return tiles


def baseline_table(results: Mapping[str, Any], name: str) -> Table:
    """The learner beside its baselines."""
    if is_regression(results):
        columns = [Column("prediction"), *(Column(key) for key in ("RMSE", "nRMSE", "MAE", "R2"))]
        keys = ("rmse", "nrmse", "mae", "r2")
        rows = [[name, *(results[key] for key in keys)]]
        rows += [[BASELINES[key], *(one[measure] for measure in keys)] for key, one in results["baselines"].items()]
        note = "Every number is predicted before it is seen; nRMSE is RMSE / standard deviation of the labels."
    else:
        columns = [Column("prediction"), Column("mistakes %", digits=2), Column("mistakes")]
        everyone = {name: results} | {BASELINES[key]: one for key, one in results["baselines"].items()}
        rows = [[who, _hundred(one["mistake_rate"]), one["mistakes"]] for who, one in everyone.items()]
        note = "All in the same pass: every row is predicted before its label is used."
    shuffled = results.get("shuffled")
    if shuffled:
        shown = [shuffled["rmse"], None, shuffled["mae"], shuffled["r2"]] if is_regression(results) else None
        rows = [*rows, [f"{name}, rows shuffled", *(shown or [_hundred(shuffled["mistake_rate"]), None])]]
        note += f" Shuffled: {shuffled['rows']:,} rows in random order."
    return Table("", columns, rows, note)


def parts_of(results: Mapping[str, Any], name: str) -> dict[str, list[Part]]:
    """Charts and tables by section; without what the results do not have."""
    curve = {key: np.array(column, dtype=np.float64) for key, column in results["curve"].items()}
    marks = [Mark(event["row"], told(event)) for event in results.get("events", [])]
    first = _error_charts(results, curve, marks, name) if is_regression(results) else _rates(curve, marks, name)
    influence = results.get("influence") or []
    columns: list[Part] = []
    if influence:
        shown = [(one["column"], one["share"]) for one in influence[:MOST_COLUMNS]]
        columns.append(
            Bars("Influence of each column", shown, "Share of the slopes of the model, over a sample of rows.")
        )
    return {
        "mistakes": first if not is_regression(results) else [],
        "errors": first if is_regression(results) else [],
        "classes": [] if is_regression(results) else _classes(results),
        "probabilities": _probabilities(results, curve),
        "columns": columns,
    }


# ---- charts ---------------------------------------------------------------------------------------------------------


def _rates(curve: Mapping[str, Floats], marks: Sequence[Mark], name: str) -> list[Part]:
    rows = curve["rows"]
    who = {"learner": name, **BASELINES}
    lines = [
        Series(who[key], rows, curve[key] / rows, colour=k)
        for k, key in enumerate(("learner", "linear", "majority", "last_label"))
        if key in curve
    ]
    window = _window(rows)
    recent = [
        Series(who[key], rows, _recent(rows, curve[key], window), colour=k)
        for k, key in enumerate(("learner", "linear"))
        if key in curve
    ]
    style: dict[str, Any] = {"y_unit": "percent", "markers": False, "marks": marks}
    return [
        Chart("Mistake rate", lines, "rows", "mistakes", "Share of wrong predictions since the start.", **style),
        Chart(
            "Recent mistake rate",
            recent,
            "rows",
            "mistakes",
            f"Share of wrong predictions in the latest {window:,.0f} rows.",
            **style,
        ),
    ]


def _error_charts(
    results: Mapping[str, Any], curve: Mapping[str, Floats], marks: Sequence[Mark], name: str
) -> list[Part]:
    rows, window = curve["rows"], _window(curve["rows"])
    who = {"learner": name, **BASELINES}
    lines = [
        Series(who[key], rows, np.sqrt(np.maximum(_recent(rows, curve[key], window), 0.0)), colour=k)
        for k, key in enumerate(("learner", "linear", "mean", "last_value"))
    ]
    pairs = {key: np.array(values, dtype=np.float64) for key, values in results["pairs"].items()}
    true, predicted = pairs["true"], pairs["predicted"]
    ends = [float(end(true)) for end in (np.min, np.max)] if len(true) else []
    rightly = Series("as the label", ends, ends, reference=True)
    told = f"{len(true):,} rows, evenly spread over all. Each was predicted before its label was used."
    asked = results["interval"]["asked"]
    inside = [
        Series("labels inside", rows, _recent(rows, curve["inside"], window)),
        Series(f"asked for: {asked:.0%}", rows[[0, -1]], [asked, asked], reference=True),
    ]
    note = f"Over the latest {window:,.0f} rows."
    return [
        Chart(
            "Predicted against true",
            [Series(name, true, predicted, scattered=True), rightly],
            "label",
            "predicted",
            told,
            zero=False,
            markers=False,
        ),
        Chart("Error (RMSE)", lines, "rows", "RMSE", note, markers=False, marks=marks),
        Chart("Interval", inside, "rows", "inside", note, y_unit="percent", zero=False, markers=False, marks=marks),
    ]


def _probabilities(results: Mapping[str, Any], curve: Mapping[str, Floats]) -> list[Part]:
    if "calibration" not in results:
        return []
    calibration = results["calibration"]
    bins = [one for one in calibration["bins"] if one["rows"] >= 10]
    told, came = ([one[key] for one in bins] for key in ("probability", "frequency"))
    parts: list[Part] = []
    if bins:
        diagonal = Series("as promised", [0, 1], [0, 1], reference=True)
        note = f"How often it came true, by the predicted probability of {calibration['probability_of']}. "
        note += f"Expected calibration error {_percent(calibration['error'])}. Bins of fewer than 10 rows are left out."
        lines = [Series("came true", told, came), diagonal]
        parts.append(Chart("Reliability", lines, "predicted", "came true", note, x_unit="percent", y_unit="percent"))
    rows, window = curve["rows"], _window(curve["rows"])
    loss = Series("log loss", rows, _recent(rows, curve["log_loss"], window))
    note = f"Mean over the latest {window:,.0f} rows; {_number(results['log_loss'])} over all."
    return [*parts, Chart("Log loss", [loss], "rows", "log loss", note, markers=False)]


def _window(rows: Floats) -> float:
    """Rows over which recent rates are taken: a share of all, and at least the distance of two points."""
    return float(max(round(WINDOW * rows[-1]), np.max(np.diff(rows, prepend=0.0)))) if len(rows) else 1.0


def _recent(rows: Floats, sums: Floats, window: float) -> Floats:
    """Mean over the latest rows, from running sums."""
    rows, sums = np.concatenate([[0.0], rows]), np.concatenate([[0.0], sums])
    before = np.maximum(np.searchsorted(rows, rows[1:] - window, side="right") - 1, 0)
    return np.asarray((sums[1:] - sums[before]) / (rows[1:] - rows[before]))


# ---- classes --------------------------------------------------------------------------------------------------------


def _classes(results: Mapping[str, Any]) -> list[Part]:
    classes = sorted(results["classes"], key=lambda one: -int(one["rows"]))
    columns = [Column("class"), Column("rows"), Column("recall %", digits=1), Column("precision %", digits=1)]
    rows = [
        [one["label"], one["rows"], _hundred(one["recall"]), _hundred(one["precision"])]
        for one in classes[:MOST_CLASSES]
    ]
    left = len(classes) - len(rows)
    note = "Recall: share of a class that was recognised. Precision: share of its predictions that were right."
    note += f" {left} rarer classes are not shown." if left else ""
    return [Table("Recall and precision", columns, rows, note), _matrix(results["confusion"])]


def _matrix(confusion: Mapping[str, Any]) -> Matrix:
    """The matrix of the most frequent classes; the others together."""
    labels, counts = list(confusion["labels"]), np.array(confusion["counts"])
    if len(labels) > MOST_CLASSES:
        size = counts.sum(axis=1)
        top = np.sort(np.argsort(-size, kind="stable")[: MOST_CLASSES - 1])
        rest = np.setdiff1d(np.arange(len(labels)), top)
        folded = np.zeros((MOST_CLASSES, MOST_CLASSES), dtype=np.int64)
        folded[:-1, :-1] = counts[np.ix_(top, top)]
        folded[:-1, -1], folded[-1, :-1] = counts[np.ix_(top, rest)].sum(axis=1), counts[np.ix_(rest, top)].sum(axis=0)
        folded[-1, -1] = counts[np.ix_(rest, rest)].sum()
        labels, counts = [*(labels[k] for k in top), "other classes"], folded
    return Matrix("Confusion matrix", labels, counts.tolist(), "Shades are shares of the rows of a true class.")


# ---- numbers --------------------------------------------------------------------------------------------------------


def _percent(value: float | None) -> str:
    return "\u2013" if value is None else f"{100 * value:.2f}\u202f%"


def _hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _number(value: float | None) -> str:
    return "\u2013" if value is None else precisely(value) if abs(value) >= 1e4 else f"{value:.4g}"


def _width(interval: Mapping[str, Any]) -> str:
    width = interval["mean_width"]
    return "" if width is None else f"mean width {written(width)}"
