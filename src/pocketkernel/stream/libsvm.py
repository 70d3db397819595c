"""LIBSVM text: `label column:value column:value ... # comment`, columns from 1 and ascending. Rows stay sparse.

The lines are read in the binding (text.cpp).
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.stream.block import Piece, csr
from pocketkernel.stream.errors import Skipped, StreamError
from pocketkernel.stream.files import Files, Opened, Text

ROWS = 4096  # most rows that are read in one go
WIDEST = 2**31 - 1
_EXPECTED = {
    "label": "a label, which is a number",
    "index": "a column, which is a whole number from 1 up",
    "colon": "a ':' between column and value",
    "value": "a finite number",
    "qid": "no qid (ranking is not supported: remove them)",
}


class Libsvm:
    """The rows of one file; a `width` of None means any."""

    def __init__(self, opened: Opened, skipped: Skipped, width: int | None, dtype: npt.DTypeLike = np.float64) -> None:
        self.text, self.skipped, self.width, self.dtype = Text(opened), skipped, width, dtype
        self.most = ROWS  # to read in one go

    def pieces(self) -> Iterator[Piece]:
        """Rows in the order of the file."""
        text, page = self.text, Page(2 * len(self.text.buffer) + 1)
        while True:
            if len(text.buffer) >= page.size:
                page = Page(2 * len(text.buffer))
            most = self.most
            done = page.read(text, self.width or WIDEST, most)
            if done.rows:
                yield self._piece(page, done.rows)
            text.advance(done.end, done.lines)
            if done.fault:
                self.skipped.report(_error(text, done, self.width))
                text.advance(done.next, done.next_lines - done.lines)
            elif done.rows < most:
                if text.final:
                    return
                text.more()

    def _piece(self, page: "Page", rows: int) -> Piece:
        stored = int(page.starts[rows])
        columns = page.columns[:stored].copy()
        width = self.width or int(columns.max(initial=-1)) + 1
        X = csr(page.values[:stored].astype(self.dtype), columns, page.starts[: rows + 1].astype(np.int32), width)
        return Piece(X, page.labels[:rows].copy(), self.text.name, lines=page.lines[:rows] + self.text.line)


class Page:
    """Room for the rows that are read in one go: of a text of `size` bytes, whose entries have at least four each."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.labels = np.empty(ROWS)
        self.columns = np.empty(size // 4 + 1, np.int32)
        self.values = np.empty(size // 4 + 1)
        self.starts = np.empty(ROWS + 1, np.int64)
        self.lines = np.empty(ROWS, np.int64)

    def read(self, text: Text, width: int, most: int) -> _core.Parsed:
        """Read as many rows as there are, but no more than `most`."""
        room = (self.labels[:most], self.columns, self.values, self.starts[: most + 1], self.lines[:most])
        return _core.parse_libsvm(text.buffer, text.at, text.final, width, *room)


def width_of(files: Files) -> int:
    """Largest column in files that can be read twice, from a first pass; malformed lines do not count."""
    width = 0
    for opened in files.open_each():
        text = Text(opened)
        while True:
            found, end = _core.libsvm_width(text.buffer, text.at, text.final)
            width = max(width, found)
            text.advance(end, 0)
            if text.final:
                break
            text.more()
    return width


def _error(text: Text, done: _core.Parsed, width: int | None) -> StreamError:
    expected = _EXPECTED.get(done.fault, "")
    if done.fault == "order":
        expected = f"a column above {done.detail}, as columns ascend"
    elif done.fault == "range":
        expected = f"a column of at most {width or WIDEST}"
        expected += " (for wider rows, give n_features=)" if width else ""
    line = text.buffer[done.at : done.next].rstrip(b"\r\n")
    word = line.split(None, 1)[0] if line.strip() else b""
    if not word:
        return text.error(expected, "the end of the line", done.at)
    return text.error(expected, word if done.at == 0 or not line[:1].isspace() else b" ", done.at)
