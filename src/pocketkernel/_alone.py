"""Turns of threads at one object, over several calls.

A compiled learner has a turn for each of its calls: predictions run side by side, and learning is alone. These turns
are for what takes several calls, or changes objects of Python: labels, columns, tables of keys. Who waits answers
Ctrl-C. A turn of an estimator, a fleet or another object comes before that of its compiled learner, never within it.
"""

from pocketkernel import _core


def alone(owner: object) -> _core.Turn:
    """A turn to change the object: others wait. Calls within it may read; of a compiled learner, change it, too."""
    return _core.Turn(owner, True)


def together(owner: object) -> _core.Turn:
    """A turn to read the object as it is at one moment, together with others who do."""
    return _core.Turn(owner, False)
