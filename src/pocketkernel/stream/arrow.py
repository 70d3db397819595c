"""Parquet files, and Arrow's files and streams, through pyarrow: batch by batch."""

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from pocketkernel._optional import optional
from pocketkernel.stream.errors import StreamError
from pocketkernel.stream.files import Opened
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.infer import Sample
from pocketkernel.stream.table import INFERRED, Floats, Schema, Table
from pocketkernel.stream.values import Texts

ROWS = 4096
VALUES = 1 << 25  # most that are converted at once, but for a few rows
SAMPLED = 1 << 22  # most that are looked at, but for a few rows
FEWEST_ROWS = 8
TOGETHER = 1000  # columns of Parquet that are read at once: what pyarrow keeps of more does not fit into the caches

Parts = Iterable[Any]  # Arrow's batches of the same rows, each with other columns


class ArrowBatches:
    """The rows of one file; `format` is "parquet" or "arrow"."""

    @no_search()
    def __init__(self, opened: Opened, format: str) -> None:
        self.pa = optional("pyarrow", f"reading {'Parquet' if format == 'parquet' else 'Arrow'}", "files")
        self.opened = opened
        self.total: int | None = None  # rows; None for a stream, whose batches come only once
        self._taken: list[_Rows] = []  # those that were looked at, and need not be read again
        self._rest: Iterator[Parts] | None = None  # what follows them, if any were taken
        self._batches: Callable[[list[str]], Iterator[Parts]]  # of some columns, with at most `_most` rows each
        try:
            self._open(format)
        except self.pa.ArrowInvalid as error:
            raise StreamError(f"{format} data", str(error), file=opened.name) from error
        names, types = self.arrow_schema.names, self.arrow_schema.types
        number_of: dict[Any, int] = {}
        numbers = [number_of.setdefault(type, len(number_of)) for type in types]  # as types are slow to compare
        is_number = [self._is_number(type) for type in number_of]
        self._type_of = dict(zip(names, numbers, strict=True))  # by name, in `_types`
        self._types = list(number_of)
        self._most = max(FEWEST_ROWS, min(ROWS, VALUES // max(1, len(names))))
        self.schema = Schema(names, [is_number[number] for number in numbers])

    @no_search()
    def sample(self) -> Sample:
        """The first rows, as text and, where they are, as numbers."""
        names = self.schema.names
        numeric = [name for name, is_number in zip(*self.schema, strict=True) if is_number]
        usable = [self._is_number(type) or self._is_text(type) for type in self._types]
        kept = [name for name, type in self._type_of.items() if usable[type]]
        most = min(INFERRED, max(FEWEST_ROWS, SAMPLED // max(1, len(names))))
        batches, taken, rows = self._batches(names), [], 0
        while rows < most and (parts := next(batches, None)) is not None:
            taken.append(self._read(parts, numeric, kept))
            rows += len(taken[-1].numbers)
        further = [] if self.total is not None else list(islice(batches, 1))
        ended = rows == self.total if self.total is not None else not further
        if ended or self.total is None:
            self._taken, self._rest = taken, chain(further, batches)
        whole, rows = ended and rows <= most, min(rows, most)
        texts: dict[str, Texts] = dict.fromkeys(names, [None] * rows)  # what lists and the like stay
        for name in kept:
            texts[name] = list(chain.from_iterable(one.texts[name] for one in taken))[:rows]
        numbers = np.concatenate([np.empty((0, len(numeric))), *(one.numbers for one in taken)])[:rows]
        lists = frozenset(names).difference(kept)
        return Sample(rows, whole, texts, dict(zip(numeric, numbers.T, strict=True)), lists)

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` has for each name whether it is a number (n), text (t) or skipped (-)."""
        wanted = [name for name in self.schema.names if kinds.get(name, "-") != "-"]
        names = [name for name in wanted if kinds[name] == "n"]
        written = [name for name in wanted if kinds[name] == "t"]
        self._check(names, written)
        row = 0
        try:
            for rows in self._all_rows(names, written):
                lines = np.arange(row + 1, row + len(rows.numbers) + 1)
                row += len(lines)
                if self.total:
                    self.opened.share = row / self.total
                yield Table(self.opened.name, lines, names, rows.numbers, rows.texts, "row")
        except (self.pa.ArrowInvalid, OSError) as error:
            name, found = self.opened.name, str(error)
            raise StreamError("data that is whole", found, file=name, line=row + 1, unit="row") from error

    def _all_rows(self, names: list[str], written: list[str]) -> Iterator["_Rows"]:
        """The rows that were looked at, then those that were not."""
        while self._taken:
            yield self._taken.pop(0).of(names, written)
        batches = self._batches([*names, *written]) if self._rest is None else self._rest
        for parts in batches:
            yield self._read(parts, names, written)

    def _open(self, format: str) -> None:
        opened = self.opened
        is_stream = format == "arrow" and not opened.peek(6).startswith(b"ARROW1")
        if is_stream:
            reader = self.pa.ipc.open_stream(opened.file)
            self.arrow_schema = reader.schema
            self._batches = lambda wanted: self._cut(reader)
            return
        if opened.path is None or opened.compressed:
            what = "Parquet" if format == "parquet" else "an Arrow file"
            how = "an Arrow stream" if format == "arrow" else "CSV or an Arrow stream"
            raise ValueError(
                f"{opened.name}: {what} needs random access, so it must be an uncompressed file on disk; for a pipe "
                f"or compressed data use {how}."
            )
        if format == "parquet":
            from pyarrow import parquet  # noqa: PLC0415

            file = parquet.ParquetFile(opened.path, pre_buffer=False)
            self.arrow_schema, self.total = file.schema_arrow, file.metadata.num_rows
            self._batches = lambda wanted: self._of_parquet(file, wanted)
        else:
            ipc = self.pa.ipc.open_file(self.pa.memory_map(str(opened.path)))
            self.arrow_schema = ipc.schema
            self.total = sum(ipc.get_batch(k).num_rows for k in range(ipc.num_record_batches))
            self._batches = lambda wanted: self._cut(ipc.get_batch(k) for k in range(ipc.num_record_batches))

    def _cut(self, batches: Iterable[Any]) -> Iterator[Parts]:
        """Batches of at most `_most` rows."""
        for batch in batches:
            for start in range(0, batch.num_rows, self._most):
                yield [batch.slice(start, self._most)]

    def _of_parquet(self, file: Any, wanted: list[str]) -> Iterator[Parts]:
        """Rows of a Parquet file; some columns after the others, each lot when it is asked for."""
        lots = [wanted[k : k + TOGETHER] for k in range(0, len(wanted), TOGETHER)]
        readers = [
            self._exactly(file.iter_batches(self._most, columns=lot, use_threads=False), file.metadata.num_rows)
            for lot in lots
        ]
        for _ in range(0, file.metadata.num_rows, self._most):
            yield (next(reader) for reader in readers)

    def _exactly(self, batches: Iterator[Any], left: int) -> Iterator[Any]:
        """The same rows in batches of `_most`: pyarrow's are shorter where a column has to be divided.

        It is not asked for more than there are: to be told so takes long if there are many columns.
        """
        held: list[Any] = []
        while left:
            count = min(left, self._most)
            left -= count
            while sum(batch.num_rows for batch in held) < count:
                if (batch := next(batches, None)) is None:
                    raise StreamError("data that is whole", "fewer rows than its header says", file=self.opened.name)
                held.append(batch)
                del batch
            whole = held[0] if len(held) == 1 else self.pa.Table.from_batches(held).combine_chunks().to_batches()[0]
            held = [whole] if whole.num_rows == count else [whole.slice(0, count), whole.slice(count)]
            del whole
            if not left:
                batches = iter(())  # so that nothing is kept while other columns are read
            yield held.pop(0)

    def _is_number(self, type: Any) -> bool:
        t = self.pa.types
        kinds = (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal, t.is_null)
        return any(kind(type) for kind in kinds)

    def _is_text(self, type: Any) -> bool:
        t = self.pa.types
        if t.is_dictionary(type):
            return self._is_text(type.value_type) or self._is_number(type.value_type)
        kinds = (t.is_string, t.is_large_string, t.is_string_view, t.is_integer, t.is_boolean, t.is_null, t.is_temporal)
        return (any(kind(type) for kind in kinds) and not t.is_duration(type)) or self._is_bytes(type)

    def _is_bytes(self, type: Any) -> bool:
        t = self.pa.types
        return any(kind(type) for kind in (t.is_binary, t.is_large_binary, t.is_fixed_size_binary))

    @no_search()
    def _read(self, parts: Parts, names: list[str], written: list[str]) -> "_Rows":
        """These columns as rows of numbers, and these as text."""
        numbers = np.empty((0, len(names)))
        texts: dict[str, list[str | None]] = {name: [] for name in written}
        place_of = {name: place for place, name in enumerate(names)}
        for part in parts:
            rows, columns = part.num_rows, dict(zip(part.schema.names, part.columns, strict=True))
            numbers = numbers if len(numbers) else np.empty((rows, len(names)))
            for group, values in self._joined_columns(columns, place_of):
                found = self._converted("n", values).reshape(len(group), rows)
                numbers[:, [place_of[name] for name in group]] = found.T
            for group, values in self._joined_columns(columns, texts):
                found = self._converted("t", values)
                texts.update((name, found[k * rows : (k + 1) * rows]) for k, name in enumerate(group))
        return _Rows(names, numbers, texts)

    def _joined_columns(self, columns: dict[str, Any], wanted: Container[str]) -> Iterator[tuple[list[str], Any]]:
        """Columns of each type one after the other: converting each by itself is slow if there are many."""
        groups: dict[int, list[str]] = {}
        for name in columns:
            if name in wanted:
                groups.setdefault(self._type_of[name], []).append(name)
        for group in groups.values():
            parts = [columns[name] for name in group]
            yield group, parts[0] if len(parts) == 1 else self.pa.concat_arrays(parts)

    def _check(self, names: list[str], written: list[str]) -> None:
        """Refuse columns of a type that cannot be read as numbers or as text."""
        is_number = [self._is_number(type) for type in self._types]
        is_text = [self._is_number(type) or self._is_text(type) for type in self._types]
        for wanted, is_it, expected, advice in (
            (names, is_number, "numbers", "convert the column, or name it in drop= or categorical="),
            (written, is_text, "text or whole numbers", "convert the column"),
        ):
            for name in wanted:
                if not is_it[self._type_of[name]]:
                    found = f"{self._types[self._type_of[name]]}: {advice}"
                    raise StreamError(expected, found, file=self.opened.name, field=name)

    def _converted(self, kind: str, values: Any) -> Any:
        if kind == "n" and values.type == self.pa.float64():
            return values.to_numpy(zero_copy_only=False)
        if kind == "n":
            if self.pa.types.is_boolean(values.type):
                values = values.cast(self.pa.int8())
            values = values.cast(self.pa.float64(), safe=False)
            return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
        if self.pa.types.is_temporal(values.type):
            if self.pa.types.is_timestamp(values.type) and values.type.tz is not None:
                values = values.cast(self.pa.timestamp(values.type.unit))  # in UTC
            values = values.cast(self.pa.string())
        if self._is_number(values.type):
            values = values.cast(self.pa.string())
        if values.type in (self.pa.string(), self.pa.large_string()):
            coded = values.dictionary_encode()  # each different text is made once
            words = np.array([*(word or None for word in coded.dictionary.to_pylist()), None], object)
            return words[coded.indices.fill_null(len(words) - 1).to_numpy()].tolist()
        if self._is_bytes(values.type):
            return [text_of(value) if value else None for value in values.to_pylist()]
        return [None if value is None or value == "" else str(value) for value in values.to_pylist()]


def text_of(value: bytes) -> str:
    """Bytes as the text that they are, as in Parquet files whose writers do not tell text from bytes; else in hex."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"


class _Rows(NamedTuple):
    """Some rows as they were converted."""

    names: list[str]  # of the columns of numbers
    numbers: Floats
    texts: dict[str, list[str | None]]

    def of(self, names: list[str], written: list[str]) -> "_Rows":
        """The same with some of the columns."""
        numbers = self.numbers
        if names != self.names:
            place_of = {name: place for place, name in enumerate(self.names)}
            numbers = numbers[:, [place_of[name] for name in names]]
        return _Rows(names, numbers, {name: self.texts[name] for name in written})
