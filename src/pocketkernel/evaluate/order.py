"""Whether the order of the rows gives the label away, and the rate without it."""

import math
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from pocketkernel.evaluate.job import Job
from pocketkernel.evaluate.run import Run
from pocketkernel.evaluate.task import CLASSIFICATION

FAR_BETTER = 0.5
"""The last label gives the order away if it makes at most this share of the majority's mistakes."""

DECIDES, NOISE = 1.5, 3.0
"""The last labels decide if there are at least so many times as many mistakes without them, and so many standard errors
more."""

LATE = 14.0
"""A class is late if as many of its rows were to be expected before its first one: by chance once in a million."""

SORTED, LEAST_SORTED = 0.8, 100
"""Rows are sorted by a number if so many of its changes go the same way: half of them would by chance."""

MOST_ROWS, MOST_BYTES = 50_000, 1 << 29
"""Of a file that is learned again, shuffled: rows that are learned, and bytes of all rows."""


def warnings_of(results: Mapping[str, Any]) -> list[str]:
    """Sentences on how the order of the rows misleads, from the results of a run; none if it does not.

    Examples
    --------
    >>> rate = {"mistake_rate": 0.4}
    >>> results = {"task": "classification", "rows": 1000, "mistake_rate": 0.02, "classes": []}
    >>> warnings_of(results | {"baselines": {"majority": rate, "last_label": {"mistake_rate": 0.01}}})
    ['The order of the rows gives the label away: repeating the last label makes 1.00% mistakes, this learner 2.00%.']
    >>> warnings_of(results | {"baselines": {"majority": rate, "last_label": rate}})
    []
    """
    if not results["rows"]:
        return []
    if results["task"] != CLASSIFICATION:
        return _of_numbers(results)
    found, rows = [], results["rows"]
    majority, last = (results["baselines"][name]["mistake_rate"] for name in ("majority", "last_label"))
    if last <= FAR_BETTER * majority:
        found.append(
            f"The order of the rows gives the label away: repeating the last label makes {last:.2%} mistakes, "
            f"this learner {results['mistake_rate']:.2%}."
        )
    found += _of_last_labels(results)
    late = [one for one in results["classes"] if one["rows"] and one["first_row"] * one["rows"] / rows > LATE]
    if late:
        latest = max(late, key=lambda one: int(one["first_row"]))
        others = f"; {len(late)} classes begin late" if len(late) > 1 else ""
        found.append(
            f"The rows are sorted by label, or the labels have changed: class {latest['label']} first appears in row "
            f"{latest['first_row']:,} of {rows:,}{others}."
        )
    return found


def _of_numbers(results: Mapping[str, Any]) -> list[str]:
    found, rising = [], results["target"]["rising"]
    mean, last = (results["baselines"][name]["rmse"] for name in ("mean", "last_value"))
    if last is not None and last <= FAR_BETTER * mean:
        found.append(
            f"The order of the rows gives the label away: the last value again has an RMSE of {last:.4g}, this learner "
            f"{results['rmse']:.4g}, the mean {mean:.4g}."
        )
    if rising is not None and results["rows"] >= LEAST_SORTED and max(rising, 1 - rising) >= SORTED:
        way = "up" if rising > 0.5 else "down"
        found.append(
            f"The rows are sorted by label: {max(rising, 1 - rising):.1%} of its changes from row to row go {way}."
        )
    return found


def _of_last_labels(results: Mapping[str, Any]) -> list[str]:
    """How much of a rate comes from the last labels, which of later rows are not known."""
    if "without_last_labels" not in results["baselines"]:
        return []
    rate, apart = results["mistake_rate"], results["baselines"]["without_last_labels"]["mistake_rate"]
    error = math.sqrt((rate + apart) / results["rows"])
    if apart < DECIDES * rate or apart - rate <= NOISE * error:
        return []
    return [
        f"The last labels decide: without them this learner makes {apart:.2%} mistakes, with them {rate:.2%}. "
        "`predict` answers without them, unless told by --continues that each row is the next one."
    ]


def remedy(shuffled: Mapping[str, Any] | None) -> list[str]:
    """Sentences on what to do, and on what the rate is then, if that is known."""
    advice = "If the file is sorted, these rates mean little: add --permute 0, which shuffles the rows."
    if shuffled is None:
        return [advice]
    rows, baselines = f"Shuffled ({shuffled['rows']:,} rows)", shuffled["baselines"]
    if "rmse" in shuffled:
        return [
            advice,
            f"{rows}: RMSE {shuffled['rmse']:.4g}, the mean {baselines['mean']:.4g}; the intervals hold "
            f"{shuffled['coverage']:.1%} of the labels.",
        ]
    rate, majority = shuffled["mistake_rate"], baselines["majority"]
    return [advice, f"{rows}: {rate:.2%} mistakes; always the most frequent class: {majority:.2%}."]


def shuffled(job: Job, run: Run) -> dict[str, Any] | None:
    """What the same learner reaches on the same rows in random order; None if they may not fit in memory.

    At most 50,000 of the shuffled rows are learned. Rows of a pipe are gone, and a run over the first rows of a file
    does not know how many there are.
    """
    assert run.progress is not None
    too_large = run.progress.rows * run.stream.n_features * 8 > MOST_BYTES
    if too_large or job.rows is not None or not job.repeatable():
        return None
    began = perf_counter()
    parameters = {name: value for name, value in job.parameters.items() if name != "n_classes"}  # all labels are known
    rows = min(run.progress.rows, MOST_ROWS)
    again = replace(job, permute=0, rows=rows, task=run.task, parameters=parameters).start()
    for _ in again.steps():
        pass
    assert again.metrics is not None and again.progress is not None
    results = again.metrics.results()
    measure, *others = (
        ("mistake_rate", "balanced_accuracy") if run.task == CLASSIFICATION else ("rmse", "mae", "r2", "interval")
    )
    found = {name: results[name] for name in ("rows", measure, *others)}
    if "interval" in found:
        found["coverage"] = found.pop("interval")["coverage"]
    baselines = {name: each[measure] for name, each in results["baselines"].items()}
    return found | {"baselines": baselines, "seconds": perf_counter() - began}
