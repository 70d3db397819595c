"""Kernel learning on a stream, in a fixed number of bytes."""

from importlib.metadata import version

from pocketkernel.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, gaussians
from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker
from pocketkernel.loading import load
from pocketkernel.model_file import ModelFileError

__version__ = version("pocketkernel")

__all__ = [
    "MOMDH",
    "MOMDS",
    "Gaussian",
    "Kernel",
    "LKMBooks",
    "Laplacian",
    "Linear",
    "ModelFileError",
    "MulticlassMOMDS",
    "PocketClassifier",
    "Polynomial",
    "Raker",
    "__version__",
    "gaussians",
    "load",
]
