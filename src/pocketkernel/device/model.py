"""What is exported of a model: its recipe, its state, its labels and its scaling, or the reason why it cannot be."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pocketkernel.evaluate.pipeline import Pipeline, load_with_pipeline
from pocketkernel.learners import OnlineLearner, contents_of, recipe_of, room_for_scores
from pocketkernel.stream import OnlineStandard, Scaler
from pocketkernel.stream.encode import Encoding
from pocketkernel.tables import TableModel

HEADER_BYTES = 32
"""Of a learner's state: its model, its size, its checksum."""


@dataclass(frozen=True)
class Exported:
    """A model that a device can have."""

    learner: OnlineLearner
    scaler: Scaler | None = None

    @property
    def recipe(self) -> Any:
        """What the learner is built from."""
        return recipe_of(self.learner)

    @property
    def labels(self) -> list[str] | None:
        """Names of the classes; None for a regressor."""
        classes = getattr(self.learner, "classes_", None)
        return None if classes is None else [str(label) for label in classes.tolist()]

    @property
    def outputs(self) -> int:
        """Scores, or answers of a regressor, for each row."""
        return int(room_for_scores(self.learner, 1).size)

    @property
    def state(self) -> bytes:
        """The state of the learner, then that of the scaler."""
        learner = contents_of(self.learner).state
        return learner + scaler_state(self.scaler, learner)


def scaler_state(scaler: Scaler | None, learner: bytes) -> bytes:
    """What a scaler has learned, as little-endian words, to follow the state of a learner.

    The number of rows, then its figures for every column, then a checksum of these and of the learner's header.
    """
    if scaler is None:
        return b""
    state = scaler.get_state()
    figures = (state[name].astype("<f8").tobytes() for name in figures_of(scaler))
    words = scaler.count.to_bytes(8, "little") + b"".join(figures)
    return words + checksum(learner[:HEADER_BYTES] + words)


def checksum(words: bytes) -> bytes:
    """FNV-1a over 64-bit words, as in state.hpp."""
    value = 0xCBF29CE484222325
    for word in np.frombuffer(words, "<u8").tolist():
        value = (value ^ word) * 0x100000001B3 % 2**64
        value ^= value >> 29
    return value.to_bytes(8, "little")


def figures_of(scaler: Scaler) -> list[str]:
    """The figures that a scaler has for every column, in the order of a device."""
    return [name for name in scaler.get_state() if name not in ("count", "clip")]


def clip_of(scaler: Scaler) -> float | None:
    """Where OnlineStandard cuts; None for other scalers."""
    return float(scaler.clip) if isinstance(scaler, OnlineStandard) else None


def exported(model: Any) -> Exported:
    """What is to be exported: of an estimator, of a run, of its folder or of a model file."""
    if isinstance(model, str | os.PathLike):
        learner, pipeline, _ = load_with_pipeline(Path(model))
        return Exported(_learner(learner), _scaler(pipeline))
    if isinstance(model, TableModel):
        return Exported(_learner(model.learner_), _scaler(model.pipeline_))
    return Exported(_learner(model))


def _learner(model: Any) -> OnlineLearner:
    steps = getattr(model, "steps", None)
    if steps is not None:
        names = ", ".join(type(step).__name__ for _, step in steps[:-1])
        raise ValueError(
            f"the steps {names} of the {type(model).__name__} cannot be exported: export its last step and compute the "
            "others on the device, or use PocketClassifier, which scales rows itself, or `pocketkernel run --scale`."
        )
    if not isinstance(model, OnlineLearner):
        model = getattr(model, "_model", model)  # of pocketkernel.river
    if not isinstance(model, OnlineLearner):
        raise TypeError(f"{type(model).__name__} cannot be exported: use a learner of pocketkernel, or its file.")
    contents_of(model)  # raises the error of a learner that has learned nothing
    return model


def _scaler(pipeline: Pipeline | None) -> Scaler | None:
    if pipeline is None:
        return None
    if pipeline.encoding is not None:
        features = Encoding.from_dict(pipeline.encoding).features
        named = [feature.name for feature in features if feature.kind in ("category", "date") or feature.flag]
        if named:
            raise ValueError(
                f"the model reads columns of categories, dates or missing values ({', '.join(named[:5])}), which a "
                "device cannot: train it on columns of numbers."
            )
    return pipeline.scaler
