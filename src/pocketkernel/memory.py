"""Memory sizes such as "64KiB", and what to say if one is too small."""

import re
from numbers import Integral
from reprlib import repr as short

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
ONLY_LINEAR = "Only a linear model fits"
_PATTERN = re.compile(r"\s*(\d{1,18}(?:\.\d+)?)\s*(?:([A-Za-z]+)\s*)?")


def parse_bytes(memory: int | str | None) -> int:
    """The number of bytes given by `memory`, rounded down.

    Examples
    --------
    >>> parse_bytes("64KiB"), parse_bytes("1.5MB"), parse_bytes(4096)
    (65536, 1500000, 4096)
    """
    if isinstance(memory, Integral) and not isinstance(memory, bool):
        size = int(memory)
    else:
        match = _PATTERN.fullmatch(memory) if isinstance(memory, str) else None
        unit = "" if match is None else (match[2] or "").lower()
        if match is None or unit not in _UNITS:
            raise ValueError(f"memory={short(memory)} is not a number of bytes: write 65536, '64KiB' or '1.5MB'.")
        size = int(float(match[1]) * _UNITS[unit])
    if size >= 2**63:
        raise ValueError(f"memory={short(memory)} is more than any computer has: write 65536, '64KiB' or '1.5MB'.")
    return size


def as_text(size: int) -> str:
    """The smallest number of whole KiB, or beyond 10 MiB of MiB, that is not less.

    Examples
    --------
    >>> as_text(65536), as_text(65537), as_text(12 * 2**20 + 1)
    ('64KiB', '65KiB', '13MiB')
    """
    unit, name = (2**10, "KiB") if size <= 10 * 2**20 else (2**20, "MiB")
    return f"{-(-size // unit)}{name}"


def linear_only(memory: int, columns: int, classes: int, needed: int) -> str:
    """That no kernel fits into this memory, and which would be enough.

    Examples
    --------
    >>> print(linear_only(65536, 1000, 2, 80000))
    Only a linear model fits into 65,536 bytes, with rows of 1,000 columns: kernels need 79KiB.
    """
    rows = f"rows of {columns:,} columns" + (f" and {classes:,} classes" if classes > 2 else "")
    return f"{ONLY_LINEAR} into {memory:,} bytes, with {rows}: kernels need {as_text(needed)}."
