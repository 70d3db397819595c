"""The size of a learner before it has seen a row."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from reprlib import repr as short
from types import MethodType
from typing import Any

from pocketkernel._text import aligned, html_table
from pocketkernel.memory import linear_only, parse_bytes

MOST_FEATURES = 1_000_000
SOME_ROWS = 64
"""Rows over which bytes are averaged: whole packs, whatever the precision."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The exact size of a learner for rows of some width, as a fit will give.

    Attributes
    ----------
    learner : str
        Name of the estimator.
    n_features : int
        Columns of a row.
    n_classes : int
        Number of classes; 0 for a regressor.
    kernels : int
        Number of kernels, K.
    dtype : str
        Precision of stored rows and of arithmetic.
    storage : str or None
        Format of stored rows, if it differs from `dtype`.
    budget_name : {"budget", "features"}
        Whether `budget` counts stored rows, B, or frequencies, D.
    budget : int
        The chosen or given B or D.
    nbytes : int
        Total bytes of the learner.
    bytes_per_row : int
        Average bytes per unit of `budget` (rows are stored in whole packs); 0 if only a linear model fits.
    memory : int or None
        Bytes that were requested.
    n_outputs : int
        Number of outputs of a regressor; otherwise 0.
    experts : tuple of (name, number, unit)
        What PocketClassifier's memory buys, as it begins; shares of memory then follow the evidence. Empty for others.
    kernels_from : int or None
        Bytes from which there are kernels, if only a linear model fits into the memory; otherwise None.

    Examples
    --------
    >>> Plan("MOMDS", 10, 2, 5, "float32", None, "budget", budget=1040, nbytes=65088, bytes_per_row=60, memory=65536)
    MOMDS, 10 features, 5 kernels, float32
      budget      1,040 rows
      takes      65,088 bytes
      of         65,536 bytes
      left over     448 bytes
      per row        60 bytes
    """

    learner: str
    n_features: int
    n_classes: int
    kernels: int
    dtype: str
    storage: str | None
    budget_name: str
    budget: int
    nbytes: int
    bytes_per_row: int
    memory: int | None = None
    n_outputs: int = 0
    experts: tuple[tuple[str, int, str], ...] = ()
    kernels_from: int | None = None

    @property
    def headroom(self) -> int | None:
        """Bytes of `memory` that stay unused."""
        return None if self.memory is None else self.memory - self.nbytes

    @property
    def shortage(self) -> str:
        """That only a linear model fits into the memory, and how much has room for kernels; empty if they fit."""
        if self.kernels_from is None or self.memory is None:
            return ""
        return linear_only(self.memory, self.n_features, self.n_classes, self.kernels_from)

    def _title(self) -> str:
        kernels = "1 kernel" if self.kernels == 1 else f"{self.kernels} kernels"
        features = "1 feature" if self.n_features == 1 else f"{self.n_features:,} features"
        classes = f"{self.n_classes} classes, " if self.n_classes > 2 else ""
        classes += f"{self.n_outputs} outputs, " if self.n_outputs > 1 else ""
        stored = "" if self.storage is None else f", rows in {self.storage}"
        return f"{self.learner}, {features}, {classes}{kernels}, {self.dtype}{stored}"

    def _lines(self) -> list[tuple[str, str, str]]:
        what = "row" if self.budget_name == "budget" else "frequency"
        lines = [
            (self.budget_name, f"{self.budget:,}", "rows" if what == "row" else "frequencies"),
            ("takes", f"{self.nbytes:,}", "bytes"),
        ]
        if self.bytes_per_row > 0:
            lines.append((f"per {what}", f"{self.bytes_per_row:,}", "bytes"))
        if self.memory is not None:
            lines[2:2] = [("of", f"{self.memory:,}", "bytes"), ("left over", f"{self.headroom:,}", "bytes")]
        if self.kernels_from is not None:
            lines.append(("kernels from", f"{self.kernels_from:,}", "bytes"))
        if self.experts:
            lines.append(("experts", f"{len(self.experts)}", "at the start"))
        return lines + [(f"  {name}", f"{number:,}", unit) for name, number, unit in self.experts]

    def __repr__(self) -> str:
        return aligned(self._title(), self._lines())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._lines())


class OnClassOrInstance:
    """A method whose first argument is the instance or, if there is none, the class."""

    def __init__(self, function: Callable[..., Plan]):
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, class_: Any) -> Callable[..., Plan]:
        return MethodType(self.function, class_ if instance is None else instance)


@OnClassOrInstance
def plan(
    estimator: Any,
    n_features: int,
    memory: int | str | None = None,
    *,
    n_classes: int | None = None,
    n_outputs: int = 1,
    **parameters: Any,
) -> Plan:
    """The memory that the learner will use for rows of `n_features` columns. Needs no data and builds nothing.

    Call it on the class with the constructor's parameters as keywords, or on an instance, whose parameters they
    replace.

    Parameters
    ----------
    n_features : int
        Columns of a row, from 1 to 1,000,000.
    memory : int or str, default=None
        Bytes to fit into, such as 65536 or "64KiB", instead of the instance's memory or budget.
    n_classes : int, default=None
        Number of classes; more than 2 only for a multiclass learner. None means the instance's, or 2.
    n_outputs : int, default=1
        Number of outputs; only for a regressor.
    **parameters
        Parameters of the constructor, such as ``dtype="float64"``.

    Returns
    -------
    Plan
        Exactly what a fit will give: ``nbytes`` and ``budget``.
    """
    if isinstance(n_features, bool) or not isinstance(n_features, Integral) or not 1 <= n_features <= MOST_FEATURES:
        raise ValueError(f"n_features={short(n_features)} is out of range: a row has 1 to {MOST_FEATURES:,} columns.")
    if n_classes is None:
        n_classes = getattr(estimator, "n_classes", None) or 2
    if isinstance(n_classes, bool) or not isinstance(n_classes, Integral) or not 2 <= n_classes < 2**62:
        raise ValueError(f"n_classes={short(n_classes)} is out of range: use 2 or more.")
    if isinstance(n_outputs, bool) or not isinstance(n_outputs, Integral) or not 1 <= n_outputs < 2**62:
        raise ValueError(f"n_outputs={short(n_outputs)} is out of range: use 1 or more.")
    class_ = estimator if isinstance(estimator, type) else type(estimator)
    given = {} if estimator is class_ else estimator.get_params(deep=False)
    if memory is not None:
        given |= {"memory": memory, class_._budget_name: None}
        given = {name: value for name, value in given.items() if name in class_._get_param_names()}
    # A generator must not be drawn from, and bytes depend neither on the seed nor on LKMBooks' number of rounds.
    planned = class_(**given | parameters | {"random_state": 0})
    recipe = planned._choose(int(n_features), int(n_outputs if class_._is_regressor else n_classes), 1)
    some, more = (replace(recipe, budget=rows).size()[0] for rows in (SOME_ROWS, 2 * SOME_ROWS))
    return Plan(
        learner=class_.__name__,
        n_features=recipe.features,
        n_classes=0 if class_._is_regressor else recipe.classes,
        n_outputs=recipe.classes if class_._is_regressor else 0,
        kernels=len(recipe.kernels),
        dtype=planned.dtype,
        storage=getattr(planned, "storage", None),
        budget_name=class_._budget_name,
        budget=recipe.budget,
        nbytes=recipe.size()[0],
        bytes_per_row=(more - some) // SOME_ROWS,
        memory=None if planned.memory is None else parse_bytes(planned.memory),
        experts=planned._plan_experts(recipe),
        kernels_from=planned._kernels_from(recipe),
    )
