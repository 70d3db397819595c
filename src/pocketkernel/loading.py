"""Reading model files of every kind."""

import os
import reprlib
from typing import Any

from pocketkernel import learners, model_file
from pocketkernel.learners import OnlineKernelClassifier, plausible
from pocketkernel.model_file import ModelFileError


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that its `save` wrote to a file; it goes on exactly where that one was.

    What a class of `pocketkernel.river` saved comes back as that class.

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
        contents = model_file.read(path, plausible)
        if contents.model.get("extra"):
            from pocketkernel import river  # noqa: PLC0415  (an optional dependency)

            return river.restored(contents)
        name = contents.model.get("estimator")
        if name not in learners.__all__:
            raise ModelFileError(f"the model file holds an unknown estimator, {reprlib.repr(name)}.")
        class_: type[OnlineKernelClassifier] = getattr(learners, name)
        return class_._from_contents(contents)
