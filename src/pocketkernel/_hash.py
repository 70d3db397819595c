"""A hash of text that is the same in every process and on every machine, unlike `hash`."""

import zlib
from functools import lru_cache

SHORT = 100  # characters of a text that may stay in a cache, which holds many


def hash_of(text: str) -> int:
    """A number from 0 to 2**32 - 1. Saved models rely on it.

    Examples
    --------
    >>> hash_of("colour=red"), hash_of("colour=red") % 16
    (2141624756, 4)
    """
    return _cached(text) if len(text) <= SHORT else _cached.__wrapped__(text)


@lru_cache(maxsize=1 << 14)
def _cached(text: str) -> int:
    return zlib.crc32(text.encode(errors="backslashreplace"))
