"""From what a caller gives to what the core reads: rows and labels out of arrays, sparse matrices and data frames.

Data frames of every library are read through narwhals. Nothing is encoded here: a column that is not numeric is
refused, and the error suggests an encoder.
"""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from reprlib import repr as short
from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import sklearn
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from pocketkernel._frames import as_narwhals, numbers_of

Array = npt.NDArray[Any]
Frame = nw.DataFrame[Any]

# A frame of these alone is read whole: every library turns any mixture of them into float64 without a detour. (Not so
# of decimals: Polars 1.20 makes them float32 if another column is.)
_SIMPLE = {
    *(nw.Float64, nw.Float32, nw.Boolean),
    *(nw.Int64, nw.Int32, nw.Int16, nw.Int8, nw.UInt64, nw.UInt32, nw.UInt16, nw.UInt8),
}
_ROWS_AT_ONCE = 8192  # of a frame, so that turning columns into rows takes no second copy of all of it

_ENCODE = (
    "encode {it} first, for example with sklearn.preprocessing.OneHotEncoder, or FeatureHasher if {it_has} many values"
)
_ADVICE = (
    ((nw.String,), "text", _ENCODE),
    ((nw.Categorical, nw.Enum), "categories", _ENCODE),
    ((nw.Date, nw.Datetime), "dates", "turn {it} into numbers first, for example into seconds since a fixed moment"),
    ((nw.Time, nw.Duration), "times", "turn {it} into numbers first, for example into seconds"),
    ((nw.List, nw.Array, nw.Struct), "nested values", "give each of their numbers a column of its own"),
    ((nw.Object,), "Python objects", "turn {it} into numbers first, for example with pandas.to_numeric"),
    ((), "no real numbers", "drop {it} or turn {it} into numbers first"),
)


class CsrRows(NamedTuple):
    """The three arrays of a CSR matrix, of the types that the core reads."""

    values: Array
    columns: Array
    starts: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Any) -> Self:
        """Rows of a CSR matrix with sorted, unique column indices; the matrix itself is left alone.

        Other threads may change its arrays meanwhile. What is trusted here is a copy; the core checks the rest again.
        """
        starts = np.array(X.indptr)
        _check_compressed(X.indices, starts, X.data, X.shape)
        if X.indices.dtype != np.int32:  # else the core sees what is out of range; here it would wrap around
            _check_indices("column", X.indices, X.shape[1])
        columns, values = np.ascontiguousarray(X.indices, dtype=np.int32), np.ascontiguousarray(X.data)
        if not getattr(X, "_has_canonical_format", False):  # what scipy remembers, if it was asked before
            rows = sparse.csr_matrix((values, columns, starts), shape=X.shape)
            if rows.has_canonical_format:
                X.has_canonical_format = True
            else:
                rows = rows.copy()
                rows.sum_duplicates()
                values, columns, starts = rows.data, rows.indices, rows.indptr
        return cls(values, columns, starts.astype(np.int64, copy=False), X.shape)

    def take(self, rows: Array) -> Self:
        """Some of the rows, in that order."""
        some = sparse.csr_matrix((self.values, self.columns, self.starts), shape=self.shape)[rows]
        return type(self)(
            some.data, some.indices.astype(np.int32, copy=False), some.indptr.astype(np.int64), some.shape
        )

    def at(self, row: int, column: int) -> float:
        """The stored value at a place; NaN if another thread has removed it."""
        place = slice(self.starts[row], self.starts[row + 1])
        found = self.values[place][self.columns[place] == column]
        return float(found[0]) if len(found) else float("nan")


def _check_sparse(X: Any) -> None:
    """Refuse a sparse matrix whose arrays do not belong together: scipy would read or write beyond them."""
    if X.ndim != 2:
        return  # refused elsewhere
    if X.format in ("csc", "bsr"):
        high, wide = X.shape if X.format == "bsr" else X.shape[::-1]
        block = X.blocksize if X.format == "bsr" else (1, 1)
        _check_compressed(X.indices, X.indptr, X.data, (high // block[0], wide // block[1]))
        _check_indices("column" if X.format == "bsr" else "row", X.indices, wide // block[1])
    elif X.format == "coo":
        for name, indices, size in (("row", X.row, X.shape[0]), ("column", X.col, X.shape[1])):
            _check_indices(name, indices, size)
            if len(indices) != len(X.data):
                raise ValueError(f"X is a sparse matrix of {len(X.data)} values and {len(indices)} {name} indices.")


def _check_compressed(indices: Array, starts: Array, values: Array, shape: tuple[int, int]) -> None:
    """Refuse arrays of a CSR matrix (or of another kind that is built like one) that do not belong together."""
    lines = shape[0]
    if starts.ndim != 1 or starts.dtype.kind not in "iu" or len(starts) != lines + 1:
        raise ValueError(
            f"X is a sparse matrix with an indptr of {len(starts)} numbers: {lines} rows need {lines + 1}."
        )
    if starts[0] != 0 or np.any(starts[1:] < starts[:-1]):
        raise ValueError("X is a sparse matrix with an invalid indptr: it must begin at 0 and never decrease.")
    if len(indices) != len(values) or starts[-1] > len(values):
        raise ValueError(
            f"X is a sparse matrix with {len(values)} values, {len(indices)} indices and an indptr that ends at "
            f"{starts[-1]}: they do not match."
        )
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError("X is a sparse matrix whose indices are not a list of whole numbers.")


def _check_indices(name: str, indices: Array, size: int) -> None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < size):
        raise ValueError(f"X is a sparse matrix with a {name} index out of range: use 0 to {size - 1}.")


# ---- rows -----------------------------------------------------------------------------------------------------------


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows of X as the core reads them: a float64 or float32 array in C order, or `CsrRows`.

    Sets `n_features_in_` and `feature_names_in_` of the estimator if `reset`, else compares X with them. Whether the
    numbers are finite is left to the core.
    """
    if not reset and _is_ready(estimator, X):
        return X
    frame = None
    if sparse.issparse(X):
        _check_sparse(X)
    elif not isinstance(X, np.ndarray):
        _refuse_no_table(X)
        frame = _as_frame(X)
        if frame is None:
            X = as_array("X", X, "an array of shape (rows, features) or a data frame")
    if isinstance(X, np.ndarray):
        refuse_odd_numbers("X", X)
    wanted = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C", "ensure_all_finite": False}
    if frame is None:
        X = validate_data(estimator, X, reset=reset, **wanted)
    else:
        validate_data(estimator, _Names.of(frame), reset=reset, skip_check_array=True)
        X = check_array(_read(frame), estimator=estimator, input_name="X", **wanted)
    return CsrRows.of(X) if sparse.issparse(X) else np.require(X, requirements=["C", "A"])


def _is_ready(estimator: Any, X: Any) -> bool:
    """Whether the core can read X as it is, and scikit-learn would have nothing to say to it."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "df"
        and X.dtype.isnative
        and X.flags.c_contiguous
        and X.flags.aligned
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def _refuse_no_table(X: Any) -> None:
    if X is None or isinstance(X, str | bytes | bytearray):
        raise ValueError(
            f"X={X!r:.40} is not a table of numbers: use an array of shape (rows, features) or a data frame."
        )
    if isinstance(X, Mapping) or (isinstance(X, list | tuple) and any(isinstance(row, Mapping) for row in X)):
        raise ValueError(
            "X holds dicts: turn them into rows first, for example with sklearn.feature_extraction.DictVectorizer, "
            "or FeatureHasher if they have many keys."
        )


class _Names:
    """Names and shape of a frame, as scikit-learn before 1.9 reads them from any library's frame.

    Those versions ask for `__dataframe__`, which Polars has dropped; later ones ask narwhals.
    """

    needed = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)

    def __init__(self, frame: Frame) -> None:
        self.shape = frame.shape
        self._names = frame.columns

    @classmethod
    def of(cls, frame: Frame) -> Any:
        return cls(frame) if cls.needed else frame.to_native()

    def __dataframe__(self) -> Self:
        return self

    def column_names(self) -> list[str]:
        return self._names


# ---- data frames ----------------------------------------------------------------------------------------------------


def _as_frame(X: Any) -> Frame | None:
    """X as a frame of narwhals, or None if it is not a frame."""
    frame = None if isinstance(X, list | tuple) else as_narwhals("X", X)
    return frame if isinstance(frame, nw.DataFrame) else None


def _read(frame: Frame) -> Any:
    """All rows of a frame, float32 if every column is; a null is NaN."""
    if 0 in frame.shape:
        return np.empty(frame.shape)  # to be refused; not every library makes an array of it
    types = frame.schema.dtypes()
    if not all(type(kind) in _SIMPLE for kind in types):
        native = frame.to_native()
        return native.sparse.to_coo() if _is_sparse(native) else _read_by_column(frame)
    dtype = np.float32 if all(kind == nw.Float32 for kind in types) else np.float64
    if len(frame) <= _ROWS_AT_ONCE:
        return np.asarray(frame, dtype)
    rows = np.empty(frame.shape, dtype)
    for start in range(0, len(frame), _ROWS_AT_ONCE):
        rows[start : start + _ROWS_AT_ONCE] = np.asarray(frame[start : start + _ROWS_AT_ONCE], dtype)
    return rows


def _is_sparse(native: Any) -> bool:
    """Whether it is a pandas frame whose columns are all sparse numbers, most of them 0."""
    return all(
        getattr(dtype, "fill_value", None) == 0 and dtype.kind in "biuf" for dtype in getattr(native, "dtypes", [None])
    )


def _read_by_column(frame: Frame) -> Array:
    columns = [numbers_of(column) for column in frame.iter_columns()]
    strange = [place for place, numbers in enumerate(columns) if numbers is None]
    if strange:
        raise ValueError(_refusal(frame, strange))
    rows = np.empty(frame.shape)
    for place, numbers in enumerate(columns):
        rows[:, place] = numbers
    return rows


def _refusal(frame: Frame, places: Iterable[int]) -> str:
    """A sentence for every kind of column that holds no numbers: which they are, and what to do with them."""
    columns = list(frame.iter_columns())
    sentences = []
    left = list(places)
    for kinds, content, advice in _ADVICE:
        found = [place for place in left if not kinds or type(columns[place].dtype) in kinds]
        if not found:
            continue
        taken = set(found)
        left = [place for place in left if place not in taken]
        names = [repr(columns[place].name) for place in found]
        if len(names) > 6:
            names[5:] = [f"{len(names) - 5} others"]
        types = dict.fromkeys(_type_name(columns[place]) for place in found)
        one = len(found) == 1
        subject = f"column {names[0]} holds" if one else f"columns {', '.join(names[:-1])} and {names[-1]} hold"
        what = advice.format(it="it" if one else "them", it_has="it has" if one else "they have")
        sentences.append(f"{subject} {content} ({', '.join(types)}): {what}.")
    return " ".join(sentences)


def _type_name(column: Any) -> str:
    if column.dtype not in (nw.Unknown, nw.Object):
        return type(column.dtype).__name__
    native = column.to_native()
    return str(native.dtype if hasattr(native, "dtype") else native.type)


# ---- arrays ---------------------------------------------------------------------------------------------------------


def as_array(name: str, given: Any, wanted: str) -> Array:
    """An array of a sequence, or of whatever says itself that it is one.

    Sets, dicts and iterators would be read in an order that means nothing, or by their names, or only once.
    """
    is_sequence = isinstance(given, Sequence) and not isinstance(given, str | bytes | bytearray)
    if not (is_sequence or hasattr(given, "__array__") or hasattr(given, "__array_interface__")):
        raise ValueError(f"{name} is of type {type(given).__name__}, {short(given)}: give {wanted}.")
    if isinstance(given, list | tuple):
        for part in given:
            if isinstance(part, np.ma.MaskedArray):
                refuse_odd_numbers(name, part)
    return np.asarray(given)


def refuse_odd_numbers(name: str, given: Array, *, labels: bool = False) -> None:
    """Refuse arrays that NumPy would turn into numbers without a word: masked ones, times, structured ones."""
    if isinstance(given, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, whose mask would be ignored: replace masked values with .filled(value), or "
            "drop the rows that have any."
        )
    kind = given.dtype.kind
    if kind == "O":
        kind = next((part.dtype.kind for part in given.flat if isinstance(part, np.datetime64 | np.timedelta64)), "O")
    if kind in "mM":
        what = "dates" if kind == "M" else "times"
        remedy = "into text" if labels else "into numbers, for example into seconds since a fixed moment"
        raise ValueError(f"{name} holds {what} ({given.dtype}): turn them {remedy} first.")
    if kind == "V":
        raise ValueError(
            f"{name} is a structured array: convert it to a plain array, for example with "
            "numpy.lib.recfunctions.structured_to_unstructured."
        )


def checked_weights(sample_weight: Any, rows: int) -> Array | None:
    """One weight for each row, None if none are given; the core looks at their size."""
    if sample_weight is None:
        return None
    weights = sample_weight
    if not isinstance(weights, np.ndarray | Real):
        weights = as_array("sample_weight", weights, "a number, or an array with a weight for each row")
    weights = np.asanyarray(weights)
    refuse_odd_numbers("sample_weight", weights)
    if weights.dtype.kind == "c":
        raise ValueError("sample_weight has complex numbers: weights are real.")
    try:
        weights = weights.astype(np.float64) if weights.dtype.kind not in "SU" else None
    except (TypeError, ValueError):
        weights = None
    if weights is None:
        raise ValueError(f"sample_weight={short(sample_weight)} is not numeric: use a nonnegative number for each row.")
    if weights.ndim == 0:
        return np.full(rows, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if len(weights) != rows:
        raise ValueError(f"sample_weight has {len(weights)} weights but X has {rows} rows: give one weight per row.")
    return np.ascontiguousarray(weights)
