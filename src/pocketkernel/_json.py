"""JSON as pocketkernel writes it, and a strict reader: standard JSON only, limited in depth and size."""

import json
from typing import Any

MOST_PARTS = 4_000_000
"""Values that a text may hold: parsing takes memory for each."""

_LONGEST_INTEGER = 20  # digits of 2**64, and more than any count here has


def canonical(value: Any) -> str:
    """The one text of a value: sorted keys, no spaces, ASCII, finite numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse(text: str) -> Any:
    """The value of a JSON text; any error is a ValueError."""
    if text.count("[") + text.count("{") + text.count(",") > MOST_PARTS:
        raise ValueError("too many parts")
    try:
        return json.loads(
            text, parse_int=_integer, parse_float=_finite, parse_constant=_constant, object_pairs_hook=_object
        )
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def _integer(text: str) -> int:
    if len(text.removeprefix("-")) > _LONGEST_INTEGER:
        raise ValueError(f"an integer of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text[:20]} is too large for a float")
    return value


def _constant(text: str) -> None:
    raise ValueError(f"{text} is not a number in JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    object_ = dict(pairs)
    if len(object_) < len(pairs):
        raise ValueError("a key that occurs twice")
    return object_
