"""Opens any source of rows."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pocketkernel.stream import schema
from pocketkernel.stream.block import check_block
from pocketkernel.stream.encode import Encoding, Missing
from pocketkernel.stream.errors import TRAINED, OnError, Skipped
from pocketkernel.stream.feature import MOST_CATEGORIES
from pocketkernel.stream.files import SUFFIXES, Source, find, guess_format
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.labels import Label, plain_classes
from pocketkernel.stream.sparse import open_libsvm
from pocketkernel.stream.stream import Stream
from pocketkernel.stream.table import INFERRED
from pocketkernel.stream.tables import NUMBERS, Tables


def open_stream(
    source: Source,
    *,
    format: str | None = None,
    label: Label = None,
    classes: Sequence[Any] | None = None,
    columns: Sequence[str] | None = None,
    drop: Iterable[str | int] = (),
    categorical: Iterable[str | int] | Literal["auto"] = (),
    max_categories: int | None = None,
    hash_width: int | None = None,
    missing: Missing | None = None,
    on_error: OnError | None = None,
    block: int = 1000,
    n_features: int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: dict[str, Any] | None = None,
    dtype: npt.DTypeLike = np.float64,
    rows: int | None = None,
    strict: bool = True,
    numeric: Iterable[str | int] = (),
    date: Iterable[str | int] = (),
    id: str | int | None = None,
    learn: bool = False,
    room: schema.Room | None = None,
) -> Stream:
    r"""Open files as a stream of rows.

    Empty, null and absent values are missing. In numeric columns of CSV and TSV files, these words are missing values,
    too (case-insensitive): na, n/a, nan, null, (null), \\N, none, ?, -, --, #n/a, <na>, and
    errors of spreadsheets such as #ref!. In categorical columns and in text labels
    they are ordinary values if strict=True; otherwise they are missing there, too, except none. A row without a label
    is an error.

    Parameters
    ----------
    source : path, glob, list of paths, "-" for standard input, or binary file
        Plain, compressed with gzip, bzip2, xz or zstandard, or the only member of a zip or tar archive, which is
        detected from the first bytes; of a workbook (.xlsx, .xls, .xlsb, .ods) the first sheet, as CSV.
    format : {"libsvm", "csv", "tsv", "parquet", "arrow", "jsonl", "arff", "vw"}, default=None
        None: detected from the name (.svm, .csv, .tsv, .parquet, .arrow, .jsonl ...) or the start of the first file.
        "jsonl" also reads one JSON array of objects, and GeoJSON. "vw" is the text of Vowpal Wabbit.
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
    max_categories : int, default=None
        Number of categories of a column that are one-hot encoded. If strict, they are the first to appear, and a
        categorical column always has this number of columns in the encoded row; otherwise they are the most frequent
        among the first rows, up to this number. None: 32 if strict; otherwise those that five or more of the first rows
        have (or any, of a column with at most 16), while there is room: on average 48 columns for each categorical
        column and 1,024 for all, or what `room` allows. At most 65,536; an encoded row has at most 1,000,000 columns.
    hash_width : int, default=None
        Number of further columns, at most 65,536, for the other categories, chosen by a hash of the category's text. 0:
        the other categories have no column, or if strict share those of the first ones. None: 0 if strict, otherwise up
        to 16, and none if more than 64 categories would share them. `encoding.hashed` counts the rows.
    missing : {"error", "mean", "keep"}, default=None
        How to handle missing values. "mean": use the mean of the earlier rows of that column (0 if there are none; no
        category for categorical columns), and add an indicator column for every column. "keep": NaN, for learners that
        take it. None: "error" if strict, otherwise "keep". With strict=False, only columns with at least 1 % missing
        values among the first rows have an indicator column.
    on_error : {"raise", "skip", "mark"}, default=None
        How to handle a row that cannot be read: raise StreamError, or skip, count and report it; "mark" also gives it
        its place in `Stream.answered`. None: "raise" if strict, otherwise "skip".
    block : int, default=1000
        Rows per block; fewer for tables with many columns, so that a block has at most 256 MiB (unless one row is
        larger).
    n_features : int, default=None
        Number of columns of LIBSVM text. None: the largest column in the files, from a first pass; in the first block
        if the source can be read only once.
    delimiter : str, default=None
        Field delimiter of a text table; " " is any run of blanks, and two spaces are two blanks or more. None: a tab
        for "tsv", otherwise a comma; detected with strict=False.
    header : bool, default=None
        Whether the first line of a text table has the column names. None: it does if it has no numbers; with
        strict=False, it also does if it has text above a column of numbers.
    encoding : dict, default=None
        `Stream.encoding.to_dict()` of an earlier stream: read tables in the same way, without changing the encoding.
        The labels may be absent, or be ignored with label=False. If the types were inferred, other columns that a file
        does not have are missing values (`Stream.absent` names them), unless these are errors. Replaces label, classes,
        drop, categorical, max_categories, hash_width and missing.
    dtype : {float32, float64}, default=float64
        Type of the rows.
    rows : int, default=None
        Stop after this number of rows: later rows are neither checked nor encoded. The width of LIBSVM files is still
        that of the whole files, unless n_features is given.
    strict : bool, default=True
        False: infer what each column is from the first 10,000 rows (at most the first MiB): number, Boolean, category,
        date, or an id, text, constant or empty column, which is left out; `Stream.inferred` says what was found.
        Numbers may have decimal commas, thousands and currencies; text that is not UTF-8 is read as Latin-1.
    numeric, date : list of columns, default=()
        With strict=False, columns that are numbers, or dates; a date can be given as "name=%d/%m/%Y".
    id : column, default=None
        With strict=False, a column that is not learned from, and kept in `Block.ids`.
    learn : bool, default=False
        Whether rows change a given encoding, as they did when it was made.
    room : callable, default=None
        With strict=False, what limits the columns of categories, given how many columns an encoded row has without them
        and if each has two, and what the column of the labels seems to be (or None). It returns a function that says
        whether they may have so many columns, if the rarest of them is not zero in this share of the rows.

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
    missing = missing or ("error" if strict else "keep")
    on_error = on_error or ("raise" if strict else "skip")
    check_block(block)
    _check("missing", missing, ("error", "mean", "keep"))
    _check("on_error", on_error, get_args(OnError))
    _check("format", format, (None, *SUFFIXES))
    _check("dtype", np.dtype(dtype).name, ("float32", "float64"))
    _check_number("max_categories", max_categories, 1, MOST_CATEGORIES)
    _check_number("hash_width", hash_width, 0, MOST_CATEGORIES)
    _check_number("rows", rows, 1)
    named: dict[str, Any] = {"numeric": list(numeric), "date": list(date), "id": id}
    for option, value in named.items():
        if strict and encoding is None and value not in (None, []):
            raise ValueError(f"{option}={value!r} needs strict=False.")
    dropped = list(drop)
    files = find(source)
    format = format or guess_format(files.first())
    skipped = Skipped(on_error, "" if encoding is None else TRAINED)
    if format == "libsvm":
        is_named = label is not None and label is not False  # 0 == False, but it is a column
        odd = categorical or encoding or any(named.values()) or (strict and missing == "mean")
        if is_named or columns or dropped or odd:
            raise ValueError(
                "LIBSVM text has no named columns: do not set label, columns, drop, categorical, missing or encoding."
            )
        return open_libsvm(
            files,
            skipped,
            classes=None if classes is None else plain_classes(classes),
            labels=label is not False,
            width=n_features,
            block=block,
            dtype=dtype,
            most=rows,
            look=not strict,
        )

    given = None if encoding is None else Encoding.from_dict(encoding, frozen=not learn)
    if given is not None and id is not None:
        if given.kinds().get(str(id)) == "n" or id == given.label:
            raise ValueError(f"id={id!r} is the label or a number that the model learns from: choose another column.")
        given.id = str(id)
    infer = not strict if given is None else given.words
    names = list(columns) if columns else None
    tables = Tables(
        files, format, skipped, infer, given, names, delimiter, header, dtype, rows, unlabelled=label is False
    )
    plan, inferred = given, None
    if given is not None:
        tables.look_for_columns(id)
    if plan is None:
        options: dict[str, Any] = {
            "label": label,
            "classes": classes,
            "drop": dropped,
            "categorical": categorical,
            "missing": missing,
            "max_categories": max_categories,
            "hash_width": hash_width,
        }
        if infer:
            options["categorical"] = () if categorical == "auto" else categorical
            with no_search():  # not between the two either: by far most objects of a wide table are alive there
                plan, inferred = schema.plan(tables.first.sample(), **options, **named, room=room)
        else:
            plan = Encoding.plan(tables.first.schema, **options)
    width = plan.n_features
    if n_features not in (None, width):
        raise ValueError(f"n_features={n_features} is wrong: the encoded rows have {width} columns.")
    seen: list[Any] = []
    if inferred is not None:
        enough = inferred.whole or inferred.rows >= INFERRED
        seen = inferred.labels if enough else tables.first_labels(plan)
    return Stream(
        format,
        width,
        plan.classes,
        skipped,
        plan,
        min(block, max(1, NUMBERS // width)),
        _files=files,
        _pieces=tables.pieces,
        inferred=inferred,
        seen=seen,
        dialect=tables.dialect,
        absent=tables.absent,
    )


def _check(name: str, value: str | None, known: Sequence[str | None]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r} is unknown: use one of {', '.join(filter(None, known))}.")


def _check_number(name: str, number: int | None, least: int, most: float = float("inf")) -> None:
    if number is not None and number < least:
        raise ValueError(f"{name}={number} is too small: use an integer of at least {least}.")
    if number is not None and number > most:
        raise ValueError(f"{name}={number} is too large: use at most {most:,}.")
