"""One caller at a time: an estimator is not made to be shared, and a silent mix-up is worse than an error."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_busy: dict[int, object] = {}
_left_behind: weakref.WeakSet[object] = weakref.WeakSet()  # in use by a thread that a fork did not take along


@contextmanager
def alone(learner: object) -> Iterator[None]:
    """Refuse a second thread that comes with the same object."""
    with _lock:
        if id(learner) in _busy:
            raise RuntimeError("this learner is in use by another thread: give each thread its own, or use a lock")
        if learner in _left_behind:
            raise RuntimeError(
                "this learner was learning in another thread when the process forked, so its copy here is incomplete: "
                "load it from its file, or fork while it is idle"
            )
        _busy[id(learner)] = learner
    try:
        yield
    finally:
        with _lock:
            _busy.pop(id(learner), None)


def _after_fork() -> None:
    """Only the thread that forked lives on in the child: no other will ever release the lock or a learner."""
    global _lock
    _lock = threading.Lock()
    _left_behind.update(_busy.values())
    _busy.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
