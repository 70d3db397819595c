"""Threads at one object: many who ask, one who teaches, and every answer is that of some moment.

The moments are computed before, by one thread: what is answered after each piece of a stream. Then one thread teaches
the pieces, some of them together in one call, and the others ask.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from waiting import until

READERS = 8


@contextmanager
def switching_often():
    """Threads take turns at Python every few microseconds, so that they meet in more places."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def moments_of(make: Callable[[], Any], pieces: Sequence[Any], teach: Callable, ask: Callable) -> list[Any]:
    """What is answered before the first piece, and after each."""
    model = make()
    answers = [ask(model)]
    for piece in pieces:
        teach(model, [piece])
        answers.append(ask(model))
    return answers


def met(make, pieces, teach, ask, *, together=1, readers=READERS):
    """The taught object; how many answers there were, and of how many moments. None is of any other moment.

    `teach` takes a list of pieces, up to `together` of them. An answer must be hashable. It must be that of a moment
    between the call and its return.
    """
    moments = moments_of(make, pieces, teach, ask)
    places: dict[Any, list[int]] = {}
    for place, answer in enumerate(moments):
        places.setdefault(answer, []).append(place)
    assert len(places) > len(moments) // 2, "these moments cannot be told apart"
    model, errors, answered, seen = make(), [], [], set()
    begun, done, over, ready = [0], [0], threading.Event(), threading.Barrier(readers + 1)

    def read():
        try:
            ready.wait()
            while not over.is_set():
                first = done[0]
                answer = ask(model)
                possible = [place for place in places.get(answer, ()) if first <= place <= begun[0]]
                assert possible, f"between {first} and {begun[0]}: {answer!r}, which is {places.get(answer)}"
                seen.add(possible[0])
                answered.append(1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(readers)]
    with switching_often():
        for thread in threads:
            thread.start()
        try:
            ready.wait()
            while done[0] < len(pieces):
                before = len(answered)
                until(lambda: errors or len(answered) > before)  # noqa: B023  (called at once)
                group = pieces[done[0] : done[0] + 1 + done[0] % together]
                begun[0] += len(group)
                teach(model, group)
                done[0] += len(group)
        finally:
            over.set()
            for thread in threads:
                thread.join()
    for error in errors:
        raise error
    assert ask(model) == moments[-1]
    return model, len(answered), len(seen)
