"""Certificates: the counters of a learner, and what they prove: its rate of mistakes, and a bound on its regret."""

import html
from dataclasses import dataclass
from typing import Any

from pocketkernel._text import aligned, html_table
from pocketkernel.certificate.bound import Bound, Condition
from pocketkernel.certificate.dual import DualBound
from pocketkernel.certificate.mistakes import MistakeRate, meaning, mistake_rate, recent_mistake_rate

WEIGHTS = "whether rows had weights: the bound assumes rows of weight 1"
ROUNDING = "the effect of rounding: the bound assumes exact arithmetic"
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
    anyway : float
        Loss that every competitor has on any rows, because its scores are bounded.
    dual : DualBound or None
        The bound as a function of the competitor's norm.
    experts : tuple of (str, float)
        Regret against each expert, exact.
    """

    theorem: str | None
    against: str
    bound: Bound | None = None
    conditions: tuple[Condition, ...] = ()
    unknown: tuple[str, ...] = ()
    anyway: float = 0.0
    dual: DualBound | None = None
    experts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, repr=False)
class Certificate:
    """The counters of a learner, and what they prove: its rate of mistakes, and a bound on its regret.

    Attributes
    ----------
    learner : str
        Name of the estimator.
    loss : str
        The loss that it minimises.
    rounds, mistakes : int
        Counts so far, of rows that were new: later passes of a `fit` over the same rows do not count, here or in the
        loss and the regret.
    removals : int or None
        Removals so far, over all kernels; None for learners without a buffer of rows.
    cumulative_loss : float
        Sum of its losses, each times the weight of its row.
    delta : float
        Probability that the bound fails, if it is a bound with high probability, and that an interval does.
    guarantee : Guarantee
        The theorem, its bound and its conditions.
    rounds_before, mistakes_before : int
        Counts up to the last power of two but one, from which recent mistakes are counted.

    Examples
    --------
    >>> told = Guarantee(None, "No theorem of the paper.")
    >>> Certificate("Raker", "logistic", 1000, 120, None, 310.5, 0.05, told, 256, 40)  # doctest: +ELLIPSIS
    Raker after 1,000 rows
      mistakes                    120
      mistake rate            12.00 % 8.61 to 16.2 %
        latest 744            10.75 % 6.14 to 17.2 %
      logistic loss             310.5
      no bound on the regret
    With probability at least 0.95 ... of the present model alone.
    No theorem of the paper.
    """

    learner: str
    loss: str
    rounds: int
    mistakes: int
    removals: int | None
    cumulative_loss: float
    delta: float
    guarantee: Guarantee
    rounds_before: int = 0
    mistakes_before: int = 0

    @property
    def mistake_rate(self) -> MistakeRate:
        """Rate of mistakes since the start, with an interval that holds at all times at once."""
        return mistake_rate(self.mistakes, self.rounds, self.delta)

    @property
    def recent_mistake_rate(self) -> MistakeRate:
        """The same for the latest half of the rounds, or more, up to three quarters."""
        return recent_mistake_rate(
            self.mistakes,
            self.rounds,
            mistakes_before=self.mistakes_before,
            rounds_before=self.rounds_before,
            delta=self.delta,
        )

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
        return self.guarantee.anyway if self.value is None else max(self.guarantee.anyway, self._proved_loss)

    @property
    def _proved_loss(self) -> float:
        return 0.0 if self.value is None else self.cumulative_loss - self.value

    @property
    def informative(self) -> bool:
        """Whether the bound implies more about the competitors than that their scores are bounded."""
        return self._proved_loss > self.guarantee.anyway

    def to_dict(self) -> dict[str, Any]:
        """All fields, in a form that JSON can represent."""
        told, bound = self.guarantee, self.guarantee.bound
        return {
            "learner": self.learner,
            "rounds": self.rounds,
            "mistakes": self.mistakes,
            "mistake_rate": _rate(self.mistake_rate),
            "recent_mistake_rate": _rate(self.recent_mistake_rate),
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
            "informative_up_to": None if told.dual is None else told.dual.informative_up_to,
            "curve": [] if told.dual is None else [_point(told.dual, norm) for norm in self._norms()],
            "experts": dict(told.experts),
            "conditions": [{"condition": one.text, "numbers": one.numbers, "met": one.met} for one in told.conditions],
            "unknown": list(told.unknown),
        }

    def _lines(self) -> list[tuple[str, str, str]]:
        """Names and numbers, and what else there is to say; terms are indented."""
        whole, recent, told = self.mistake_rate, self.recent_mistake_rate, self.guarantee
        lines = [
            ("mistakes", f"{self.mistakes:,}", ""),
            ("mistake rate", f"{100 * whole.rate:.2f} %", _interval(whole)),
            (f"  latest {recent.rounds:,}", f"{100 * recent.rate:.2f} %", _interval(recent)),
            (f"{self.loss} loss", f"{self.cumulative_loss:,.1f}", ""),
        ]
        if recent.rounds == whole.rounds:
            del lines[2]
        if self.removals is not None:
            lines.append(("removals", f"{self.removals:,}", ""))
        if told.experts:
            lines.append(("regret against", "", ""))
            lines += [(f"  {name}", f"{regret:,.1f}", "exact") for name, regret in told.experts]
        if self.value is None:
            return [*lines, ("no bound on the regret", "", "")]
        lines.append(("regret at most", f"{self.value:,.1f}", ""))
        if len(self.terms) > 1:
            lines += [(f"  {name}", f"{term:,.1f}", "") for name, term in self.terms.items()]
        lines.append(("least loss of any competitor", f"{self.least_loss:,.1f}", ""))
        if told.dual is not None:
            for norm in self._norms()[:-1]:
                anyway = f"in any case {told.dual.anyway(norm):,.1f}"
                lines.append((f"  of norm at most {norm:g}", f"{told.dual.least_loss(norm):,.1f}", anyway))
        return lines

    def _norms(self) -> list[float]:
        """Norms at which the curve is shown; the last is U."""
        dual, bound = self.guarantee.dual, self.guarantee.bound
        if dual is None or bound is None:
            return []
        U = (bound.value - dual.linear) / dual.slope
        return [norm for norm in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0) if norm < 0.999 * U] + [U]

    def _sentences(self) -> list[str]:
        return [meaning(self.delta), *self._about_the_regret(self.guarantee)]

    def _about_the_regret(self, told: Guarantee) -> list[str]:
        if told.bound is None and told.theorem is not None:
            sentences = [f"{told.theorem}, gives no bound here."]
        elif told.bound is None:
            sentences = [told.against]
        else:
            sentences = [f"{told.theorem}, {told.bound.holds}. {told.against}"]
            if not self.informative:
                sentences.append(
                    "It is not informative: every competitor has at least this loss in any case."
                    if told.dual is None or not told.dual.informative_up_to
                    else f"It is informative for norms up to {told.dual.informative_up_to:.3g}, not for norm U."
                )
        sentences += [f"Of the theorem's conditions, {one}." for one in self.failing]
        return sentences + [f"Not known: {one}." for one in told.unknown]

    def _title(self) -> str:
        return f"{self.learner} after {self.rounds:,} {'row' if self.rounds == 1 else 'rows'}"

    def __repr__(self) -> str:
        return "\n".join([aligned(self._title(), self._lines()), *self._sentences()])

    def _repr_html_(self) -> str:
        told = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self._sentences())
        return f"{html_table(self._title(), self._lines())}<ul>{told}</ul>"


def _rate(rate: MistakeRate) -> dict[str, Any]:
    return {"rounds": rate.rounds, "mistakes": rate.mistakes, "rate": rate.rate, "interval": [rate.low, rate.high]}


def _interval(rate: MistakeRate) -> str:
    return f"{100 * rate.low:.3g} to {100 * rate.high:.3g} %"


def _point(dual: DualBound, norm: float) -> dict[str, float]:
    return {"norm": norm, "least_loss": dual.least_loss(norm), "in_any_case": dual.anyway(norm)}
