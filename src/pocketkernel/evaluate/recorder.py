"""Follows a run and keeps its curve."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Self

import numpy as np

from pocketkernel._fields import Fields, is_count, is_text, list_of, optional
from pocketkernel.evaluate.curve import COLUMNS, Curve, columns_of, curve_of
from pocketkernel.evaluate.progressive import Progress
from pocketkernel.learners.pocket_classifier import EXPERTS
from pocketkernel.model_file import ModelFileError

POINTS_OF_A_BLOCK = 64
"""Most points within a block: each costs as much as a few rows."""


class Recorder:
    """Follows a run and keeps its curve, in bounded memory for runs of any length.

    Points are at rows that a stride divides. When there are more than `limit` of them, the stride is doubled, so they
    stay evenly spread. The latest report is always the last point.

    Parameters
    ----------
    limit : int, default=2000
        Maximum number of points in addition to the last, an even number of at least 2.

    Examples
    --------
    >>> from pocketkernel import PocketClassifier
    >>> from pocketkernel.evaluate import progressive
    >>> model, recorder = PocketClassifier(), Recorder(limit=4)
    >>> for progress in progressive(model, np.zeros((90, 1)), np.resize([1, -1], 90), block=10):
    ...     recorder.add(model, progress)
    >>> recorder.curve().rows.tolist()
    [20, 40, 60, 80, 90]
    """

    def __init__(self, *, limit: int = 2000) -> None:
        if limit < 2 or limit % 2:
            raise ValueError(f"limit={limit} cannot be halved: use an even number of at least 2.")
        self._limit = limit
        self._stride = 1
        self._kernels: tuple[str, ...] | None = None
        self._points: list[tuple[Any, ...]] = []
        self._last: tuple[Any, ...] | None = None  # the latest report, if it is not among the points

    def expect(self, before: int, count: int) -> None:
        """Put points so far apart that a block of `count` rows after `before` others has few enough of them."""
        while (before + count) // self._stride > self._limit or count // self._stride > POINTS_OF_A_BLOCK:
            self._widen()

    def parts(self, before: int, count: int) -> list[slice]:
        """Where to interrupt a block of `count` rows after `before` others, so that the curve gets its points.

        Examples
        --------
        >>> Recorder(limit=256).parts(1000, 100)[:3], len(Recorder(limit=256).parts(0, 100_000))
        ([slice(0, 8, None), slice(8, 16, None), slice(16, 24, None)], 49)
        """
        self.expect(before, count)
        stride = self._stride
        ends = [row - before for row in range((before // stride + 1) * stride, before + count, stride)]
        return [slice(start, end) for start, end in pairwise([0, *ends, count])]

    def add(self, model: Any, progress: Progress) -> None:
        """Record the state of the model.

        Parameters
        ----------
        model : object
            Its `diagnostics_`, `kernel_weights_` and `nbytes` are recorded if it has them.
        progress : Progress
            After the model's latest block.
        """
        newest = self._last or (self._points[-1] if self._points else (0,))
        if progress.rows <= newest[0]:
            raise ValueError(
                f"progress is at row {progress.rows} but the curve is at row {newest[0]}: a recorder follows one run; "
                "restore its state, too, when a run is resumed."
            )
        weights = np.asarray(getattr(model, "kernel_weights_", ()), dtype=np.float64)
        if self._kernels is None:
            self._kernels = kernel_names(model)
        if len(weights) != len(self._kernels):
            raise ValueError(f"the model has {len(weights)} kernel weights, but had {len(self._kernels)} before.")
        done = getattr(model, "diagnostics_", None) or {}
        point = (
            progress.rows,
            progress.mistakes,
            float(done.get("cumulative_loss", math.nan)),
            progress.seconds,
            int(getattr(model, "nbytes", 0)),
            float(np.mean(done["stored"])) if "stored" in done else 0.0,
            int(done.get("additions", 0)),
            int(done.get("proxies", 0)),
            int(done.get("removals", 0)),
            *weights.tolist(),
        )
        if progress.rows % self._stride == 0:
            self._points.append(point)
            self._last = None
        else:
            self._last = point
        while len(self._points) > self._limit:
            self._widen()

    def _widen(self) -> None:
        newest = self._last or (self._points[-1] if self._points else None)
        self._stride *= 2
        self._points = [one for one in self._points if one[0] % self._stride == 0]
        self._last = newest if newest is not None and newest[0] % self._stride else None

    def curve(self) -> Curve:
        """The curve so far."""
        kernels = self._kernels or ()
        points = self._points + ([self._last] if self._last else [])
        width = len(COLUMNS) + len(kernels)
        columns = [list(column) for column in zip(*points, strict=True)] if points else [[] for _ in range(width)]
        kinds = [*COLUMNS.values(), *(np.float64 for _ in kernels)]
        return curve_of([np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)], kernels)

    def state(self) -> dict[str, Any]:
        """The complete state as arrays, integers and kernel names, for `Recorder.restore`."""
        curve = self.curve()
        return {
            "limit": self._limit,
            "stride": self._stride,
            "kernels": None if self._kernels is None else list(self._kernels),
            "weights": curve.weights,
            **{name: getattr(curve, name) for name in COLUMNS},
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make a recorder that continues from this state; ModelFileError if the state is impossible."""
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        given = Fields({name: value for name, value in state.items() if name not in arrays}, "recorder")
        self = cls(limit=given.take("limit", lambda value: is_count(value) and value >= 2 and value % 2 == 0))
        self._stride = given.take("stride", lambda value: is_count(value) and value.bit_count() == 1)
        kernels = given.take("kernels", optional(list_of(is_text)))
        given.end()
        self._kernels = None if kernels is None else tuple(kernels)
        curve = _curve(arrays, self._kernels or ())
        self._points = list(zip(*(column.tolist() for column in columns_of(curve)), strict=True))
        if self._points and self._points[-1][0] % self._stride:
            self._last = self._points.pop()
        if len(self._points) > self._limit or any(point[0] % self._stride for point in self._points):
            raise ModelFileError(f"recorder.stride cannot be {self._stride} with the points of its curve.")
        return self


def _curve(arrays: Mapping[str, Any], kernels: tuple[str, ...]) -> Curve:
    """A curve of arrays in a file."""
    types = {**COLUMNS, "weights": np.float64}
    for name in sorted(arrays.keys() ^ types.keys()):
        raise ModelFileError(f"curve.{name} is {'unknown' if name in arrays else 'missing'}.")
    for name, array in arrays.items():
        good = array.dtype == types[name] and array.ndim == (2 if name == "weights" else 1)
        if not good or (array.dtype == np.int64 and np.any(array < 0)):
            raise ModelFileError(f"curve.{name} is impossible: it has the wrong shape or type, or negative counts.")
    try:
        return Curve(**arrays, kernels=kernels)
    except ValueError as error:
        raise ModelFileError(f"curve is impossible: {error}") from None


def kernel_names(model: Any) -> tuple[str, ...]:
    """Name of each kernel that a model weighs; no two are the same.

    Examples
    --------
    >>> from pocketkernel import MOMDS, Gaussian, Linear
    >>> model = MOMDS(kernels=[Gaussian(0.5), Linear(), Linear()], budget=10).fit([[0], [1]], [0, 1])
    >>> kernel_names(model)
    ('gaussian 0.5', 'linear', 'linear (2)')
    """
    count = len(getattr(model, "kernel_weights_", ()))
    if hasattr(model, "shares_"):
        return tuple(EXPERTS.get(name, name) for name in model.shares_)
    recipe = getattr(model, "_recipe", None)
    if recipe is None:
        return tuple(f"kernel {number}" for number in range(1, count + 1))
    names: list[str] = []
    for kernel in recipe.kernels:
        name = f"{kernel.family} {kernel.parameter:g}" if vars(kernel) else kernel.family
        again = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({again + 1})" if again else name)
    return tuple(names)
