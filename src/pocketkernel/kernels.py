"""Descriptions of kernels. Each is scaled so that the kernel value of a row with itself is 1."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

__all__ = [
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "Polynomial",
    "RationalQuadratic",
    "gaussians",
]

Values = npt.NDArray[np.float64]
Metric = Literal["squared_distance", "l1_distance", "cosine"]

KERNELS: dict[str, type["Kernel"]] = {}
"""The kernels by their names in the core and in model files."""


@dataclass(frozen=True)
class Kernel:
    """A kernel, identified in the core by its family and parameters. Use one of the subclasses.

    A subclass is a function (`at`) of one metric of two rows (`metric`).
    """

    family: ClassVar[str]
    metric: ClassVar[Metric]

    def __init_subclass__(cls, family: str, metric: Metric, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.family, cls.metric = family, metric
        KERNELS[family] = cls

    @property
    def parameter(self) -> float:
        """The first parameter of the kernel: its width or degree; 1 if it has none."""
        return float(next(iter(astuple(self)), 1.0))

    @property
    def order(self) -> int:
        """The second parameter of the kernel; 1 if it has none, 0 (which the core refuses) if it is not an integer."""
        second = next(iter(astuple(self)[1:]), 1)
        return int(second) if 0 < second < 2**32 and second == int(second) else 0

    def at(self, metric: Values) -> Values:
        """Values of the kernel for these values of its metric, in double precision."""
        raise NotImplementedError


@dataclass(frozen=True)
class Gaussian(Kernel, family="gaussian", metric="squared_distance"):
    """exp(-|u - v|^2 / (2 width^2)).

    Parameters
    ----------
    width : float
        Sigma, positive, in the units of the features.
    """

    width: float

    def at(self, metric: Values) -> Values:  # noqa: D102
        return np.exp(metric / (-2 * self.width**2))


@dataclass(frozen=True)
class Laplacian(Kernel, family="laplacian", metric="l1_distance"):
    """exp(-|u - v|_1 / width).

    Parameters
    ----------
    width : float
        Scale of the L1 distance, positive, in the units of the features.
    """

    width: float

    def at(self, metric: Values) -> Values:  # noqa: D102
        return np.exp(metric / -self.width)


@dataclass(frozen=True)
class Polynomial(Kernel, family="polynomial", metric="cosine"):
    """Cosine of the angle between u and v, to the power of the degree.

    Parameters
    ----------
    degree : int
        Whole number from 1 to 64.
    """

    degree: int

    def at(self, metric: Values) -> Values:  # noqa: D102
        return metric**self.degree


@dataclass(frozen=True)
class Linear(Kernel, family="linear", metric="cosine"):
    """Cosine of the angle between u and v."""

    def at(self, metric: Values) -> Values:  # noqa: D102
        return metric


@dataclass(frozen=True)
class Matern32(Kernel, family="matern32", metric="squared_distance"):
    """(1 + a) exp(-a) with a = sqrt(3) |u - v| / width: the Matérn kernel with nu = 3/2.

    Parameters
    ----------
    width : float
        Length scale, positive, in the units of the features.
    """

    width: float

    def at(self, metric: Values) -> Values:  # noqa: D102
        a = np.sqrt(3 * metric) / self.width
        return (1 + a) * np.exp(-a)


@dataclass(frozen=True)
class Matern52(Kernel, family="matern52", metric="squared_distance"):
    """(1 + a + a^2 / 3) exp(-a) with a = sqrt(5) |u - v| / width: the Matérn kernel with nu = 5/2.

    Parameters
    ----------
    width : float
        Length scale, positive, in the units of the features.
    """

    width: float

    def at(self, metric: Values) -> Values:  # noqa: D102
        a = np.sqrt(5 * metric) / self.width
        return (1 + a + a**2 / 3) * np.exp(-a)


@dataclass(frozen=True)
class RationalQuadratic(Kernel, family="rational_quadratic", metric="squared_distance"):
    """(1 + |u - v|^2 / (2 alpha width^2))^-alpha, a mixture of Gaussians of all widths.

    Parameters
    ----------
    width : float
        Length scale, positive, in the units of the features.
    alpha : int, default=1
        Whole number from 1 to 64; the larger, the closer to a Gaussian.
    """

    width: float
    alpha: int = 1

    def at(self, metric: Values) -> Values:  # noqa: D102
        return (1 + metric / (2 * self.alpha * self.width**2)) ** -self.alpha


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
