"""`load`: models from files, and from the folders of runs."""

import os
from pathlib import Path
from typing import Any

from pocketkernel import model_file
from pocketkernel.stored import estimator_of, read


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator that was written by its `save` method; it continues exactly where it stopped.

    A model of `pocketkernel.river` is loaded as such. The folder of a run (``pocketkernel run``), or the model file in
    it, gives a `TableClassifier` or `TableRegressor`: the learner together with how rows are encoded and scaled, so
    that it takes rows as they are in files.

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
    if Path(path).is_dir():
        from pocketkernel.tables import load_run  # noqa: PLC0415  (slow to import)

        return load_run(path)
    with model_file.naming(path):
        contents = read(path)
        if not contents.sections:
            return estimator_of(contents)
        from pocketkernel.tables import table_model_of  # noqa: PLC0415

        return table_model_of(contents)
