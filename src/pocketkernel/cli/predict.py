"""`pocketkernel predict`: labels and scores for the rows of a file or a pipe."""

import csv
import io
import json as js
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
from cyclopts import Parameter

from pocketkernel._files import named, replacing
from pocketkernel._scores import labels_of
from pocketkernel._text import json_plain, plain
from pocketkernel.cli.options import File, Format, at_least, source_of
from pocketkernel.evaluate.pipeline import load_with_pipeline
from pocketkernel.evaluate.run import plain_label
from pocketkernel.model_file import ModelFileError


def predict(
    model: Path,
    *files: File,
    proba: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
    format: Format | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    block: Annotated[int, Parameter(validator=at_least(1))] = 4096,
    escape_formulas: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Predict the labels of a file or a pipe, one line of CSV for each row: its label and its score.

    Rows are encoded and scaled as for the last row of the run. Labels in the file are not looked at; a table may lack
    them. Of two classes there is one score, from 0 up for the second class; of more, one for each.

    Parameters
    ----------
    model
        Folder of a run, or the model.safetensors in it.
    files
        Files, globs, or - for standard input.
    proba
        Give the probability of each class instead of scores. Needs a learner with logistic loss.
    out
        Write to this file instead of standard output.
    format
        Of the files, if not that of the run.
    delimiter
        Between the fields of a table, if not that of the run.
    header
        Whether a table begins with names, if not as in the run.
    block
        Rows that are scored in one go.
    escape_formulas
        Put ' before labels that a spreadsheet would take for a formula: those that begin with =, +, -, @, a tab or a
        newline and are no numbers. Use it if the labels come from somebody else and the CSV is opened in a spreadsheet.
    json
        Write one JSON document instead of CSV.
    """
    learner, pipeline, file = load_with_pipeline(model)
    if pipeline is None:
        raise ModelFileError(f"{file} does not say how to read rows: use the model that `pocketkernel run` writes.")
    if proba and not hasattr(learner, "predict_proba"):
        raise ValueError(f"--proba needs loss=logistic; this {type(learner).__name__} has loss={learner._loss_name()}.")
    classes = [plain_label(label) for label in learner.classes_]
    if proba:
        titles = [f"probability of {name}" for name in classes]
    else:
        titles = ["score"] if len(classes) == 2 else [f"score of {name}" for name in classes]
    stream = pipeline.open(source_of(files), block=block, format=format, delimiter=delimiter, header=header)
    blocks = (_answers(learner, X, proba) for X in pipeline.rows(stream))
    with _opened(out) as target:
        if json:
            _write_json(target, titles, blocks)
        else:
            _write_csv(target, titles, blocks, _harmless if escape_formulas else str)


def _answers(learner: Any, X: Any, proba: bool) -> tuple[list[str], list[list[float]]]:
    """Labels and numbers of some rows."""
    scores = learner.decision_function(X)
    labels = [plain_label(label) for label in labels_of(scores, learner.classes_).tolist()]
    numbers = learner.predict_proba(X) if proba else scores
    return labels, np.reshape(numbers, (len(labels), -1)).tolist()


def _write_csv(
    target: TextIO,
    titles: list[str],
    blocks: Iterator[tuple[list[str], list[list[float]]]],
    written: Callable[[str], str],
) -> None:
    writer = csv.writer(target, lineterminator="\n")
    shown = plain if target.isatty() else str
    writer.writerow(["label", *(shown(title) for title in titles)])
    for labels, numbers in blocks:
        writer.writerows([shown(written(label)), *map(repr, row)] for label, row in zip(labels, numbers, strict=True))


def _harmless(label: str) -> str:
    """A label that no spreadsheet takes for a formula.

    Examples
    --------
    >>> [_harmless(label) for label in ("yes", "-1", "=1+1", "-1+cmd")]
    ['yes', '-1', "'=1+1", "'-1+cmd"]
    """
    if not label.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return label
    try:
        float(label)
    except ValueError:
        return "'" + label
    return label


def _write_json(target: TextIO, titles: list[str], blocks: Iterator[tuple[list[str], list[list[float]]]]) -> None:
    """Row by row, so that a long file needs no more memory than a short one."""
    target.write('{"predictions": [')
    rows = 0
    for labels, numbers in blocks:
        for label, row in zip(labels, numbers, strict=True):
            entry = {"label": label, **dict(zip(titles, row, strict=True))}
            target.write((",\n" if rows else "\n") + json_plain(js.dumps(entry, ensure_ascii=False)))
            rows += 1
    target.write(f'\n], "rows": {rows}}}\n')


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    is_device = path.exists() and not path.is_file() and not path.is_dir()  # or a pipe, which takes what comes
    try:
        with path.open("wb") if is_device else replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            yield text
            text.detach()
    except OSError as error:
        raise named(error, path) from error
