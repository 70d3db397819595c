"""Which of the core's SIMD levels is used. All give the same bits."""

import os

from pocketkernel import _core

VARIABLE = "POCKETKERNEL_LEVEL"
"""Environment variable that forces a level: base or avx2."""


def forced() -> str:
    """The level that the environment asks for; empty: the best of the machine."""
    return os.environ.get(VARIABLE, "")


def level() -> str:
    """The level that a learner built now will use."""
    return forced() or _core.levels()[-1]
