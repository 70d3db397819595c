"""From the parameters of a learner to a recipe: every number checked, and a budget that fits into the memory."""

import math
import secrets
from collections.abc import Iterable
from dataclasses import astuple
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, ClassVar

import numpy as np

from pocketkernel import _core
from pocketkernel._threads import allowed_threads
from pocketkernel.kernels import KERNELS, PAPER_KERNELS, Kernel
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._persistent import Persistent
from pocketkernel.learners._plan import plan as plan_of
from pocketkernel.learners._recipe import PARAMETERS, Recipe, largest
from pocketkernel.losses import LOSSES
from pocketkernel.memory import as_text, parse_bytes

DEFAULT_BUDGET = 400


@with_parameters
class Parameters(Persistent):
    """An estimator whose parameters name a learner in the core, and how large it may be."""

    _loss: ClassVar[str] = "logistic"  # of a learner that has no such parameter
    _kernels: ClassVar[tuple[Kernel, ...] | None] = None  # likewise
    _is_regressor: ClassVar[bool] = False  # whether it is planned for outputs, else for classes
    _budget_name: ClassVar[str] = "budget"
    _smallest_budget: ClassVar[int] = 1

    memory: int | str | None = None
    dtype: str = "float32"
    n_jobs: int | None = None
    random_state: Any = None

    plan = plan_of

    def _loss_name(self) -> Any:
        return getattr(self, "loss", self._loss)

    def _choose(self, features: int, classes: int, rows: int | None) -> Recipe:
        """Check the parameters and choose the budget; `rows` is how many are to come, if that is known."""
        storage = getattr(self, "storage", None)
        recipe = Recipe(
            learner=self._learner,
            doubles=one_of("dtype", self.dtype, ("float32", "float64")) == "float64",
            kernels=_checked_kernels(getattr(self, "kernels", self._kernels)),
            loss=one_of("loss", self._loss_name(), LOSSES),
            removal=one_of("removal", getattr(self, "removal", "half"), _core.REMOVALS),
            features=features,
            classes=classes,
            storage="full" if storage is None else one_of("storage", storage, _core.STORAGES[1:]),
            seed=drawn_seed(self.random_state),
        )
        allowed_threads(self.n_jobs)
        self._configure(recipe, rows)
        budget = getattr(self, self._budget_name, None)
        if self.memory is None and hasattr(self, self._budget_name):
            self._try_budget(recipe, DEFAULT_BUDGET if budget is None else whole_number(self._budget_name, budget))
        elif budget is not None:
            raise ValueError(f"{self._budget_name}={budget!r} and memory={self.memory!r} are both set: choose one.")
        else:
            self._fit_into(recipe, parse_bytes(self.memory))
        return recipe

    def _configure(self, recipe: Recipe, rows: int | None, **derived: Any) -> None:
        """Copy the numbers that this learner has; some may be `derived` from others, and U follows from the budget."""
        own = set(self._get_param_names()) - {"norm_bound"}
        for name, default in PARAMETERS.items():
            if name in own:
                check = whole_number if isinstance(default, int) else number
                recipe.parameters[name] = check(name, derived.get(name, getattr(self, name)))

    def _plan_experts(self, recipe: Recipe) -> tuple[tuple[str, int, str], ...]:
        """What a mixture of experts begins with: names, numbers and units."""
        return ()

    def _kernels_from(self, recipe: Recipe) -> int | None:
        """Bytes from which the learner has kernels, if it is only a linear model; else None."""
        return None

    def _set_budget(self, recipe: Recipe, budget: int) -> None:
        """Set the budget, and the norm that follows from it where a learner has one."""
        recipe.budget = budget
        if hasattr(self, "norm_bound"):
            U = self.norm_bound
            recipe.parameters["norm_bound"] = math.sqrt(budget) if U is None else number("norm_bound", U)

    def _try_budget(self, recipe: Recipe, budget: int) -> int:
        """Bytes with this budget, or the error that says why not."""
        if budget < min(1, self._smallest_budget):
            raise ValueError(f"{self._budget_name}={budget} is too small: use a positive integer.")
        self._set_budget(recipe, budget)
        size, _, status = recipe.size()
        if status != 0:
            subject, sentence = _core.describe(status)
            name = {"budget": self._budget_name, "classes": "n_classes"}.get(subject, subject)
            given = getattr(self, name, None)
            raise ValueError(f"{subject if given is None else f'{name}={short(given)}'} {sentence}.")
        return size

    def _fit_into(self, recipe: Recipe, memory: int) -> None:
        """Choose the largest budget whose learner fits into `memory` bytes."""
        least = self._try_budget(recipe, self._smallest_budget)
        if least > memory:
            raise ValueError(
                f"memory={self.memory!r} ({memory} bytes) is too small: {type(self).__name__} with "
                f"{recipe.features} features needs at least {least} bytes: use memory={as_text(least)!r} or more."
            )

        def fits(budget: int) -> bool:
            self._set_budget(recipe, budget)
            size, _, status = recipe.size()
            return status == 0 and size <= memory

        self._set_budget(recipe, largest(fits, self._smallest_budget))


def _checked_kernels(kernels: Any) -> tuple[Kernel, ...]:
    if kernels is None:
        return PAPER_KERNELS
    if isinstance(kernels, str) or not isinstance(kernels, Kernel | Iterable):
        raise ValueError(f"kernels={kernels!r} is not a list of kernels: use for example gaussians([0.5, 1, 2]).")
    checked = (kernels,) if isinstance(kernels, Kernel) else tuple(kernels)
    for kernel in checked:
        if not isinstance(kernel, Kernel):
            known = ", ".join(class_.__name__ for class_ in KERNELS.values())
            raise ValueError(f"kernels has {kernel!r}, an unknown kernel: use one of {known}.")
        if not all(isinstance(value, Real) and float(value) > 0 for value in astuple(kernel)):
            raise ValueError(f"kernels has {kernel!r}: its parameter must be positive.")
    return checked


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """`value` if it is one of the names known, else an error that lists them."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={short(value)} is unknown: use one of {', '.join(map(repr, known))}.")
    return value


def number(name: str, value: Any) -> float:
    """`value` as a float, or an error that names the parameter."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name}={short(value)} is not a number.")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """`value` as a bool, or an error that names the parameter."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={short(value)} is neither True nor False.")
    return bool(value)


def whole_number(name: str, value: Any) -> int:
    """`value` as an int, or an error that names the parameter."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name}={short(value)} is not an integer.")
    if not 0 <= int(value) < 2**62:
        raise ValueError(f"{name}={short(value)} is too {'small' if int(value) < 0 else 'large'}.")
    return int(value)


def drawn_seed(random_state: Any) -> int:
    """64-bit seed for a random_state."""
    if random_state is None:
        return secrets.randbits(64)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(8), "little")
    if isinstance(random_state, Integral) and 0 <= int(random_state) < 2**64:
        return int(random_state)
    raise ValueError(
        f"random_state={random_state!r} is not valid: use None, an integer from 0 to 2**64 - 1, or a NumPy generator."
    )
