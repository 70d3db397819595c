"""Every learner as a River model: one dict of features at a time, features that appear and disappear, the same bits.

`KernelClassifier` accepts any classifier of `pocketkernel`, `KernelRegressor` a PocketRegressor; without one they take
the usual one. Features are numbers or text:

>>> from pocketkernel import PocketClassifier
>>> from pocketkernel.river import KernelClassifier
>>> model = KernelClassifier(PocketClassifier(memory="16KiB"), width=9, seed=0)

Every score equals that of the learner itself, given the same rows and seed.
"""

from typing import Any

from pocketkernel._optional import optional
from pocketkernel.learners import OnlineLearner, PocketRegressor

optional("river", "pocketkernel.river", "river")

from pocketkernel.river._classifier import KernelClassifier  # noqa: E402
from pocketkernel.river._regressor import KernelRegressor  # noqa: E402

__all__ = ["KernelClassifier", "KernelRegressor"]


def restored(learner: OnlineLearner, extra: dict[str, Any]) -> KernelClassifier | KernelRegressor:
    """The River model in a file, from its learner and what was saved with it."""
    kind = KernelRegressor if isinstance(learner, PocketRegressor) else KernelClassifier
    return kind._restored(learner, extra)
