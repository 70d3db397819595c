"""Models of tables as they are: text, categories, dates and missing values, encoded on the stream.

`TableClassifier` and `TableRegressor` do in Python what ``pocketkernel run`` does with a file, by the same code, and
`pocketkernel.load` makes one of the folder of a run.
"""

import os
from typing import Any

from pocketkernel.evaluate.pipeline import Pipeline, load_with_pipeline
from pocketkernel.model_file import Contents, ModelFileError
from pocketkernel.stored import estimator_of
from pocketkernel.tables._classifier import TableClassifier
from pocketkernel.tables._model import TableModel as TableModel
from pocketkernel.tables._regressor import TableRegressor

__all__ = ["TableClassifier", "TableRegressor"]


def load_run(path: str | os.PathLike[str]) -> TableModel:
    """The model in the folder of a run."""
    learner, pipeline, file = load_with_pipeline(path)
    if pipeline is None:
        raise ModelFileError(f"{file} does not contain how to read rows: use a model that `pocketkernel run` wrote.")
    return _model(learner, pipeline)


def table_model_of(contents: Contents) -> Any:
    """The model in a file that has more than a learner."""
    learner, pipeline = estimator_of(contents), Pipeline.of(contents)
    return learner if pipeline is None else _model(learner, pipeline)


def _model(learner: Any, pipeline: Pipeline) -> TableModel:
    kind = TableClassifier if hasattr(learner, "classes_") else TableRegressor
    return kind.of(learner, pipeline)
