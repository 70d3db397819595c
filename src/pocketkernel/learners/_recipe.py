"""What a learner in the core is built from: its parameters as they were when it was built."""

from collections.abc import Callable
from dataclasses import dataclass

from pocketkernel import _core
from pocketkernel._level import forced
from pocketkernel.kernels import Kernel

REMOVALS = ("half", "restart", "oldest")

_NUMBERS = (
    "classes", "features", "budget", "reservoir", "step", "norm_bound", "horizon", "nu", "rate", "regularization",
    "seed",
)  # fmt: skip


@dataclass
class Recipe:
    """Parameters of a learner, each in the core's terms; a learner reads its own."""

    learner: str
    doubles: bool
    kernels: tuple[Kernel, ...]
    loss: str
    removal: str
    features: int
    seed: int
    classes: int = 2
    storage: str = "full"
    budget: int = 0
    reservoir: int = 10
    step: float = 1.0
    norm_bound: float = 1.0
    horizon: float = 1e9
    nu: float = 0.5
    rate: float = 0.1
    regularization: float = 0.0

    def settings(self) -> _core.Settings:
        """Copy everything into the core's form."""
        settings = _core.Settings()
        for kernel in self.kernels:
            settings.add_kernel(kernel.family, kernel.parameter)
        settings.set_loss(self.loss)
        settings.set_removal(self.removal)
        settings.set_storage(self.storage)
        for name in _NUMBERS:
            setattr(settings, name, getattr(self, name))
        return settings

    def size(self) -> tuple[int, int, int]:
        """Bytes of the learner, bytes of its saved state, and the core's status: 0 if it can be built."""
        return _core.size_of(self.learner, self.doubles, self.settings())

    def build(self) -> _core.Learner:
        """Build the learner, at the level that the environment asks for or the best."""
        return _core.Learner(self.learner, self.doubles, forced(), self.settings())


def largest(fits: Callable[[int], bool], least: int) -> int:
    """Largest number that fits, from `least` on, which does."""
    low, high = least, least + 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
