"""PocketClassifier: the learner to begin with."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from pocketkernel.certificate import Guarantee
from pocketkernel.kernels import Laplacian, Linear, gaussians
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._frequencies import RandomFrequencies
from pocketkernel.learners._recipe import Recipe

WIDTHS = gaussians([4.0, 2.0, 1.0, 0.5, 0.25, 0.125])
"""Kernels side by side, their widths in units of the data's own scale."""

ROOM = ((512, WIDTHS), (256, WIDTHS[1:5]), (128, WIDTHS[1:4]), (32, WIDTHS[2:4]), (0, ()))
"""Which of them, by how many frequencies there is room for: the more, the more."""


class PocketClassifier(RandomFrequencies, OnlineKernelClassifier):
    """A classifier for streams, in a fixed number of bytes, with nothing to tune.

    Brings every column to one scale, from the rows seen so far; learns a linear model and random features of six
    kernel widths side by side, and one expert on the last labels; mixes them by a Newton step, so that it is hardly
    worse than the best of them and often better; and gives memory to the widths that predict well. When the stream
    changes it notices, and learns fast again; when a column changes its units or its level, that column's scale starts
    anew. NaN (in a data frame, null) is a missing value, and counts as the usual one of its column. Two classes or
    more. Weights of rows are relative: a row counts as often as its weight is times the geometric mean of the last
    4,096 or so, at most 16 times. ``docs/pocket_classifier.md`` explains the design and what it guarantees.

    Parameters
    ----------
    memory : int or str, default="64KiB"
        Bytes that the learner may take, all in all, such as 65536 or "64KiB".
    lag : bool, default=True
        Whether an expert on the last three labels, and on their running mean, takes part in the mixture. It means "the
        row after the last label that has arrived": right for the next row of a stream whose labels have some memory,
        also if labels come late; every row of a block to be predicted is taken for that one. Set it to False if rows
        are predicted that do not follow the learned ones, or if the order of the labels shall not count.
    dtype : {"float32", "float64"}, default="float32"
        Precision of coefficients and arithmetic.
    n_jobs : int, default=None
        Most threads that score a block together, at most one per core; -1 stands for all, None for the environment's
        POCKETKERNEL_NUM_THREADS or OMP_NUM_THREADS, else all cores. Each takes scratch of a few rows while it runs.
    random_state : int, NumPy generator or None, default=None
        Seed of the frequencies.

    Attributes
    ----------
    classes_ : array of the labels, in ascending order
    budget_ : int
        Frequencies that fit into the memory, over all widths.
    kernel_weights_ : array
        How much each expert counts in the mixture: the linear one first, then the widths, then the one on the last
        labels (if `lag`, and if there is memory for more than a linear model). Of more than two classes, the ring of
        rows comes before that one.
    column_relevance_ : array
        How much each column counts in the kernels' distances, 1 in the (geometric) mean: an explanation.
    frequencies_, diagnostics_, nbytes
        See the properties. ``diagnostics_.stored`` has the frequencies of each width, and the rows of the ring.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pocketkernel import PocketClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PocketClassifier(memory="64KiB", random_state=0)
    >>> scores = model.predict_then_learn(X, y)  # answers every row before it sees the label
    >>> bool((scores.argmax(axis=1) == y).mean() > 0.9)
    True
    >>> model.nbytes <= 64 * 1024
    True
    """

    _learner = "pocket_classifier"
    _multiclass = True
    _takes_missing = True
    _budget_name = "features"
    _smallest_budget = 0
    _kernels = (Linear(), *WIDTHS)  # what memory has room for is chosen in _fit_into

    def __init__(
        self,
        *,
        memory: int | str = "64KiB",
        lag: bool = True,
        dtype: str = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.memory = memory
        self.lag = lag
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def column_relevance_(self) -> npt.NDArray[np.float64]:
        """What each column is multiplied by before kernels see it, learned from the stream; 1 in the geometric mean."""
        return np.array(self._fitted().relevance())

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        return Guarantee(
            None,
            "No theorem of the paper covers PocketClassifier, and no regret bound is proved for its mixture as "
            "implemented: these are counts only. See docs/pocket_classifier.md.",
        )

    def _fit_into(self, recipe: Recipe, memory: int) -> None:
        """Choose the widths that there is room for, then the largest number of frequencies."""
        if not isinstance(self.lag, bool | np.bool_):
            raise ValueError(f"lag={self.lag!r} is neither True nor False.")
        ring = (Laplacian(1.0),) if recipe.classes > 2 else ()
        lag = (Linear(),) if self.lag else ()
        for frequencies, widths in ROOM:
            recipe.kernels = (Linear(), *((*widths, *ring, *lag) if widths else ()))
            self._set_budget(recipe, frequencies // 3 if ring else frequencies)
            if recipe.size()[0] <= memory:
                break
        if len(recipe.kernels) > 1 or self._try_budget(recipe, 0) > memory:
            super()._fit_into(recipe, memory)
