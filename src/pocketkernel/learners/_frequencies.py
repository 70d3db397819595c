"""What the learners with random features share."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel._alone import together
from pocketkernel.learners._recipe import Recipe


class RandomFrequencies:
    """Mixin of a learner whose core has frequencies."""

    _recipe: Recipe
    _fitted: Any

    @property
    def frequencies_(self) -> npt.NDArray[np.float64]:
        """The random frequencies in use, one per row, before they are divided by a kernel's width."""
        core: _core.Learner = self._fitted()
        with together(core):
            frequencies = np.empty((core.frequency_count, self._recipe.features))
            core.frequencies(frequencies)
        return frequencies
