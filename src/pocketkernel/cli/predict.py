"""`pocketkernel predict`: labels and scores for the rows of a file or a pipe."""

import csv
import io
import json as js
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import numpy as np
from cyclopts import Parameter

from pocketkernel._files import named, replacing
from pocketkernel._scores import labels_of
from pocketkernel._text import json_plain, plain
from pocketkernel.cli.errors import describe
from pocketkernel.cli.options import File, Format, at_least, source_of
from pocketkernel.cli.schema import tell_absent
from pocketkernel.cli.show import data_out, err
from pocketkernel.evaluate.pipeline import Pipeline, load_with_pipeline
from pocketkernel.evaluate.run import plain_label
from pocketkernel.learners import loss_name
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import Stream, StreamError

Answers = tuple[list[str] | None, list[str], list[list[float]]]
"""Ids if there are any, labels and numbers of some rows."""

REASON = "reason"
"""Title of the column that says why a row has no answer."""


def predict(
    model: Path,
    *files: File,
    proba: Annotated[bool, Parameter(negative=())] = False,
    interval: float | None = None,
    out: Path | None = None,
    format: Format | None = None,
    id: str | None = None,
    on_error: Literal["mark", "skip", "raise"] = "mark",
    delimiter: str | None = None,
    header: bool | None = None,
    block: Annotated[int, Parameter(validator=at_least(1))] = 4096,
    continues: Annotated[bool, Parameter(negative=())] = False,
    escape_formulas: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Predict the rows of a file or a pipe; write one line of CSV per row with its label and score, or its value.

    Rows are encoded and scaled as at the end of the run; those of a pipe are answered as they come. Labels in the file
    are ignored and may be missing from a table; any other column that it does not have counts as missing values. For
    two classes there is one score, which is 0 or more for the second class; otherwise one score per class. A model of
    numbers gives a value, and its interval if --interval is used.

    Every row has its line, in the order of the files. The last column is the reason: empty, or why the row has no
    answer. With --on-error skip or raise there is no such column, as all lines that are written have an answer.

    Parameters
    ----------
    model
        Folder of a run, or the model.safetensors in it.
    files
        Files, globs, or - for standard input.
    proba
        Write the probability of each class instead of scores. Needs a learner with logistic loss.
    interval
        Write the bounds of an interval that is to contain this share of the true values, such as 0.9. Needs a model of
        numbers.
    out
        Write to this file instead of standard output.
    format
        File format, if different from the run.
    id
        Column whose values are written beside the answers. By default that of the run, if it had one.
    on_error
        Rows that cannot be used: write a line without an answer, with the reason (mark); leave them out and count them
        (skip); or stop with an error after the answers of the rows before (raise). If no row has an answer, the command
        fails.
    delimiter
        Field delimiter of a table, if different from the run.
    header
        Whether the first line of a table has the column names, if different from the run.
    block
        Number of rows that are scored at once.
    continues
        Each row is the next one after the last that was learned, so the last labels help to predict it. By default they
        have no say: of a file, only the first row could be the next one.
    escape_formulas
        Put ' before labels and ids that a spreadsheet would treat as a formula: those that start with =, +, -, @, a tab
        or a newline and are not numbers. Use it if they are not your own and the CSV is opened in a spreadsheet.
    json
        Write one JSON document instead of CSV.
    """
    learner, pipeline, file = load_with_pipeline(model)
    if pipeline is None:
        raise ModelFileError(f"{file} does not contain how to read rows: use a model that `pocketkernel run` wrote.")
    titles = titles_of(learner, proba, interval)
    stream = pipeline.open(
        source_of(files), block=block, format=format, delimiter=delimiter, header=header, id=id, on_error="mark"
    )
    told = tell_absent(stream)
    ids = [] if stream.encoding is None or stream.encoding.id is None else [stream.encoding.id]
    reasons = [REASON] if on_error == "mark" else []
    with _opened(out) as target:
        asked = {"proba": proba, "interval": interval, "continues": continues}
        found = _answered(learner, pipeline, stream, target=target, **asked)
        kept = found if on_error == "mark" else _without_bad(found, on_error == "raise")
        if json:
            _write_json(target, ids, titles, kept, reasons)
        else:
            write_csv(target, [*ids, *titles, *reasons], kept, harmless if escape_formulas else str)
    tell_absent(stream, told)
    tell_skipped(stream)


def tell_skipped(stream: Stream) -> None:
    """Say how many rows have no answer, and why the first of them has none."""
    if stream.skipped.count:
        err().print(f"Rows that could not be read, and have no answer: {stream.skipped.count:,}", markup=False)
        err().print(describe(stream.skipped.reports[0]), markup=False)


def _answered(
    learner: Any, pipeline: Pipeline, stream: Stream, *, target: TextIO, **asked: Any
) -> Iterator[Answers | StreamError]:
    """Answers for all rows, asked for as in `answers`, and errors in the place of rows that have none.

    Those of a pipe are flushed before the next rows are awaited. If no row has an answer, the first error is raised.
    """
    classes = getattr(learner, "classes_", None)
    has_ids = stream.encoding is not None and stream.encoding.id is not None
    rows = 0
    for whole, errors in stream.answered():
        at = 0
        for place, error in [*errors, (len(whole), None)]:
            for start in range(at, place, stream.block):
                block = pipeline.scaled(whole[start : min(start + stream.block, place)])
                labels, numbers = answers(learner, block.X, classes=classes, **asked)
                keys = [""] * len(block) if has_ids and block.ids is None else block.ids
                yield keys, labels, numbers
            at = place
            if error is not None:
                yield error
        rows += len(whole)
        if stream.live:
            target.flush()
    if not rows and stream.skipped.count:
        raise stream.skipped.reports[0]


def _without_bad(found: Iterator[Answers | StreamError], stop: bool) -> Iterator[Answers | StreamError]:
    """Answers alone; if `stop`, up to the first row that has none."""
    for one in found:
        if not isinstance(one, StreamError):
            yield one
        elif stop:
            raise one


def _reason(error: StreamError) -> str:
    """What is wrong with a row, in one line."""
    short = copy(error)
    short.advice = ""
    return describe(short)


def titles_of(learner: Any, proba: bool = False, interval: float | None = None) -> list[str]:
    """Titles of the columns."""
    if not hasattr(learner, "classes_"):
        if proba:
            raise ValueError(f"--proba needs classes; this {type(learner).__name__} predicts numbers: use --interval.")
        return ["value", *(["low", "high"] if interval is not None else [])]
    if interval is not None:
        raise ValueError(f"--interval needs a model of numbers; this {type(learner).__name__} predicts classes.")
    if proba and not hasattr(learner, "predict_proba"):
        raise ValueError(f"--proba needs loss=logistic; this {type(learner).__name__} has loss={loss_name(learner)}.")
    classes = [plain_label(label) for label in learner.classes_]
    if proba:
        return ["label", *(f"probability of {name}" for name in classes)]
    return ["label", *(["score"] if len(classes) == 2 else [f"score of {name}" for name in classes])]


def answers(
    model: Any,
    *rows: Any,
    classes: Any,
    proba: bool = False,
    interval: float | None = None,
    continues: bool = False,
) -> tuple[list[str], list[list[float]]]:
    """Labels and scores (or probabilities) of some rows; or values, and the bounds of intervals.

    `rows` is what the methods of the model take, such as a matrix; of a fleet, keys and a matrix.
    """
    if classes is None:
        values = model.predict(*rows)
        bounds = np.empty((len(values), 0)) if interval is None else model.predict_interval(*rows, interval)
        return list(map(repr, values.tolist())), bounds.tolist()
    scores = model.decision_function(*rows, continues=continues)
    labels = [plain_label(label) for label in labels_of(scores, classes).tolist()]
    numbers = model.predict_proba(*rows, continues=continues) if proba else scores
    return labels, np.reshape(numbers, (len(labels), -1)).tolist()


def write_csv(
    target: TextIO, titles: list[str], found: Iterable[Answers | StreamError], written: Callable[[str], str]
) -> None:
    """A line for each row: its id if there is one, its label or value, and numbers; or only the reason for none."""
    writer = csv.writer(target, lineterminator="\n")
    shown = plain if target.isatty() else str
    writer.writerow([shown(written(title)) for title in titles])
    target.flush()
    reason = [""] if titles[-1] == REASON else []
    for one in found:
        if isinstance(one, StreamError):
            # No column of answers bears the name of a column of texts but the first, that of ids.
            first = one.texts.get(titles[0]) or ""
            rest = [""] * (len(titles) - 2)
            writer.writerow([shown(written(first)), *rest, shown(written(_reason(one)))])
            continue
        keys, labels, numbers = one
        for row, (label, values) in enumerate(zip(labels, numbers, strict=True)):
            key = [] if keys is None else [shown(written(keys[row]))]
            writer.writerow([*key, shown(written(label)), *map(repr, values), *reason])


def harmless(label: str) -> str:
    """A label that no spreadsheet treats as a formula.

    Examples
    --------
    >>> [harmless(label) for label in ("yes", "-1", "=1+1", "-1+cmd")]
    ['yes', '-1', "'=1+1", "'-1+cmd"]
    """
    if not label.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return label
    try:
        float(label)
    except ValueError:
        return "'" + label
    return label


def _write_json(
    target: TextIO, ids: list[str], titles: list[str], found: Iterable[Answers | StreamError], reasons: list[str]
) -> None:
    """Written row by row, so that a long file needs no more memory than a short one."""
    target.write('{"predictions": [')
    rows = 0
    for one in found:
        for entry in _entries(one, ids, titles, reasons):
            target.write((",\n" if rows else "\n") + json_plain(js.dumps(entry, ensure_ascii=False)))
            rows += 1
    target.write(f'\n], "rows": {rows}}}\n')


def _entries(
    one: Answers | StreamError, ids: list[str], titles: list[str], reasons: list[str]
) -> Iterator[dict[str, Any]]:
    if isinstance(one, StreamError):
        key: dict[str, Any] = {name: one.texts.get(name) for name in ids}
        yield key | dict.fromkeys(titles) | dict.fromkeys(reasons, _reason(one))
        return
    keys, labels, numbers = one
    for row, (label, values) in enumerate(zip(labels, numbers, strict=True)):
        first = float(label) if titles[0] == "value" else label
        entry: dict[str, Any] = {} if keys is None else {ids[0]: keys[row]}
        yield entry | dict(zip(titles, [first, *values], strict=True)) | dict.fromkeys(reasons)


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield data_out()
        sys.stdout.flush()
        return
    is_device = path.exists() and not path.is_file() and not path.is_dir()  # or a pipe, which cannot be replaced
    try:
        with path.open("wb") if is_device else replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            yield text
            text.detach()
    except OSError as error:
        raise named(error, path) from error
