"""Parquet files, and Arrow's files and streams, through pyarrow: batch by batch."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

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


class ArrowBatches:
    """The rows of one file; `format` is "parquet" or "arrow"."""

    @no_search()
    def __init__(self, opened: Opened, format: str) -> None:
        self.pa = optional("pyarrow", f"reading {'Parquet' if format == 'parquet' else 'Arrow'}", "files")
        self.opened = opened
        self.total = 0
        self._once = False  # whether batches come only once
        self._taken: list[_Rows] = []  # those that were looked at, and need not be read again
        self._all = False  # whether there are no others
        self._batches: Callable[[list[str]], Iterable[Any]]
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
        self._rows = max(FEWEST_ROWS, min(ROWS, VALUES // max(1, len(names))))  # at once
        self.schema = Schema(names, [is_number[number] for number in numbers])

    @no_search()
    def sample(self) -> Sample:
        """The first rows, as text and, where they are, as numbers."""
        names = self.schema.names
        usable = [self._is_number(type) or self._is_text(type) for type in self._types]
        kept = [name for name, type in self._type_of.items() if usable[type]]
        batches, taken, rows = iter(self._batches(names)), [], 0
        most = min(INFERRED, max(FEWEST_ROWS, SAMPLED // max(1, len(names))))
        while rows < most and (batch := next(batches, None)) is not None:
            taken.append(_Rows(batch))
            rows += batch.num_rows
        further = next(batches, None)
        self._all = further is None and not self._once
        if self._once or self._all:
            self._taken = taken if further is None else [*taken, _Rows(further)]
        sampled = min(rows, most)
        numeric = [name for name, is_number in zip(*self.schema, strict=True) if is_number]
        numbers, texts = [], []
        for batch in taken:
            part = batch.slice(0, most)
            most -= len(part)
            numbers.append(self._numbers(numeric, part))
            texts.append(self._texts(kept, part))
        lists = frozenset(names).difference(kept)
        found: dict[str, Texts] = {name: [None] * sampled if name in lists else [] for name in names}
        found.update(texts[0] if texts else {})
        for further_texts in texts[1:]:
            found.update((name, [*found[name], *column]) for name, column in further_texts.items())
        columns = np.concatenate(numbers).T if numbers else np.empty((len(numeric), 0))
        whole = further is None and rows == sampled
        return Sample(sampled, whole, found, dict(zip(numeric, columns, strict=True)), lists)

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` has for each name whether it is a number (n), text (t) or skipped (-)."""
        wanted = [name for name in self.schema.names if kinds.get(name, "-") != "-"]
        names = [name for name in wanted if kinds[name] == "n"]
        written = [name for name in wanted if kinds[name] == "t"]
        row = 0
        try:
            for batch in self._all_rows(wanted):
                for start in range(0, len(batch), self._rows):
                    part = batch.slice(start, self._rows)
                    numbers, texts = self._numbers(names, part), self._texts(written, part)
                    lines = np.arange(row + 1, row + len(part) + 1)
                    row += len(part)
                    if self.total:
                        self.opened.share = row / self.total
                    yield Table(self.opened.name, lines, names, numbers, texts, "row")
        except (self.pa.ArrowInvalid, OSError) as error:
            name, found = self.opened.name, str(error)
            raise StreamError("data that is whole", found, file=name, line=row + 1, unit="row") from error

    def _all_rows(self, wanted: list[str]) -> Iterator["_Rows"]:
        """The rows that were looked at, then those that were not."""
        while self._taken:
            yield self._taken.pop(0)
        batches = iter(() if self._all else self._batches(wanted))
        while True:
            with no_search():
                batch = next(batches, None)
            if batch is None:
                return
            yield _Rows(batch)

    def _open(self, format: str) -> None:
        opened = self.opened
        is_stream = format == "arrow" and not opened.peek(6).startswith(b"ARROW1")
        if is_stream:
            reader = self.pa.ipc.open_stream(opened.file)
            self.arrow_schema = reader.schema
            self._once, self._batches = True, lambda wanted: reader
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
            width = len(self.arrow_schema.names)
            self._batches = lambda wanted: _first_rows(
                self.total,
                file.iter_batches(  # names of all columns are slow to look up
                    self._rows, columns=None if len(wanted) == width else wanted, use_threads=False
                ),
            )
        else:
            ipc = self.pa.ipc.open_file(self.pa.memory_map(str(opened.path)))
            self.arrow_schema = ipc.schema
            self.total = sum(ipc.get_batch(k).num_rows for k in range(ipc.num_record_batches))
            self._batches = lambda wanted: (ipc.get_batch(k) for k in range(ipc.num_record_batches))

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
    def _numbers(self, names: list[str], rows: "_Rows") -> Floats:
        """These columns as rows of numbers."""
        if rows.numbers is not None and rows.numbers[0] == names:
            return rows.numbers[1]
        numbers = np.empty((len(rows), len(names)))
        place_of = {name: place for place, name in enumerate(names)}
        for group, values in self._joined(names, rows):
            columns = self._converted(group[0], "n", values).reshape(len(group), -1)
            numbers[:, [place_of[name] for name in group]] = columns.T
        rows.numbers = names, numbers
        return numbers

    @no_search()
    def _texts(self, names: list[str], rows: "_Rows") -> dict[str, list[str | None]]:
        """These columns of text."""
        count = len(rows)
        for group, values in self._joined([name for name in names if name not in rows.texts], rows):
            found = self._converted(group[0], "t", values)
            rows.texts.update((name, found[k * count : (k + 1) * count]) for k, name in enumerate(group))
        return {name: rows.texts[name] for name in names}

    def _joined(self, names: list[str], rows: "_Rows") -> Iterator[tuple[list[str], Any]]:
        """Columns of each type one after the other: converting each by itself is slow if there are many."""
        groups: list[list[str]] = [[] for _ in self._types]
        for name in names:
            groups[self._type_of[name]].append(name)
        for group in filter(None, groups):
            parts = [rows.columns[name] for name in group]
            yield group, parts[0] if len(parts) == 1 else self.pa.concat_arrays(parts)

    def _converted(self, name: str, kind: str, values: Any) -> Any:
        if kind == "n" and values.type == self.pa.float64():
            return values.to_numpy(zero_copy_only=False)
        if kind == "n" and self._is_number(values.type):
            if self.pa.types.is_boolean(values.type):
                values = values.cast(self.pa.int8())
            values = values.cast(self.pa.float64(), safe=False)
            return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
        if self.pa.types.is_temporal(values.type) and kind == "t" and self._is_text(values.type):
            if self.pa.types.is_timestamp(values.type) and values.type.tz is not None:
                values = values.cast(self.pa.timestamp(values.type.unit))  # in UTC
            values = values.cast(self.pa.string())
        if kind == "t" and self._is_number(values.type):
            values = values.cast(self.pa.string())
        if kind == "t" and values.type in (self.pa.string(), self.pa.large_string()):
            coded = values.dictionary_encode()  # each different text is made once
            words = np.array([*(word or None for word in coded.dictionary.to_pylist()), None], object)
            return words[coded.indices.fill_null(len(words) - 1).to_numpy()].tolist()
        if kind == "t" and self._is_bytes(values.type):
            return [text_of(value) if value else None for value in values.to_pylist()]
        if kind == "t" and self._is_text(values.type):
            return [None if value is None or value == "" else str(value) for value in values.to_pylist()]
        expected = "numbers" if kind == "n" else "text or whole numbers"
        advice = ": convert the column, or name it in drop= or categorical=" if kind == "n" else ": convert the column"
        raise StreamError(expected, f"{values.type}{advice}", file=self.opened.name, field=name)


def text_of(value: bytes) -> str:
    """Bytes as the text that they are, as in Parquet files whose writers do not tell text from bytes; else in hex."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"


class _Rows:
    """Some rows of a batch, and what they were converted to, so that it is done once."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self.numbers: tuple[list[str], Floats] | None = None  # names and columns
        self.texts: dict[str, list[str | None]] = {}

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Arrow's arrays by name."""
        return dict(zip(self.batch.schema.names, self.batch.columns, strict=True))

    def slice(self, start: int, most: int) -> "_Rows":
        """At most so many of the rows; the same object if these are all."""
        return self if start == 0 and len(self) <= most else _Rows(self.batch.slice(start, most))


def _first_rows(count: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Batches up to this many rows: to be told that there are no more takes pyarrow long if there are many columns."""
    for batch in batches:
        yield batch
        count -= batch.num_rows
        if count <= 0:
            return
