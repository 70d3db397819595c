"""Data frames: read to the last bit like arrays, or refused with a sentence that names the column and the way out."""

import datetime
import decimal
import pickle
import tracemalloc

import narwhals
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import streams
from pocketkernel.learners import _rows
from pocketkernel.learners._labels import check_labels
from pocketkernel.learners._rows import CsrRows, check_rows
from test_input import LEARNERS, WAYS, every_dtype, every_learner, refuse, same_course

X, Y = streams.rings(120, d=4)
NAMES = ["a", "b", "c", "d"]


def arrow_table(X):
    return pa.table({name: X[:, place].copy() for place, name in enumerate(NAMES)})


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas by column": lambda X: pd.DataFrame({name: X[:, place].copy() for place, name in enumerate(NAMES)}),
    "pandas with an index": lambda X: pd.DataFrame(X, columns=NAMES, index=[f"row {i % 7}" for i in range(len(X))]),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "pandas, of Arrow": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars in two chunks": lambda X: pl.concat(
        [pl.DataFrame(part, schema=NAMES) for part in np.array_split(X, 2)], rechunk=False
    ),
    "arrow": arrow_table,
    "arrow in two chunks": lambda X: pa.concat_tables(map(arrow_table, np.array_split(X, 2))),
    "arrow batch": lambda X: arrow_table(X).to_batches()[0],
    "narwhals": lambda X: narwhals.from_native(pl.DataFrame(X, schema=NAMES)),
}
LIBRARIES = ("pandas", "polars", "arrow")
every_frame = pytest.mark.parametrize("kind", FRAMES)
every_library = pytest.mark.parametrize("library", LIBRARIES)


def make_frame(library, columns):
    """A frame of the given columns, which are arrays or series of that library."""
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[library](columns)


def read(frame):
    return check_rows(BaseEstimator(), frame, reset=True)


# ---- the same rows, whatever holds them -----------------------------------------------------------------------------


@every_dtype
@every_frame
def test_frames_of_every_kind(kind, dtype):
    frame = FRAMES[kind](X)
    expected = LEARNERS["MOMDS"](dtype=dtype).fit(X, Y)
    for way in WAYS:
        model = LEARNERS["MOMDS"](dtype=dtype)
        getattr(model, way)(frame, Y)
        same_course(model, expected)
        np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(X))
        np.testing.assert_array_equal(model.predict(frame), expected.predict(X))
        assert model.feature_names_in_.tolist() == NAMES
        assert model.n_features_in_ == 4
    np.testing.assert_array_equal(
        LEARNERS["MOMDS"](dtype=dtype).fit(frame, Y).predict_then_learn(frame, Y),
        LEARNERS["MOMDS"](dtype=dtype).fit(X, Y).predict_then_learn(X, Y),
    )


@every_learner
@every_library
def test_every_learner(name, library):
    frame = FRAMES[library](X)
    expected = LEARNERS[name]().fit(X, Y)
    model = LEARNERS[name]().fit(frame, Y)
    same_course(model, expected)
    np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(X))


@every_frame
def test_one_row_at_a_time(kind):
    model = LEARNERS["MOMDS"]()
    for start in range(20):
        model.predict_then_learn(FRAMES[kind](X[start : start + 2])[:1], Y[start : start + 1], classes=[-1, 1])
    same_course(model, LEARNERS["MOMDS"]().partial_fit(X[:20], Y[:20]))


@every_frame
def test_float32_stays_float32(kind):
    rows = read(FRAMES[kind](X.astype(np.float32)))
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, X.astype(np.float32))


@every_library
def test_any_other_column_makes_it_float64(library):
    frame = make_frame(library, {"a": np.float32([0.1, 0.2]), "b": np.int8([1, 2])})
    rows = read(frame)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    assert rows.tolist() == [[float(np.float32(0.1)), 1.0], [float(np.float32(0.2)), 2.0]]


@pytest.mark.parametrize("most", [1, 7, 119, 120, 121])
@every_frame
def test_long_frames_are_read_in_parts(kind, most, monkeypatch):
    monkeypatch.setattr(_rows, "_ROWS_AT_ONCE", most)
    rows = read(FRAMES[kind](X))
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("kind", ["pandas", "pandas by column", "pandas, nullable"])
@every_dtype
def test_a_frame_is_copied_at_most_once(kind, dtype):
    frame = FRAMES[kind](np.full((60_000, 4), 0.5, dtype))
    tracemalloc.start()
    rows = read(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.dtype == dtype
    assert peak < 1.5 * rows.nbytes


def test_an_array_in_a_frame_is_read_in_place():
    array = np.ascontiguousarray(X)
    assert np.shares_memory(read(pd.DataFrame(array, columns=NAMES, copy=False)), array)


@every_frame
def test_a_frame_of_the_caller_stays_as_it_was(kind):
    frame = FRAMES[kind](X)
    before = np.array(nw.from_native(pa.table(frame) if isinstance(frame, pa.RecordBatch) else frame))
    LEARNERS["MOMDS"]().fit(frame, Y).predict_then_learn(frame, Y)
    np.testing.assert_array_equal(read(frame), before)


# ---- numbers of every kind ------------------------------------------------------------------------------------------

LONG = 2**53 + 1  # rounded to a double, once
PANDAS_NUMBERS = {
    "bool": np.array([True, False]),
    "int8": np.int8([-3, 4]),
    "int64": np.array([LONG, -LONG]),
    "uint64": np.uint64([2**63 + 1025, 1]),
    "float16": np.float16([0.1, 2]),
    "float32": np.float32([0.1, 2]),
    "long double": np.longdouble([0.5, 2]),
    "boolean": pd.array([True, None], dtype="boolean"),
    "Int64": pd.array([LONG, None], dtype="Int64"),
    "UInt8": pd.array([200, None], dtype="UInt8"),
    "Float32": pd.array([0.5, None], dtype="Float32"),
    "Float64": pd.array([0.1, None], dtype="Float64"),
    "Arrow bool": pd.array([True, None], dtype="bool[pyarrow]"),
    "Arrow int64": pd.array([LONG, None], dtype="int64[pyarrow]"),
    "Arrow double": pd.array([0.1, None], dtype="double[pyarrow]"),
    "Arrow decimal": pd.array([decimal.Decimal("0.1"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    "Arrow null": pd.array([None, None], dtype=pd.ArrowDtype(pa.null())),
    "sparse": pd.arrays.SparseArray([0.0, 0.1], fill_value=0.0),
    "sparse, most NaN": pd.arrays.SparseArray([np.nan, 0.1]),
}
POLARS_NUMBERS = {
    "bool": pl.Series([True, None]),
    "int8": pl.Series([-3, None], dtype=pl.Int8),
    "int64": pl.Series([LONG, None]),
    "int128": pl.Series([2**80, None], dtype=pl.Int128),
    "uint64": pl.Series([2**63 + 1025, None], dtype=pl.UInt64),
    "float32": pl.Series([0.5, None], dtype=pl.Float32),
    "float64": pl.Series([0.1, None]),
    "decimal": pl.Series([decimal.Decimal("0.1"), None], dtype=pl.Decimal(30, 20)),
    "null": pl.Series([None, None]),
}
ARROW_NUMBERS = {
    "bool": pa.array([True, None]),
    "int8": pa.array([-3, None], pa.int8()),
    "int64": pa.array([LONG, None]),
    "uint64": pa.array([2**63 + 1025, None], pa.uint64()),
    "float16": pa.array(np.float16([0.1, 2])),
    "float32": pa.array([0.5, None], pa.float32()),
    "float64": pa.array([0.1, None]),
    "decimal": pa.array([decimal.Decimal("0.1"), None]),
    "null": pa.nulls(2),
}
NUMBERS = {"pandas": PANDAS_NUMBERS, "polars": POLARS_NUMBERS, "arrow": ARROW_NUMBERS}
EVERY_NUMBER = [(library, kind) for library in LIBRARIES for kind in NUMBERS[library]]


def doubles(column):
    """A column as Python's floats."""
    if isinstance(column, pa.Array):
        column = column.to_pylist()
    return [np.nan if value is None or value is pd.NA else float(value) for value in column]


@pytest.mark.parametrize(("library", "kind"), EVERY_NUMBER)
def test_numbers_of_every_kind(library, kind):
    """Alone, and beside every other kind."""
    column = NUMBERS[library][kind]
    for others in ({}, *({other: column} for other, column in NUMBERS[library].items())):
        columns = {"first": column} | others
        rows = read(make_frame(library, columns))
        if isinstance(rows, CsrRows):
            rows = sparse.csr_array(rows[:3], shape=rows.shape).toarray()
        assert rows.flags.c_contiguous
        np.testing.assert_array_equal(rows, np.transpose([doubles(column) for column in columns.values()]))


cells = {
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "float32": st.floats(width=32),
    "float64": st.floats(),
}
PANDAS_NAMES = {"bool": "boolean", "int32": "Int32", "int64": "Int64", "uint64": "UInt64"}


@st.composite
def tables(draw):
    """Columns of random types, some with nulls: [(type, values)]."""
    rows = draw(st.integers(1, 5))
    columns = []
    for kind in draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=5)):
        cell = st.none() | cells[kind] if draw(st.booleans()) else cells[kind]
        columns.append((kind, draw(st.lists(cell, min_size=rows, max_size=rows))))
    return columns


def as_pandas(kind, values):
    if None not in values:
        return pd.Series(values, dtype=kind)
    if kind in PANDAS_NAMES:
        return pd.Series(values, dtype=PANDAS_NAMES[kind])
    return pd.Series([np.nan if value is None else value for value in values], dtype=kind)


def as_arrow(kind, values):
    return pa.array(values, getattr(pa, {"bool": "bool_"}.get(kind, kind))())


@settings(deadline=None, derandomize=True)
@given(tables())
def test_any_table(table):
    expected = np.transpose([doubles(values) for _, values in table])
    columns = {str(place): column for place, column in enumerate(table)}
    pandas = pd.DataFrame({name: as_pandas(*column) for name, column in columns.items()})
    arrow = pa.table({name: as_arrow(*column) for name, column in columns.items()})
    for frame in (pandas, arrow, pl.from_arrow(arrow), arrow.to_pandas(types_mapper=pd.ArrowDtype)):
        np.testing.assert_array_equal(read(frame), expected)


# ---- what is missing ------------------------------------------------------------------------------------------------

NULLS = {
    "pandas NaN": lambda: pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}),
    "pandas null": lambda: pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64")}),
    "pandas null bool": lambda: pd.DataFrame({"a": [1, 2], "b": pd.array([True, None], dtype="boolean")}),
    "polars NaN": lambda: pl.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}),
    "polars null": lambda: pl.DataFrame({"a": [1, 2], "b": [1, None]}),
    "polars null bool": lambda: pl.DataFrame({"a": [1, 2], "b": [True, None]}),
    "arrow null": lambda: pa.table({"a": [1.0, 2.0], "b": [1.0, None]}),
    "arrow null int": lambda: pa.table({"a": [1, 2], "b": [1, None]}),
}


@pytest.mark.parametrize("kind", NULLS)
def test_nulls_are_refused_like_nan(kind):
    frame = NULLS[kind]()
    model = LEARNERS["MOMDS"]()
    for way in WAYS:
        call = getattr(model, way)
        refuse(model, lambda call=call: call(frame, [0, 1]), "NaN", "impute or drop", "nan at row 1, column 1")


@every_library
def test_nulls_can_be_imputed(library):
    columns = {"a": [0.5, None, 1.5, 2.5], "b": [1.0, 2.0, 3.0, None]}
    frame = make_frame(library, columns)
    table = pd.DataFrame(columns, dtype=float).to_numpy()
    model = make_pipeline(SimpleImputer(), LEARNERS["MOMDS"]()).fit(pd.DataFrame(read(frame)), [0, 1, 0, 1])
    same_course(model[-1], make_pipeline(SimpleImputer(), LEARNERS["MOMDS"]()).fit(table, [0, 1, 0, 1])[-1])


@every_library
def test_no_rows_or_columns(library):
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(make_frame(library, {"a": np.ones(0)}), []), "0 sample(s)", "(0, 1)", "MOMDS")
    refuse(model, lambda: model.fit(make_frame(library, {}), []), "0 sample(s)")
    model.fit(FRAMES[library](X), Y)
    refuse(model, lambda: model.predict(FRAMES[library](X)[:0]), "0 sample(s)", "MOMDS")


def test_no_columns():
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(pd.DataFrame(index=range(3)), [0, 1, 0]), "0 feature(s)", "MOMDS")


# ---- columns that hold no numbers -----------------------------------------------------------------------------------

DAY, MOMENT, SPAN = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(seconds=1)
ENCODER = ["encode it first", "sklearn.preprocessing.OneHotEncoder", "FeatureHasher if it has many values"]
TEXT, CATEGORIES = ["holds text (String)", *ENCODER], ["holds categories", *ENCODER]
DATES, SECONDS = ["holds dates", "seconds since a fixed moment"], ["holds times", "into seconds"]
NESTED, OBJECTS = ["holds nested values", "a column of its own"], ["holds Python objects (object)", "pandas.to_numeric"]
OTHER = ["holds no real numbers", "drop it or turn it into numbers"]
STRANGE = {
    "pandas": {
        "text": (pd.Series(["x", "y"]), TEXT),
        "text objects": (pd.Series(["x", "y"], dtype=object), TEXT),
        "Arrow text": (pd.Series(["x", "y"], dtype="string[pyarrow]"), TEXT),
        "objects": (pd.Series(["x", 1], dtype=object), OBJECTS),
        "number objects": (pd.Series([1, 2.5], dtype=object), OBJECTS),
        "decimal objects": (pd.Series([decimal.Decimal(1), decimal.Decimal(2)]), OBJECTS),
        "categories": (pd.Series(["x", "y"], dtype="category"), [*CATEGORIES, "(Categorical)"]),
        "number categories": (pd.Series([1, 2], dtype="category"), CATEGORIES),
        "ordered": (pd.Series(pd.Categorical(["x", "y"], ordered=True)), CATEGORIES),
        "dates": (pd.Series([MOMENT, MOMENT]), [*DATES, "(Datetime)"]),
        "dates of a zone": (pd.Series([MOMENT, MOMENT]).dt.tz_localize("UTC"), DATES),
        "spans": (pd.Series([SPAN, SPAN]), [*SECONDS, "(Duration)"]),
        "complex": (pd.Series([1j, 2]), [*OTHER, "(complex128)"]),
        "periods": (pd.Series(pd.period_range("2020", "2021", freq="Y")), [*OTHER, "(period["]),
        "intervals": (pd.Series(pd.interval_range(0, 2)), [*OTHER, "(interval["]),
        "Arrow lists": (pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), NESTED),
    },
    "polars": {
        "text": (pl.Series(["x", "y"]), TEXT),
        "categories": (pl.Series(["x", "y"], dtype=pl.Categorical), [*CATEGORIES, "(Categorical)"]),
        "enum": (pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"])), [*CATEGORIES, "(Enum)"]),
        "days": (pl.Series([DAY, DAY]), [*DATES, "(Date)"]),
        "dates": (pl.Series([MOMENT, MOMENT]), [*DATES, "(Datetime)"]),
        "spans": (pl.Series([SPAN, SPAN]), [*SECONDS, "(Duration)"]),
        "times": (pl.Series([datetime.time(1), datetime.time(2)]), [*SECONDS, "(Time)"]),
        "lists": (pl.Series([[1], [2]]), [*NESTED, "(List)"]),
        "arrays": (pl.Series([[1], [2]], dtype=pl.Array(pl.Int64, 1)), [*NESTED, "(Array)"]),
        "structs": (pl.Series([{"x": 1}, {"x": 2}]), [*NESTED, "(Struct)"]),
        "bytes": (pl.Series([b"x", b"y"]), [*OTHER, "(Binary)"]),
        "objects": (pl.Series([object(), 1], dtype=pl.Object), ["holds Python objects (Object)"]),
    },
    "arrow": {
        "text": (pa.array(["x", "y"]), TEXT),
        "large text": (pa.array(["x", "y"], pa.large_string()), TEXT),
        "dictionary": (pa.array(["x", "y"]).dictionary_encode(), CATEGORIES),
        "days": (pa.array([DAY, DAY]), DATES),
        "dates": (pa.array([MOMENT, MOMENT]), DATES),
        "spans": (pa.array([SPAN, SPAN]), SECONDS),
        "lists": (pa.array([[1], [2]]), NESTED),
        "structs": (pa.array([{"x": 1}, {"x": 2}]), NESTED),
        "maps": (pa.array([[("x", 1)], []], pa.map_(pa.string(), pa.int64())), [*OTHER, "(map<"]),
        "bytes": (pa.array([b"x", b"y"]), OTHER),
    },
}


@pytest.mark.parametrize(("library", "kind"), [(library, kind) for library in LIBRARIES for kind in STRANGE[library]])
def test_other_columns_are_refused(library, kind):
    column, words = STRANGE[library][kind]
    frame = make_frame(library, {"size": np.array([1.0, 2.0]), "city": column})
    fresh = LEARNERS["MOMDS"]()
    for way in WAYS:
        refuse(fresh, lambda way=way: getattr(fresh, way)(frame, [0, 1]), "column 'city' holds", *words)
    model = LEARNERS["MOMDS"]().fit(make_frame(library, {"size": [1.0, 2.0], "city": [1.0, 2.0]}), [0, 1])
    for call in (model.predict, model.decision_function, lambda X: model.partial_fit(X, [0, 1])):
        refuse(model, lambda call=call: call(frame), "column 'city' holds", *words)


def test_one_refusal_names_all_columns():
    frame = pl.DataFrame({"n": [1.0], "city": ["x"], "day": [DAY], "street": ["y"], "moment": [MOMENT]})
    with pytest.raises(ValueError) as caught:
        LEARNERS["MOMDS"]().fit(frame, [0])
    assert str(caught.value) == (
        "columns 'city' and 'street' hold text (String): encode them first, for example with "
        "sklearn.preprocessing.OneHotEncoder, or FeatureHasher if they have many values. "
        "columns 'day' and 'moment' hold dates (Date, Datetime): turn them into numbers first, for example into "
        "seconds since a fixed moment."
    )


def test_one_column_is_named_in_the_singular():
    with pytest.raises(ValueError) as caught:
        LEARNERS["MOMDS"]().fit(pd.DataFrame({"n": [1.0], "city": ["x"]}), [0])
    assert str(caught.value) == (
        "column 'city' holds text (String): encode it first, for example with sklearn.preprocessing.OneHotEncoder, "
        "or FeatureHasher if it has many values."
    )


def test_many_columns_are_counted():
    frame = pl.DataFrame({f"c{place}": ["x"] for place in range(300)})
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(frame, [0]), "columns 'c0', 'c1', 'c2', 'c3', 'c4' and 295 others hold text")


def test_columns_without_names_are_counted_from_0():
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(pd.DataFrame([[1.0, "x"]]), [0]), "column 1 holds text")


LAZY = {
    "polars": lambda: pl.LazyFrame({"a": [1.0, 2.0]}),
    "narwhals": lambda: narwhals.from_native(pl.LazyFrame({"a": [1.0, 2.0]})),
}


@pytest.mark.parametrize("kind", LAZY)
def test_lazy_frames(kind):
    lazy = LAZY[kind]()
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(lazy, [0, 1]), "X is a lazy frame (polars.LazyFrame)", "call .collect() first")
    refuse(model, lambda: model.fit([[1], [2]], lazy), "y is a lazy frame (polars.LazyFrame)", "call .collect() first")
    model.fit(lazy.collect(), [0, 1])
    refuse(model, lambda: model.predict(lazy), "X is a lazy frame", "call .collect() first")


def test_two_columns_of_one_name():
    twins = [
        pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"]),
        pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"]),
    ]
    model = LEARNERS["MOMDS"]()
    for frame in twins:
        refuse(model, lambda frame=frame: model.fit(frame, [0, 1]), "X has columns of the same name", "rename", "'a'")


SERIES = {
    "pandas": pd.Series([1.0, 2.0]),
    "polars": pl.Series([1.0, 2.0]),
    "arrow": pa.array([1.0, 2.0]),
    "arrow chunks": pa.chunked_array([[1.0, 2.0]]),
}


@pytest.mark.parametrize("kind", SERIES)
def test_a_series_is_no_table(kind):
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(SERIES[kind], [0, 1]), "Expected", "2")
    model.fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    refuse(model, lambda: model.predict(SERIES[kind]), "Expected", "2")


@pytest.mark.parametrize("no_table", [None, "no_validation", "abc", b"abc", "long" * 1000], ids=lambda x: repr(x)[:20])
def test_no_table_at_all(no_table):
    model = LEARNERS["MOMDS"]()
    words = "not a table", f"X={no_table!r}"[:40], "(rows, features)"
    refuse(model, lambda: model.fit(no_table, [0, 1]), *words)
    model.fit([[1.0], [2.0]], [0, 1])
    refuse(model, lambda: model.predict(no_table), *words)


@pytest.mark.parametrize("dicts", [{"a": 1.0}, [{"a": 1.0}, {"b": 2.0}], ({"a": 1.0},)], ids=repr)
def test_dicts_are_no_table(dicts):
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(dicts, [0, 1]), "dicts", "DictVectorizer", "FeatureHasher")


@pytest.mark.parametrize("kind", [sparse.dok_array, sparse.dok_matrix])
def test_dictionaries_of_keys_are_no_dicts(kind):
    """Although one of scipy's matrices is a subclass."""
    same_course(LEARNERS["MOMDS"]().fit(kind(X), Y), LEARNERS["MOMDS"]().fit(X, Y))


def test_arrays_that_are_no_numbers():
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(np.array([["x"], ["y"]]), [0, 1]), "could not convert string", "x")
    refuse(model, lambda: model.fit(np.array([["x", 1], ["y", 2]], dtype=object), [0, 1]), "could not convert", "x")
    refuse(model, lambda: model.fit(np.array([[1j], [2]]), [0, 1]), "Complex data not supported")


# ---- sparse columns of pandas ---------------------------------------------------------------------------------------


def test_a_frame_of_sparse_columns_is_read_as_a_sparse_matrix():
    wide, y = streams.one_hot(60, d=20)
    for dtype, rows in (("float64", wide), ("float32", wide), ("bool", wide > 0), ("int64", wide)):
        frame = pd.DataFrame(rows).rename(columns=str).astype(pd.SparseDtype(dtype, np.dtype(dtype).type(0)))
        assert isinstance(read(frame), CsrRows)
        model = LEARNERS["MOMDS"]().fit(frame, y)
        same_course(model, LEARNERS["MOMDS"]().fit(wide, y))
        assert model.feature_names_in_.tolist() == [str(place) for place in range(20)]
        np.testing.assert_array_equal(model.decision_function(frame[:9]), model.decision_function(frame)[:9])


def test_sparse_columns_beside_dense_ones():
    wide, y = streams.one_hot(60, d=20)
    frame = pd.DataFrame(wide).rename(columns=str)
    frame["3"] = frame["3"].astype(pd.SparseDtype("float64", 0))
    frame["4"] = frame["4"].astype(pd.SparseDtype("float64", 1))
    same_course(LEARNERS["MOMDS"]().fit(frame, y), LEARNERS["MOMDS"]().fit(wide, y))


# ---- names of columns -----------------------------------------------------------------------------------------------


@every_library
def test_names_are_compared(library):
    make = FRAMES[library]
    frame = make(X)
    model = LEARNERS["MOMDS"]().fit(frame, Y)
    table = nw.from_native(frame)
    wrong = {
        "same order": table.select("b", "a", "c", "d"),
        "now missing:\n- d": table.select("a", "b", "c"),
        "unseen at fit time:\n- e": table.rename({"d": "e"}),
        "unseen at fit time:\n- f": table.with_columns(f=nw.col("a")),
    }
    for words, strange in wrong.items():
        for call in (
            model.predict,
            model.decision_function,
            lambda X: model.partial_fit(X, Y),
            lambda X: model.predict_then_learn(X, Y),
        ):
            refuse(model, lambda call=call, strange=strange: call(strange.to_native()), "feature names", words)
    other = LEARNERS["MOMDS"]().fit(table.select("b", "a", "c", "d").to_native(), Y)
    assert other.feature_names_in_.tolist() == ["b", "a", "c", "d"]


def test_libraries_may_change_in_mid_stream():
    model = LEARNERS["MOMDS"]()
    for part, kind in enumerate(FRAMES):
        place = slice(10 * part, 10 * part + 10)
        model.partial_fit(FRAMES[kind](X[place]), Y[place], classes=[-1, 1])
    same_course(model, LEARNERS["MOMDS"]().fit(X[: 10 * len(FRAMES)], Y[: 10 * len(FRAMES)]))


@every_library
def test_names_that_come_and_go(library):
    frame = FRAMES[library](X)
    model = LEARNERS["MOMDS"]().fit(frame, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        scores = model.decision_function(X)
    np.testing.assert_array_equal(scores, model.decision_function(frame))
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(model.decision_function(frame), scores)


def test_names_survive_a_pickle():
    frame = FRAMES["polars"](X)
    model = pickle.loads(pickle.dumps(LEARNERS["MOMDS"]().fit(frame, Y)))
    refuse(model, lambda: model.predict(frame.select("b", "a", "c", "d")), "same order")


def test_numbers_are_no_names():
    model = LEARNERS["MOMDS"]().fit(pd.DataFrame(X), Y)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.decision_function(pd.DataFrame(X)), model.decision_function(X))
    refuse(model, lambda: model.predict(pd.DataFrame(X[:, :3])), "3 features", "4 features")


def test_names_of_two_kinds():
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(pd.DataFrame([[1.0, 2.0]], columns=["a", 1]), [0]), "string names", error=TypeError)


def test_names_of_two_levels():
    columns = pd.MultiIndex.from_product([["a", "b"], ["c", "d"]])
    same_course(LEARNERS["MOMDS"]().fit(pd.DataFrame(X, columns=columns), Y), LEARNERS["MOMDS"]().fit(X, Y))


# ---- in a pipeline --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("source", ["pandas", "polars"])
def test_behind_a_scaler(source, output):
    frame = FRAMES[source](X)
    model = make_pipeline(StandardScaler(), LEARNERS["MOMDS"]()).set_output(transform=output).fit(frame, Y)
    expected = make_pipeline(StandardScaler(), LEARNERS["MOMDS"]()).fit(X, Y)
    same_course(model[-1], expected[-1])
    assert model[-1].feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(X))


@pytest.mark.parametrize(
    ("source", "output"),
    [(source, output) for source in ("pandas", "polars") for output in ("default", "pandas", "polars")]
    + [("pandas", "sparse")],  # scikit-learn 1.6 makes no sparse matrix of a Polars frame
)
def test_behind_an_encoder(source, output):
    town = np.array(["york", "hull", "leeds"])[np.arange(120) % 3]
    frame = make_frame(source, {"a": X[:, 0], "town": town, "b": X[:, 1]})
    expected = np.column_stack([town == name for name in ("hull", "leeds", "york")] + [X[:, 0], X[:, 1]]).astype(float)
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=output == "sparse"), ["town"]),
        remainder="passthrough",
        sparse_threshold=float(output == "sparse"),
        verbose_feature_names_out=False,
    )
    model = make_pipeline(encoder, LEARNERS["MOMDS"]())
    if output in ("pandas", "polars"):
        model.set_output(transform=output)
    model.fit(frame, Y)
    same_course(model[-1], LEARNERS["MOMDS"]().fit(expected, Y))
    if output in ("pandas", "polars"):
        assert model[-1].feature_names_in_.tolist() == ["town_hull", "town_leeds", "town_york", "a", "b"]
    assert model.predict(frame).shape == (120,)


@pytest.mark.parametrize("source", ["pandas", "polars"])
def test_cross_validation(source):
    frame, labels = FRAMES[source](X), {"pandas": pd.Series, "polars": pl.Series}[source](Y)
    scores = cross_val_score(LEARNERS["MOMDS"](), frame, labels, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(LEARNERS["MOMDS"](), X, Y, cv=3))


# ---- labels ---------------------------------------------------------------------------------------------------------

VALUES = {"ints": [3, 7], "floats": [0.0, 2.0], "bools": [False, True], "strings": ["no", "yes"]}
KINDS_OF_SERIES = {
    "pandas": pd.Series,
    "pandas with an index": lambda y: pd.Series(y, index=np.arange(len(y)) // 2),
    "pandas objects": lambda y: pd.Series(y, dtype=object),
    "pandas categories": lambda y: pd.Series(y, dtype="category"),
    "pandas, nullable": lambda y: pd.Series(pd.array(y)),
    "pandas, of Arrow": lambda y: pd.Series(y).astype(pd.ArrowDtype(pa.array(y).type)),
    "pandas index": pd.Index,
    "pandas frame": lambda y: pd.DataFrame({"y": y}),
    "polars": pl.Series,
    "polars frame": lambda y: pl.DataFrame({"y": y}),
    "arrow": pa.array,
    "arrow chunks": lambda y: pa.chunked_array([y[:50], y[50:]]),
    "arrow dictionary": lambda y: pa.array(y).dictionary_encode(),
    "arrow table": lambda y: pa.table({"y": y}),
    "arrow batch": lambda y: pa.RecordBatch.from_pydict({"y": y}),
    "narwhals": lambda y: narwhals.from_native(pl.Series(y), series_only=True),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("kind", KINDS_OF_SERIES)
def test_labels_in_every_series(kind, values):
    both = VALUES[values]
    y = [both[int(label > 0)] for label in Y]
    series = KINDS_OF_SERIES[kind](y)
    assert check_labels(series).tolist() == y
    expected = LEARNERS["MOMDS"]().fit(X, Y)
    for way in WAYS:
        model = LEARNERS["MOMDS"]()
        getattr(model, way)(X, series)
        same_course(model, expected)
        assert model.classes_.tolist() == both
        assert [type(label) for label in model.classes_.tolist()] == [type(label) for label in both]
        assert model.predict(X).tolist() == [both[int(label > 0)] for label in expected.predict(X)]
        model.predict_then_learn(X, series)
        assert model.diagnostics_.rounds == 240


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["yes", "no", "never seen"])], ids=str)
def test_labels_that_are_categories_of_polars(dtype):
    y = np.where(Y > 0, "yes", "no")
    model = LEARNERS["MOMDS"]().fit(X, pl.Series(y, dtype=dtype))
    same_course(model, LEARNERS["MOMDS"]().fit(X, Y))
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", KINDS_OF_SERIES)
def test_unknown_labels_in_a_series(kind):
    model = LEARNERS["MOMDS"]().fit(X, np.where(Y > 0, "yes", "no"))
    bad = KINDS_OF_SERIES[kind](["maybe" if row == 60 else "yes" for row in range(120)])
    for way in WAYS[1:]:
        refuse(model, lambda way=way: getattr(model, way)(X, bad), "'maybe'", "not one of the classes")


MISSING = {
    "pandas NaN": lambda: pd.Series([1.0, 0.0, np.nan]),
    "pandas None": lambda: pd.Series(["yes", "no", None]),
    "pandas category": lambda: pd.Series(["yes", "no", None], dtype="category"),
    "pandas null": lambda: pd.Series([1, 0, None], dtype="Int64"),
    "pandas frame": lambda: pd.DataFrame({"y": ["yes", "no", None]}),
    "polars": lambda: pl.Series(["yes", "no", None]),
    "polars ints": lambda: pl.Series([1, 0, None]),
    "arrow": lambda: pa.array([True, False, None]),
    "arrow chunks": lambda: pa.chunked_array([["yes", "no"], ["no", None][1:]], type=pa.string()),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels(kind):
    fresh = LEARNERS["MOMDS"]()
    for way in WAYS:
        refuse(fresh, lambda way=way: getattr(fresh, way)(X[:3], MISSING[kind]()), "no label in row 2", "drop")


def test_two_columns_of_labels():
    model = LEARNERS["MOMDS"]()
    for frame in (pd.DataFrame({"y": Y, "z": Y}), pl.DataFrame({"y": Y, "z": Y}), pa.table({"y": Y, "z": Y})):
        refuse(model, lambda frame=frame: model.fit(X, frame), "y is a frame of 2 columns", "only the label column")


def test_one_label_per_row():
    model = LEARNERS["MOMDS"]()
    refuse(model, lambda: model.fit(FRAMES["polars"](X), pl.Series(Y[:-1])), "120 rows", "119 labels")


def test_labels_of_a_stream_of_frames():
    frame = FRAMES["polars"](X).with_columns(y=pl.Series(np.where(Y > 0, "yes", "no")))
    model = LEARNERS["MOMDS"]()
    for part in frame.iter_slices(50):
        model.predict_then_learn(part.drop("y"), part["y"], classes=["no", "yes"])
    same_course(model, LEARNERS["MOMDS"]().fit(X, Y))
