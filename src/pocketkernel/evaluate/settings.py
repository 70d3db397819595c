"""The settings of a run in its record."""

import math
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from pocketkernel._level import level
from pocketkernel.memory import parse_bytes


def settings_of(
    model: Any, *, name: str | None = None, source: str = "", seed: int | None = None, command: str = "", **more: Any
) -> dict[str, Any]:
    """Settings of a run, in a form that JSON can represent.

    Parameters
    ----------
    model : object
        The model; its parameters, classes, feature count and budget are read by their scikit-learn names.
    name : str, default=None
        Display name; runs of the same name are repetitions. None means the name of its class.
    source : str, default=""
        Where the rows came from.
    seed : int, default=None
        Of the permutation or the stream.
    command : str, default=""
        A command line that repeats the run.
    **more
        Any other settings. Values that JSON cannot represent are stored as their `repr`.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> settings = settings_of(MOMDS(memory="64KiB"), source="digits", seed=3)
    >>> settings["learner"], settings["parameters"]["loss"], settings["promised_bytes"]
    ('MOMDS', 'logistic', 65536)
    """
    parameters = _parameters(model)
    memory = parameters.get("memory")
    return {
        "learner": type(model).__name__ if name is None else name,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "parameters": _plain(parameters),
        "source": source,
        "seed": seed,
        "classes": _plain(np.asarray(getattr(model, "classes_", [])).tolist()),
        "features": _plain(getattr(model, "n_features_in_", None)),
        "budget": _plain(getattr(model, "budget_", None)),
        "promised_bytes": None if memory is None else parse_bytes(memory),
        **{key: _plain(value) for key, value in more.items()},
        "command": command,
        "versions": {
            "pocketkernel": version("pocketkernel"),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "level": level(),
        "platform": platform.platform(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _parameters(model: Any) -> dict[str, Any]:
    if hasattr(model, "get_params"):
        return dict(model.get_params(deep=False))
    return {name: value for name, value in vars(model).items() if name.strip("_") == name}


def _plain(value: Any) -> Any:
    """Turn a value into what JSON can hold."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return repr(value)
