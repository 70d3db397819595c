"""Kernel learning on a stream, in a fixed number of bytes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pocketkernel import kernels, learners
from pocketkernel.kernels import *  # noqa: F403

if TYPE_CHECKING:
    from pocketkernel.learners import *  # noqa: F403
    from pocketkernel.loading import load as load
    from pocketkernel.model_file import ModelFileError as ModelFileError

    __version__: str

_LATER = {"load": "pocketkernel.loading", "ModelFileError": "pocketkernel.model_file"}

__all__ = [*kernels.__all__, *learners.__all__, *_LATER, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import what takes time, scikit-learn above all, only when it is used."""
    if name in learners.__all__:
        return getattr(learners, name)
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("pocketkernel")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
