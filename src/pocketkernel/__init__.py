"""Kernel learning on a stream, in a fixed number of bytes."""

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes time to import
if TYPE_CHECKING:
    from typing import Any

    from pocketkernel.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, gaussians
    from pocketkernel.learners import MOMDH, MOMDS, LKMBooks, MulticlassMOMDS, PocketClassifier, Raker
    from pocketkernel.loading import load
    from pocketkernel.model_file import ModelFileError

    __version__: str

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

_MODULES = ("learners", "kernels", "loading", "model_file", "losses", "memory")


def __getattr__(name: str) -> "Any":
    """Import what is asked for: the command line answers Ctrl-C before NumPy and scikit-learn are imported."""
    if name == "__version__":
        found: Any = import_module("importlib.metadata").version("pocketkernel")
    elif name in _MODULES:
        return import_module(f"pocketkernel.{name}")
    elif name in __all__:
        found = next(vars(module)[name] for module in map(_module, _MODULES) if name in vars(module))
    else:
        raise AttributeError(f"module 'pocketkernel' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


def _module(name: str) -> "Any":
    return import_module(f"pocketkernel.{name}")
