"""Finds the label column, the classes, and the columns that an option names."""

from collections.abc import Iterable, Sequence
from math import isfinite
from reprlib import repr as short
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pocketkernel.stream.errors import listed, shown

Label = str | int | Literal[False] | None
LABEL_NAMES = ("label", "y", "target", "class")
A_CLASS = "one of the classes"
"""How errors about labels that are none begin."""


def all_named(columns: Iterable[str | int], names: list[str], option: str) -> set[str]:
    """Names of columns that were given by name or by index."""
    known = set(names)
    return {column if column in known else named(column, names, option) for column in columns}


def named(column: str | int, names: list[str], option: str) -> str:
    """Name of a column that was given by name or by index."""
    if isinstance(column, str) and column in names:
        return column
    if isinstance(column, int) and -len(names) <= column < len(names):
        return names[column]
    others = (
        f"choose one of these {len(names)}: {listed(names)}" if len(names) > 1 else f"the only one is {listed(names)}"
    )
    raise ValueError(f"{option}={shown(column) if isinstance(column, str) else column} is not a column: {others}.")


def label_of(label: Label, names: list[str]) -> str | None:
    """Name of the column of the labels, if there is one."""
    if label is False:
        return None
    if label is not None:
        return named(label, names, "label")
    found = [name for name in names if name.lower() in LABEL_NAMES]
    if len(found) != 1:
        which = f"{' and '.join(found)} could be the label" if found else f"none of {listed(names)} has a typical name"
        raise ValueError(f"which column has the labels? {which}: give label=, or label=False if there are none.")
    return found[0]


def plain_classes(classes: Sequence[Any]) -> list[Any]:
    """Classes as numbers if all of them are or read as numbers, else as text."""
    if len(set(classes)) < 2:
        raise ValueError(f"classes={list(classes)!r} is too short: use two or more different classes.")
    try:
        numbers = [float(name) for name in classes]
    except ValueError:
        return [str(name) for name in classes]
    if not all(map(isfinite, numbers)):
        raise ValueError(
            f"classes={short(list(classes))} has a number that is not finite: use finite numbers, or text."
        )
    return [int(number) if number.is_integer() else number for number in numbers]


def admitted(classes: list[Any], labels: Iterable[Any], room: int) -> list[Any]:
    """The classes, and labels that are not among them in order of arrival, as long as there is room.

    Examples
    --------
    >>> admitted([1, 2], [2.0, 7.0, 1.0, 5.0], 3), admitted(["a", "b"], ["c", None], 4)
    ([1, 2, 7], ['a', 'b', 'c'])
    """
    new = [
        label
        for label in dict.fromkeys(labels)
        if label not in classes and (isinstance(label, str) or _is_finite(label))
    ]
    plain = [int(one) if isinstance(one, float) and one.is_integer() else one for one in new]
    return [*classes, *plain[: max(0, room - len(classes))]]


def _is_finite(label: float | None) -> bool:
    return label is not None and isfinite(label)


def as_labels(values: npt.NDArray[np.float64], classes: list[Any] | None) -> npt.NDArray[Any]:
    """Labels that are numbers: of the type of the classes, or else float64 in every block."""
    return values.astype(np.float64 if classes is None else np.array(classes).dtype)


def expected_label(classes: list[Any] | None) -> str:
    """What a label should be."""
    return "a finite number" if classes is None else f"{A_CLASS} {', '.join(map(str, classes))}"


def rows_until(good: npt.NDArray[np.bool_], most: int | None) -> int:
    """How many rows to take so that `most` of them are valid; all rows if there are fewer.

    Examples
    --------
    >>> rows_until(np.array([True, False, True, False, True]), 2)
    3
    """
    places = np.flatnonzero(good)
    return len(good) if most is None or len(places) < most else int(places[most - 1]) + 1
