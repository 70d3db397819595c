"""What the learners of the paper share: their kernels are given, and all but Raker store rows."""

from collections.abc import Iterable

from pocketkernel.kernels import Kernel
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._described import with_parameters

Kernels = Iterable[Kernel] | Kernel | None


@with_parameters
class StoringLearner(OnlineKernelClassifier):
    """A classifier that combines the kernels that it is given, and stores at most `budget` rows."""

    kernels: Kernels = None
    budget: int | None = None
    storage: str | None = None


@with_parameters
class MirrorDescent(StoringLearner):
    """One that keeps its hypotheses within a ball."""

    step: float = 1.0
    norm_bound: float | None = None

    _smallest_budget = 2
