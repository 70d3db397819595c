"""What a learner in the core is built from: its parameters as they were when it was built."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pocketkernel import _core
from pocketkernel._level import forced
from pocketkernel.kernels import Kernel

PARAMETERS = _core.parameters()
"""The numbers that learners have besides their sizes, as the core names them, with its defaults."""


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
    parameters: dict[str, int | float] = field(default_factory=PARAMETERS.copy)

    def __getattr__(self, name: str) -> int | float:
        """A parameter may be read like a field."""
        if name in PARAMETERS:
            return self.parameters[name]
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def settings(self) -> _core.Settings:
        """Copy everything into the core's form."""
        settings = _core.Settings()
        for kernel in self.kernels:
            settings.add_kernel(kernel.family, kernel.parameter, kernel.order)
        for name in ("loss", "removal", "storage"):
            settings.set_name(name, getattr(self, name))
        for name in ("features", "classes", "budget", "seed"):
            settings.set_number(name, getattr(self, name))
        for name, value in self.parameters.items():
            settings.set_number(name, value)
        return settings

    def size(self) -> tuple[int, int, int]:
        """Bytes of the learner, bytes of its saved state, and the core's status: 0 if it can be built."""
        return _core.size_of(self.learner, self.doubles, self.settings())

    def fleet(self, *, balanced: bool = False) -> _core.Fleet:
        """Build a fleet of such learners; `balanced` has them weigh classes by the inverse of their frequencies."""
        return _core.Fleet(self.learner, self.doubles, forced(), self.settings(), balanced)

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
