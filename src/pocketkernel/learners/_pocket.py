"""What PocketClassifier and PocketRegressor share: kernels, how memory chooses them, and the linear part."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.kernels import Kernel, Linear, gaussians
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._frequencies import RandomFrequencies
from pocketkernel.learners._learner import OnlineLearner, Scores
from pocketkernel.learners._plan import MOST_FEATURES
from pocketkernel.learners._recipe import Recipe
from pocketkernel.memory import as_text, linear_only, parse_bytes

WIDTHS = gaussians([4.0, 2.0, 1.0, 0.5, 0.25, 0.125])
"""Kernels side by side, their widths in units of the data's own scale."""

ROOM = ((512, WIDTHS), (256, WIDTHS[1:5]), (128, WIDTHS[1:4]), (32, WIDTHS[2:4]), (0, ()))
"""Which of them, by how many frequencies there is room for: the more, the more."""

WORTH = 0.5
"""What a rare column is worth in frequencies; of 0.5 and 1, tried on nine tables with 20 to 40,000 levels."""


@with_parameters
class Pocket(RandomFrequencies, OnlineLearner):
    """A learner whose memory decides everything."""

    memory: int | str | None = "64KiB"

    _budget_name = "features"
    _smallest_budget = 0
    _takes_missing = True
    _kernels = (Linear(), *WIDTHS)  # what memory has room for is chosen in _fit_into

    def _core_reads(self, y: Any) -> bool:
        """Whether the core takes targets as they are."""
        return False

    def _fit_into(self, recipe: Recipe, memory: int) -> None:
        """Choose the kernels that there is room for, then the largest number of frequencies."""
        for frequencies, kernels in self._choices(recipe):
            recipe.kernels = kernels
            self._set_budget(recipe, frequencies)
            if recipe.size()[0] <= memory:
                break
        if len(recipe.kernels) > 1 or self._try_budget(recipe, 0) > memory:
            super()._fit_into(recipe, memory)

    def room(self, others: int, least: int, **outputs: Any) -> Callable[[int, float], bool]:
        """How many columns fit into a row besides `others`, given the share of rows in which the rarest is not zero.

        Every column takes frequencies from the kernels. A rare one is worth that while they keep WORTH times as many as
        there are rows to one in which it is not zero; or if not even `least` columns leave any, so that they have none
        to lose. `outputs` are n_classes or n_outputs, as for `plan`.
        """

        def budget(columns: int) -> int:
            try:
                return self.plan(columns, **outputs).budget
            except ValueError:
                return -1

        has_kernels = budget(least) > 0
        return lambda columns, share: (
            others + columns <= MOST_FEATURES and budget(others + columns) >= (WORTH / share if has_kernels else 0)
        )

    def _kernels_from(self, recipe: Recipe) -> int | None:
        if len(recipe.kernels) > 1:
            return None
        frequencies, kernels = self._choices(recipe)[-2]
        return replace(recipe, kernels=kernels, budget=frequencies).size()[0]

    @property
    def kernels_from_(self) -> int | None:
        """Bytes of memory from which it would have kernels; None if it has them. Without them it is a linear model."""
        self._fitted()
        return self._kernels_from(self._recipe)

    def _build(self, X: Any, classes: int, restart: bool) -> None:
        super()._build(X, classes, restart)
        if (needed := self.kernels_from_) is not None:
            known = 0 if self._is_regressor else classes
            told = linear_only(parse_bytes(self.memory), X.shape[1], known, needed)
            warnings.warn(f"{told} Use memory={as_text(needed)!r} or more.", UserWarning, stacklevel=2)

    def _choices(self, recipe: Recipe) -> list[tuple[int, tuple[Kernel, ...]]]:
        """Kernels and the frequencies that they need, the best first."""
        return [(frequencies, (Linear(), *widths)) for frequencies, widths in ROOM]

    @property
    def column_relevance_(self) -> npt.NDArray[np.float64]:
        """How much each column counts in the kernels' distances, learned from the stream; 1 in the geometric mean.

        PocketRegressor does not learn it for rows of 64 columns or more: there it is 1 for all.
        """
        return np.array(self._fitted().relevance())

    def predict_then_learn_both(self, X: Any, y: Any, classes: Any = None) -> tuple[Scores, Scores]:
        """As `predict_then_learn`; returns the scores of the linear part as well.

        The linear part is one of the experts that are mixed, so its scores cost nothing. They show what the kernels
        contribute on a stream. What is learned is the same to the last bit.

        Examples
        --------
        >>> import numpy as np
        >>> from pocketkernel import PocketClassifier
        >>> X = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
        >>> y = np.hypot(*X.T) < 0.8  # a disc: no linear model tells inside from outside
        >>> scores, linear = PocketClassifier(random_state=0).predict_then_learn_both(X, y)
        >>> [bool(((part >= 0) == y).mean() > 0.8) for part in (scores, linear)]
        [True, False]
        """
        if classes is None and self._takes_as_it_is(X) and self._core_reads(y):
            scores, parts = self._room_for_scores(len(X)), self._room_for_scores(len(X))
            if self._core.learn_dense(X, y, None, scores, None, parts) == 0:
                return scores, parts
        linear: list[Scores] = []
        scores = self._feed(X, y, classes, None, restart=False, linear=linear)
        return scores, linear[0]
