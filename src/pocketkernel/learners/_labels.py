"""Labels: out of lists, arrays and series."""

from collections.abc import Iterable
from numbers import Number
from reprlib import repr as short
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from narwhals.stable.v2.dependencies import get_pandas, get_polars
from sklearn.utils import column_or_1d

from pocketkernel._frames import as_narwhals
from pocketkernel.learners._rows import as_array, refuse_odd_numbers

Array = npt.NDArray[Any]


def checked_classes(classes: Any) -> Array:
    """Labels in ascending order."""
    listed = list(classes) if isinstance(classes, set | frozenset) else classes
    try:
        labels = check_labels(listed, "classes")
        unique = np.unique(labels)
    except (TypeError, ValueError) as error:
        raise ValueError(f"classes={short(classes)} is not a list of labels ({error})") from None
    if len(labels) == 0 or (labels.dtype.kind == "f" and np.any(np.isnan(labels))):
        raise ValueError(f"classes={short(classes)} is not a list of labels.")
    return unique


def check_labels(y: Any, name: str = "y") -> Array:
    """Labels as a one-dimensional array: of an array, a list, a series, or a frame of one column."""
    y = plain_text(y, name)
    if not isinstance(y, np.ndarray):
        given = _from_series(y, name)
        y = as_array(name, given, "a list, an array or a series of labels")
        if y.dtype.kind in "SU" and isinstance(given, list | tuple) and len({type(label) for label in given}) > 1:
            y = np.array(given, dtype=object)  # NumPy would make text of numbers, and "nan" of NaN
    refuse_odd_numbers(name, y, labels=True)
    if y.dtype.kind == "c":
        raise ValueError(f"{name} has complex numbers: use real numbers or text as labels.")
    plain = type(y) is np.ndarray and y.ndim == 1  # which scikit-learn would take 50 µs to see
    labels: Array = np.ravel(y) if plain else column_or_1d(y, warn=True)
    if labels.dtype == object:
        _check_objects(labels.tolist(), name)
    return labels


def plain_text(y: Any, name: str = "y") -> Any:
    """Text of any length (NumPy's StringDType), which few libraries know, as usual text; whatever else as it is."""
    if not isinstance(y, np.ndarray) or y.dtype.kind != "T":
        return y
    texts = y.astype(object)
    _check_objects(texts.ravel().tolist(), name)
    return texts.astype(str)


def _check_objects(labels: list[Any], name: str) -> None:
    for row, label in enumerate(labels):
        if _is_missing(label):
            raise ValueError(_no_label(name, row, label))
        if isinstance(label, Iterable) and not isinstance(label, str | bytes):
            kind = type(label).__name__
            raise ValueError(f"{name} has a {kind} in row {row}, not a label: use one label per row.")
    kinds = {
        Number if isinstance(label, Number) else str if isinstance(label, str) else type(label) for label in labels
    }
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"{name} has labels of different types ({names}): use only numbers or only strings.")


def is_sequence_of_labels(y: Any) -> bool:
    """Whether iterating over y gives its labels and nothing else, seen at a glance; of an array, by its own type."""
    kind = type(y)
    if kind is np.ndarray:
        return bool(y.ndim == 1 and y.dtype.kind not in "mMcV")
    if kind is list or kind is tuple:
        return True
    libraries = (get_pandas(), get_polars())
    return any(library is not None and isinstance(y, library.Series) for library in libraries)


def _no_label(name: str, row: int, found: Any) -> str:
    return f"{name} has no label in row {row}, but {found}: drop such rows first."


def _is_missing(label: Any) -> bool:
    """Whether it is None, NaN or pandas' NA or NaT."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def _from_series(y: Any, name: str) -> Any:
    """The values of a series or of a frame's only column; whatever is neither is left alone."""
    series = as_narwhals(name, y)
    if isinstance(series, nw.DataFrame):
        if series.shape[1] != 1:
            raise ValueError(f"{name} is a frame of {series.shape[1]} columns: pass only the label column.")
        series = next(series.iter_columns())
    if not isinstance(series, nw.Series):
        return y
    if series.null_count() > 0:
        row = int(np.argmax(series.is_null().to_numpy()))
        raise ValueError(_no_label(name, row, "a null"))
    labels = series.to_numpy()
    if labels.dtype == object and len(labels) > 0 and isinstance(labels[0], Number):  # unnoticed by pandas
        plain = np.array(labels.tolist())
        labels = plain if plain.dtype.kind in "biuf" else labels
    return labels
