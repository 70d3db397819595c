"""Opens any source of rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pocketkernel.stream.arrow import ArrowBatches
from pocketkernel.stream.block import Block, Piece, check_block, rebatch
from pocketkernel.stream.delimited import Delimited
from pocketkernel.stream.encode import MOST_CATEGORIES, Encoding, Missing
from pocketkernel.stream.errors import OnError, Skipped, StreamError
from pocketkernel.stream.files import SUFFIXES, Files, Opened, Source, find, guess_format
from pocketkernel.stream.jsonl import JsonLines
from pocketkernel.stream.labels import Label, as_labels, expected_label, plain_classes, rows_until
from pocketkernel.stream.libsvm import ROWS, Libsvm, width_of
from pocketkernel.stream.table import SAMPLE, TableReader

NUMBERS = 1 << 25  # most numbers in a block of dense rows


@dataclass
class Stream:
    """Rows of one or more files, block by block in constant memory. Made by `open_stream`.

    Attributes
    ----------
    format : str
        "libsvm", "csv", "tsv", "parquet", "arrow" or "jsonl".
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
    """

    format: str
    n_features: int
    feature_names: list[str] | None
    classes: list[Any] | None
    skipped: Skipped
    encoding: Encoding | None
    block: int
    _files: Files = field(repr=False)
    _pieces: "Callable[[Stream], Iterator[Piece]]" = field(repr=False)
    _at_first: Encoding | None = field(default=None, init=False, repr=False)

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

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Blocks of `block` rows each; only the last may have fewer.

        Parameters
        ----------
        start : int, default=0
            Number of rows to omit at the beginning, not counting skipped ones, to resume after an interruption. They
            are still read and encoded, so that the remaining rows are the same as without the interruption.
        """
        if self._files.kept is None and self._files.looked_at is None:
            self.skipped = Skipped(self.skipped.on_error)
            self.encoding = None if self._at_first is None else self._at_first.copy()
        return rebatch(_without(self._pieces(self), start), self.block)

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()


def open_stream(
    source: Source,
    *,
    format: str | None = None,
    label: Label = None,
    classes: Sequence[Any] | None = None,
    columns: Sequence[str] | None = None,
    drop: Iterable[str | int] = (),
    categorical: Iterable[str | int] | Literal["auto"] = (),
    max_categories: int = 32,
    hash_width: int = 0,
    missing: Missing = "error",
    on_error: OnError = "raise",
    block: int = 1000,
    n_features: int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: dict[str, Any] | None = None,
    dtype: npt.DTypeLike = np.float64,
    rows: int | None = None,
) -> Stream:
    r"""Open files as a stream of rows.

    Empty, null and absent values are missing. In numeric columns of CSV and TSV files, these words are missing values,
    too (case-insensitive): na, n/a, nan, null, none and ?. In categorical columns and in text labels they are ordinary
    values. A row without a label is an error.

    Parameters
    ----------
    source : path, glob, list of paths, "-" for standard input, or binary file
        Plain, or compressed with gzip, bzip2 or xz, which is detected from the first bytes.
    format : {"libsvm", "csv", "tsv", "parquet", "arrow", "jsonl"}, default=None
        None: detected from the name (.svm, .csv, .tsv, .parquet, .arrow, .jsonl ...) or the start of the first file.
    label : str, int or False, default=None
        Label column, by name or by index from 0 (-1 is the last). None: the column named label, y, target or class; in
        LIBSVM text, the first. False: there are no labels.
    classes : list, default=None
        All labels. Any other label is then an error.
    columns : list of str, default=None
        Names of the columns of a table without a header; the keys to read from JSON lines.
    drop : list of columns, default=()
        Columns to ignore.
    categorical : list of columns or "auto", default=()
        Categorical columns. "auto": all columns that are not numeric in the first 1,000 rows. Text in any other column
        is an error.
    max_categories : int, default=32
        Number of categories of a column that are one-hot encoded, in order of appearance. A categorical column always
        has this number of columns in the encoded row. At most 65,536; an encoded row has at most 1,000,000 columns.
    hash_width : int, default=0
        Number of further columns, at most 65,536, for the other categories, chosen by a hash of the category's text. 0:
        the other categories share the columns of the first ones. `encoding.hashed` counts the rows.
    missing : {"error", "mean"}, default="error"
        How to handle missing values. "mean": use the mean of the earlier rows of that column (0 if there are none; no
        category for categorical columns), and add an indicator column for every column.
    on_error : {"raise", "skip"}, default="raise"
        How to handle a row that cannot be read: raise StreamError, or skip, count and report it.
    block : int, default=1000
        Rows per block; fewer for tables with many columns, so that a block has at most 256 MiB (unless one row is
        larger).
    n_features : int, default=None
        Number of columns of LIBSVM text. None: the largest column in the files, from a first pass; in the first block
        if the source can be read only once.
    delimiter : str, default=None
        Field delimiter of a text table. None: a tab for "tsv", otherwise a comma.
    header : bool, default=None
        Whether the first line of a text table has the column names. None: it does if it has no numbers.
    encoding : dict, default=None
        `Stream.encoding.to_dict()` of an earlier stream: read tables in the same way, without changing the encoding.
        The labels may be absent, or be ignored with label=False. Replaces label, classes, drop, categorical,
        max_categories, hash_width and missing.
    dtype : {float32, float64}, default=float64
        Type of the rows.
    rows : int, default=None
        Stop after this number of rows: later rows are neither checked nor encoded. The width of LIBSVM files is still
        that of the whole files, unless n_features is given.

    Examples
    --------
    >>> import io
    >>> stream = open_stream(io.BytesIO(b"+1 1:0.5 3:2\n-1 2:1\n"))
    >>> for block in stream.blocks():
    ...     print(block.X.toarray().tolist(), block.y.tolist())
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1.0, -1.0]
    >>> table = b"size,colour,label\n3,red,yes\n4,green,no\n"
    >>> stream = open_stream(io.BytesIO(table), categorical="auto", max_categories=2)
    >>> stream.feature_names
    ['size', 'colour#1', 'colour#2']
    >>> next(stream.blocks()).X.tolist()
    [[3.0, 1.0, 0.0], [4.0, 0.0, 1.0]]
    """
    check_block(block)
    _check("missing", missing, ("error", "mean"))
    _check("on_error", on_error, ("raise", "skip"))
    if format is not None:
        _check("format", format, tuple(SUFFIXES))
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} is not supported: use float32 or float64.")
    _check_number("max_categories", max_categories, 1, MOST_CATEGORIES)
    _check_number("hash_width", hash_width, 0, MOST_CATEGORIES)
    _check_number("rows", rows, 1)
    dropped = list(drop)
    files = find(source)
    format = format or guess_format(files.first())
    skipped = Skipped(on_error)
    if format == "libsvm":
        is_named = label is not None and label is not False  # 0 == False, but it is a column
        if is_named or columns or dropped or categorical or missing != "error" or encoding:
            raise ValueError(
                "LIBSVM text has no named columns: leave label, columns, drop, categorical, missing and encoding alone."
            )
        return _open_libsvm(
            files,
            skipped,
            classes=None if classes is None else plain_classes(classes),
            labels=label is not False,
            width=n_features,
            block=block,
            dtype=dtype,
            most=rows,
        )

    plan = None if encoding is None else Encoding.from_dict(encoding)
    if plan is not None and label is False:
        plan.label = None
    names = list(columns) if columns else None
    if plan is not None and format == "jsonl":
        names = list(plan.kinds())

    sample = SAMPLE if rows is None else min(SAMPLE, rows)

    def make(opened: Opened, report: Skipped, known: Sequence[str] = ()) -> TableReader:
        if format in ("csv", "tsv"):
            between = delimiter or ("\t" if format == "tsv" else ",")
            return Delimited(opened, report, delimiter=between, header=header, columns=names, sample=sample)
        if format == "jsonl":
            optional = None if encoding is None else encoding["label"]
            return JsonLines(opened, report, names, optional=optional, known=known, sample=sample)
        return ArrowBatches(opened, format)

    opened_first = files.first()
    first = make(opened_first, skipped)
    if plan is None:
        plan = Encoding.plan(
            first.schema,
            label=label,
            classes=classes,
            drop=dropped,
            categorical=categorical,
            missing=missing,
            max_categories=max_categories,
            hash_width=hash_width,
        )
    if n_features not in (None, plan.n_features):
        raise ValueError(f"n_features={n_features} is wrong: the encoded rows have {plan.n_features} columns.")

    def pieces(stream: Stream) -> Iterator[Piece]:
        assert stream.encoding is not None
        left, most = rows, max(1, NUMBERS // width)
        for opened in files.open_each():
            reader = first if opened is opened_first else make(opened, stream.skipped, first.schema.names)
            kinds = _kinds(stream.encoding, reader, first, opened.name)
            tables = reader.tables(kinds, stream.encoding.label)
            for table in chain.from_iterable(table.parts(most) for table in tables):
                piece = stream.encoding.encode(table, stream.skipped, dtype, left)
                yield piece
                left = None if left is None else left - len(piece)
                if left == 0:
                    return

    width, titles = plan.n_features, plan.feature_names
    block = min(block, max(1, NUMBERS // width))
    return Stream(format, width, titles, plan.classes, skipped, plan, block, _files=files, _pieces=pieces)


def _open_libsvm(
    files: Files,
    skipped: Skipped,
    *,
    classes: list[Any] | None,
    labels: bool,
    width: int | None,
    block: int,
    dtype: npt.DTypeLike,
    most: int | None,
) -> Stream:
    early: list[Piece] = []
    reader: Libsvm | None = None
    if files.kept is not None:
        reader = Libsvm(files.kept, skipped, width, dtype)
        rows = reader.pieces()
        if width is None:
            first = block if most is None else min(block, most)
            while room := first - sum(map(len, early)):
                reader.most = min(room, ROWS)
                if (piece := next(rows, None)) is None:
                    break
                early.append(piece)
            reader.most = ROWS
            width = reader.width = max((piece.X.shape[1] for piece in early), default=0)
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
                piece = _labelled(found, classes if labels else None, stream.skipped, left)
                yield piece if labels else replace(piece, y=None)
                left = None if left is None else left - len(piece)
                if left == 0:
                    return

    return Stream("libsvm", width, None, classes, skipped, None, block, _files=files, _pieces=pieces)


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


def _kinds(encoding: Encoding, reader: TableReader, first: TableReader, file: str) -> dict[str, str]:
    """What to read of a file's columns, which must be those of the first file, or have those of the encoding."""
    kinds, names = encoding.kinds(), reader.schema.names
    there, known = set(names), set(first.schema.names)
    if encoding.frozen and encoding.label not in there:
        kinds.pop(str(encoding.label), None)
    absent = [name for name in kinds if name not in there]
    new = [] if encoding.frozen else [name for name in names if name not in known]
    if absent or new:
        expected = f"a column {absent[0]!r}" if absent else "the columns of the first file"
        raise StreamError(expected, ", ".join(names[:20]) if absent else repr(new[0]), file=file)
    return {name: kinds.get(name, "-") for name in names}


def _without(pieces: Iterable[Piece], rows: int) -> Iterator[Piece]:
    """Pieces that have rows, without the first `rows` rows."""
    for piece in pieces:
        if rows < len(piece):
            yield piece[rows:] if rows else piece
        rows = max(0, rows - len(piece))


def _check(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r} is unknown: use one of {', '.join(known)}.")


def _check_number(name: str, number: int | None, least: int, most: float = float("inf")) -> None:
    if number is not None and number < least:
        raise ValueError(f"{name}={number} is too small: use an integer of at least {least}.")
    if number is not None and number > most:
        raise ValueError(f"{name}={number} is too large: use at most {most:,}.")
