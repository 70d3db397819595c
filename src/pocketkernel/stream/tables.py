"""The files of a table, in any format, read by one encoding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy.typing as npt

from pocketkernel.stream.arff import Arff
from pocketkernel.stream.arrow import ArrowBatches
from pocketkernel.stream.block import Piece
from pocketkernel.stream.delimited import Delimited
from pocketkernel.stream.dicts import DictRows
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.errors import Skipped, StreamError, listed
from pocketkernel.stream.files import Files, Opened, find
from pocketkernel.stream.jsonl import JsonLines
from pocketkernel.stream.stream import Stream
from pocketkernel.stream.table import INFERRED, SAMPLE, TableReader
from pocketkernel.stream.vw import VowpalWabbit

LABEL_BYTES = 1 << 26  # of a file, which are read for the labels in them
NUMBERS = 1 << 25  # most numbers in a block of dense rows
DICTS: dict[str, type[DictRows]] = {"jsonl": JsonLines, "arff": Arff, "vw": VowpalWabbit}


@dataclass
class Tables:
    """How the files of a table are read."""

    files: Files
    format: str
    skipped: Skipped
    infer: bool  # whether to be lenient, and to look at the first rows for what the columns are
    given: Encoding | None  # an encoding of earlier files
    columns: list[str] | None
    delimiter: str | None
    header: bool | None
    dtype: npt.DTypeLike
    most: int | None  # rows
    unlabelled: bool = False  # whether to leave out the labels of a given encoding
    absent: dict[str, str] = field(default_factory=dict)  # columns of the encoding that are taken as missing, and where
    first: TableReader = field(init=False)

    def __post_init__(self) -> None:
        if self.given is not None and self.format in DICTS:
            self.columns = list(self.given.kinds())
        self._opened_first = self.files.first()
        self.first = self._reader(self._opened_first, self.skipped)

    @property
    def dialect(self) -> dict[str, Any]:
        """Delimiter and header of a text table, as they were found."""
        if not self.infer or not isinstance(self.first, Delimited):
            return {}
        return {"delimiter": self.first.dialect.delimiter, "header": self.first.header}

    def first_labels(self, encoding: Encoding) -> list[Any]:
        """Labels of the first rows, more than were looked at for the types if rows are long; [] for a pipe."""
        if not self.files.paths or encoding.label is None:
            return []
        found: list[Any] = []
        for opened in find(self.files.paths[0]).open_each():
            reader = self._reader(opened, Skipped("skip"), self.first, wanted=[encoding.label])
            kinds = dict.fromkeys(reader.schema.names, "-") | {encoding.label: encoding.kinds()[encoding.label]}
            for table in reader.tables(kinds):
                found += list(table.column(encoding.label))
                if len(found) >= INFERRED or opened.raw.count > LABEL_BYTES:
                    break
        return [str(label) for label in found if label is not None and str(label) != "nan"]

    def pieces(self, stream: Stream) -> Iterator[Piece]:
        """The rows of all files."""
        left = self.most
        for opened in self.files.open_each():
            try:
                for piece in self._rows(opened, stream, left):
                    yield piece
                    left = None if left is None else left - len(piece)
            except StreamError as error:
                if not self.infer or stream.skipped.on_error != "skip":
                    raise
                stream.skipped.report(error)  # the rest of the file is lost, but not the run
            if left == 0:
                return

    def _rows(self, opened: Opened, stream: Stream, left: int | None) -> Iterator[Piece]:
        assert stream.encoding is not None
        reader = self.first if opened is self._opened_first else self._reader(opened, stream.skipped, self.first)
        kinds, absent = self._kinds(stream.encoding, reader, opened.name)
        tables = reader.tables(kinds, stream.encoding.label)
        at_once = max(1, NUMBERS // stream.n_features)
        for table in chain.from_iterable(table.parts(at_once) for table in tables):
            piece = stream.encoding.encode(table.with_missing(absent), stream.skipped, self.dtype, left)
            yield piece
            left = None if left is None else left - len(piece)
            if left == 0:
                return

    def _reader(
        self, opened: Opened, skipped: Skipped, before: TableReader | None = None, wanted: Sequence[str] = ()
    ) -> TableReader:
        """A reader of a file, after that of an earlier one; without a look at the first rows if columns are wanted."""
        sample = SAMPLE if self.most is None else min(SAMPLE, self.most)
        sample = 1 if self.given is not None else sample  # a slow pipe is not waited for
        if self.format in ("csv", "tsv"):
            if self.given is not None:
                wanted = [feature.name for feature in self.given.features]
            delimiter, header = self.delimiter, self.header
            if self.infer and isinstance(before, Delimited):
                delimiter, header = before.dialect.delimiter, before.header
            return Delimited(
                opened,
                skipped,
                delimiter=delimiter,
                header=header,
                columns=self.columns,
                sample=sample,
                usual="\t" if self.format == "tsv" else ",",
                infer=self.infer,
                wanted=wanted,
            )
        if self.format in DICTS:
            label = None if self.given is None else self.given.label
            known = [] if before is None else before.schema.names
            return DICTS[self.format](
                opened, skipped, self.columns, optional=label, known=known, sample=sample, infer=self.infer
            )
        return ArrowBatches(opened, self.format)

    def look_for_columns(self, id: str | int | None) -> None:
        """Find out which columns of a given encoding the first file does not have; one for ids must be there."""
        assert self.given is not None
        name, names = self._opened_first.name, self.first.schema.names
        if id is not None and str(id) not in names:
            raise StreamError(f"a column {str(id)!r}", listed(names), file=name)
        self._kinds(self.given, self.first, name)

    def _kinds(self, encoding: Encoding, reader: TableReader, file: str) -> tuple[dict[str, str], dict[str, str]]:
        """What to read of a file's columns, and what it does not have of those of a given encoding.

        Files that are read together must have the columns of the first.
        """
        kinds, names = encoding.kinds(), reader.schema.names
        there, known = set(names), set(self.first.schema.names)
        if self.unlabelled or (encoding.frozen and encoding.label not in there):
            kinds.pop(str(encoding.label), None)
        if self.given is not None and encoding.id not in there:
            kinds.pop(str(encoding.id), None)
        absent = {name: kind for name, kind in kinds.items() if name not in there}
        new = [] if self.infer or self.given is not None else [name for name in names if name not in known]
        may_be_absent = self.infer and self.given is not None and encoding.missing != "error"
        may_be_absent = may_be_absent and encoding.label not in absent
        if new or (absent and not (may_be_absent and len(absent) < len(kinds))):
            expected = f"a column {next(iter(absent))!r}" if absent else "the columns of the first file"
            raise StreamError(expected, listed(names) if absent else repr(new[0]), file=file)
        for name in absent:
            self.absent.setdefault(name, file)
        return {name: kinds.get(name, "-") for name in names}, absent
