"""Follows a run and keeps its curve."""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pocketkernel._fields import Fields, is_count, is_text, list_of, optional
from pocketkernel.evaluate.curve import COLUMNS, Curve, columns_of, curve_of
from pocketkernel.evaluate.progressive import Progress
from pocketkernel.model_file import ModelFileError

EXPERTS = {"ring": "nearest rows", "lag": "last labels"}
"""Experts of PocketClassifier that are no kernels, as people read them."""


class Recorder:
    """Follows a run and keeps its curve, in bounded memory for runs of any length.

    When there are more than `limit` points, every second one is dropped and from then on only every second report is
    kept, and so on: the points stay evenly spread. The latest report is always the last point.

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
        self._interval = 1
        self._reports = 0
        self._kernels: tuple[str, ...] | None = None
        self._points: list[tuple[Any, ...]] = []
        self._last: tuple[Any, ...] | None = None  # the latest report, if it is not among the points

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
        self._reports += 1
        if self._reports % self._interval:
            self._last = point
            return
        self._last = None
        self._points.append(point)
        if len(self._points) > self._limit:
            # An even limit was passed by one: the newest is the odd one out, and becomes the last.
            self._last = self._points[-1]
            self._points = self._points[1::2]
            self._interval *= 2

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
            "interval": self._interval,
            "reports": self._reports,
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
        self._interval = given.take("interval", lambda value: is_count(value) and value.bit_count() == 1)
        self._reports = given.take("reports", is_count)
        kernels = given.take("kernels", optional(list_of(is_text)))
        given.end()
        self._kernels = None if kernels is None else tuple(kernels)
        curve = _curve(arrays, self._kernels or ())
        if len(curve) != -(-self._reports // self._interval) or self._reports // self._interval > self._limit:
            raise ModelFileError(f"recorder.reports cannot be {self._reports} with a curve of {len(curve)} points.")
        self._points = list(zip(*(column.tolist() for column in columns_of(curve)), strict=True))
        if len(self._points) > self._reports // self._interval:
            self._last = self._points.pop()
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
