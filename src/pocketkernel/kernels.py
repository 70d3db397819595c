"""Descriptions of kernels. Every one is scaled so that a row has kernel value 1 with itself."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Kernel:
    """A kernel that the core knows by its family and one number. Use one of the subclasses."""

    family: ClassVar[str]

    @property
    def parameter(self) -> float:
        """The one number of the kernel: its width or degree; 1 if it has none."""
        return float(next(iter(astuple(self)), 1.0))


@dataclass(frozen=True)
class Gaussian(Kernel):
    """exp(-|u - v|^2 / (2 width^2)).

    Parameters
    ----------
    width : float
        Sigma, positive, in the units of the features.
    """

    width: float
    family: ClassVar[str] = "gaussian"


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(-|u - v|_1 / width).

    Parameters
    ----------
    width : float
        Scale of the L1 distance, positive, in the units of the features.
    """

    width: float
    family: ClassVar[str] = "laplacian"


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Cosine of the angle between u and v, to the power of the degree.

    Parameters
    ----------
    degree : int
        Whole number from 1 to 64.
    """

    degree: int
    family: ClassVar[str] = "polynomial"


@dataclass(frozen=True)
class Linear(Kernel):
    """Cosine of the angle between u and v."""

    family: ClassVar[str] = "linear"


def gaussians(widths: Iterable[float]) -> tuple[Gaussian, ...]:
    """Gaussian kernels of the given widths.

    Widths in ratio 2, 4, 8 ... cost little more than one kernel.

    Examples
    --------
    >>> gaussians([0.5, 1, 2])
    (Gaussian(width=0.5), Gaussian(width=1), Gaussian(width=2))
    """
    return tuple(Gaussian(width) for width in widths)


PAPER_KERNELS = gaussians([0.25, 1.0, 4.0, 16.0, 64.0])
"""The five Gaussians of the paper's experiments."""
