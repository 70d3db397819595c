"""Kernel learning on a stream, in a fixed number of bytes."""

from importlib.metadata import version

from pocketkernel.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, gaussians
from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, Raker

__version__ = version("pocketkernel")

__all__ = [
    "MOMDH",
    "MOMDS",
    "Gaussian",
    "Kernel",
    "LKMBooks",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Raker",
    "__version__",
    "gaussians",
]
