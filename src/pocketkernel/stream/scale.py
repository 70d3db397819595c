"""Online scaling. The scaled row depends on that row and on the rows before it, never on the size of the blocks.

The scale of a column that has been constant so far is unknown; no rule here divides by zero. NaN is a missing value: it
stays NaN, and leaves its column as it is.
"""

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from pocketkernel.model_file import ModelFileError
from pocketkernel.stream.block import Array, Rows, csr, is_sparse

Doubles = npt.NDArray[np.float64]
LARGEST = 1e100  # what is larger counts as this, so that no sum of squares overflows
State = dict[str, npt.NDArray[Any]]


class Scaler:
    """Base of the scalers: a subclass has some statistics for each column, and updates them row by row."""

    kind: ClassVar[str]
    _sums: ClassVar[tuple[str, ...]]  # names of what is remembered of each column
    _begins: ClassVar[tuple[float, ...]]  # what that is before its first value

    def __init__(self) -> None:
        self.count = 0
        self.columns: dict[str, Doubles] = {}

    @property
    def width(self) -> int:
        """Columns of a row; 0 before the first."""
        return len(self.columns[self._sums[0]]) if self.columns else 0

    def transform_then_learn(self, X: Rows) -> Rows:
        """Scale each row using the rows before it, then learn it.

        Parameters
        ----------
        X : array of shape (n, d); OnlineMaxAbs also takes a CSR matrix

        Returns
        -------
        array or CSR matrix of the same shape and type
        """
        self._begin(X)
        return self._scale(X, learn=True)

    def transform(self, X: Rows) -> Rows:
        """Scale each row using what has been learned, without learning."""
        if self.count == 0:
            raise ValueError(f"this {type(self).__name__} has not seen a row yet: use transform_then_learn first.")
        self._begin(X)
        return self._scale(X, learn=False)

    def get_state(self) -> State:
        """All that has been learned, as arrays."""
        columns = {name: self.columns.get(name, np.empty(0)).copy() for name in self._sums}
        return {"count": np.array(self.count), **columns}

    def set_state(self, state: State) -> Self:
        """Go on from what `get_state` gave; ModelFileError for what it cannot have given."""
        known = self.get_state()
        for name in sorted(state.keys() ^ known.keys()):
            raise ModelFileError(f"scaler.{name} is {'unknown' if name in state else 'missing'}.")
        width = state[self._sums[0]].size
        for name, array in state.items():
            if array.shape != ((width,) if name in self._sums else ()) or array.dtype != known[name].dtype:
                raise ModelFileError(f"scaler.{name} is impossible: it has shape {array.shape}, dtype {array.dtype}.")
            if not np.isfinite(array).all():
                raise ModelFileError(f"scaler.{name} is impossible: it is not finite.")
        for name in self._impossible(state) | ({"count"} if state["count"] < 0 else set()):
            raise ModelFileError(f"scaler.{name} is impossible: no rows lead to it.")
        self.count = int(state["count"])
        self.columns = {name: state[name].copy() for name in self._sums} if width else {}
        return self

    def _impossible(self, state: State) -> set[str]:
        """Names of what no rows lead to."""
        raise NotImplementedError

    def _begin(self, X: Rows) -> None:
        if is_sparse(X) and self.kind != OnlineMaxAbs.kind:
            raise ValueError(
                f"{type(self).__name__} changes zeros, so sparse rows would not stay sparse: use OnlineMaxAbs, or make "
                "the rows dense with Block.dense()."
            )
        width = X.shape[1]
        if not self.columns:
            self.columns = {name: np.full(width, first) for name, first in zip(self._sums, self._begins, strict=True)}
        if width != self.width:
            raise ValueError(f"the rows have {width} columns, but those before had {self.width}.")

    def _scale(self, X: Rows, *, learn: bool) -> Rows:
        raise NotImplementedError


class OnlineStandard(Scaler):
    """Subtract the mean of the rows before and divide by their standard deviation, column by column.

    The first value becomes 0. Where all values before were equal, a larger one becomes 1 and a smaller one -1.

    Parameters
    ----------
    clip : float, default=10.0
        Results are clipped to [-clip, clip]. The first rows may be nearly equal and make the deviation tiny.

    References
    ----------
    Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products.

    Examples
    --------
    >>> OnlineStandard().transform_then_learn(np.array([[1.0], [3.0], [4.0], [2.0]])).ravel().round(2).tolist()
    [0.0, 1.0, 2.0, -0.53]
    """

    kind = "standard"
    # First value; sum of differences from it; sum of squares around the mean; number of values.
    _sums = ("first", "sum", "squares", "seen")
    _begins = (0.0, 0.0, 0.0, 0.0)

    def __init__(self, clip: float = 10.0) -> None:
        super().__init__()
        if not clip > 0:
            raise ValueError(f"clip={clip} is too small: use a positive number.")
        self.clip = clip

    def _scale(self, X: Rows, *, learn: bool) -> Rows:
        if len(X) == 0:
            return X
        before = self.columns
        x = _bounded(X)
        if not learn:
            x -= before["first"]
            scaled = self._scaled(x, before["sum"], before["squares"], before["seen"])
            return np.where((before["seen"] == 0) & ~np.isnan(x), 0.0, scaled).astype(X.dtype, copy=False)
        absent = np.isnan(x)
        begins = (before["seen"] == 0) & ~absent.all(axis=0)
        first = np.where(begins, x[absent.argmin(axis=0), np.arange(x.shape[1])], before["first"])
        x -= first
        known = np.where(absent, 0.0, x)
        # Sums continue from the carried ones term by term, so the block size changes no bit. The squares are Welford's:
        # each term is the product of the distances from the mean before and after, which is never negative.
        sums = np.cumsum(np.concatenate([before["sum"][None], known]), axis=0)
        seen = np.cumsum(np.concatenate([before["seen"][None], ~absent]), axis=0)
        means = sums / np.maximum(seen, 1)
        terms = np.where(absent, 0.0, np.maximum((known - means[:-1]) * (known - means[1:]), 0))
        squares = np.cumsum(np.concatenate([before["squares"][None], terms]), axis=0)
        scaled = self._scaled(x, sums[:-1], squares[:-1], seen[:-1])
        self.columns = {"first": first, "sum": sums[-1].copy(), "squares": squares[-1].copy(), "seen": seen[-1].copy()}
        self.count += len(x)
        return scaled.astype(X.dtype, copy=False)

    def _scaled(self, x: Doubles, sums: Doubles, squares: Doubles, seen: Doubles) -> Doubles:
        values = np.maximum(seen, 1)
        centred, variance = x - sums / values, squares / values
        constant = variance == 0  # exactly, as the first value has been subtracted
        scaled = np.where(constant, np.sign(centred), centred / np.sqrt(np.where(constant, 1.0, variance)))
        return np.clip(scaled, -self.clip, self.clip)

    def get_state(self) -> State:
        """All that has been learned, as arrays."""
        return {**super().get_state(), "clip": np.array(self.clip, np.float64)}

    def set_state(self, state: State) -> Self:
        """Go on from what `get_state` gave; ModelFileError for what it cannot have given."""
        whole = "first" in state and "count" in state and state["count"].shape == ()
        if whole and "seen" not in state:  # a file from before values could be missing
            state = {**state, "seen": np.full(state["first"].shape, state["count"], np.float64)}
        super().set_state(state)
        self.clip = float(state["clip"])
        return self

    def _impossible(self, state: State) -> set[str]:
        most = 2 * LARGEST * float(state["count"])
        good = {
            "clip": state["clip"] > 0,
            "first": (abs(state["first"]) <= LARGEST).all(),
            "sum": (abs(state["sum"]) <= most).all(),
            "squares": ((state["squares"] >= 0) & (state["squares"] <= 2 * LARGEST * most)).all(),
            "seen": ((state["seen"] >= 0) & (state["seen"] <= state["count"]) & (state["seen"] % 1 == 0)).all(),
        }
        return {name for name, one in good.items() if not one}


class OnlineMinMax(Scaler):
    """Map the range of the rows before to [0, 1], column by column; values outside become 0 or 1.

    The first value becomes 0. Where all values before were equal, a larger one becomes 1, any other 0.

    Examples
    --------
    >>> OnlineMinMax().transform_then_learn(np.array([[2.0], [4.0], [3.0], [9.0], [3.0]])).ravel().round(2).tolist()
    [0.0, 1.0, 0.5, 1.0, 0.14]
    """

    kind = "minmax"
    _sums = ("low", "high")
    _begins = (LARGEST, -LARGEST)  # no value is in this range

    def _impossible(self, state: State) -> set[str]:
        low, high = state["low"], state["high"]
        none = (low == LARGEST) & (high == -LARGEST)
        good = (abs(low) <= LARGEST) & (abs(high) <= LARGEST) & ((low <= high) | none)
        return set() if good.all() else {"low"}

    def _scale(self, X: Rows, *, learn: bool) -> Rows:
        if len(X) == 0:
            return X
        x = _bounded(X)
        low, high = self.columns["low"], self.columns["high"]
        if learn:
            lows = np.fmin.accumulate(np.concatenate([low[None], x]))
            highs = np.fmax.accumulate(np.concatenate([high[None], x]))
            self.columns = {"low": lows[-1].copy(), "high": highs[-1].copy()}
            self.count += len(x)
            low, high = lows[:-1], highs[:-1]
        width = high - low
        scaled = np.where(width == 0, x > high, (x - low) / np.where(width == 0, 1.0, width))
        scaled = np.where(width < 0, 0.0, np.clip(scaled, 0.0, 1.0))
        return np.where(np.isnan(x), np.nan, scaled).astype(X.dtype, copy=False)


class OnlineMaxAbs(Scaler):
    """Divide by the largest absolute value of the rows before, column by column; larger values become 1 or -1.

    Zeros stay zeros, so sparse rows stay sparse.

    Examples
    --------
    >>> OnlineMaxAbs().transform_then_learn(np.array([[0.0], [-2.0], [1.0], [4.0], [1.0]])).ravel().tolist()
    [0.0, -1.0, 0.5, 1.0, 0.25]
    """

    kind = "maxabs"
    _sums = ("largest",)
    _begins = (0.0,)

    def _impossible(self, state: State) -> set[str]:
        largest = state["largest"]
        return set() if ((largest >= 0) & (largest <= LARGEST)).all() else {"largest"}

    def _scale(self, X: Rows, *, learn: bool) -> Rows:
        values = _bounded(X.data if is_sparse(X) else X)
        sizes = np.nan_to_num(np.abs(values))
        before = self.columns["largest"]
        if is_sparse(X):
            bounds = _running_largest(sizes, X.indices, before) if learn else before[X.indices]
            if learn:
                after = before.copy()
                np.maximum.at(after, X.indices, sizes)
        elif learn:
            running = np.maximum.accumulate(np.concatenate([before[None], sizes]))
            bounds, after = running[:-1], running[-1].copy()
        else:
            bounds = before
        bounds = np.maximum(bounds, sizes)
        scaled = (values / np.where(bounds == 0, 1.0, bounds)).astype(X.dtype, copy=False)
        if learn:
            self.columns = {"largest": after}
            self.count += X.shape[0]
        return csr(scaled, X.indices, X.indptr, X.shape[1]) if is_sparse(X) else scaled


def _bounded(X: Array) -> Doubles:
    return np.clip(np.asarray(X, np.float64), -LARGEST, LARGEST)


def _running_largest(sizes: Doubles, columns: Array, before: Doubles) -> Doubles:
    """For every entry of sparse rows, the largest of its column up to itself, given those before.

    The entries of a column are brought together, in order. To stop at the border of a column, the running maximum is
    taken over ranks, to which every further column adds more than any rank.
    """
    order = np.argsort(columns, kind="stable")
    floors = np.maximum(sizes, before[columns])[order]
    values, ranks = np.unique(floors, return_inverse=True)
    sorted_columns = columns[order]
    step = np.cumsum(np.concatenate([[0], sorted_columns[1:] != sorted_columns[:-1]])[: len(order)]) * len(values)
    running = np.empty_like(sizes)
    running[order] = values[np.maximum.accumulate(ranks + step) - step]
    return running


SCALERS: dict[str, type[Scaler]] = {scaler.kind: scaler for scaler in (OnlineStandard, OnlineMinMax, OnlineMaxAbs)}
