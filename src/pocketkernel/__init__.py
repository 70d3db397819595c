"""Kernel learning on a stream, in a fixed number of bytes."""

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes 20 ms to import
if TYPE_CHECKING:
    from typing import Any

    from pocketkernel._include import get_include as get_include
    from pocketkernel.kernels import *  # noqa: F403
    from pocketkernel.late_intervals import LateIntervals as LateIntervals
    from pocketkernel.learners import *  # noqa: F403
    from pocketkernel.loading import load as load
    from pocketkernel.model_file import ModelFileError as ModelFileError
    from pocketkernel.tables import TableClassifier as TableClassifier
    from pocketkernel.tables import TableRegressor as TableRegressor

    __version__: str

_ELSEWHERE = {
    "LateIntervals": "pocketkernel.late_intervals",
    "load": "pocketkernel.loading",
    "ModelFileError": "pocketkernel.model_file",
    "get_include": "pocketkernel._include",
    "TableClassifier": "pocketkernel.tables",
    "TableRegressor": "pocketkernel.tables",
}
_PARTS = ("kernels", "learners")
_MODULES = (*_PARTS, "device")


def __getattr__(name: str) -> "Any":
    """Import slow modules only when they are used, so that the command line handles Ctrl-C from the start."""
    if name == "__version__":
        return import_module("importlib.metadata").version("pocketkernel")
    if name in _MODULES:
        return import_module(f"pocketkernel.{name}")
    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    if name == "__all__":
        return [each for part in _PARTS for each in __getattr__(part).__all__] + [*_ELSEWHERE, "__version__"]
    for part in () if name.startswith("_") else _PARTS:
        module = import_module(f"pocketkernel.{part}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
