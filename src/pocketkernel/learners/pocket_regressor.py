"""PocketRegressor: like PocketClassifier, for real targets."""

from dataclasses import field
from reprlib import repr as short
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from pocketkernel import _core
from pocketkernel._alone import together
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._learner import Array, OnlineLearner, Scores
from pocketkernel.learners._parameters import number, one_of
from pocketkernel.learners._pocket import Pocket
from pocketkernel.learners._recipe import Recipe
from pocketkernel.learners._targets import as_targets

LOSSES = ("squared", "absolute", "quantile")
SIGNS = np.array([-1.0, 1.0])
"""Of the lower and the upper margin."""


@with_parameters
class PocketRegressor(Pocket, RegressorMixin, OnlineLearner):  # type: ignore[misc]
    """A regressor for streams, in a fixed number of bytes, with nothing to tune.

    Scales every column, and the target, using the rows seen so far. A linear model is fitted by recursive least
    squares; its residuals are learned by random features of six kernel widths, by a function of each column, and from
    the most similar of the last rows; all of them are mixed by least squares. Columns that matter more count more in
    distances. The influence of outliers is limited, in rows and targets. It detects changes of the stream and then
    learns faster. Every prediction has an interval of any coverage, which holds over time, even while the stream
    changes, if each row is learned before the next interval is asked for; where targets come later, use
    `LateIntervals`. Supports one or several targets. NaN in a row is a missing value: it counts as the typical value of
    its column. Row weights are relative, as in PocketClassifier. ``docs/pocket_regressor.md`` explains the design and
    its results.

    Parameters
    ----------
    memory : int or str, default="64KiB"
        Total bytes that the learner may use, such as 65536 or "64KiB".
    loss : {"squared", "absolute", "quantile"}, default="squared"
        What is predicted: the mean of y, its median, or a quantile.
    quantile : float, default=0.5
        Which quantile, from 0.001 to 0.999, if loss="quantile".
    dtype, shuffle
    epochs : int or "auto", default=1
        How often `fit` goes through the rows; more than 2 rarely help. Later passes only teach the experts: counters of
        rows and loss, intervals and the weights of the mixture are those of the first pass, in which every row was new.
    n_jobs, random_state

    Attributes
    ----------
    n_outputs_ : int
        How many numbers are predicted for each row.
    budget_ : int
        Frequencies that fit into the memory, over all widths.
    kernel_weights_ : array
        How much the linear model and each width count in the mixture, among themselves.
    column_relevance_, frequencies_, diagnostics_, nbytes
        See the properties. ``diagnostics_.stored`` has the frequencies of each width.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from pocketkernel import PocketRegressor
    >>> X, y = make_friedman1(10_000, noise=1.0, random_state=0)
    >>> model = PocketRegressor(memory="64KiB", random_state=0)
    >>> answers = model.predict_then_learn(X, y)  # each made before its y is used
    >>> bool(((y - answers)[1000:].std() < 0.4 * y.std()))
    True
    >>> low, high = model.predict_interval(X, coverage=0.9).T
    >>> bool(0.85 < ((low <= y) & (y <= high)).mean() < 0.98)
    True
    >>> model.nbytes <= 64 * 1024
    True
    """

    loss: str = "squared"
    quantile: float = 0.5

    _learner = "pocket_regressor"
    _is_regressor = True

    n_outputs_: int = field(init=False)

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows of X: in random order and `epochs` times.

        For rows whose order matters use ``shuffle=False`` or `partial_fit`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Numbers, or NaN where a value is missing; float32 and float64 arrays in C order are read in place.
        y : array, series or data frame of shape (n,) or (n, m)
            Targets: finite numbers up to 1e70, one or m for each row.
        sample_weight : array of shape (n,), default=None
            How much each row counts, from 0 to 1e9, relative to the others; None means 1. A row of weight 0 is
            not learned at all.

        Notes
        -----
        If an error or Ctrl-C ends the call, the estimator is unchanged. Other threads use it as it was until the end.
        """
        self._feed(X, y, None, sample_weight, restart=True)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn every row of X once, in order, continuing from what was learned before. Parameters as in `fit`.

        After an error nothing of X has been learned. After Ctrl-C the first rows of X have been learned completely;
        ``diagnostics_.rounds`` is their number (rows of weight 0 do not count).
        """
        self.predict_then_learn(X, y, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Scores:
        """Predict every row of X, then learn it. Returns the predictions, each made before its target is used.

        This is the fast path for progressive evaluation, with whole blocks or with one row at a time. Parameters and
        the state after Ctrl-C are as in `partial_fit`, predictions as in `predict`. The very first one is 0.
        """
        if self._takes_as_it_is(X) and type(y) is np.ndarray:
            answers = self._room_for_scores(len(X))
            plain = sample_weight is None or type(sample_weight) is np.ndarray
            if plain and self._core.learn_dense(X, y, sample_weight, answers) == 0:
                return answers
        return self._feed(X, y, None, sample_weight, restart=False)

    # ---- answering --------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Scores:
        """Predictions for the rows of X, of shape (n,), or (n, m) if there are m > 1 targets. Learns nothing.

        A long block is shared among threads (see `n_jobs`), which only affects the time.
        """
        return self._scores(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Scores:
        """Lower and upper bounds for the targets of the rows of X, of shape (n, 2), or (n, m, 2). Learns nothing.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        coverage : float, default=0.9
            Share of the targets that should lie between the bounds, from 0.01 to 0.999; half of the others lie below,
            half above.

        Notes
        -----
        Bounds are computed from the errors on the rows learned so far, each predicted when all rows before it had been
        learned, and hold for the next row: if every interval is asked for just before its row is learned, then over any
        stretch of the stream, even while it changes, the share of targets inside differs from `coverage` by a term that
        shrinks like one over the number of rows. (This is exact for coverages 0.5, 0.6, 0.7, 0.8, 0.9, 0.95 and 0.99;
        others are interpolated.) For rows farther ahead, as in a block or if targets come late, nothing is said: where
        an error resembles the ones just before it, intervals are too narrow. `LateIntervals` measures by how much, and
        widens them. Their width depends on the size of recent errors, not on x.
        """
        while True:
            core = self._fitted()
            with together(core):
                answers, margins = self._scores(X), self.margins(coverage)
            if self._core is core:  # else another thread has called `fit` meanwhile
                with _core.Arithmetic():  # whatever other libraries have set in this thread
                    bounds: Scores = answers[..., None] + margins
                bounds.sort(axis=-1)
                return bounds

    def margins(self, coverage: float = 0.9) -> Scores:
        """What to add to a prediction to get the bounds of its interval, of shape (2,), or (m, 2).

        They are the same for all rows until the next one is learned: see `predict_interval`.
        """
        share = number("coverage", coverage)
        if not 0.01 <= share <= 0.999:
            raise ValueError(f"coverage={short(coverage)} is out of range: use a share from 0.01 to 0.999.")
        margins: Scores = np.array(self._fitted().margins(share)).reshape(-1, 2) * SIGNS
        return margins[0] if self.n_outputs_ == 1 else margins

    # ---- targets ----------------------------------------------------------------------------------------------------

    def _checked_targets(self, y: Any, rows: int, begin: bool) -> Array:
        targets = as_targets(y)
        if targets.shape[0] != rows:
            raise ValueError(f"X has {rows} rows but y has {targets.shape[0]} targets: give one target per row.")
        count = 1 if targets.ndim == 1 else targets.shape[1]
        if not begin and count != self.n_outputs_:
            raise ValueError(f"y has {count} targets for each row, and the first call had {self.n_outputs_}.")
        return targets

    def _coded(self, y: Array) -> Array:
        return y

    def _core_reads(self, y: Any) -> bool:
        return type(y) is np.ndarray

    def _unknown(self, target: Any, sentence: str) -> ValueError:
        return ValueError(f"y {sentence}.")

    def _begin(self, X: Array, y: Array, classes: Any, restart: bool) -> None:
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        self._build(X, self.n_outputs_, restart)

    def _room_for_scores(self, rows: int) -> Scores:
        return np.empty(rows if self.n_outputs_ == 1 else (rows, self.n_outputs_))

    def _read_labels(self, written: Any, recipe: Recipe) -> None:
        super()._read_labels(written, recipe)
        self.n_outputs_ = recipe.classes

    # ---- parameters -------------------------------------------------------------------------------------------------

    def _loss_name(self) -> str:
        return "logistic"  # that of labels, which the core does not look at here

    def _configure(self, recipe: Recipe, rows: int | None, **derived: Any) -> None:
        loss, level = one_of("loss", self.loss, LOSSES), number("quantile", self.quantile)
        if loss == "quantile" and not 0.001 <= level <= 0.999:
            raise ValueError(f"quantile={short(self.quantile)} is out of range: use a number from 0.001 to 0.999.")
        super()._configure(recipe, rows, quantile={"squared": 0.0, "absolute": 0.5, "quantile": level}[loss])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
