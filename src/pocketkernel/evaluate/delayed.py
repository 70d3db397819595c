"""Labels that arrive later than their rows, joined to them by an id."""

import csv
import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

import numpy as np

from pocketkernel.stream import Stream, StreamError
from pocketkernel.stream.block import Piece, stack
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.files import Source, find
from pocketkernel.stream.labels import admitted, as_labels
from pocketkernel.stream.sniff import dialect_of
from pocketkernel.stream.values import NO_VALUE, POINT, to_numbers

BATCH = 512
"""Rows that are learned at once, at most."""


def joined(rows: Stream, labels: Source, window: int) -> Stream:
    """A stream of rows in the order in which their labels arrive.

    At most `window` rows wait for a label. Rows are read as labels ask for them; if the window is full and a label has
    no row there, the oldest rows make place for further ones. Labels without a row are left out and reported.

    Parameters
    ----------
    rows : Stream
        With ids, and without labels.
    labels : path, "-" or binary file
        A CSV with the columns of the ids and labels.
    window : int
        Rows that wait, at least 1.
    """
    encoding = rows.encoding
    if encoding is None or encoding.id is None:
        raise ValueError("delayed labels need the column that says which row they belong to: give id=.")
    if window < 1:
        raise ValueError(f"window={window} is too small: use a positive number of rows.")
    return replace(rows, _pieces=lambda stream: _joined(stream, rows.arrivals(), labels, window))


def _joined(stream: Stream, arrivals: Iterator[Any], labels: Source, window: int) -> Iterator[Piece]:
    encoding = cast(Encoding, stream.encoding)
    waiting: dict[str, Any] = {}
    held: list[tuple[Any, float | str, int]] = []
    with ExitStack() as files:
        for name, line, key, text in _labels(labels, stream, files):
            label = _label(text, encoding)
            found = _found(key, waiting, arrivals, window)
            if label is None or found is None:
                expected = "a label" if label is None else f"the id of one of the last {window:,} rows without a label"
                stream.skipped.report(StreamError(expected, repr(text if label is None else key), file=name, line=line))
                continue
            held.append((found, label, line))
            if len(held) >= BATCH:
                yield _piece(held, encoding, name)
                held = []
        if held:
            yield _piece(held, encoding, name)


def _found(key: str, waiting: dict[str, Any], arrivals: Iterator[Any], window: int) -> Any:
    """The row with this id, if it is among those that wait or come soon."""
    tried = False
    while key not in waiting:
        if len(waiting) >= window and tried:
            return None
        tried = tried or len(waiting) >= window
        block = next(arrivals, None)
        if block is None:
            return None
        for row, one in enumerate(block.ids):
            waiting.pop(one, None)
            waiting[one] = block.X[row : row + 1]
        while len(waiting) > window:
            del waiting[next(iter(waiting))]
    return waiting.pop(key)


def _labels(source: Source, stream: Stream, files: ExitStack) -> Iterator[tuple[str, int, str, str]]:
    """File, line, id and label of each line of a CSV; lines of another number of fields are reported."""
    encoding = cast(Encoding, stream.encoding)
    for opened in find(source).open_each():
        text = io.TextIOWrapper(cast(Any, opened.file), encoding="utf-8-sig", errors="replace", newline="")
        files.callback(text.detach)
        start = opened.peek(1 << 16)[: 1 << 16]
        wanted = [str(encoding.id), str(encoding.label)]
        delimiter, quote = dialect_of(start, ",", wanted)
        reader = csv.reader(text, delimiter=delimiter[0], quotechar=quote, skipinitialspace=True)
        try:
            with opened.whole():
                head = [name.strip() for name in next(reader, [])]
                for name in wanted:
                    if head.count(name) != 1:
                        found = ", ".join(head[:20]) or "an empty line"
                        raise StreamError(f"one column {name!r}", found, file=opened.name, line=1)
                places = [head.index(name) for name in wanted]
                for record in reader:
                    if len(record) == len(head):
                        key, label = (record[place].strip() for place in places)
                        yield opened.name, reader.line_num, key, label
                    elif record:
                        expected, found = f"{len(head)} fields", str(len(record))
                        stream.skipped.report(StreamError(expected, found, file=opened.name, line=reader.line_num))
        except csv.Error as error:  # such as a quote that is never closed, which makes one field of all that follows
            raise StreamError("CSV", str(error), file=opened.name, line=reader.line_num) from None


def _label(text: str, encoding: Encoding) -> float | str | None:
    """What the text of a label stands for; None if it is missing or none of the classes."""
    label: float | str = text
    if text in NO_VALUE:
        return None
    if encoding.label_is_number:
        label = float(to_numbers([text], encoding.label_decimal or POINT)[0][0])
        if np.isnan(label):
            return None
    if encoding.classes is not None and len(encoding.classes) < encoding.room:
        encoding.classes = admitted(encoding.classes, [label], encoding.room)
    return label if encoding.classes is None or label in encoding.classes else None


def _piece(held: list[tuple[Any, float | str, int]], encoding: Encoding, file: str) -> Piece:
    labels = np.array([label for _, label, _ in held])
    y = as_labels(labels, encoding.classes) if encoding.label_is_number else labels
    return Piece(stack([row for row, _, _ in held]), y, file, lines=np.array([line for _, _, line in held]))
