"""Checked access to the fields of JSON objects that come from a file."""

import math
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from pocketkernel.model_file import ModelFileError

Check = Callable[[Any], bool]


class Fields:
    """The fields of a JSON object in a file, each taken only if it passes a check. The error names the field.

    Parameters
    ----------
    written : object
        What should be a dict.
    where : str
        What to call it, such as "pipeline.encoding".

    Examples
    --------
    >>> fields = Fields({"rows": -1}, "progress")
    >>> fields.take("rows", is_count)
    Traceback (most recent call last):
    pocketkernel.model_file.ModelFileError: progress.rows cannot be -1.
    """

    def __init__(self, written: Any, where: str) -> None:
        if not isinstance(written, dict):
            raise _impossible(where, written)
        self._left, self._where = dict(written), where

    def take(self, name: str, check: Check, *default: Any) -> Any:
        """The value of a field, or the default if it may be missing."""
        if name not in self._left:
            if not default:
                raise ModelFileError(f"{self._where}.{name} is missing.")
            return default[0]
        value = self._left.pop(name)
        if not check(value):
            raise _impossible(f"{self._where}.{name}", value)
        return value

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def end(self) -> None:
        """No field may be left."""
        for name in self._left:
            raise _unknown(self._where, name)


def all_fields(written: Any, where: str, checks: Mapping[str, Check]) -> dict[str, Any]:
    """All fields of a JSON object of which there may be many: each must have a check and pass it; none is required.

    Examples
    --------
    >>> all_fields({"rows": 3}, "progress", {"rows": is_count, "name": is_text})
    {'rows': 3}
    """
    if not isinstance(written, dict):
        raise _impossible(where, written)
    for name, value in written.items():
        if name not in checks:
            raise _unknown(where, name)
        if not checks[name](value):
            raise _impossible(f"{where}.{name}", value)
    return written


def _impossible(where: str, value: Any) -> ModelFileError:
    return ModelFileError(f"{where} cannot be {reprlib.repr(value)}.")


def _unknown(where: str, name: str) -> ModelFileError:
    return ModelFileError(f"{where} has an unknown field, {reprlib.repr(name)}.")


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 0 up that fits into 63 bits."""
    return type(value) is int and 0 <= value < 2**63


def is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def is_text(value: Any) -> bool:
    """Whether it is a string."""
    return type(value) is str


def is_flag(value: Any) -> bool:
    """Whether it is true or false."""
    return type(value) is bool


def is_dict(value: Any) -> bool:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def optional(check: Check) -> Check:
    """A check that lets None pass, too."""
    return lambda value: value is None or check(value)


def list_of(check: Check) -> Check:
    """A check of a list, and of everything in it."""
    return lambda value: isinstance(value, list) and all(map(check, value))
