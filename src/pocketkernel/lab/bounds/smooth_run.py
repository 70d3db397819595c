"""A run of M-OMD-S in the terms of Lemma 2 and Theorems 3 and 5, and what they assume."""

import math
from dataclasses import dataclass

from pocketkernel.certificate.bound import Condition, advice_constant, check


def share(events: int, largest: float) -> int:
    """Factor of delta in the improved Bernstein inequality, for this many sums of variance at most `largest`."""
    return events * 2 * math.ceil(math.log2(max(largest, 2.0)))


@dataclass(frozen=True)
class SmoothRun:
    """A run of M-OMD-S on a stream, in the terms of Lemma 2 and Theorems 3 and 5."""

    loss: float
    rows: int
    kernels: int
    budget: int
    U: float
    delta: float
    G1: float
    G2: float
    eager: bool = False

    def conditions(self) -> tuple[Condition, ...]:
        """What all of them assume."""
        B, delta = self.budget, self.delta
        first = check(
            Condition("loss >= 0", f"loss = {self.loss:g}", self.loss >= 0),
            Condition("0 < delta < 1", f"delta = {delta:g}", 0 < delta < 1),
            Condition("G1 > 0 and G2 > 0", f"G1 = {self.G1:g}, G2 = {self.G2:g}", self.G1 > 0 and self.G2 > 0),
            Condition("K >= 1", f"K = {self.kernels}", self.kernels >= 1),
            Condition("2 <= B <= T", f"B = {B}, T = {self.rows}", 2 <= B <= self.rows),
        )
        least = 21 * self.log
        return (*first, Condition("B >= 21 ln(1/delta)", f"B = {B}, 21 ln(1/delta) = {least:.4g}", least <= B))

    @property
    def log(self) -> float:
        """ln(1/delta)."""
        return math.log(1 / self.delta)

    @property
    def room(self) -> float:
        """B' = B - 4/3 ln(1/delta), of an even B."""
        return self.budget // 2 * 2 - 4 / 3 * self.log

    @property
    def variances(self) -> tuple[float, float]:
        """Upper bounds on the variances of the two sums over sampled gradients."""
        return max(2.0, 4 * self.U**2 * self.G1**2 * self.rows), max(2.0, 4 * self.G1**4 * self.rows)

    def probability(self, events: int, largest: float) -> tuple[Condition, str]:
        """Probability and condition of the improved Bernstein inequality, for sums of variance at most `largest`."""
        failure = share(events, largest) * self.delta
        numbers = f"V = {largest:.4g}, delta = {self.delta:g}"
        condition = Condition(f"{2 * events} ceil(log2 V) delta < 1", numbers, failure < 1)
        return condition, f"with probability at least {1 - failure:.4g}"

    def per_removal(self, rate: float) -> float:
        """What a removal costs: the way it moves f, and a step from a full buffer unless removals are eager."""
        return 2 * self.U**2 / rate + (0.0 if self.eager else 4 * self.U * self.G1)

    def roots(self, rate: float) -> dict[str, float]:
        """Factors of the terms that grow with the square root of the learner's own loss."""
        U, G1, G2, log, experts = self.U, self.G1, self.G2, self.log, math.log(self.kernels)
        return {
            "expert advice": 6 * U * math.sqrt(G1 * G2 * experts / 2),
            "merging": 4 * U * math.sqrt(2 * G2 * experts),
            "sampling": 4 * U * math.sqrt(G1 * G2 * log) + 2 * rate * math.sqrt(G1**3 * G2 * log),
        }

    def constants(self, rate: float) -> dict[str, float]:
        """Terms that do not grow."""
        U, G1, log = self.U, self.G1, self.log
        first, second = self.variances
        tails = math.sqrt(2 * log / first) + rate / 2 * math.sqrt(2 * log / second)
        return {
            "expert advice": advice_constant(self.kernels, 2 * U * G1),
            "merging": 0.0,
            "sampling": 4 / 3 * U * G1 * log + 2 / 3 * rate * G1**2 * log + tails,
        }


@dataclass(frozen=True)
class Premises:
    """What Theorem 3 assumes about a run, and the first quantities of its bound."""

    conditions: tuple[Condition, ...]
    holds: str  # "with probability at least ..."
    rate: float  # lambda
    gamma: float  # the share of the learner's own loss that the bound allows


def theorem_3_premises(run: SmoothRun, step: float | None) -> Premises:
    """The premises of Theorem 3 (a step of None is the paper's, 2 / G1), or an error that names what does not hold."""
    conditions = check(*run.conditions())
    U, G1, G2, most = run.U, run.G1, run.G2, math.sqrt(run.room) / (8 * run.G2)
    step = 2 / G1 if step is None else step
    rate = step * U / math.sqrt(run.budget)
    per_removal = run.per_removal(rate) if rate > 0 else math.inf
    gamma = rate * G1 * G2 + per_removal * 4 * G2 / (G1 * run.room)
    more, holds = run.probability(3, max(*run.variances, run.rows))
    conditions = check(
        *conditions,
        Condition("0 < U <= sqrt(B') / (8 G2)", f"U = {U:g}, sqrt(B') / (8 G2) = {most:.4g}", 0 < U <= most),
        Condition("step > 0", f"step = {step:g}", step > 0),
        Condition("gamma < 1", f"gamma = {gamma:.4g}", gamma < 1),
        more,
    )
    return Premises(conditions, holds, rate, gamma)
