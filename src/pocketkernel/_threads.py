"""How many threads may score a block."""

import functools
import os
from numbers import Integral
from reprlib import repr as short
from typing import Any

import joblib

THREADS_VARIABLES = ("POCKETKERNEL_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables that limit the threads where `n_jobs` does not say; the first that is set counts."""

BYTES_PER_THREAD = 8 * 2**20
"""What a thread should at least have to read, learner times rows: about a millisecond, else starting it costs more."""


def thread_count(n_jobs: Any, work: int) -> int:
    """Threads for a block that reads `work` bytes: as many as are allowed and as pay."""
    worth = work // BYTES_PER_THREAD
    if worth <= 1 and n_jobs is None:
        return 1
    return max(1, min(allowed_threads(n_jobs), worth))


def allowed_threads(n_jobs: Any) -> int:
    """The number of threads allowed by `n_jobs`, the environment, or the machine, in this order.

    `n_jobs` may come from a model file: never more threads than cores are started.
    """
    if n_jobs is None:
        return next((limit for limit in map(_from_environment, THREADS_VARIABLES) if limit), _cores())
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or (n_jobs < 1 and n_jobs != -1):
        raise ValueError(
            f"n_jobs={short(n_jobs)} is not a number of threads: use 1 or more, -1 for all cores, or None."
        )
    return _cores() if n_jobs == -1 else min(int(n_jobs), _cores())


def _from_environment(name: str) -> int | None:
    text = os.environ.get(name, "").split(",")[0].strip()  # OMP_NUM_THREADS may list one number per level
    return int(text) if text.isdecimal() and int(text) > 0 else None


@functools.cache
def _cores() -> int:
    return int(joblib.cpu_count())
