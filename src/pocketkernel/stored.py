"""What model files of every kind contain."""

import os
from typing import Any

from pocketkernel import learners, model_file
from pocketkernel.model_file import Contents


def read(path: str | os.PathLike[str]) -> Contents:
    """The contents of a model file, with a recipe that matches its state."""
    return model_file.read(path, learners.plausible)


def decode(data: bytes) -> Contents:
    """The same from the bytes of one."""
    return model_file.decode(data, learners.plausible)


def estimator_of(contents: Contents) -> Any:
    """The estimator in a model file."""
    learner, extra = learners.restored(contents)
    if not extra:
        return learner
    from pocketkernel import river  # noqa: PLC0415  (an optional dependency)

    return river.restored(learner, extra)
