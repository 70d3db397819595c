"""What PocketClassifier and PocketRegressor share: kernels, and how memory chooses them."""

from pocketkernel.kernels import Kernel, Linear, gaussians
from pocketkernel.learners._parameters import Parameters
from pocketkernel.learners._recipe import Recipe

WIDTHS = gaussians([4.0, 2.0, 1.0, 0.5, 0.25, 0.125])
"""Kernels side by side, their widths in units of the data's own scale."""

ROOM = ((512, WIDTHS), (256, WIDTHS[1:5]), (128, WIDTHS[1:4]), (32, WIDTHS[2:4]), (0, ()))
"""Which of them, by how many frequencies there is room for: the more, the more."""


class Pocket(Parameters):
    """A learner whose memory decides everything."""

    _budget_name = "features"
    _smallest_budget = 0

    def _fit_into(self, recipe: Recipe, memory: int) -> None:
        """Choose the kernels that there is room for, then the largest number of frequencies."""
        for frequencies, kernels in self._choices(recipe):
            recipe.kernels = kernels
            self._set_budget(recipe, frequencies)
            if recipe.size()[0] <= memory:
                break
        if len(recipe.kernels) > 1 or self._try_budget(recipe, 0) > memory:
            super()._fit_into(recipe, memory)

    def _choices(self, recipe: Recipe) -> list[tuple[int, tuple[Kernel, ...]]]:
        """Kernels and the frequencies that they need, the best first."""
        return [(frequencies, (Linear(), *widths)) for frequencies, widths in ROOM]
