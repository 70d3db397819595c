"""Losses of a score u and a label y in {-1, +1}, as the core computes them."""

from dataclasses import dataclass

from pocketkernel import _core


@dataclass(frozen=True)
class Loss:
    """A loss of the core.

    `G1` and `G2` are the constants of the paper's assumption, ``|l'| <= G1`` and ``|l'| <= G2 l``. Both are None for a
    loss without such constants; learners that need them refuse it.
    """

    name: str
    G1: float | None
    G2: float | None

    @property
    def smooth(self) -> bool:
        """Whether the loss has the constants G1 and G2."""
        return self.G1 is not None

    def value(self, u: float, y: float) -> float:
        """The loss of score u when the label is y."""
        return _core.loss_at(self.name, u, y)[0]

    def derivative(self, u: float, y: float) -> float:
        """Its derivative in u."""
        return _core.loss_at(self.name, u, y)[1]


def _from_core(name: str) -> Loss:
    smooth, g1, g2 = _core.loss_constants(name)
    return Loss(name, g1 if smooth else None, g2 if smooth else None)


LOSSES = {name: _from_core(name) for name in _core.LOSSES}
