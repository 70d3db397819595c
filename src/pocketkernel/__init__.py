"""Kernel learning on a stream, in a fixed number of bytes."""

from typing import TYPE_CHECKING, Any

from pocketkernel import kernels, learners
from pocketkernel.kernels import *  # noqa: F403

if TYPE_CHECKING:
    from pocketkernel.learners import *  # noqa: F403
    from pocketkernel.loading import load as load
    from pocketkernel.model_file import ModelFileError as ModelFileError

    __version__: str

__all__ = [*kernels.__all__, *learners.__all__, "ModelFileError", "__version__", "load"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import what takes time, scikit-learn above all, only when it is used."""
    if name in learners.__all__:
        return getattr(learners, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("pocketkernel")
    if name == "load":
        from pocketkernel.loading import load

        return load
    if name == "ModelFileError":
        from pocketkernel.model_file import ModelFileError

        return ModelFileError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
