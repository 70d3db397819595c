"""Reading model files of every kind."""

import os
from typing import Any

from pocketkernel import learners, model_file
from pocketkernel.model_file import Contents


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator that was written by its `save` method; it continues exactly where it stopped.

    A model of `pocketkernel.river` is loaded as such.

    Loading a file runs no code from it. A file that is truncated, damaged, edited, from another program or from a newer
    version is refused with a `ModelFileError` that gives the reason.

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
    """The contents of a model file, with a recipe that matches its state."""
    return model_file.read(path, learners.plausible)


def estimator_of(contents: Contents) -> Any:
    """The estimator in a model file."""
    learner, extra = learners.restored(contents)
    if not extra:
        return learner
    from pocketkernel import river  # noqa: PLC0415  (an optional dependency)

    return river.restored(learner, extra)
