"""What a model needs besides itself to read further files: how rows were encoded and scaled.

It is kept as `pipeline.json` beside the model file, and says by a checksum to which model it belongs.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from pocketkernel._files import write_atomically
from pocketkernel.loading import load
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import SCALERS, Block, Scaler, Stream, open_stream
from pocketkernel.stream.block import is_sparse
from pocketkernel.stream.files import Source

KIND = "pocketkernel pipeline"
VERSION = 1
MODEL = "model.safetensors"
PIPELINE = "pipeline.json"
MOST_DENSE = 1 << 25
"""Numbers in a block that may be made dense."""


@dataclass
class Pipeline:
    """How rows are read and scaled for a model.

    Attributes
    ----------
    n_features : int
        Columns of a row.
    feature_names : list of str or None
        Their names.
    encoding : dict or None
        `Encoding.to_dict()` of a table; None for LIBSVM text.
    scaler : Scaler or None
        What it has learned.
    reading : dict
        Options of `open_stream` that say how a file is cut into fields: format, delimiter, header, columns.
    """

    n_features: int
    feature_names: list[str] | None = None
    encoding: dict[str, Any] | None = None
    scaler: Scaler | None = None
    reading: dict[str, Any] = field(default_factory=dict)

    def open(self, source: Source, *, block: int = 4096, **reading: Any) -> Stream:
        """Open further files, with or without labels, as those that the model has learned.

        Parameters
        ----------
        source, block
            As for `open_stream`.
        **reading
            Options that differ this time, of `reading`.
        """
        options = {**self.reading, **{name: value for name, value in reading.items() if value is not None}}
        if self.encoding is None:
            return open_stream(
                source, **{**options, "format": "libsvm"}, label=False, n_features=self.n_features, block=block
            )
        return open_stream(source, **options, label=False, encoding=self.encoding, block=block)

    def rows(self, stream: Stream) -> Iterator[Any]:
        """Rows of a stream, scaled, block by block. Learns nothing."""
        for block in stream.blocks():
            yield block.X if self.scaler is None else self.scaler.transform(ready(block, self.scaler))

    def write(self, path: str | os.PathLike[str], model: bytes) -> None:
        """Write it to a file, for the model of these bytes."""
        about = {
            "kind": KIND,
            "version": VERSION,
            "model_sha256": hashlib.sha256(model).hexdigest(),
            "n_features": self.n_features,
            "feature_names": self.feature_names,
            "reading": self.reading,
            "encoding": self.encoding,
            "scaler": None if self.scaler is None else scaler_to_dict(self.scaler),
        }
        write_atomically(path, json.dumps(about, ensure_ascii=True, indent=1, allow_nan=False).encode("utf-8") + b"\n")

    @classmethod
    def read(cls, path: str | os.PathLike[str], model: bytes | None = None) -> Self:
        """Read it from a file; it must belong to the model of these bytes, if they are given."""
        path = Path(path)
        try:
            about = json.loads(path.read_bytes())
            if not isinstance(about, dict) or about.get("kind") != KIND:
                raise ValueError(f"it does not say kind={KIND!r}")
            if about.get("version") != VERSION:
                raise ValueError(f"it has version {about.get('version')!r}, and this program reads version {VERSION}")
            scaler = about["scaler"]
            self = cls(
                int(about["n_features"]),
                about["feature_names"],
                about["encoding"],
                None if scaler is None else scaler_of_dict(scaler),
                dict(about["reading"]),
            )
            checksum = about["model_sha256"]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path} cannot be used: {error}.") from None
        if model is not None and hashlib.sha256(model).hexdigest() != checksum:
            raise ModelFileError(f"{path} belongs to another model than the {MODEL} beside it.")
        return self


def scaler_to_dict(scaler: Scaler) -> dict[str, Any]:
    """A scaler as JSON can hold it, to the last bit."""
    return {"kind": scaler.kind, **{name: array.tolist() for name, array in scaler.get_state().items()}}


def scaler_of_dict(written: dict[str, Any]) -> Scaler:
    """The scaler that was written."""
    state = {name: np.array(value) for name, value in written.items() if name != "kind"}
    return SCALERS[written["kind"]]().set_state(state)


def ready(block: Block, scaler: Scaler) -> Any:
    """Rows in a form that the scaler takes: all but OnlineMaxAbs need them dense."""
    if not is_sparse(block.X) or scaler.kind == "maxabs":
        return block.X
    if len(block) * block.X.shape[1] > MOST_DENSE:
        raise ValueError(
            f"{scaler.kind!r} needs dense rows, and blocks of {len(block):,} rows of {block.X.shape[1]:,} columns are "
            "too large: scale by 'maxabs', which keeps zeros, or use smaller blocks."
        )
    return block.X.toarray()


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
        what = f"holds no {MODEL}: it is no folder of a finished run" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"{path} {what}.")
    model = load(file)
    beside = file.parent / PIPELINE
    return model, Pipeline.read(beside, file.read_bytes()) if beside.exists() else None, file
