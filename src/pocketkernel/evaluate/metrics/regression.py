"""All measures of a pass over rows with real targets."""

from collections.abc import Mapping
from typing import Any, Self

from pocketkernel.evaluate.metrics.baselines import ValueBaselines
from pocketkernel.evaluate.metrics.errors import Errors, Intervals
from pocketkernel.evaluate.metrics.pairs import Pairs
from pocketkernel.evaluate.metrics.tallies import Array, Floats, Tallies, all_states, restore_all
from pocketkernel.evaluate.metrics.trace import Trace
from pocketkernel.model_file import ModelFileError

COVERAGE = 0.9
"""Share of the targets that is to lie within the intervals that are counted."""

NAMES = ("learner", "mean", "last_value", "linear")
"""Whose errors are counted."""


class RegressionMetrics:
    """Follows a regressor through a stream: all measures in bounded memory, from the answers of one pass.

    Beside the learner's errors stand those of three baselines, made in the same progressive way: the mean of the
    targets so far (`mean`), the target before (`last_value`), and the linear part of the learner (`linear`). Nothing is
    known at the first row: it is not counted.

    Examples
    --------
    >>> import numpy as np
    >>> metrics = RegressionMetrics()
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> metrics.update(y, y - 0.5, y - 2, y + 1, y - 0.7)
    >>> found = metrics.results()
    >>> found["mae"], found["baselines"]["last_value"]["mae"], found["interval"]["coverage"]
    (0.5, 1.0, 1.0)
    """

    task = "regression"

    def __init__(self) -> None:
        self.baselines, self.errors, self.intervals = ValueBaselines(), Errors(len(NAMES)), Intervals()
        self.pairs, self.trace = Pairs(), Trace([*NAMES, "inside"])

    @property
    def rows(self) -> int:
        """Rows so far."""
        return int(self.baselines.rows[0])

    def update(self, y: Floats, answers: Floats, low: Floats, high: Floats, linear: Floats) -> None:
        """Count some rows, given their targets, answers, intervals, and the answers of the linear part."""
        counted = slice(0 if self.baselines.rows[0] else 1, None)
        predictions = [answers, *self.baselines.update(y), linear]
        squares = self.errors.update(y[counted], [prediction[counted] for prediction in predictions])
        inside = self.intervals.update(y[counted], low[counted], high[counted])
        if len(inside):
            self.trace.update([*squares, inside])
            self.pairs.update(y[counted], answers[counted])

    def add(self, other: Self) -> None:
        """Count the rows of another pass, which come after these."""
        theirs = other._parts()
        for name, part in self._parts().items():
            part.add(theirs[name])

    # ---- results ----------------------------------------------------------------------------------------------------

    def results(self) -> dict[str, Any]:
        """All measures, in a form that JSON can represent."""
        deviation = self.errors.deviation()
        found = {name: self._measures(k, deviation) for k, name in enumerate(NAMES)}
        return {
            "task": self.task,
            "rows": self.rows,
            **found["learner"],
            "baselines": {name: found[name] for name in NAMES[1:]},
            "interval": {
                "asked": COVERAGE,
                "coverage": self.intervals.coverage(),
                "mean_width": self.intervals.mean_width(),
            },
            "target": {
                "mean": float(self.errors.moments[0]),
                "deviation": deviation,
                "rising": self.baselines.rising(),
            },
            "pairs": self.pairs.points(),
            "curve": self.trace.points(),
        }

    def _measures(self, which: int, deviation: float | None) -> dict[str, float | None]:
        rmse = self.errors.root_mean_square(which)
        beaten = {} if which == 0 else {"beaten_by": self.errors.beaten_by(which)}
        return beaten | {
            "mae": self.errors.mean_absolute(which),
            "rmse": rmse,
            "nrmse": rmse / deviation if rmse is not None and deviation else None,
            "r2": self.errors.explained(which),
        }

    # ---- state ------------------------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Tallies]:
        return {
            "baselines": self.baselines,
            "errors": self.errors,
            "intervals": self.intervals,
            "pairs": self.pairs,
            "trace": self.trace,
        }

    def state(self) -> dict[str, Array]:
        """Everything, as arrays of fixed shapes."""
        return all_states(self._parts())

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a state. ModelFileError if it is not of such metrics."""
        restore_all(self._parts(), state)
        counted = {int(count) for count in (self.trace.head[0], self.errors.rows[0], self.intervals.rows[0])}
        counted.add(int(self.pairs.head[0]))
        if len(counted) > 1 or not counted <= {0, *range(max(self.rows - 2, 0), self.rows + 1)}:
            raise ModelFileError("metrics are of different numbers of rows.")
