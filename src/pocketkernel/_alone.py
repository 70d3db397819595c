"""One caller at a time: an estimator is not made to be shared, and a silent mix-up is worse than an error."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_busy: set[int] = set()


@contextmanager
def alone(learner: object) -> Iterator[None]:
    """Refuse a second thread that comes with the same object."""
    with _lock:
        if id(learner) in _busy:
            raise RuntimeError("this learner is in use by another thread: give each thread its own, or use a lock")
        _busy.add(id(learner))
    try:
        yield
    finally:
        with _lock:
            _busy.discard(id(learner))
