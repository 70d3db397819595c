"""The bytes of a model file: a safetensors file with one tensor, `state`, and the model as JSON in its metadata.

    8 bytes      length of the header, little-endian
    header       canonical JSON, padded with spaces to a multiple of 8 bytes:
                 __metadata__   format           "pocketkernel"
                                format_version   "1"
                                library_version  what wrote the file
                                model            canonical JSON; what is in it is the estimator's business
                                sha256           of the four above and the state
                 state          dtype U8, one dimension
    state        bytes of the core

Canonical: sorted keys, no spaces, ASCII, finite numbers. A file is read only if writing its contents again would give
the same bytes, so every change is noticed. The header is written here because the safetensors package orders
`__metadata__` at random, and reads it from paths only; its readers open these files.
"""

import hashlib
import io
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, BinaryIO

FORMAT = "pocketkernel"
FORMAT_VERSION = 1
LIBRARY_VERSION = version("pocketkernel")
LARGEST_HEADER = 2**25
"""Bytes of the longest header; room for a million short column names."""

MOST_BRACKETS = 2_000_000
"""Lists and objects that a header may open: parsing takes memory for each."""

SMALL_STATE = 2**26
"""Bytes that may be read before it is known what they are."""

_LENGTH = 8
_BEGIN = b'{"__metadata__":{"format":"pocketkernel"'
_LONGEST_INTEGER = 20  # digits of 2**64, and more than any count here has


class ModelFileError(ValueError):
    """A model file, or the bytes of one, that cannot be read; the message says why."""


@dataclass(frozen=True)
class Contents:
    """What a model file holds."""

    model: dict[str, Any]
    state: bytes


# ---- JSON -----------------------------------------------------------------------------------------------------------


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError(f"an integer of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text[:20]} is beyond every float")
    return value


def _constant(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    object_ = dict(pairs)
    if len(object_) < len(pairs):
        raise ValueError("a key that occurs twice")
    return object_


def _parse(text: str, what: str, *, canonical: bool = False) -> dict[str, Any]:
    """The JSON object that a text holds, without anything JSON does not have."""
    try:
        value = json.loads(
            text, parse_int=_integer, parse_float=_finite, parse_constant=_constant, object_pairs_hook=_object
        )
        if canonical and text != _canonical(value):
            raise ValueError("not written as pocketkernel writes it")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the model file is damaged: its {what} is not proper JSON ({error}).") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"the model file is damaged: its {what} is not a JSON object.")
    return value


# ---- bytes ----------------------------------------------------------------------------------------------------------


def encode(contents: Contents) -> bytes:
    """The file that holds the contents."""
    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "library_version": LIBRARY_VERSION,
        "model": _canonical(contents.model),
    }
    header = _header(metadata | {"sha256": _sha256(metadata, contents.state)}, len(contents.state))
    if len(header) > LARGEST_HEADER:
        raise ValueError(
            f"the description of this model takes {len(header)} bytes, a file has room for {LARGEST_HEADER}: "
            "use shorter names of columns."
        )
    return b"".join((len(header).to_bytes(_LENGTH, "little"), header, contents.state))


Accept = Callable[[dict[str, Any], int], None]
"""Looks at a model and the size of its state before the state is read, and raises ModelFileError if they cannot be."""


def decode(data: bytes, accept: Accept) -> Contents:
    """What the bytes of a file hold, or ModelFileError."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a model is read from bytes, not from {type(data).__name__}; pocketkernel.load reads a path.")
    data = bytes(data)
    return _read(io.BytesIO(data), len(data), accept)


def _read(file: BinaryIO, size: int, accept: Accept) -> Contents:
    """Contents of a file of `size` bytes. Never reads further than it has been promised something good."""
    if size == 0:
        raise ModelFileError("the model file is empty.")
    length = int.from_bytes(file.read(_LENGTH), "little")
    end = _LENGTH + length
    if size < end or length > LARGEST_HEADER:
        begin = file.read(len(_BEGIN))
        ours = _BEGIN.startswith(begin)
        if ours and length <= LARGEST_HEADER:
            raise ModelFileError(f"the model file is truncated: its header has {length} bytes, all of it {size}.")
        if ours and begin:
            raise ModelFileError("the model file is damaged: the length of its header is impossible.")
        raise ModelFileError("this is not a pocketkernel model file.")
    header = file.read(length)
    if not header.startswith(_BEGIN):
        raise ModelFileError("this is not a pocketkernel model file.")
    if header.count(b"[") + header.count(b"{") > MOST_BRACKETS:
        raise ModelFileError("the model file is damaged: its header has too many parts.")
    metadata, state_size = _read_header(header)
    if size != end + state_size:
        kind = "truncated" if size < end + state_size else "damaged"
        raise ModelFileError(f"the model file is {kind}: it should have {end + state_size} bytes, and has {size}.")
    if state_size > SMALL_STATE:  # else the sum comes first: it tells damage from what was never possible
        accept(_parse(metadata["model"], "model", canonical=True), state_size)
    state = file.read(state_size)
    sha256 = metadata.pop("sha256")
    if len(state) != state_size or sha256 != _sha256(metadata, state):
        raise ModelFileError("the model file is damaged or was edited by hand: its contents are not what was saved.")
    if header != _header(metadata | {"sha256": sha256}, state_size):
        raise ModelFileError("the model file was edited by hand: its header is not written as pocketkernel writes it.")
    model = _parse(metadata["model"], "model", canonical=True)
    accept(model, state_size)
    return Contents(model, state)


def _read_header(header: bytes) -> tuple[dict[str, str], int]:
    """Metadata, all there and of a version that is known, and the size of the state."""
    if not header.isascii():
        raise ModelFileError("this is not a pocketkernel model file: its header is not in ASCII.")
    tensors = _parse(header.decode("ascii"), "header")
    metadata = tensors.pop("__metadata__", None)
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ModelFileError("this is not a pocketkernel model file: its metadata does not say so.")
    if not all(isinstance(value, str) for value in metadata.values()):
        raise ModelFileError("the model file is damaged: its metadata is not text.")
    format_version = metadata.get("format_version", "")
    if not (format_version.isdecimal() and len(format_version) < _LONGEST_INTEGER):
        raise ModelFileError("the model file is damaged: its format_version is no number.")
    if int(format_version) > FORMAT_VERSION:
        writer = metadata.get("library_version", "an unknown version")[:40]
        raise ModelFileError(
            f"the model file was written by a newer version, pocketkernel {writer} (file format {format_version}, "
            f"known here: {FORMAT_VERSION}): update pocketkernel."
        )
    expected = {"format", "format_version", "library_version", "model", "sha256"}
    if format_version != str(FORMAT_VERSION) or metadata.keys() != expected:
        raise ModelFileError("the model file is damaged: its metadata is not that of a model.")
    state = tensors.pop("state", None)
    shape = state.get("shape") if isinstance(state, dict) else None
    if tensors or not isinstance(shape, list) or len(shape) != 1 or type(shape[0]) is not int or shape[0] < 0:
        raise ModelFileError("the model file is damaged: it should hold one tensor, its state.")
    return metadata, shape[0]


def _header(metadata: dict[str, str], state_size: int) -> bytes:
    state = {"dtype": "U8", "shape": [state_size], "data_offsets": [0, state_size]}
    header = _canonical({"__metadata__": metadata, "state": state}).encode("ascii")
    return header + b" " * (-len(header) % _LENGTH)


def _sha256(metadata: dict[str, str], state: bytes) -> str:
    digest = hashlib.sha256(_canonical(metadata).encode("ascii"))
    digest.update(state)
    return digest.hexdigest()


def is_plain(value: Any) -> bool:
    """Whether a file can hold the value as it is: None, a string, a finite number that fits into 64 bits."""
    if type(value) is int:
        return -(2**63) <= value < 2**64
    return value is None or type(value) in (bool, str) or (type(value) is float and value - value == 0)


# ---- files ----------------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], accept: Accept) -> Contents:
    """Contents of a file."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe would keep us waiting; `open` names a directory
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
