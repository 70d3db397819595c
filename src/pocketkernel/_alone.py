"""One caller at a time: an estimator must not be shared, and silent corruption is worse than an error."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager


class _Users:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.busy: dict[int, object] = {}
        self.left_behind: weakref.WeakSet[object] = weakref.WeakSet()  # held by threads that a fork did not take along

    def after_fork(self) -> None:
        """Only the thread that forked lives on in the child: no other will ever release the lock or a learner."""
        self.lock = threading.Lock()
        self.left_behind.update(self.busy.values())
        self.busy.clear()


_users = _Users()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_users.after_fork)


@contextmanager
def alone(learner: object) -> Iterator[None]:
    """Refuse a second thread that uses the same object at the same time."""
    with _users.lock:
        if id(learner) in _users.busy:
            raise RuntimeError("this learner is in use by another thread: give each thread its own, or use a lock")
        if learner in _users.left_behind:
            raise RuntimeError(
                "this learner was learning in another thread when the process forked, so its copy here is incomplete: "
                "load it from its file, or fork while it is idle"
            )
        _users.busy[id(learner)] = learner
    try:
        yield
    finally:
        with _users.lock:
            _users.busy.pop(id(learner), None)
