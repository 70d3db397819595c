"""What a model needs to read further files: how rows were encoded and scaled.

It is stored in the model file, under the same checksum.
"""

import os
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, get_args

from pocketkernel._fields import Check, Fields, all_fields, is_count, is_dict, is_flag, is_text, list_of, optional
from pocketkernel.model_file import Arrays, Contents, ModelFileError, below, naming
from pocketkernel.stored import decode, estimator_of, read
from pocketkernel.stream import SCALERS, Block, Scaler, Stream, open_stream
from pocketkernel.stream.block import is_sparse
from pocketkernel.stream.delimited import is_delimiter
from pocketkernel.stream.encode import Encoding, Missing
from pocketkernel.stream.files import SUFFIXES, Source, named_format

MODEL = "model.safetensors"
PIPELINE = "pipeline"
READING: dict[str, Check] = {
    "format": lambda value: is_text(value) and value in SUFFIXES,
    "delimiter": optional(lambda value: is_text(value) and is_delimiter(value)),
    "header": optional(is_flag),
    "columns": optional(list_of(is_text)),
}
"""Options of `open_stream` that say how a file is cut into fields."""

_ARE_NAMES: Check = list_of(lambda value: type(value) in (str, int))
ASKED: dict[str, Check] = {
    **dict.fromkeys(("drop", "categorical", "numeric", "date"), _ARE_NAMES),
    **dict.fromkeys(("max_categories", "hash_width"), is_count),
    "missing": lambda value: value in get_args(Missing),
}
"""Options of `open_stream` that say what becomes of the columns of a table; the encoding is what came of them."""

_ARE_TEXTS: Check = list_of(is_text)

MOST_DENSE = 1 << 25
"""Numbers in a block that may be made dense."""


@dataclass
class Pipeline:
    """How rows are read and scaled for a model.

    Attributes
    ----------
    n_features : int
        Columns of a row.
    encoding : dict or None
        `Encoding.to_dict()` of a table; None for LIBSVM text.
    scaler : Scaler or None
        What it has learned.
    reading : dict
        Options of `open_stream` that say how a file is cut into fields: format, delimiter, header, columns.
    asked : dict
        Options of `open_stream` that were given for its columns: drop, categorical and others.
    schema : dict or None
        What became of each column of the first rows, in words, in their order; None if nothing was inferred.
    named : bool
        Whether the columns have names of their own; else they are those of an array.
    """

    n_features: int
    encoding: dict[str, Any] | None = None
    scaler: Scaler | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, str] | None = None
    named: bool = True

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of a row, if they come from a table."""
        return None if self.encoding is None else Encoding.from_dict(self.encoding).feature_names

    def open(
        self, source: Source, *, block: int = 4096, labels: bool = False, learn: bool = False, **reading: Any
    ) -> Stream:
        """Open further files, with or without labels, in the same way as those that the model has learned.

        Parameters
        ----------
        source, block
            As for `open_stream`.
        labels : bool, default=False
            Whether to read labels.
        learn : bool, default=False
            Whether the encoding goes on learning from the rows.
        **reading
            Options that differ this time, of `reading`, and on_error, classes and id of `open_stream`.
        """
        label = None if labels else False
        options = dict(self.reading)
        if isinstance(source, str | os.PathLike) and (format := named_format(os.fspath(source))):
            options["format"] = format
        if self.encoding is not None and self.encoding["words"] and options.get("header"):
            options["header"] = options["delimiter"] = None  # found again by the names of the columns
        options |= {name: value for name, value in reading.items() if value is not None}
        if self.encoding is None:
            return open_stream(
                source, **{**options, "format": "libsvm"}, label=label, n_features=self.n_features, block=block
            )
        return open_stream(source, **options, label=label, encoding=self.encoding, block=block, learn=learn)

    def rows(self, stream: Stream) -> Iterator[Any]:
        """Rows of a stream, scaled, block by block; of a pipe as they come. Learns nothing."""
        for block in self.blocks(stream):
            yield block.X

    def blocks(self, stream: Stream) -> Iterator[Block]:
        """The same with what else is known of the rows, such as their ids."""
        for block in stream.arrivals() if stream.live else stream.blocks():
            yield self.scaled(block)

    def scaled(self, block: Block) -> Block:
        """A block as the model takes it."""
        scaler = self.scaler
        return block if scaler is None else replace(block, X=scaler.transform(ready(block, scaler)))

    def written(self) -> tuple[dict[str, Any], Arrays]:
        """Everything, as a section of a model file and arrays for it."""
        section = {"reading": self.reading, "encoding": self.encoding, "scaler": self.scaler and self.scaler.kind}
        more: dict[str, Any] = {"asked": self.asked, "schema": [list(one) for one in (self.schema or {}).items()]}
        section |= {name: value for name, value in more.items() if value}
        return section | ({} if self.named else {"named": False}), scaler_arrays(self.scaler)

    @classmethod
    def of(cls, contents: Contents) -> Self | None:
        """The pipeline in a model file, if there is one; it must fit the model."""
        if PIPELINE not in contents.sections:
            return None
        given = Fields(contents.sections[PIPELINE], PIPELINE)
        reading = Fields(given.take("reading", is_dict), "pipeline.reading")
        asked = all_fields(given.take("asked", is_dict, {}), "pipeline.asked", ASKED)
        encoding = given.take("encoding", optional(is_dict))
        schema = given.take("schema", list_of(_is_pair), None)
        n_features = contents.model["n_features"]
        self = cls(
            n_features,
            encoding,
            scaler_of(given.take("scaler", optional(is_text)), contents.arrays, n_features),
            {name: reading.take(name, check) for name, check in READING.items() if name in reading},
            asked,
            schema and dict(schema),
            given.take("named", is_flag, True),
        )
        reading.end()
        given.end()
        if (encoding is None) != (self.reading.get("format") == "libsvm"):
            raise ModelFileError("pipeline.encoding and pipeline.reading.format do not fit: tables alone have one.")
        if encoding is not None and (columns := Encoding.from_dict(encoding).n_features) != n_features:
            raise ModelFileError(f"pipeline.encoding makes rows of {columns} columns, and the model has {n_features}.")
        return self


def _is_pair(value: Any) -> bool:
    """Whether it is a name and a sentence."""
    return _ARE_TEXTS(value) and len(value) == 2


def scaler_arrays(scaler: Scaler | None) -> Arrays:
    """What a scaler has learned, for a model file."""
    return {} if scaler is None else {f"scaler.{name}": array for name, array in scaler.get_state().items()}


def scaler_of(kind: str | None, arrays: Arrays, columns: int) -> Scaler | None:
    """The scaler of a model file."""
    state = below("scaler.", arrays)
    if kind is None and not state:
        return None
    if kind not in SCALERS:
        raise ModelFileError(f"scaler cannot be {reprlib.repr(kind)}.")
    scaler = SCALERS[kind]().set_state(state)
    if scaler.count < 1 or scaler.width != columns:
        raise ModelFileError(f"scaler has seen {scaler.count} rows of {scaler.width} columns, and the model {columns}.")
    return scaler


def ready(block: Block, scaler: Scaler) -> Any:
    """Rows in a form that the scaler takes: all but OnlineMaxAbs need them dense."""
    if not is_sparse(block.X) or scaler.kind == "maxabs":
        return block.X
    if len(block) * block.X.shape[1] > MOST_DENSE:
        raise ValueError(
            f"{scaler.kind!r} needs dense rows, but blocks of {len(block):,} rows of {block.X.shape[1]:,} columns are "
            "too large: use 'maxabs', which keeps zeros, or smaller blocks."
        )
    return block.X.toarray()


def from_bytes(data: bytes) -> tuple[Any, Pipeline | None]:
    """Model, and pipeline if there is one, from the bytes of a model file."""
    contents = decode(data)
    return estimator_of(contents), Pipeline.of(contents)


def load_with_pipeline(path: str | os.PathLike[str]) -> tuple[Any, Pipeline | None, Path]:
    """Model, pipeline if there is one, and the model's file, from a run's folder or the model file in it.

    Examples
    --------
    >>> model, pipeline, _ = load_with_pipeline("a9a.run")  # doctest: +SKIP
    >>> for X in pipeline.rows(pipeline.open("more.svm")):  # doctest: +SKIP
    ...     print(model.predict(X))
    """
    path = Path(path)
    file = path / MODEL if path.is_dir() else path
    if not file.exists():
        what = f"has no {MODEL}: it is not the folder of a finished run" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"{path} {what}.")
    with naming(file):
        contents = read(file)
        return estimator_of(contents), Pipeline.of(contents), file
