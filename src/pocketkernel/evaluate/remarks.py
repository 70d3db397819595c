"""What the measures of a run mean for its reader: whether it learned anything, and which classes it does not find."""

import math
from collections.abc import Mapping
from typing import Any

from pocketkernel.evaluate.task import CLASSIFICATION
from pocketkernel.memory import as_text, linear_only, parse_bytes

NOISE = 2.0
"""Standard errors by which a learner has to be better than a constant answer, to be called better."""

RARELY_FOUND, ENOUGH_ROWS = 0.05, 30
"""A class with a lower recall is almost never predicted, if it has at least so many rows."""

UNSURE = 3.0
"""Standard errors by which a share has to be below what was asked, and `MUCH` the difference, to be worth a word."""

MUCH = 0.03

TELLING = 0.6
"""AUC from which probabilities tell two classes apart, though few of them pass one half."""


def remarks_of(results: Mapping[str, Any], weighted: bool = False) -> list[str]:
    """Sentences on what the measures say and on what to do about it; none if there is nothing to add.

    Where classes are weighted already, more mistakes than the majority are no surprise.

    Examples
    --------
    >>> fraud = {"label": "fraud", "rows": 500, "recall": 0.01}
    >>> results = {"task": "classification", "rows": 40_000, "mistake_rate": 0.013, "classes": [fraud]}
    >>> for remark in remarks_of(results | {"baselines": {"majority": {"mistake_rate": 0.0129}}, "auc": 0.84}):
    ...     print(remark)
    Not clearly better than always the most frequent class: 1.30% mistakes against 1.29%.
    Class fraud is almost never predicted: recall 1.00% of its 500 rows.
    Yet the probabilities tell the classes apart (AUC 0.84): rank rows by predict --proba.
    To find more rows of rare classes, at the price of mistakes: --set class_weight=balanced.
    """
    if not results["rows"]:
        return []
    if results["task"] != CLASSIFICATION:
        return _of_numbers(results)
    rate, majority = results["mistake_rate"], results["baselines"]["majority"]["mistake_rate"]
    found, missed = [], _rarely_found(results["classes"])
    # The two answers differ in at most so many rows that the deviation of the difference is below the root.
    useless = not weighted and majority - rate < NOISE * math.sqrt((majority + rate) / results["rows"])
    if useless:
        found.append(
            f"Not clearly better than always the most frequent class: {rate:.2%} mistakes against {majority:.2%}."
        )
    if missed:
        least = min(missed, key=lambda one: float(one["recall"]))
        others = f"; likewise {len(missed) - 1} more" if len(missed) > 1 else ""
        found.append(
            f"Class {least['label']} is almost never predicted: recall {least['recall']:.2%} of its {least['rows']:,} "
            f"rows{others}."
        )
        if (results.get("auc") or 0.0) >= TELLING:
            found.append(
                f"Yet the probabilities tell the classes apart (AUC {results['auc']:.2f}): rank rows by predict "
                "--proba."
            )
        if not weighted:
            found.append("To find more rows of rare classes, at the price of mistakes: --set class_weight=balanced.")
    elif useless:
        found.append("The columns may say little about the label, or there are too few rows.")
    return found


def linear_only_remark(model: Any) -> list[str]:
    """That a learner is only a linear model, if memory has made it one; the first thing to know about its rate."""
    needed = getattr(model, "kernels_from_", None)
    if needed is None:
        return []
    classes = len(getattr(model, "classes_", ()))
    told = linear_only(parse_bytes(model.memory), model.n_features_in_, classes, needed)
    return [f"{told} Use --memory {as_text(needed)} or more, or fewer columns."]


def _rarely_found(classes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Classes with enough rows of which almost none is found."""
    return [one for one in classes if one["rows"] >= ENOUGH_ROWS and (one["recall"] or 0.0) < RARELY_FOUND]


def _of_numbers(results: Mapping[str, Any]) -> list[str]:
    return [*_of_errors(results), *_of_interval(results["interval"], results["rows"])]


def _of_errors(results: Mapping[str, Any]) -> list[str]:
    """Whether the errors are smaller than those of a constant answer, and than those of the value before."""
    rmse, baselines = results["rmse"], results["baselines"]
    if rmse is None:
        return []
    found, mean, last = [], baselines["mean"], baselines["last_value"]
    if (mean["beaten_by"] or 0.0) < NOISE:
        found.append(
            f"Not clearly better than the mean so far: RMSE {rmse:.4g} against {mean['rmse']:.4g}. The columns may say "
            "little about the label, or there are too few rows."
        )
    if (last["beaten_by"] or 0.0) < -NOISE:
        found.append(
            f"Worse than the last value again: RMSE {rmse:.4g} against {last['rmse']:.4g}. The value of the row before "
            "says more than the columns: if it is known in time, make it a column."
        )
    return found


def _of_interval(interval: Mapping[str, Any], rows: int) -> list[str]:
    """Whether intervals hold as often as they should."""
    asked, held = interval["asked"], interval["coverage"]
    if held is None or asked - held < max(MUCH, UNSURE * math.sqrt(asked * (1 - asked) / rows)):
        return []
    return [
        f"The {asked:.0%} intervals hold only {held:.1%} of the labels: do not rely on them here. The labels, or the "
        "errors, change faster than the intervals can follow."
    ]
