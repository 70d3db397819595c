"""Ctrl-C at a given moment, by an alarm. It counts CPU time, so that a busy machine does not move the moment."""

import signal
import time
from collections.abc import Callable


def rung(seconds: float, work: Callable[[], object]) -> tuple[float, bool]:
    """CPU time of work that an alarm may end, and whether it did; with 0 there is no alarm.

    Of threads that live for less than a tick of the system's clock the alarm counts about half: with them it is late.
    """
    before, begin = signal.signal(signal.SIGPROF, signal.default_int_handler), time.process_time()
    ended = False
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        work()
    except KeyboardInterrupt:
        ended = True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - begin, ended


def rung_in_the_middle(begin: Callable[[], object], work: Callable[[], object], is_over: Callable[[], bool]) -> bool:
    """Whether an alarm ended work before it was over.

    No alarm is earlier than a tenth of the work, which is long after the core was entered: what ends is not the Python
    code before it.
    """
    begin()
    whole, _ = rung(0, work)
    assert is_over()
    for share in (0.1, 0.2, 0.3, 0.4, 0.5):
        begin()
        if rung(share * whole, work)[1] and not is_over():
            return True
    return False
