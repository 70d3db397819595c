"""Streams of LIBSVM text."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.stream.block import Piece
from pocketkernel.stream.errors import Skipped, StreamError
from pocketkernel.stream.files import Files, find
from pocketkernel.stream.labels import admitted, as_labels, expected_label, rows_until
from pocketkernel.stream.libsvm import ROWS, Libsvm, width_of
from pocketkernel.stream.stream import Stream
from pocketkernel.stream.table import INFERRED


def open_libsvm(
    files: Files,
    skipped: Skipped,
    *,
    classes: list[Any] | None,
    labels: bool,
    width: int | None,
    block: int,
    dtype: npt.DTypeLike,
    most: int | None,
    look: bool,
) -> Stream:
    """LIBSVM text as a stream of sparse rows."""
    early: list[Piece] = []
    reader: Libsvm | None = None
    if files.kept is not None:
        reader = Libsvm(files.kept, skipped, width, dtype)
        rows = reader.pieces()
        if width is None or look:
            first = block if most is None else min(block, most)
            while room := first - sum(map(len, early)):
                reader.most = min(room, ROWS)
                if (piece := next(rows, None)) is None:
                    break
                early.append(piece)
            reader.most = ROWS
            width = reader.width = width or max((piece.X.shape[1] for piece in early), default=0)
            for piece in early:
                piece.X.resize((len(piece), width))
    elif width is None:
        width = width_of(files)
    if width < 1:
        raise ValueError(f"n_features={width}: rows need at least one column, but none was found; set n_features=.")

    def pieces(stream: Stream) -> Iterator[Piece]:
        left = most
        for opened in files.open_each():
            again = rows if reader is not None else Libsvm(opened, stream.skipped, width, dtype).pieces()
            for found in chain(early, again):
                if labels and stream.classes is not None and len(stream.classes) < stream.room and found.y is not None:
                    stream.classes = admitted(stream.classes, found.y.tolist(), stream.room)
                piece = _labelled(found, stream.classes if labels else None, stream.skipped, left)
                yield piece if labels else replace(piece, y=None)
                left = None if left is None else left - len(piece)
                if left == 0:
                    return

    first_rows = early if files.kept is not None or not look else _first_rows(files.paths[0])
    seen = [label for piece in first_rows if piece.y is not None for label in piece.y.tolist()]
    return Stream("libsvm", width, classes, skipped, None, block, _files=files, _pieces=pieces, seen=seen)


def _first_rows(path: Path) -> Iterator[Piece]:
    """Some rows of a file, in which most labels occur; lines that cannot be read are left out."""
    for opened in find(path).open_each():
        yield from islice(Libsvm(opened, Skipped("skip"), None).pieces(), INFERRED // ROWS + 1)


def _labelled(piece: Piece, classes: list[Any] | None, skipped: Skipped, most: int | None) -> Piece:
    """The first `most` rows whose label is one of the classes; others before their last are reported."""
    if classes is None:
        return piece[:most] if most is not None and most < len(piece) else piece
    assert piece.y is not None
    good = np.isin(piece.y, classes)
    if (stop := rows_until(good, most)) < len(piece):
        piece, good = piece[:stop], good[:stop]
    assert piece.y is not None
    for row in np.flatnonzero(~good):
        line, found = int(piece.lines[row]), f"{piece.y[row]:g}"
        skipped.report(StreamError(expected_label(classes), found, file=piece.file, line=line, column=1))
    if not good.all():
        piece = replace(piece, X=piece.X[good], y=piece.y[good], lines=piece.lines[good])
    assert piece.y is not None
    return replace(piece, y=as_labels(piece.y, classes))
