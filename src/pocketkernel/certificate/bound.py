"""A bound taken apart, and the conditions under which it holds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

IN_EXPECTATION = "in expectation"


@dataclass(frozen=True)
class Condition:
    """Something that a theorem supposes.

    Attributes
    ----------
    text : str
        In the paper's letters.
    numbers : str
        Their values.
    met : bool
        Whether it is so.

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
    """A bound was asked for where its conditions do not hold; `conditions` has those that were looked at."""

    def __init__(self, message: str, conditions: tuple[Condition, ...] = ()):
        super().__init__(message)
        self.conditions = conditions


def check(*conditions: Condition) -> tuple[Condition, ...]:
    """The conditions, or an error that names all that do not hold."""
    failing = [f"{condition}." for condition in conditions if not condition.met]
    if failing:
        raise ConditionError(" ".join(failing), conditions)
    return conditions


@dataclass(frozen=True)
class Bound:
    """A bound, taken apart.

    Attributes
    ----------
    terms : dict of str to float
        Named parts that sum to the value.
    conditions : tuple of Condition
        What was checked, with the numbers.
    holds : str
        "in expectation" or "with probability at least ...".
    printed : float or None
        The paper's statement as it is printed; None if that has an O(.).
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
    """What expert advice costs besides 3 sqrt(ln(K) / 2) sqrt(sum of squared costs).

    The proof of lem:JCST2022:analysis_second_moment_TV ends in c^2, not in c.
    """
    return math.sqrt(math.log(kernels) / 2) * (1 + largest**2)
