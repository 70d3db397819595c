"""The bytes of a model file: a safetensors file whose metadata holds the model as JSON, and its tensors the state.

    8 bytes      length of the header, little-endian
    header       canonical JSON, padded with spaces to a multiple of 8 bytes:
                 __metadata__   format           "pocketkernel"
                                format_version   "1" for a model alone, "2" with further data of a run
                                library_version  version of pocketkernel that wrote the file
                                model            canonical JSON; its contents are defined by the estimator
                                pipeline         (version 2) how rows are read for the model, canonical JSON
                                progress         (version 2) how far a run has come, canonical JSON
                                sha256           of all of the above, the table of tensors (version 2) and their bytes
                 state          dtype U8, one dimension: bytes of the core
                 ...            (version 2) further tensors, of dtype I64 or F64
    tensors      in the order of their names, without gaps

Canonical: sorted keys, no spaces, ASCII, finite numbers. A file is accepted only if writing its contents again gives
the same bytes, so every change is detected. The sizes in a header are compared with the size of the file before
anything is allocated. The header is written here because the safetensors package orders `__metadata__` randomly and
reads it only from paths; it can read these files.
"""

import hashlib
import io
import math
import os
import reprlib
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, BinaryIO, TypeGuard

import numpy as np
import numpy.typing as npt

from pocketkernel._json import MOST_PARTS, canonical, parse

FORMAT = "pocketkernel"
FORMAT_VERSION = 2
LIBRARY_VERSION = version("pocketkernel")
SECTIONS = ("pipeline", "progress")
"""Further sections in the file of a run."""

LARGEST_HEADER = 2**25
"""Maximum size of a header in bytes; enough for a million short column names."""

SMALL_STATE = 2**26
"""Bytes that may be read before the file type is known."""

_LENGTH = 8
_BEGIN = b'{"__metadata__":{"format":"pocketkernel"'
_LONGEST_VERSION = 20
_METADATA = {"format", "format_version", "library_version", "model", "sha256"}
_DTYPES: dict[str, np.dtype[Any]] = {"I64": np.dtype("<i8"), "F64": np.dtype("<f8"), "U8": np.dtype("u1")}

Arrays = dict[str, npt.NDArray[Any]]
Shapes = dict[str, tuple[str, list[int]]]  # dtype and shape of each tensor


class ModelFileError(ValueError):
    """A model file, or the bytes of one, that cannot be read; the message says why."""


@dataclass(frozen=True)
class Contents:
    """The contents of a model file: a model and its state; for a run also JSON sections and int64 or float64 arrays."""

    model: dict[str, Any]
    state: bytes
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)


# ---- writing --------------------------------------------------------------------------------------------------------


def encode(contents: Contents) -> bytes:
    """The file that holds the contents."""
    metadata = {
        "format": FORMAT,
        "format_version": "2" if contents.sections else "1",
        "library_version": LIBRARY_VERSION,
        "model": canonical(contents.model),
        **{name: canonical(section) for name, section in contents.sections.items()},
    }
    tensors: dict[str, tuple[str, list[int], bytes]] = {"state": ("U8", [len(contents.state)], contents.state)}
    for name, array in contents.arrays.items():
        dtype = "I64" if array.dtype.kind == "i" else "F64"
        tensors[name] = (dtype, list(array.shape), array.astype(_DTYPES[dtype]).tobytes())
    shapes = {name: (dtype, shape) for name, (dtype, shape, _) in tensors.items()}
    pieces = [tensors[name][2] for name in sorted(tensors)]
    header = _header(metadata | {"sha256": _sha256(metadata, shapes, pieces)}, shapes)
    if len(header) > LARGEST_HEADER or _parts(header) > MOST_PARTS:
        raise ValueError(
            f"the description of this model takes {len(header)} bytes, a file has room for {LARGEST_HEADER}: "
            "use fewer columns, or shorter names of columns."
        )
    return b"".join((len(header).to_bytes(_LENGTH, "little"), header, *pieces))


def _parts(header: bytes) -> int:
    return header.count(b"[") + header.count(b"{") + header.count(b",")


def _table(shapes: Shapes) -> dict[str, Any]:
    """The tensors as a header lists them."""
    table, at = {}, 0
    for name, (dtype, shape) in sorted(shapes.items()):
        end = at + _nbytes(dtype, shape)
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    return table


def _nbytes(dtype: str, shape: list[int]) -> int:
    return _DTYPES[dtype].itemsize * math.prod(shape)


def _header(metadata: dict[str, str], shapes: Shapes) -> bytes:
    header = canonical({"__metadata__": metadata, **_table(shapes)}).encode("ascii")
    return header + b" " * (-len(header) % _LENGTH)


_AT_ONCE = 2**22  # bytes, some milliseconds: Ctrl-C is answered in between


def _sha256(metadata: dict[str, str], shapes: Shapes, pieces: Iterable[bytes]) -> str:
    alone = metadata["format_version"] == "1"
    digest = hashlib.sha256(canonical(metadata if alone else [metadata, _table(shapes)]).encode("ascii"))
    for piece in pieces:
        whole = memoryview(piece)
        for at in range(0, len(whole), _AT_ONCE):
            digest.update(whole[at : at + _AT_ONCE])
    return digest.hexdigest()


# ---- reading --------------------------------------------------------------------------------------------------------

Accept = Callable[[dict[str, Any], int], None]
"""Checks a model and the size of its state before the state is read; raises ModelFileError if they are invalid."""


def decode(data: bytes, accept: Accept) -> Contents:
    """Decode the bytes of a file, or raise ModelFileError."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a model is read from bytes, not from {type(data).__name__}; pocketkernel.load reads a path.")
    data = bytes(data)
    return _read(io.BytesIO(data), len(data), accept)


def _read(file: BinaryIO, size: int, accept: Accept) -> Contents:
    """Contents of a file of `size` bytes. Reads each part only after the parts before it have been checked."""
    if size == 0:
        raise ModelFileError("the model file is empty.")
    length = int.from_bytes(file.read(_LENGTH), "little")
    end = _LENGTH + length
    if size < end or length > LARGEST_HEADER:
        begin = file.read(len(_BEGIN))
        ours = _BEGIN.startswith(begin)
        if ours and length <= LARGEST_HEADER:
            raise ModelFileError(f"the model file is truncated: its header needs {length} bytes, it has {size}.")
        if ours and begin:
            raise ModelFileError("the model file is damaged: the length of its header is invalid.")
        raise ModelFileError("this is not a pocketkernel model file.")
    header = file.read(length)
    if not header.startswith(_BEGIN):
        raise ModelFileError("this is not a pocketkernel model file.")
    if _parts(header) > MOST_PARTS:
        raise ModelFileError("the model file is damaged: its header has too many parts.")
    metadata, shapes = _read_header(header)
    sizes = {name: _nbytes(*shapes[name]) for name in sorted(shapes)}
    whole, state_size = end + sum(sizes.values()), sizes["state"]
    if size != whole:
        kind = "truncated" if size < whole else "damaged"
        raise ModelFileError(f"the model file is {kind}: it should have {whole} bytes, but has {size}.")
    if whole - end - state_size > SMALL_STATE:
        raise ModelFileError("the model file is damaged: its tensors are too large.")
    if state_size > SMALL_STATE:  # else the checksum is tested first: it distinguishes damage from invalid contents
        accept(_section(metadata, "model"), state_size)
    pieces = {name: file.read(nbytes) for name, nbytes in sizes.items()}
    sha256 = metadata.pop("sha256")
    if any(len(pieces[name]) != sizes[name] for name in sizes) or sha256 != _sha256(metadata, shapes, pieces.values()):
        raise ModelFileError("the model file is damaged or was edited by hand: its contents are not what was saved.")
    if header != _header(metadata | {"sha256": sha256}, shapes):
        raise ModelFileError("the model file was edited by hand: its header is not written as pocketkernel writes it.")
    model = _section(metadata, "model")
    accept(model, state_size)
    sections = {name: _section(metadata, name) for name in SECTIONS if name in metadata}
    state = pieces.pop("state")
    arrays = {
        name: np.frombuffer(piece, dtype := _DTYPES[shapes[name][0]])
        .reshape(shapes[name][1])
        .astype(dtype.newbyteorder("="))
        for name, piece in pieces.items()
    }
    return Contents(model, state, sections, arrays)


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        value = parse(text)
    except ValueError as error:
        raise ModelFileError(f"the model file is damaged: its {what} is not proper JSON ({error}).") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"the model file is damaged: its {what} is not a JSON object.")
    return value


def _section(metadata: dict[str, str], name: str) -> dict[str, Any]:
    """A JSON object of the metadata, written as `encode` writes it."""
    value = _object(metadata[name], name)
    try:
        same = canonical(value) == metadata[name]
    except RecursionError:
        same = False
    if not same:
        raise ModelFileError(
            f"the model file is damaged: its {name} is not proper JSON (not written as pocketkernel writes it)."
        )
    return value


def _read_header(header: bytes) -> tuple[dict[str, str], Shapes]:
    """Complete metadata of a known version, and the shapes of the tensors."""
    if not header.isascii():
        raise ModelFileError("this is not a pocketkernel model file: its header is not in ASCII.")
    tensors = _object(header.decode("ascii"), "header")
    metadata = tensors.pop("__metadata__", None)
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ModelFileError("this is not a pocketkernel model file: its metadata does not say so.")
    if not all(isinstance(value, str) for value in metadata.values()):
        raise ModelFileError("the model file is damaged: its metadata is not text.")
    format_version = metadata.get("format_version", "")
    if not (format_version.isdecimal() and len(format_version) < _LONGEST_VERSION):
        raise ModelFileError("the model file is damaged: its format_version is not a number.")
    if int(format_version) > FORMAT_VERSION:
        writer = metadata.get("library_version", "an unknown version")[:40]
        raise ModelFileError(
            f"the model file was written by a newer version, pocketkernel {writer} (file format {format_version}, "
            f"known here: {FORMAT_VERSION}): update pocketkernel."
        )
    sections = metadata.keys() - _METADATA
    if not (
        metadata.keys() >= _METADATA and sections <= set(SECTIONS) and format_version == ("2" if sections else "1")
    ):
        raise ModelFileError("the model file is damaged: its metadata is not that of a model.")
    shapes = {name: _shape(name, tensor) for name, tensor in tensors.items()}
    if "state" not in shapes or (len(shapes) > 1 and not sections):
        raise ModelFileError("the model file is damaged: it should hold one tensor, its state.")
    return metadata, shapes


def _shape(name: str, tensor: Any) -> tuple[str, list[int]]:
    """Dtype and shape of a tensor: the state is one row of bytes, all others have 64-bit numbers."""
    dtypes, ranks = (("U8",), (1,)) if name == "state" else (("I64", "F64"), (0, 1, 2))
    dtype, shape = (tensor.get("dtype"), tensor.get("shape")) if isinstance(tensor, dict) else (None, None)
    if isinstance(dtype, str) and dtype in dtypes and _is_shape(shape, ranks):
        return dtype, shape
    raise ModelFileError(f"the model file is damaged: its tensor {reprlib.repr(name)} is invalid.")


def _is_shape(shape: Any, ranks: tuple[int, ...]) -> TypeGuard[list[int]]:
    return isinstance(shape, list) and len(shape) in ranks and all(type(n) is int and 0 <= n < 2**40 for n in shape)


def below(prefix: str, arrays: Mapping[str, Any]) -> Arrays:
    """The arrays whose names have this prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def is_plain(value: Any) -> bool:
    """Whether a file can store the value exactly: None, a string, or a finite number that fits into 64 bits."""
    if type(value) is int:
        return -(2**63) <= value < 2**64
    return value is None or type(value) in (bool, str) or (type(value) is float and value - value == 0)


# ---- files ----------------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], accept: Accept) -> Contents:
    """Contents of a file."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # reading a pipe would block; `open` reports a directory by name
        raise ModelFileError("this is neither a file nor a link to one.")
    with open(path, "rb") as file:
        return _read(file, os.fstat(file.fileno()).st_size, accept)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the path before the message of a ModelFileError."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
