"""Certificates: the counters of a learner, and the bound on its regret that they prove."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pocketkernel._text import aligned, html_table
from pocketkernel.certificate.bound import Bound, Condition, ConditionError

WEIGHTS = "whether rows had weights: the theorem assumes rows of weight 1"
ROUNDING = "the effect of rounding: the theorem assumes exact arithmetic"
STOPPING = "whether the number of rows was fixed in advance: the bound does not hold at a time chosen by the results"


@dataclass(frozen=True)
class Guarantee:
    """What a theorem says about a learner; returned by a learner's `_guarantee`.

    Attributes
    ----------
    theorem : str or None
        Its name; None if there is none, and `against` then says what is known instead.
    against : str
        What the regret is compared with, in a sentence.
    bound : Bound or None
        Bound on the regret so far; None if there is none, or if a condition that it needs fails.
    conditions : tuple of Condition
        Conditions of the theorem. If there is a bound, it needs none of those that fail.
    unknown : tuple of str
        What the learner cannot know, and what is used instead.
    """

    theorem: str | None
    against: str
    bound: Bound | None = None
    conditions: tuple[Condition, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Certificate:
    """The counters of a learner, and the bound on its regret that they prove.

    Attributes
    ----------
    learner : str
        Name of the estimator.
    loss : str
        The loss that it minimises.
    rounds, mistakes, removals : int
        Counts so far; removals over all kernels.
    cumulative_loss : float
        Sum of its losses.
    delta : float
        Probability that the bound fails, if it is a bound with high probability.
    guarantee : Guarantee
        The theorem, its bound and its conditions.

    Examples
    --------
    >>> Certificate("Raker", "logistic", 1000, 120, 0, 310.5, 0.05, Guarantee(None, "No theorem of the paper."))
    Raker after 1,000 rows
      mistakes         120
      logistic loss  310.5
      removals           0
      no bound
    No theorem of the paper.
    """

    learner: str
    loss: str
    rounds: int
    mistakes: int
    removals: int
    cumulative_loss: float
    delta: float
    guarantee: Guarantee

    @property
    def theorem(self) -> str | None:
        """Name of the theorem; None if there is none."""
        return self.guarantee.theorem

    @property
    def value(self) -> float | None:
        """Upper bound on the regret so far; None if nothing is proved."""
        return None if self.guarantee.bound is None else self.guarantee.bound.value

    @property
    def terms(self) -> dict[str, float]:
        """Terms that sum to the value."""
        return {} if self.guarantee.bound is None else dict(self.guarantee.bound.terms)

    @property
    def failing(self) -> tuple[Condition, ...]:
        """Conditions of the theorem that do not hold."""
        return tuple(condition for condition in self.guarantee.conditions if not condition.met)

    @property
    def least_loss(self) -> float:
        """Lower bound on the sum of losses of every competitor, if the bound holds."""
        return 0.0 if self.value is None else max(0.0, self.cumulative_loss - self.value)

    @property
    def informative(self) -> bool:
        """Whether the bound implies more than the fact that no loss is negative."""
        return self.least_loss > 0

    def to_dict(self) -> dict[str, Any]:
        """All fields, in a form that JSON can represent."""
        told, bound = self.guarantee, self.guarantee.bound
        return {
            "learner": self.learner,
            "rounds": self.rounds,
            "mistakes": self.mistakes,
            "loss": self.loss,
            "cumulative_loss": self.cumulative_loss,
            "removals": self.removals,
            "delta": self.delta,
            "theorem": told.theorem,
            "against": told.against,
            "regret_at_most": self.value,
            "terms": self.terms,
            "holds": None if bound is None else bound.holds,
            "least_loss": self.least_loss,
            "informative": self.informative,
            "conditions": [{"condition": one.text, "numbers": one.numbers, "met": one.met} for one in told.conditions],
            "unknown": list(told.unknown),
        }

    def _lines(self) -> list[tuple[str, str, str]]:
        """Names and numbers; terms are indented."""
        lines = {"mistakes": f"{self.mistakes:,}", f"{self.loss} loss": f"{self.cumulative_loss:,.1f}"}
        lines["removals"] = f"{self.removals:,}"
        if self.value is None:
            lines["no bound"] = ""
        else:
            lines["regret at most"] = f"{self.value:,.1f}"
            lines |= {f"  {name}": f"{term:,.1f}" for name, term in self.terms.items()}
            lines["least loss of any competitor"] = f"{self.least_loss:,.1f}"
        return [(name, number, "") for name, number in lines.items()]

    def _sentences(self) -> list[str]:
        told = self.guarantee
        if told.bound is None and told.theorem is not None:
            sentences = [f"{told.theorem}, gives no bound here."]
        elif told.bound is None:
            sentences = [told.against]
        else:
            sentences = [f"{told.theorem}, {told.bound.holds}. {told.against}"]
            if not self.informative:
                sentences.append("It is not informative: the regret is at most the loss in any case.")
        sentences += [f"Of the theorem's conditions, {one}." for one in self.failing]
        return sentences + [f"Not known: {one}." for one in told.unknown]

    def _title(self) -> str:
        return f"{self.learner} after {self.rounds:,} {'row' if self.rounds == 1 else 'rows'}"

    def __repr__(self) -> str:
        return "\n".join([aligned(self._title(), self._lines()), *self._sentences()])

    def _repr_html_(self) -> str:
        told = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self._sentences())
        return f"{html_table(self._title(), self._lines())}<ul>{told}</ul>"


def guarantee_of(bound: Callable[[], Bound], conditions: tuple[Condition, ...], **told: Any) -> Guarantee:
    """The guarantee with a bound, or without one if a condition that it needs fails."""
    try:
        return Guarantee(bound=bound(), conditions=conditions, **told)
    except ConditionError as error:
        return Guarantee(conditions=(*error.conditions, *conditions), **told)
