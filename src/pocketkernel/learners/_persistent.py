"""Estimators as bytes, files and pickles: writes the description of an estimator, and checks it when it is read."""

import os
import reprlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, astuple, fields
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from pocketkernel import _core, model_file
from pocketkernel._alone import together
from pocketkernel._files import write_atomically
from pocketkernel.kernels import KERNELS, Kernel
from pocketkernel.learners._class_weights import checked_class_weight
from pocketkernel.learners._recipe import PARAMETERS, Recipe
from pocketkernel.losses import LOSSES
from pocketkernel.model_file import Contents, ModelFileError, is_plain

# The fields of a file's model.
_FIELDS = {"estimator", "parameters", "recipe", "labels", "feature_names", "n_features", "extra"}
# What the bytes bring back; everything else that an estimator carries goes into a pickle as it is.
LEARNED = (
    "_core", "_recipe", "_coding", "_counts", "budget_", "classes_", "n_outputs_",
    "n_features_in_", "feature_names_in_",
)  # fmt: skip


class Persistent(BaseEstimator):  # type: ignore[misc]
    """An estimator with a recipe, labels and a learner in the core, that can be written and read."""

    _learner: ClassVar[str]
    _recipe: Recipe
    _core: _core.Learner

    def _written_labels(self) -> Any:
        """The labels as JSON, of a classifier; else None."""
        return None

    def _read_labels(self, written: Any, recipe: Recipe) -> None:
        """Take the labels of a file, or refuse them."""
        if written is not None:
            raise ModelFileError(f"the model file has labels, {reprlib.repr(written)}, which it does not use.")

    def _tell_labels(self) -> None:
        """Tell the core the labels, of a classifier."""

    # ---- writing ----------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The whole model as bytes: parameters, labels, names of columns, and the exact state of learning.

        Their number depends only on parameters, labels and names, not on how many rows were learned. A kernel is
        written as its family and parameters; `random_state` unchanged if it is None or a number, otherwise as the seed
        that was drawn from it.
        """
        return model_file.encode(self._contents({}))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes()` to a file for `pocketkernel.load`.

        An existing file is replaced atomically; it stays unchanged if anything fails, or if the bytes could not be
        read again.
        """
        write_atomically(path, self.to_bytes(), read=self.from_bytes)

    def _contents(self, extra: dict[str, Any]) -> Contents:
        """What a file of this estimator holds, with JSON of whoever wraps it."""
        name = type(self).__name__
        if library_class(type(self)) is not type(self):
            raise TypeError(
                f"{name} is not a class of pocketkernel, so a file of it could not be read: use pickle, or save a "
                f"{library_class(type(self)).__name__}."
            )
        self._fitted()
        with together(self):
            parameters = {name: self._written(name, value) for name, value in self.get_params(deep=False).items()}
            return self._pack(parameters, extra)

    def _pack(self, parameters: dict[str, Any], extra: dict[str, Any]) -> Contents:
        names = getattr(self, "feature_names_in_", None)
        model = {
            "estimator": library_class(type(self)).__name__,
            "parameters": parameters,
            "recipe": write_recipe(self._recipe),
            "labels": self._written_labels(),
            "feature_names": None if names is None else [str(name) for name in names],
            "n_features": self._recipe.features,
            "extra": extra,
        }
        return Contents(model, self._core.save())

    def _written(self, name: str, value: Any) -> Any:
        """A parameter as JSON."""
        if name == "random_state" and isinstance(value, np.random.Generator | np.random.RandomState):
            return self._recipe.seed
        if name == "kernels" and isinstance(value, Kernel):
            return write_kernel(value)
        if name == "kernels" and isinstance(value, list | tuple):
            return [write_kernel(kernel) for kernel in value]
        if name == "class_weight" and isinstance(value, Mapping):
            pairs = [[plain(label), plain(weight)] for label, weight in value.items()]
            if all(is_plain(number) for pair in pairs for number in pair):
                return pairs
        value = plain(value)
        if is_plain(value):
            return value
        raise ValueError(
            f"{name}={value!r} cannot be written to a file: use "
            + ("a list of kernels." if name == "kernels" else "a number, a string or None.")
        )

    # ---- reading ----------------------------------------------------------------------------------------------------

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The model that `to_bytes` wrote; it continues exactly where that model stopped."""
        estimator, extra = cls._restored(model_file.decode(data, plausible))
        if extra:
            raise ModelFileError("the model file contains a model of pocketkernel.river: use pocketkernel.load.")
        return estimator

    @classmethod
    def _restored(cls, contents: Contents) -> tuple[Self, dict[str, Any]]:
        """The estimator, and the JSON of whoever wrapped it."""
        name = contents.model.get("estimator")
        if name != cls.__name__:
            raise ModelFileError(
                f"the model file contains a {reprlib.repr(name)}, not a {cls.__name__!r}: "
                "use pocketkernel.load, which reads every kind."
            )
        estimator = cls(**cls._read_parameters(contents.model.get("parameters")))
        return estimator, estimator._unpack(contents)

    @classmethod
    def _read_parameters(cls, written: Any) -> dict[str, Any]:
        """Constructor parameters; one that a file of an older version lacks has its default."""
        if not isinstance(written, dict):
            raise ModelFileError("the model file has no parameters.")
        parameters: dict[str, Any] = {}
        for name, value in written.items():
            if name not in cls._get_param_names():
                raise ModelFileError(f"the model file has {reprlib.repr(name)}, not a parameter of {cls.__name__}.")
            if name == "kernels" and value is not None:
                one = isinstance(value, list) and value and isinstance(value[0], str)
                parameters[name] = read_kernel(value) if one else read_kernels(value)
            elif name == "class_weight":
                parameters[name] = _read_class_weight(value)
            elif is_plain(value):
                parameters[name] = value
            else:
                raise ModelFileError(f"the model file has an invalid {name}, {reprlib.repr(value)}.")
        return parameters

    def _unpack(self, contents: Contents) -> dict[str, Any]:
        """Restore the contents, except the parameters; return the extra."""
        model = contents.model
        if model.keys() != _FIELDS:
            odd = sorted(model.keys() ^ _FIELDS)
            raise ModelFileError(f"the model file has a missing or unknown field: {reprlib.repr(odd)}.")
        recipe = read_recipe(model["recipe"])
        if recipe.learner != self._learner:
            raise ModelFileError(
                f"the model file has a recipe for {reprlib.repr(recipe.learner)}, but {type(self).__name__} needs "
                f"{self._learner!r}."
            )
        names, features, extra = model["feature_names"], model["n_features"], model["extra"]
        if not (_is_count(features) and features == recipe.features and _are_names(names, features)):
            raise ModelFileError(f"the model file does not name the {recipe.features} features of its recipe.")
        if not isinstance(extra, dict):
            raise ModelFileError(f"the model file has an invalid extra, {reprlib.repr(extra)}.")
        self._read_labels(model["labels"], recipe)
        core = revived(recipe, contents.state)
        self._recipe, self._core = recipe, core
        self.budget_ = recipe.budget
        self.n_features_in_ = recipe.features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._tell_labels()
        return extra

    # ---- pickles: parameters and the like as they are, the rest as the bytes of a file ------------------------------

    def __getstate__(self) -> dict[str, Any]:
        with together(self):
            state = dict(super().__getstate__())
            if "_core" in state:
                state = {name: value for name, value in state.items() if name not in LEARNED}
                state["_model"] = model_file.encode(self._pack({}, {}))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        data = state.pop("_model", None)
        super().__setstate__(state)
        if data is not None:
            self._unpack(model_file.decode(data, plausible))


def library_class(class_: type) -> type:
    """The class itself if it is one of this package, else the first of its ancestors that is."""
    return next(c for c in class_.__mro__ if c.__module__.split(".")[0] == __name__.split(".")[0])


def _read_class_weight(written: Any) -> Any:
    """Weights of classes; a dict was written as pairs."""
    pairs = isinstance(written, list)
    if not pairs or all(isinstance(pair, list) and len(pair) == 2 and all(map(is_plain, pair)) for pair in written):
        with suppress(ValueError):
            return checked_class_weight(dict(written) if pairs else written)
    raise ModelFileError(f"the model file has an invalid class_weight, {reprlib.repr(written)}.")


# ---- plain values ---------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**64


def _are_names(names: Any, features: int) -> bool:
    if names is None:
        return True
    return isinstance(names, list) and len(names) == features and all(isinstance(name, str) for name in names)


# ---- kernels --------------------------------------------------------------------------------------------------------


def write_kernel(kernel: Any) -> list[Any]:
    """A kernel as its family and number."""
    if type(kernel) in KERNELS.values():
        numbers = [plain(number) for number in astuple(kernel)]
        if all(is_plain(number) for number in numbers):
            return [kernel.family, *numbers]
    raise ValueError(
        f"kernels has {kernel!r}, which cannot be written to a file: use pocketkernel's kernels with plain numbers."
    )


def read_kernel(written: Any) -> Kernel:
    """A kernel from its family and number."""
    good = isinstance(written, list) and written and isinstance(written[0], str) and written[0] in KERNELS
    if good:
        class_, numbers = KERNELS[written[0]], written[1:]
        if len(numbers) == len(fields(class_)) and all(type(n) in (int, float) for n in numbers):
            return class_(*numbers)
    raise ModelFileError(f"the model file has an unknown kernel, {reprlib.repr(written)}.")


def read_kernels(written: Any) -> tuple[Kernel, ...]:
    """Kernels from a list."""
    if not isinstance(written, list):
        raise ModelFileError(f"the model file has an invalid list of kernels, {reprlib.repr(written)}.")
    return tuple(read_kernel(kernel) for kernel in written)


# ---- recipes --------------------------------------------------------------------------------------------------------


def write_recipe(recipe: Recipe) -> dict[str, Any]:
    """A recipe, field by field."""
    written = {field.name: getattr(recipe, field.name) for field in fields(recipe)}
    written |= written.pop("parameters")
    return written | {"kernels": [write_kernel(kernel) for kernel in recipe.kernels]}


_CHECKS: dict[Any, Callable[[Any], bool]] = {
    bool: lambda value: type(value) is bool,
    str: lambda value: type(value) is str,
    int: _is_count,
    float: lambda value: type(value) is float,
    tuple[Kernel, ...]: lambda value: isinstance(value, list),
}


def read_recipe(written: Any) -> Recipe:
    """A recipe that the core accepts. A field with a default may be missing: an older version did not have it."""
    if not isinstance(written, dict):
        raise ModelFileError("the model file has no recipe.")
    own = {field.name: field for field in fields(Recipe) if field.name != "parameters"}
    known = {name: field.type for name, field in own.items()} | {name: type(PARAMETERS[name]) for name in PARAMETERS}
    needed = {name for name, field in own.items() if field.default is MISSING}
    for name in sorted((written.keys() - known.keys()) | (needed - written.keys())):
        raise ModelFileError(f"the model file has a recipe with an unknown or missing field, {reprlib.repr(name)}.")
    for name, value in written.items():
        if not _CHECKS[known[name]](value):
            raise ModelFileError(f"the model file has a recipe with an invalid {name}, {reprlib.repr(value)}.")
    if written["loss"] not in LOSSES or written["removal"] not in _core.REMOVALS:
        raise ModelFileError("the model file has a recipe with an unknown loss or removal.")
    parameters = PARAMETERS | {name: value for name, value in written.items() if name in PARAMETERS}
    kept = {name: value for name, value in written.items() if name in own}
    return Recipe(**kept | {"kernels": read_kernels(written["kernels"]), "parameters": parameters})


def plausible(model: dict[str, Any], state_bytes: int) -> None:
    """Refuse a recipe that is not one of a state of that size, before anything is allocated."""
    recipe = read_recipe(model.get("recipe"))
    try:
        _, expected, status = recipe.size()
    except (ValueError, TypeError) as error:  # a name that the core does not know
        raise ModelFileError(f"the model file has a recipe that cannot be built: {error}.") from None
    if status != 0:
        raise ModelFileError("the model file has a recipe that cannot be built: {} {}.".format(*_core.describe(status)))
    if expected != state_bytes:
        raise ModelFileError(
            f"the model file has a recipe for a state of {expected} bytes, but a state of {state_bytes}: it is "
            "damaged, or an earlier version of pocketkernel wrote it, in which this learner worked differently."
        )


def revived(recipe: Recipe, state: bytes) -> _core.Learner:
    """The learner of a recipe in the state that was saved."""
    core = recipe.build()
    status = core.load(state)
    if status != 0:
        raise ModelFileError("the model file cannot be used: its {} {}.".format(*_core.describe(status)))
    return core
