"""Reading model files of every kind."""

import os
from typing import Any

from pocketkernel import learners, model_file
from pocketkernel.model_file import Contents


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that its `save` wrote to a file; it goes on exactly where that one was.

    A model of `pocketkernel.river` comes back as one.

    Nothing in a file is run, and one that is truncated, damaged, edited, foreign or of a newer version is refused with
    a `ModelFileError` that says so.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import make_circles
    >>> import pocketkernel
    >>> X, y = make_circles(500, noise=0.1, factor=0.5, random_state=0)
    >>> model = pocketkernel.MOMDS(memory="16KiB", random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/circles.pk")
    ...     same = pocketkernel.load(f"{folder}/circles.pk")
    >>> bool((same.decision_function(X) == model.decision_function(X)).all())
    True
    """
    with model_file.naming(path):
        return estimator_of(read(path))


def read(path: str | os.PathLike[str]) -> Contents:
    """What a model file holds, with a recipe that fits its state."""
    return model_file.read(path, learners.plausible)


def estimator_of(contents: Contents) -> Any:
    """The estimator in a model file."""
    learner, extra = learners.restored(contents)
    if not extra:
        return learner
    from pocketkernel import river  # noqa: PLC0415  (an optional dependency)

    return river.restored(learner, extra)
