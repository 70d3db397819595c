"""Two threads at one learner.

One holds it with a long call of the core, which leaves Python to the other. Calls of the other one are of a single row,
which the core does before it leaves Python to anyone: they come before the long call, or are refused while it runs.
"""

import threading
import time
from contextlib import suppress


def _meet(model, long_call, short_call):
    """Make the short call until the learner is held by the long one.

    Answers how many short calls came before, and what the long call answered; or None if the two never met.
    """
    answers, before, error = [], 0, None

    def hold():
        with suppress(RuntimeError):  # refused itself: a short call of more than a row came first
            answers.append(long_call(model))

    worker = threading.Thread(target=hold)
    worker.start()
    while worker.is_alive() and error is None:
        try:
            short_call(model)
            before += 1
        except RuntimeError as refusal:
            error = refusal
    worker.join()
    if error is None or not answers:
        return None
    assert "in use by another thread" in str(error)
    return before, answers[0]


def met(make, long_call, short_call, seconds=120):
    """A learner at which the two met, how many short calls came before, and what the long call answered.

    On a busy machine a long call may be over before it is seen: then there is another try.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        model = make()
        answer = _meet(model, long_call, short_call)
        if answer is not None:
            return model, *answer
    raise AssertionError(f"in {seconds} s the two threads never met")
