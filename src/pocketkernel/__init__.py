"""Kernel learning on a stream, in a fixed number of bytes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pocketkernel import kernels
from pocketkernel.kernels import *  # noqa: F403

if TYPE_CHECKING:
    from pocketkernel.learners import *  # noqa: F403
    from pocketkernel.loading import load as load
    from pocketkernel.model_file import ModelFileError as ModelFileError

    __version__: str

_ELSEWHERE = {"load": "pocketkernel.loading", "ModelFileError": "pocketkernel.model_file"}


def __getattr__(name: str) -> Any:
    """Import what takes time, the learners and with them scikit-learn, only when it is used."""
    if name == "__version__":
        return import_module("importlib.metadata").version("pocketkernel")
    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    if name == "__all__" or not name.startswith("_"):
        learners = import_module("pocketkernel.learners")
        if name == "__all__":
            return [*kernels.__all__, *learners.__all__, *_ELSEWHERE, "__version__"]
        if name in learners.__all__:
            return getattr(learners, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
