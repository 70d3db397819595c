"""Keys, as callers give them."""

from collections.abc import Sequence
from reprlib import repr as short
from typing import Any

import numpy as np
from narwhals.stable.v2.dependencies import get_pyarrow

from pocketkernel._core import KeyColumn

Key = str | bytes | int

KINDS: dict[str, type] = {"int": int, "str": str, "bytes": bytes}


def read_keys(given: Any) -> KeyColumn:
    """The keys of some rows, which are all str, all bytes or all int.

    Integers in NumPy arrays and data frames, and Arrow's columns, are read without a Python object for each.
    """
    column = _read_column(given)
    if column is not None:
        return column
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow; Polars and pandas; NumPy
        if hasattr(given, method):
            keys = getattr(given, method)()
            break
    else:
        if isinstance(given, str | bytes | bytearray) or not isinstance(given, Sequence):
            raise ValueError(f"keys is of type {type(given).__name__}, {short(given)}: give one key per row.")
        keys = [one_key(key) for key in given]
    if not isinstance(keys, list):
        raise ValueError(f"keys has no rows, {short(given)}: give one key per row.")
    return column_of(keys)


def one_key(given: Any) -> Any:
    """A key as it is kept: a number or text of NumPy is one of Python."""
    return given.item() if isinstance(given, np.generic) else given


def column_of(keys: list[Any]) -> KeyColumn:
    """Keys in a list; ValueError if they are not all str, all bytes or all int."""
    column = KeyColumn.of_list(keys)
    if column is None:
        odd = next(key for key in keys if type(key) not in KINDS.values() or type(key) is not type(keys[0]))
        raise ValueError(
            f"keys holds {short(odd)} of type {type(odd).__name__}: keys are all str, all bytes or all int."
        )
    return column


def blob_of(key: Key) -> bytes:
    """A key as bytes that no other key has."""
    if isinstance(key, int):
        return b"i" + key.to_bytes(8, "little", signed=True)
    return b"s" + key.encode("utf-8", "surrogatepass") if isinstance(key, str) else b"b" + key


def key_of_blob(blob: bytes) -> Key:
    """The key that `blob_of` wrote, to be shown."""
    kind, rest = blob[:1], blob[1:]
    if kind == b"i":
        return int.from_bytes(rest, "little", signed=True)
    return rest.decode("utf-8", "replace") if kind == b"s" else rest


def _read_column(given: Any) -> KeyColumn | None:
    """The keys in an array of integers or in a column of Arrow or Polars; None if it is anything else."""
    if isinstance(getattr(given, "dtype", None), np.dtype):
        numbers = np.asarray(given)
        if numbers.ndim == 1 and numbers.dtype.kind in "iu" and np.can_cast(numbers.dtype, np.int64):
            return KeyColumn.of_integers(np.ascontiguousarray(numbers, dtype=np.int64))
        return None
    pyarrow = get_pyarrow()  # None if nobody has imported it
    if pyarrow is None:
        return None
    column = given.to_arrow() if hasattr(given, "to_arrow") else given
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    return _read_arrow(column, pyarrow) if isinstance(column, pyarrow.Array) and column.null_count == 0 else None


def _read_arrow(column: Any, pa: Any) -> KeyColumn | None:
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        return KeyColumn.of_integers(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not is_text and not pa.types.is_binary(column.type) and not pa.types.is_large_binary(column.type):
        return None
    column.validate(full=True)  # that text is UTF-8
    column = column.cast(pa.large_string() if is_text else pa.large_binary())
    _, starts, data = column.buffers()
    if len(column) == 0 or data is None:
        return KeyColumn.of_list(column.to_pylist())
    ends = np.frombuffer(starts, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    some = data.slice(int(ends[0]), int(ends[-1] - ends[0])).to_pybytes()
    return KeyColumn.of_spans("str" if is_text else "bytes", some, ends - ends[0])
