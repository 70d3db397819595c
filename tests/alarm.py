"""Ctrl-C at a given moment, by an alarm."""

import signal
import time
from collections.abc import Callable

import numpy as np


def rung(seconds: float, work: Callable[[], object]) -> tuple[float, bool]:
    """CPU time of work that an alarm may end, and whether it did."""
    before, begin = signal.signal(signal.SIGALRM, signal.default_int_handler), time.process_time()
    ended = False
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        work()
    except KeyboardInterrupt:
        ended = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return time.process_time() - begin, ended


def rung_in_the_middle(begin: Callable[[], object], work: Callable[[], object], is_over: Callable[[], bool]) -> bool:
    """Whether an alarm ended work before it was over: on a fast machine it is not the first one, but an earlier one."""
    for seconds in 0.1 * 0.7 ** np.arange(20):
        begin()
        if rung(seconds, work)[1] and not is_over():
            return True
    return False
