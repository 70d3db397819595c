"""Packages that only some of the work needs."""

import importlib
from typing import Any


def optional(module: str, purpose: str, extra: str) -> Any:
    """Import a module, or say what to install.

    Examples
    --------
    >>> optional("json", "reading", "files").loads("[1]")
    [1]
    >>> optional("no_such_module", "tea", "kitchen")
    Traceback (most recent call last):
    ModuleNotFoundError: tea needs no_such_module: pip install 'pocketkernel[kitchen]'.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        message = f"{purpose} needs {package}: pip install 'pocketkernel[{extra}]'."
        raise ModuleNotFoundError(message, name=package) from None
