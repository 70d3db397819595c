"""Intervals for rows whose targets come late: wider by what the intervals that were given have missed."""

from reprlib import repr as short
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.learners import PocketRegressor

Floats = npt.NDArray[np.float64]
ROWS = 9
"""Rows that are added to a delay: a miss of the next row widens by a tenth."""


class LateIntervals:
    """Intervals that hold although targets come late, in blocks or some time after the answer.

    Those of `PocketRegressor.predict_interval` are for the next row: they follow errors that were made when all targets
    before were known. Here, each half of such an interval is multiplied by a factor of its own. When the targets of
    intervals that were given are known at last, a miss raises the factor, and a hit lowers it, so that over time the
    share of targets inside is `coverage`, whatever the stream does. What it measures is what was given: a delay that
    matters widens, one that does not changes next to nothing.

    Parameters
    ----------
    coverage : float, default=0.9
        Share of the targets that should lie inside, from 0.01 to 0.999; half of the others below, half above.

    Attributes
    ----------
    factors : array of shape (2,), or (m, 2) for m > 1 targets
        Of the lower and the upper half. They are all that there is, so a model's factors may be kept in a file.

    Examples
    --------
    >>> import numpy as np
    >>> from pocketkernel import LateIntervals, PocketRegressor
    >>> y = np.cumsum(np.random.default_rng(0).normal(size=5_000))  # a random walk
    >>> X = np.ones((5_000, 1))
    >>> model, intervals = PocketRegressor(random_state=0).partial_fit(X[:24], y[:24]), LateIntervals(0.9)
    >>> inside = []
    >>> for day in range(24, 4_992, 24):
    ...     rows = slice(day, day + 24)
    ...     given = intervals.predict(model, X[rows])  # in the morning, for all 24 hours
    ...     inside += ((given[:, 0] <= y[rows]) & (y[rows] <= given[:, 1])).tolist()
    ...     intervals.learn(given, y[rows])  # in the evening
    ...     model = model.partial_fit(X[rows], y[rows])
    >>> bool(0.86 < np.mean(inside) < 0.92)  # those of `predict_interval` hold about half
    True

    Notes
    -----
    After a call of `learn` with n targets that came d rows late, of which k are beyond the interval on one side, that
    side's factor is multiplied by (1 + u/2) / (1 - u/2), nearly e^u, where u = (k - n (1 - coverage) / 2) / (9 + d). So
    at a steady delay the share of misses on a side differs from (1 - coverage) / 2 by no more than the change of the
    factor's logarithm times (9 + d) over the number of rows: adaptive conformal inference (Gibbs & Candes, 2021).
    """

    def __init__(self, coverage: float = 0.9) -> None:
        self.coverage = coverage
        self.factors: Floats = np.ones(2)

    def predict(self, model: PocketRegressor, X: Any) -> Floats:
        """Lower and upper bounds for the rows of X, of shape (n, 2), or (n, m, 2) if there are m > 1 targets.

        Keep them until the targets come.
        """
        bounds = model.predict_interval(X, self.coverage)
        with _core.Arithmetic():  # whatever other libraries have set in this thread
            middle = 0.5 * (bounds[..., :1] + bounds[..., 1:])
            return np.asarray(middle + (bounds - middle) * self.factors)

    def learn(self, given: Any, y: Any, late: int | None = None) -> None:
        """Learn from targets that are known at last.

        Parameters
        ----------
        given : array of shape (n, 2) or (n, m, 2)
            What `predict` returned for these rows, before their targets were known.
        y : array of shape (n,) or (n, m)
            The targets.
        late : int, default=None
            For how many rows `predict` was asked since it was asked for the first of these, that one included: 24 if
            answers are given 24 rows ahead, even if their targets come one by one. None, or less, means n, as if they
            were a block.
        """
        given, y = np.asarray(given, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if given.shape != (*y.shape, 2) or len(y) == 0:
            raise ValueError(
                f"the intervals have shape {given.shape}, and y has {y.shape}: give one interval, as `predict` "
                "returned it, for each target."
            )
        if not (np.isfinite(given).all() and np.isfinite(y).all()):
            raise ValueError("intervals and targets must be finite numbers: leave out rows whose target is not known.")
        if late is not None and (isinstance(late, bool) or not isinstance(late, int | np.integer) or late < 0):
            raise ValueError(f"late={short(late)} is not a number of rows.")
        missed = np.stack([y < given[..., 0], y > given[..., 1]], axis=-1).sum(axis=0)
        with _core.Arithmetic():
            self._move(missed, max(len(y), int(late or 0)), len(y))

    def _move(self, missed: Any, late: int, rows: int) -> None:
        step = 1.0 / (ROWS + late)
        half = 0.5 * step * (missed - 0.5 * (1.0 - self.coverage) * rows)
        self.factors = np.clip(self.factors * ((1.0 + half) / (1.0 - half)), 1e-6, 1e6)
