"""The keys of a fleet: columns of keys, and the table that gives each key its slot."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pocketkernel import _core
from pocketkernel.fleet._keys import read_keys

KEYS = {
    "int": [0, -1, 2**63 - 1, -(2**63), 5],
    "str": ["", "a", "ü", "\0", "long" * 100, "\ud800"],
    "bytes": [b"", b"a", b"\0", b"\xff" * 300],
}


def slots_of(table, keys, unknown=-1):
    slots = np.empty(len(keys), dtype=np.int64)
    table.find(_core.KeyColumn.of_list(keys), slots, unknown)
    return slots.tolist()


@pytest.mark.parametrize("kind", KEYS)
def test_columns_hold_the_keys(kind):
    column = read_keys(KEYS[kind])
    assert (column.kind, list(column)) == (kind, KEYS[kind])
    encoded = column.encoded(len(column))
    assert list(_core.KeyColumn.decoded(encoded, kind, len(column))) == KEYS[kind]
    assert list(_core.KeyColumn.decoded(column.encoded(2), kind, 2)) == KEYS[kind][:2]
    for wrong in (encoded[:-1], encoded + b"x", b""):
        with pytest.raises(ValueError, match="keys"):
            _core.KeyColumn.decoded(wrong, kind, len(column))
    with pytest.raises(ValueError, match="keys"):
        _core.KeyColumn.decoded(encoded, kind, 2**61)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.array([1, 2], dtype=np.uint8), [1, 2]),
        (np.arange(10)[::3], [0, 3, 6, 9]),
        (np.array([1, 2], dtype=np.uint64), [1, 2]),
        (pd.Series([7, 8], index=[3, 1]), [7, 8]),
        (pd.Series(["x", "y"]), ["x", "y"]),
        (pl.Series(["x", "ü"]), ["x", "ü"]),
        (pl.Series([3, 4]), [3, 4]),
        (pa.array(["a", "bc", "def"]).slice(1), ["bc", "def"]),
        (pa.array(["a", "bc"], pa.large_string()), ["a", "bc"]),
        (pa.array([b"a", b"bc"]), [b"a", b"bc"]),
        (pa.chunked_array([["a", "bc"], ["d"]]), ["a", "bc", "d"]),
        (pa.array([1, 2], pa.int32()), [1, 2]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array(["", ""]), ["", ""]),
        (pa.array([], pa.string()), []),
        ([np.int64(3), np.int32(4)], [3, 4]),
    ],
    ids=str,
)
def test_columns_of_every_container(given, expected):
    assert list(read_keys(given)) == expected


@pytest.mark.parametrize(
    "given", [[1, "a"], [True], [1.5], [None], pa.array(["a", None]), pa.array([1, None]), np.array([1.5]), [2**63]]
)
def test_other_keys_are_refused(given):
    with pytest.raises(ValueError, match="keys holds"):
        read_keys(given)


def test_text_that_is_not_utf8_is_refused():
    buffers = pa.array([b"\xff\xfe"]).buffers()
    with pytest.raises(ValueError, match="UTF8"):
        read_keys(pa.StringArray.from_buffers(1, buffers[1], buffers[2]))


@pytest.mark.parametrize("kind", KEYS)
def test_the_table_does_what_a_dict_does(kind):
    rng = np.random.default_rng(0)
    make = {"int": int, "str": lambda n: f"key {n}" * (1 + n % 5), "bytes": lambda n: n.to_bytes(2, "big")}[kind]
    table, expected, free = _core.Keys(), {}, list(range(2000))
    for step in range(20_000):
        key = make(int(rng.integers(0, 1000 if step % 4000 < 3000 else 30)))
        assert (key in table) == (key in expected)
        if key not in expected:
            expected[key] = free.pop(int(rng.integers(0, len(free))))
            table.put(key, expected[key])
        elif rng.random() < 0.6:
            slot = expected.pop(key)
            assert (table.get(key), table.name(slot), table.has(slot)) == (slot, key, True)
            table.remove(slot)
            free.append(slot)
            assert not table.has(slot)
        assert len(table) == len(expected)
    every = [make(n) for n in range(1000)]
    assert slots_of(table, every) == [expected.get(key, -1) for key in every]
    slots = np.empty(len(table), dtype=np.int64)
    table.slots(slots)
    assert slots.tolist() == sorted(expected.values())
    assert dict(zip(table.column(), slots.tolist(), strict=True)) == expected


def test_the_table_refuses_what_cannot_be():
    table = _core.Keys()
    table.put("a", 3)
    assert slots_of(table, [1, 2], unknown=0) == [0, 0]
    for key, slot in (("a", 4), ("b", 3), (b"a", 4)):
        with pytest.raises(ValueError, match=r"taken|kind"):
            table.put(key, slot)
    with pytest.raises(TypeError):
        table.put(1.5, 5)
    for slot in (0, 4, 10**9):
        with pytest.raises(IndexError):
            table.remove(slot)
        with pytest.raises(IndexError):
            table.name(slot)
    for keys, places in ((["x", "y", "x"], [1, 2, 3]), (["x", "y", "z"], [1, 2, 1])):
        assert not _core.Keys().place(_core.KeyColumn.of_list(keys), np.array(places))
    for places in ([1, 2], [1, 2, -1], [1, 2, 2**40]):
        with pytest.raises(ValueError, match="slot"):
            _core.Keys().place(_core.KeyColumn.of_list(["x", "y", "z"]), np.array(places))
    assert (len(table), table.get("a")) == (1, 3)


def test_bytes_of_the_table_count_long_keys():
    table = _core.Keys()
    before = table.nbytes
    table.put("x" * 100_000, 1)
    assert 100_000 <= table.nbytes - before < 102_000
    table.remove(1)
    assert table.nbytes - before < 2_000
