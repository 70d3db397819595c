"""Keys: reading them from what callers have, and writing them as bytes."""

from collections.abc import Sequence
from reprlib import repr as short
from typing import Any

import numpy as np

Key = str | bytes | int

KINDS: dict[str, type] = {"int": int, "str": str, "bytes": bytes}


def read_keys(given: Any) -> list[Key]:
    """The keys of some rows as plain str, bytes or int.

    Arrays, data frame columns and Arrow columns are read, and plain sequences.
    """
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow; Polars and pandas; NumPy
        if hasattr(given, method):
            keys = getattr(given, method)()
            break
    else:
        if isinstance(given, str | bytes | bytearray) or not isinstance(given, Sequence):
            raise ValueError(f"keys is of type {type(given).__name__}, {short(given)}: give one key per row.")
        keys = [key.item() if isinstance(key, np.generic) else key for key in given]
    if not isinstance(keys, list):
        raise ValueError(f"keys has no rows, {short(given)}: give one key per row.")
    return keys


def kind_of(keys: list[Any]) -> str:
    """The one kind of these keys; ValueError if there are several or others than str, bytes and int."""
    types = set(map(type, keys))
    for name, kind in KINDS.items():
        if types == {kind}:
            return name
    odd = next(key for key in keys if type(key) not in KINDS.values() or type(key) is not type(keys[0]))
    raise ValueError(f"keys holds {short(odd)} of type {type(odd).__name__}: keys are all str, all bytes or all int.")


def encode_keys(keys: list[Any], kind: str) -> bytes:
    """Keys as bytes, for `decode_keys`."""
    if kind == "int":
        return np.array(keys, dtype="<i8").tobytes()
    words = [key.encode("utf-8", "surrogatepass") for key in keys] if kind == "str" else keys
    return np.array([len(word) for word in words], dtype="<u4").tobytes() + b"".join(words)


def decode_keys(data: bytes, kind: str, count: int) -> list[Key]:
    """The keys that `encode_keys` wrote; ValueError if there are not so many."""
    size = 8 if kind == "int" else 4
    numbers: list[Any] = np.frombuffer(data[: size * count], dtype="<i8" if kind == "int" else "<u4").tolist()
    if len(numbers) != count:
        raise ValueError("fewer keys than there should be")
    rest = data[size * count :]
    if len(rest) != (0 if kind == "int" else sum(numbers)):
        raise ValueError("keys of other lengths than there should be")
    if kind == "int":
        return numbers
    keys: list[Key] = []
    at = 0
    for length in numbers:
        word = rest[at : at + length]
        keys.append(word.decode("utf-8", "surrogatepass") if kind == "str" else word)
        at += length
    return keys


def refuse_large(keys: list[int]) -> None:
    """Refuse integers that do not fit into 64 bits, with a sign."""
    try:
        np.array(keys, dtype=np.int64)
    except OverflowError:
        raise ValueError("keys holds an integer beyond 64 bits: use str keys for such numbers.") from None


def key_to_json(key: Key) -> str | int:
    """A key as a value in JSON."""
    return key.hex() if isinstance(key, bytes) else key


def key_of_json(value: Any, kind: str) -> Key:
    """The key that `key_to_json` wrote."""
    key: Key = bytes.fromhex(value) if kind == "bytes" else value
    return key
