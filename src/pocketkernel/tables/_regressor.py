"""TableRegressor: numbers for rows as they are."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from pocketkernel.evaluate.task import REGRESSION
from pocketkernel.learners import PocketRegressor, as_targets
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.values import POINT, decimal_of, to_numbers
from pocketkernel.tables._model import Array, TableModel, described


@described
class TableRegressor(RegressorMixin, TableModel):  # type: ignore[misc]
    """A regressor of tables as they are: text, categories, dates and missing values, in a fixed number of bytes.

    Does in Python what ``pocketkernel run --task regression`` and ``pocketkernel predict`` do with files, by the same
    code; what `pocketkernel.load` gives of the folder of such a run is such a model.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import random
    >>> from pocketkernel import TableRegressor
    >>> draw = random.Random(0)
    >>> flats = [{{"square metres": draw.randint(20, 90), "district": draw.choice("ABC")}} for _ in range(2_000)]
    >>> rents = [{{"A": 9, "B": 12, "C": 15}}[flat["district"]] * flat["square metres"] for flat in flats]
    >>> model = TableRegressor(memory="32KiB", random_state=0).fit(flats, rents)
    >>> bool(abs(model.predict({{"square metres": 50, "district": "B"}})[0] - 600) < 30)
    True
    """

    _takes = PocketRegressor
    _usual = PocketRegressor
    _task = REGRESSION

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows of X: in random order, as the learner does.

        For rows whose order matters use `partial_fit`.

        Parameters
        ----------
        X : data frame, list of dicts, dict or array
            Rows.
        y : array or series of shape (n,), default=None
            Targets; of one dict also its target. None: they are in the column `label` of X.
        sample_weight : array of shape (n,), default=None
            How much each row counts, relative to the others; None means 1.

        Notes
        -----
        If an error or Ctrl-C ends the call, the estimator is unchanged. Other threads use it as it was until the end.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn every row of X once, in order, continuing from what was learned before.

        Parameters as in `fit`. Once something has been learned, X may also be a file or a pipe, which has its targets
        in the column `label`; of files, the blocks of 4,096 rows before an error stay learned. After another error
        nothing of X has been learned.
        """
        self._learn(X, y, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Predict every row of X, then learn it. Returns the predictions, each made before its target is used.

        It is what `pocketkernel run` does. Parameters as in `partial_fit`.
        """
        return self._learn(X, y, sample_weight)

    def predict(self, X: Any) -> Array:
        """Predicted numbers of the rows. Learns nothing."""
        return self._answers("predict", X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Lower and upper bounds for the targets of the rows, as of `PocketRegressor.predict_interval`."""
        return self._answers("predict_interval", X, coverage)

    def _targets(self, y: Any) -> Array:
        targets = as_targets(y)
        if targets.ndim == 1 and np.asarray(y).ndim == 2:
            column_or_1d(y, warn=True)
        if targets.ndim > 1:
            raise ValueError(
                f"y has {targets.shape[1]} columns: a {type(self).__name__} predicts one number for each row, so give "
                "one column, and use one model for each target."
            )
        return targets

    def _from_text(self, texts: list[str | None]) -> Array:
        numbers, wrong = to_numbers(texts, decimal_of([text for text in texts if text]) or POINT)
        if wrong:
            raise ValueError(f"row {wrong[0] + 1} has the target {texts[wrong[0]]!r}, which is not a number.")
        return numbers

    def _note_targets(self, encoding: Encoding, learner: Any) -> None:
        encoding.label_is_number, encoding.label_decimal, encoding.classes = True, "", None
