"""Rows of one or more files, block by block."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.stream.block import Block, Piece, rebatch
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.errors import Skipped, StreamError
from pocketkernel.stream.files import Files, StoppedError
from pocketkernel.stream.labels import plain_classes
from pocketkernel.stream.schema import Inferred
from pocketkernel.stream.values import POINT, to_numbers

MOST_CLASSES = 200  # that are taken for such without being given


@dataclass
class Stream:
    """Rows of one or more files, block by block in constant memory. Made by `open_stream`.

    Attributes
    ----------
    format : str
        "libsvm", "csv", "tsv", "parquet", "arrow", "jsonl", "arff" or "vw".
    n_features : int
        Columns of every row.
    feature_names : list of str or None
        Their names; LIBSVM text has none.
    classes : list or None
        All labels, if they were given.
    skipped : Skipped
        How many rows were skipped, and the first reports.
    encoding : Encoding or None
        How the columns of a table are encoded so far; save `encoding.to_dict()` to read other files in the same way.
    inferred : Inferred or None
        What was inferred of the columns, if it was.
    seen : list
        Labels among the rows that were looked at, if any were.
    dialect : dict
        Delimiter and header of a text table, as they were found.
    room : int
        How many labels there may be, see `reserve`.
    absent : dict
        Columns of a given encoding that a file does not have, by the name of the first such file: they are missing.
    """

    format: str
    n_features: int
    classes: list[Any] | None
    skipped: Skipped
    encoding: Encoding | None
    block: int
    _files: Files = field(repr=False)
    _pieces: "Callable[[Stream], Iterator[Piece]]" = field(repr=False)
    inferred: Inferred | None = field(default=None, repr=False)
    seen: list[Any] = field(default_factory=list, repr=False)
    dialect: dict[str, Any] = field(default_factory=dict, repr=False)
    room: int = field(default=0, repr=False)
    absent: dict[str, str] = field(default_factory=dict, repr=False)
    _at_first: Encoding | None = field(default=None, init=False, repr=False)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of a row; LIBSVM text has none."""
        return None if self.encoding is None else self.encoding.feature_names

    def __post_init__(self) -> None:
        self._at_first = None if self.encoding is None else self.encoding.copy()

    @property
    def name(self) -> str:
        """Names of the files, for messages."""
        return self._files.kept.name if self._files.kept else ", ".join(map(str, self._files.paths))

    @property
    def size(self) -> int | None:
        """Bytes of all files as they are on disk, or None if that is not known."""
        return self._files.size

    @property
    def consumed(self) -> int:
        """Bytes of them that have been read."""
        return self._files.consumed

    @property
    def live(self) -> bool:
        """Whether it is a pipe or the like, whose rows may come slowly and only once."""
        return self._files.kept is not None

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Blocks of `block` rows each; only the last may have fewer, and the first if it lacks omitted rows.

        Parameters
        ----------
        start : int, default=0
            Number of rows to omit at the beginning, not counting skipped ones, to resume after an interruption. They
            are still read and encoded, so that the remaining rows are the same as without the interruption, and so
            are the blocks from the second on.
        """
        if self._files.kept is None and self._files.looked_at is None:
            self.skipped = Skipped(self.skipped.on_error, self.skipped.advice)
            self.encoding = None if self._at_first is None else self._at_first.copy()
        return rebatch(_without(self._pieces(self), start), self.block, start % self.block)

    def arrivals(self, start: int = 0) -> Iterator[Block]:
        """The rows as they come: blocks of any size, so that a slow pipe is not waited for; `start` as in `blocks`."""
        try:
            yield from _without(self._pieces(self), start)
        except StoppedError:
            return

    def answered(self) -> Iterator[tuple[Block, list[tuple[int, StreamError]]]]:
        """All rows, those that cannot be used as well: blocks of any size, and errors by how many rows come before.

        Needs on_error="mark". Rows come in the order of the files, and each is either in its block or an error.
        """
        for piece in self._pieces(self):
            yield piece, [(_place(piece, error), error) for error in self.skipped.take_marked()]
        if rest := self.skipped.take_marked():
            yield Block(np.empty((0, self.n_features)), ids=[]), [(0, error) for error in rest]

    def stop(self) -> bool:
        """Let another thread that reads a pipe read no further: `arrivals` ends with the rows that were read whole.

        Returns whether that thread has come so far, and waits for rows that will not be given.
        """
        assert self._files.kept is not None
        self._files.kept.raw.stopped = True
        return self._files.kept.raw.waiting

    def seen_labels(self) -> npt.NDArray[Any]:
        """Labels among the rows that were looked at, if any were."""
        if self.encoding is None or not self.encoding.label_is_number:
            return np.array(self.seen)
        numbers, _ = to_numbers(self.seen, self.encoding.label_decimal or POINT)
        return numbers[~np.isnan(numbers)]

    def adopt_classes(self) -> None:
        """Take the labels among the rows that were looked at for all labels: rows with others will be left out."""
        labels = np.unique(self.seen_labels())
        if self.classes is not None or len(labels) < 2:
            return
        if len(labels) > MOST_CLASSES:
            name = f" {self.encoding.label!r}" if self.encoding is not None else ""
            raise ValueError(
                f"the label{name} has {len(labels):,} different values among the first rows, too many for classes: "
                "choose another column with label=, use task=regression to predict a number, or list all in classes=."
            )
        self.classes = labels.tolist() if labels.dtype.kind == "U" else plain_classes(labels.tolist())
        if self.encoding is not None:
            self.encoding.classes = self.classes
            self.__post_init__()

    def reserve(self, room: int) -> None:
        """Let there be so many labels: while fewer are known, rows with others are not left out."""
        self.room = room
        if self.encoding is not None:
            self.encoding.room = self.room
            self.__post_init__()

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()


def _place(piece: Piece, error: StreamError) -> int:
    """How many rows of a piece are before the row of an error, which may be in an earlier file."""
    return int(np.searchsorted(piece.lines, error.line or 0)) if error.file == piece.file else 0


def _without(pieces: Iterable[Piece], rows: int) -> Iterator[Piece]:
    """Pieces that have rows, without the first `rows` rows."""
    for piece in pieces:
        if rows < len(piece):
            yield piece[rows:] if rows else piece
        rows = max(0, rows - len(piece))
