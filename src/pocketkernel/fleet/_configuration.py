"""What all models of a fleet have in common: the learner with its seed, its targets, and both as bytes."""

import os
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from pocketkernel import learners, model_file
from pocketkernel._fields import Fields, is_count, is_dict, optional
from pocketkernel.fleet._slabs import MappedSlabs
from pocketkernel.fleet._store import FolderStore
from pocketkernel.fleet.errors import FleetStoreError
from pocketkernel.learners import OnlineKernelClassifier, OnlineLearner, recipe_of
from pocketkernel.model_file import Contents, ModelFileError


def check(learner: Any, max_keys: int | None) -> None:
    """Refuse what a fleet cannot be made of."""
    if not isinstance(learner, OnlineLearner):
        raise TypeError(f"learner={learner!r} is not a learner of pocketkernel: use PocketClassifier, for example.")
    if max_keys is not None and max_keys < 1:
        raise ValueError(f"max_keys={max_keys!r} is too small: use 1 or more.")


def is_balanced(learner: OnlineLearner) -> bool:
    """Whether the learner weighs classes by the inverse of their frequencies."""
    return isinstance(getattr(learner, "class_weight", None), str)


def seeded(learner: OnlineLearner, base: Any, stored: OnlineLearner | None) -> OnlineLearner:
    """The learner with a number as its random_state, so that all models have the same seed, also after a restart.

    `stored` is the model of a store's configuration, which comes before that of the base.
    """
    if isinstance(learner.random_state, Integral):
        return learner
    base = base if stored is None else stored
    seed = recipe_of(base).seed if isinstance(base, OnlineLearner) else learners.drawn_seed(learner.random_state)
    found: OnlineLearner = clone(learner).set_params(random_state=seed)
    return found


def same_labels_and_names(one: Any, other: Any) -> bool:
    """Whether two fitted learners have the same labels, and the same names of columns if both know any."""
    mine, theirs = getattr(one, "feature_names_in_", None), getattr(other, "feature_names_in_", None)
    same_names = mine is None or theirs is None or np.array_equal(mine, theirs)
    return same_names and np.array_equal(getattr(one, "classes_", ()), getattr(other, "classes_", ()))


def restored(contents: Contents) -> OnlineLearner:
    """The model of a configuration."""
    return learners.restored(Contents({**contents.model, "extra": {}}, contents.state))[0]


def about_fleet(contents: Contents, path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a configuration says of the fleet itself: `base` and `max_keys`. FleetStoreError if that is invalid."""
    try:
        about = Fields(Fields(contents.model.get("extra"), "extra").take("fleet", is_dict), "extra.fleet")
        base = about.take("base", lambda value: value in (None, "shared", "model"))
        most = about.take("max_keys", optional(lambda value: is_count(value) and value > 0))
        about.end()
    except ModelFileError as error:
        raise FleetStoreError(f"{os.fspath(path)} cannot be read: {error}") from error
    return {"base": base, "max_keys": most}


def targets(learner: OnlineLearner, classes: Any) -> Any:
    """Labels, or a row of the numbers, that tell a new learner what it will predict."""
    if isinstance(learner, OnlineKernelClassifier):
        if classes is None:
            raise ValueError("classes is missing: give all labels, for example classes=[0, 1].")
        reserved = getattr(learner, "n_classes", None)
        if reserved is not None and reserved != len(classes):
            raise ValueError(
                f"n_classes={reserved!r} differs from the {len(classes)} labels in classes: a fleet needs all labels "
                "at the start, so leave n_classes out."
            )
        return classes
    outputs = 1 if classes is None else classes
    return np.zeros(1) if outputs == 1 else np.zeros((1, outputs))


def decoded(configuration: bytes, path: str | os.PathLike[str]) -> Contents:
    """A configuration as it is in a file. FleetStoreError if it is damaged."""
    try:
        return model_file.decode(configuration, learners.plausible)
    except ModelFileError as error:
        raise FleetStoreError(f"{os.fspath(path)} cannot be read: {error}") from error


def mapped_slabs(slabs: str, store: object) -> MappedSlabs | None:
    """The file for the models of a fleet with such a store, if they are to be in one."""
    if slabs not in ("memory", "mapped"):
        raise ValueError(f"slabs={slabs!r} is unknown: use 'memory' or 'mapped'.")
    if slabs == "memory":
        return None
    if not isinstance(store, FolderStore):
        raise ValueError("slabs='mapped' needs a folder for the file: give store=<path>.")
    return MappedSlabs(store.path)
