"""A bound with its terms, and the conditions under which it holds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

IN_EXPECTATION = "in expectation"


@dataclass(frozen=True)
class Condition:
    """A condition of a theorem.

    Attributes
    ----------
    text : str
        In the paper's letters.
    numbers : str
        Their values.
    met : bool
        Whether it holds.

    Examples
    --------
    >>> print(Condition("B >= 2", "B = 1", met=False))
    B >= 2 does not hold: B = 1
    """

    text: str
    numbers: str
    met: bool

    def __str__(self) -> str:
        return f"{self.text}{'' if self.met else ' does not hold'}: {self.numbers}"


class ConditionError(ValueError):
    """The conditions of a bound do not hold; `conditions` has all that were checked."""

    def __init__(self, message: str, conditions: tuple[Condition, ...] = ()):
        super().__init__(message)
        self.conditions = conditions


def check(*conditions: Condition) -> tuple[Condition, ...]:
    """The conditions, or an error that lists all that do not hold."""
    failing = [f"{condition}." for condition in conditions if not condition.met]
    if failing:
        raise ConditionError(" ".join(failing), conditions)
    return conditions


@dataclass(frozen=True)
class Bound:
    """A bound with its terms.

    Attributes
    ----------
    terms : dict of str to float
        Named terms that sum to the value.
    conditions : tuple of Condition
        What was checked, with the numbers.
    holds : str
        "in expectation" or "with probability at least ...".
    printed : float or None
        The value of the paper's statement as printed; None if it contains O(.).
    """

    terms: Mapping[str, float]
    conditions: tuple[Condition, ...]
    holds: str
    printed: float | None = None

    @property
    def value(self) -> float:
        """The bound: the sum of its terms."""
        return math.fsum(self.terms.values())


def advice_constant(kernels: int, largest: float) -> float:
    """The cost of expert advice in addition to 3 sqrt(ln(K) / 2) sqrt(sum of squared costs).

    The proof of lem:JCST2022:analysis_second_moment_TV ends with c^2, not with c.
    """
    return math.sqrt(math.log(kernels) / 2) * (1 + largest**2)
