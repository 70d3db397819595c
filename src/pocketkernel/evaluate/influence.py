"""What a model leans on: how much each column moves its scores."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

SCORES = 20_000
"""About as many rows are scored, whatever the number of columns, unless there is no time for it."""

MOST = 30
"""Columns that are named; others are counted together."""

Floats = npt.NDArray[np.float64]


def influence_of(
    model: Any, rows: Floats, names: Sequence[str], sources: Sequence[str], most: int = SCORES
) -> list[dict[str, Any]]:
    """Share of each column in what moves the scores of a model, largest first.

    Each column of each row is moved by half its standard deviation to either side, and the differences of the scores
    are summed: slopes of the whole model where its data are, without a permutation of the data. Columns that come from
    the same source, such as the places of one category, count together, as if they moved independently: by the root of
    the sum of their squares. Else the noise of a category's 48 places would outweigh a column that matters.

    Parameters
    ----------
    model : object with decision_function, or else predict
    rows : array of shape (n, d)
        A sample of what it has learned; NaN where a value is missing.
    names : list of str
        Names of the d columns.
    sources : list of str
        Names of the columns of the file.
    most : int, default=20_000
        About how many scores it may ask for.

    Examples
    --------
    >>> from pocketkernel import PocketClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = PocketClassifier(random_state=0).fit(X, X[:, 1] > 0)
    >>> influence_of(model, X[:64], ["a", "b", "c"], ["a", "b", "c"])[0]["column"]
    'b'
    """
    n, d = rows.shape
    if not n or not d:
        return []
    n = min(n, max(4, most // (2 * d)))
    spread = _deviations(rows)
    rows, total = rows[:n], np.zeros(d)
    scores = model.decision_function if hasattr(model, "decision_function") else model.predict
    for k in np.flatnonzero(spread > 0):
        both = np.repeat(rows[None], 2, axis=0)
        both[0, :, k] += 0.5 * spread[k]
        both[1, :, k] -= 0.5 * spread[k]
        above, below = np.split(np.asarray(scores(both.reshape(2 * n, d))), 2)
        total[k] = np.abs(above - below).sum()
    return _shares(total, [_source(name, sources) for name in names])


def _deviations(rows: Floats) -> Floats:
    known = np.isfinite(rows)
    count = np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, rows, 0.0)
    mean = filled.sum(axis=0) / count
    return np.asarray(np.sqrt((np.where(known, rows - mean, 0.0) ** 2).sum(axis=0) / count))


def _shares(total: Floats, names: list[str]) -> list[dict[str, Any]]:
    if not np.isfinite(total).all() or total.sum() <= 0:
        return []
    grouped: dict[str, float] = {}
    for name, moved in zip(names, (total / total.max()).tolist(), strict=True):
        grouped[name] = math.hypot(grouped.get(name, 0.0), moved)
    whole = sum(grouped.values())
    ordered = sorted(((name, moved / whole) for name, moved in grouped.items()), key=lambda one: -one[1])
    return [{"column": name, "share": share} for name, share in ordered[:MOST]]


def _source(name: str, sources: Sequence[str]) -> str:
    """The column of the file that a column of the rows comes from."""
    own = [source for source in sources if name == source or name.startswith((f"{source}#", f"{source} "))]
    return max(own, key=len) if own else name
