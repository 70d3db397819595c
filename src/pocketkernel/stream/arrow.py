"""Parquet files, and Arrow's files and streams, through pyarrow: batch by batch."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from pocketkernel._optional import optional
from pocketkernel.stream.errors import StreamError
from pocketkernel.stream.files import Opened
from pocketkernel.stream.infer import Sample
from pocketkernel.stream.table import INFERRED, Floats, Schema, Table, side_by_side
from pocketkernel.stream.values import Texts

ROWS = 4096


class ArrowBatches:
    """The rows of one file; `format` is "parquet" or "arrow"."""

    def __init__(self, opened: Opened, format: str) -> None:
        self.pa = optional("pyarrow", f"reading {'Parquet' if format == 'parquet' else 'Arrow'}", "files")
        self.opened = opened
        self.total = 0
        self._once = False  # whether batches come only once
        self._taken: list[Any] = []  # those that were looked at
        self._batches: Callable[[list[str]], Iterable[Any]]
        try:
            self._open(format)
        except self.pa.ArrowInvalid as error:
            raise StreamError(f"{format} data", str(error), file=opened.name) from error
        self.schema = Schema(self.arrow_schema.names, [self._is_number(field.type) for field in self.arrow_schema])

    def sample(self) -> Sample:
        """The first rows, as text and, where they are, as numbers."""
        names = self.schema.names
        kept = {field.name for field in self.arrow_schema if self._is_number(field.type) or self._is_text(field.type)}
        batches, taken, rows = iter(self._batches(names)), [], 0
        while rows < INFERRED and (batch := next(batches, None)) is not None:
            taken.append(batch)
            rows += batch.num_rows
        self._taken = taken if self._once else []
        texts: dict[str, Texts] = {name: [] for name in names}
        numbers: dict[str, list[Floats]] = {name: [] for name in names}
        for batch in taken:
            part = batch.slice(0, INFERRED)
            for name, is_number in zip(*self.schema, strict=True):
                values = part.column(name)
                as_text = self._column(name, "t", values) if name in kept else [None] * len(values)
                texts[name] = [*texts[name], *as_text]
                if is_number:
                    numbers[name].append(self._column(name, "n", values))
        known = {name: np.concatenate(parts) for name, parts in numbers.items() if parts}
        return Sample(rows, next(batches, None) is None, texts, known, frozenset(names) - kept)

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """Rows as columns; `kinds` has for each name whether it is a number (n), text (t) or skipped (-)."""
        wanted = [name for name in self.schema.names if kinds.get(name, "-") != "-"]
        row = 0
        try:
            for batch in chain(self._taken, self._batches(wanted)):
                for start in range(0, batch.num_rows, ROWS):
                    part = batch.slice(start, ROWS)
                    columns = {name: self._column(name, kinds[name], part.column(name)) for name in wanted}
                    names = [name for name in wanted if kinds[name] == "n"]
                    numbers = side_by_side([columns[name] for name in names], part.num_rows)
                    texts = {name: columns[name] for name in wanted if kinds[name] == "t"}
                    lines = np.arange(row + 1, row + part.num_rows + 1)
                    row += part.num_rows
                    if self.total:
                        self.opened.share = row / self.total
                    yield Table(self.opened.name, lines, names, numbers, texts, "row")
        except (self.pa.ArrowInvalid, OSError) as error:
            name, found = self.opened.name, str(error)
            raise StreamError("data that is whole", found, file=name, line=row + 1, unit="row") from error

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
            self._batches = lambda wanted: file.iter_batches(  # names of all columns are slow to look up
                ROWS, columns=None if len(wanted) == width else wanted, use_threads=False
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
        return any(kind(type) for kind in kinds) and not t.is_duration(type)

    def _column(self, name: str, kind: str, values: Any) -> Any:
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
        if kind == "t" and self._is_text(values.type):
            return [None if value is None or value == "" else str(value) for value in values.to_pylist()]
        expected = "numbers" if kind == "n" else "text or whole numbers"
        advice = ": convert the column, or name it in drop= or categorical=" if kind == "n" else ": convert the column"
        raise StreamError(expected, f"{values.type}{advice}", file=self.opened.name, field=name)
