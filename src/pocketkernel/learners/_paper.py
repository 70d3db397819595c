"""What the learners of the paper share: their kernels are given, and most store rows."""

from collections.abc import Iterable

from pocketkernel.kernels import Kernel
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._described import with_parameters


@with_parameters
class KernelLearner(OnlineKernelClassifier):
    """A classifier that combines the kernels that it is given."""

    kernels: Iterable[Kernel] | Kernel | None = None


@with_parameters
class StoringLearner(KernelLearner):
    """One that stores at most `budget` rows."""

    budget: int | None = None
    storage: str | None = None


@with_parameters
class MirrorDescent(StoringLearner):
    """One that keeps its hypotheses within a ball."""

    step: float = 1.0
    norm_bound: float | None = None

    _smallest_budget = 2
