"""M-OMD-S: Lemma 2 and Theorems 3 and 5."""

import math
from dataclasses import dataclass, replace

from pocketkernel.lab.bounds.bound import Bound, Condition, advice_constant, check, harmless


def lemma_2(own_loss: float, *, rows: int, budget: int, delta: float = 0.01, G1: float = 1.0, G2: float = 1.0) -> Bound:
    """Most removals of M-OMD-S, with high probability.

    The statement's number, with a better probability: the paper applies Bernstein's inequality to each of up to 2T/B
    epochs; applied once, to all rounds, it fails with probability at most 2 ceil(log2 T) delta, without the factor
    T/B. An odd B counts as B - 1, since floor(B/2) examples leave.

    Parameters
    ----------
    own_loss : float
        Sum of the learner's own losses, `diagnostics_.cumulative_loss`.
    rows, budget : int
        T and B, B from 2 to T.
    delta : float, default=0.01
        Between 0 and 1, with B >= 21 ln(1/delta).
    G1, G2 : float, default=1.0
        Constants of the loss.

    Examples
    --------
    >>> bound = lemma_2(1000.0, rows=10_000, budget=200, delta=0.001)
    >>> bound.value, bound.holds
    (21.0, 'with probability at least 0.972')
    """
    run = _Smooth(own_loss, rows, 1, budget, 1.0, delta, G1, G2)
    conditions = check(*run.conditions())
    more, holds = run.probability(1, rows)
    conditions = check(*conditions, more)
    most = math.ceil(4 * G2 * own_loss / (run.room * G1))
    printed = math.ceil(4 * G2 * own_loss / ((budget - 4 / 3 * run.log) * G1))
    return Bound({"removals": float(most)}, conditions, holds, float(printed))


def theorem_3(
    loss: float,
    *,
    rows: int,
    kernels: int,
    budget: int,
    norm_bound: float,
    delta: float = 0.01,
    step: float | None = None,
    G1: float = 1.0,
    G2: float = 1.0,
) -> Bound:
    """Most regret of M-OMD-S, with high probability: U L / sqrt(B) + U sqrt(L) + U sqrt(B), with its constants.

    The proof shows that Reg <= gamma L' + a sqrt(L') + c, L' being the learner's own loss, and solves for L'. The
    statement drops parts of all three, here they are kept:

    - gamma has 16 U G2 / B' from the gradients at removals, B' = B - 4/3 ln(1/delta): as much as the rest at B = 7.
    - a has the factor sqrt(2 ln K) of the merging radius, which the proof loses in case 1; expert advice has ln K, not
      ln(1/delta), so the printed 10 needs K <= 1/delta; and Bernstein's inequality gives 4 U, not 2 sqrt(2) U.
    - c has sqrt(ln(K) / 2) (1 + 4 U^2 G1^2) from expert advice.

    In return 1 - gamma is what it is, where the statement puts its least value, 1/4; so the value is often below the
    printed one. The condition on U is the paper's; as gamma is larger here, gamma < 1 is checked besides. The learners'
    default U = sqrt(B), which is the paper's own U = 20 with B = 400, does not meet it. K <= d, which the paper asks
    for, is about bytes, not about regret.

    Parameters
    ----------
    loss : float
        L of the competitor.
    rows, kernels, budget : int
        T, K and B, B from 2 to T.
    norm_bound : float
        U, at most sqrt(B') / (8 G2); the competitor's norm is at most this.
    delta : float, default=0.01
        Between 0 and 1, with B >= 21 ln(1/delta).
    step : float, default=None
        c of lambda = c U / sqrt(B); None stands for the paper's 2 / G1.
    G1, G2 : float, default=1.0
        Constants of the loss.

    Examples
    --------
    >>> bound = theorem_3(1000.0, rows=100_000, kernels=5, budget=400, norm_bound=1.0, delta=1e-4)
    >>> bound.holds
    'with probability at least 0.9886'
    >>> bound.value < bound.printed
    True
    """
    run = _Smooth(loss, rows, kernels, budget, norm_bound, delta, G1, G2)
    conditions = check(*run.conditions())
    U, most = norm_bound, math.sqrt(run.room) / (8 * G2)
    step = 2 / G1 if step is None else step
    rate = step * U / math.sqrt(budget)
    per_removal = 2 * U**2 / rate + 4 * U * G1 if rate > 0 else math.inf
    gamma = rate * G1 * G2 + per_removal * 4 * G2 / (G1 * run.room)
    more, holds = run.probability(3, max(*run.variances, rows))
    conditions = check(
        *conditions,
        Condition("0 < U <= sqrt(B') / (8 G2)", f"U = {U:g}, sqrt(B') / (8 G2) = {most:.4g}", 0 < U <= most),
        Condition("step > 0", f"step = {step:g}", step > 0),
        Condition("gamma < 1", f"gamma = {gamma:.4g}", gamma < 1),
        more,
    )
    return Bound(run.solve(rate, gamma, U**2 / (2 * rate)), conditions, holds, run.printed_3())


def theorem_5(
    loss: float,
    *,
    rows: int,
    kernels: int,
    budget: int,
    norm_bound: float,
    xi: float,
    removals: float,
    delta: float = 0.01,
    step: float | None = None,
    G1: float = 1.0,
    G2: float = 1.0,
) -> Bound:
    """Most regret of M-OMD-S if its removals do little harm, with high probability: U L / B + U sqrt(L).

    As Theorem 3, but that removals move f away from the competitor by Lambda = xi U^2 |J| in all. The paper's lambda,
    U / sqrt(G1 G2 L') with the learner's own loss L', is known only afterwards, and is not the one of Theorem 3 whose
    conditions it says to suppose; here lambda is an argument. With that of Theorem 3 the order stays U L / sqrt(B).

    Parameters
    ----------
    norm_bound : float
        U, at most B' / (32 G2).
    xi : float
        Lambda / (U^2 |J|), measured: `removal_harm`; xi |J| at most 1.
    removals : float
        |J|, measured.
    step : float, default=None
        c of lambda = c U / sqrt(B); None stands for U / sqrt(G1 G2 L) with the competitor's L, at most
        1 / (4 G1 G2).
    loss, rows, kernels, budget, delta, G1, G2
        As in `theorem_3`.

    Examples
    --------
    >>> setting = dict(rows=100_000, kernels=1, budget=400, norm_bound=1.0, delta=1e-4)
    >>> theorem_5(1e4, xi=0.01, removals=20, **setting).value < theorem_3(1e4, **setting).value
    True
    """
    run = _Smooth(loss, rows, kernels, budget, norm_bound, delta, G1, G2)
    conditions = check(*run.conditions())
    U, most = norm_bound, run.room / (32 * G2)
    conditions = check(
        *conditions,
        Condition("0 < U <= B' / (32 G2)", f"U = {U:g}, B' / (32 G2) = {most:.4g}", 0 < U <= most),
        Condition("step > 0", f"step = {step}", step is None or step > 0),
        harmless(xi, removals),
    )
    rate = U / math.sqrt(max(G1 * G2 * loss, (4 * U * G1 * G2) ** 2))
    if step is not None:
        rate = step * U / math.sqrt(budget)
    gamma = rate * G1 * G2 + 16 * U * G2 / run.room
    more, holds = run.probability(3, max(*run.variances, rows))
    conditions = check(*conditions, Condition("gamma < 1", f"gamma = {gamma:.4g}", gamma < 1), more)
    terms = run.solve(rate, gamma, U**2 / (2 * rate) * (1 + xi * removals))
    return Bound(terms, conditions, holds, run.printed_5())


def theorem_3_afterwards(
    own_loss: float,
    *,
    removals: int,
    rows: int,
    kernels: int,
    budget: int,
    norm_bound: float,
    failure: float = 0.05,
    step: float = 1.0,
    G1: float = 1.0,
    G2: float = 1.0,
) -> Bound:
    """What the proof of Theorem 3 says of a run that is over, from what the learner counts.

    The proof bounds the regret by the learner's own loss and its removals before it replaces both, the first by the
    competitor's loss and the second by Lemma 2. Afterwards they are known. So this needs neither Lemma 2 nor the
    conditions that make the replacement possible (B >= 21 ln(1/delta), U <= ..., gamma < 1), and it holds at once for
    the functions of norm at most U of all kernels. It holds for a number of rows that was fixed beforehand.

    Parameters
    ----------
    own_loss : float
        Sum of the learner's own losses, `diagnostics_.cumulative_loss`.
    removals : int
        |J|, whatever a removal leaves.
    rows, kernels, budget, norm_bound, step, G1, G2
        As in `theorem_3`.
    failure : float, default=0.05
        Probability with which the bound may fail, all in all; above 0, below 1.

    Examples
    --------
    >>> bound = theorem_3_afterwards(2e4, removals=40, rows=50_000, kernels=5, budget=400, norm_bound=1.0, step=2.0)
    >>> bound.value < 2e4 / 3
    True
    >>> bound.holds
    'with probability at least 0.95'
    """
    conditions = check(
        Condition("loss >= 0", f"loss = {own_loss:g}", own_loss >= 0),
        Condition("|J| >= 0", f"|J| = {removals}", removals >= 0),
        Condition("T >= 1", f"T = {rows}", rows >= 1),
        Condition("K >= 1", f"K = {kernels}", kernels >= 1),
        Condition("B >= 1", f"B = {budget}", budget >= 1),
        Condition("U > 0", f"U = {norm_bound:g}", norm_bound > 0),
        Condition("0 < failure < 1", f"failure = {failure:g}", 0 < failure < 1),
        Condition("step > 0", f"step = {step:g}", step > 0),
        Condition("G1 > 0 and G2 > 0", f"G1 = {G1:g}, G2 = {G2:g}", G1 > 0 and G2 > 0),
    )
    run = _Smooth(own_loss, rows, kernels, budget, norm_bound, failure, G1, G2)
    run = replace(run, delta=failure / _share(2, max(run.variances)))
    U, rate = norm_bound, step * norm_bound / math.sqrt(budget)
    constants = run.constants(rate)
    terms = {
        "start": U**2 / (2 * rate),
        "removals": removals * (2 * U**2 / rate + 4 * U * G1),
        "steps": rate * G1 * G2 * own_loss,
    }
    terms |= {name: factor * math.sqrt(own_loss) + constants[name] for name, factor in run.roots(rate).items()}
    return Bound(terms, conditions, f"with probability at least {1 - failure:.4g}")


def theorem_3_delta(failure: float, *, rows: int, norm_bound: float, G1: float = 1.0) -> float:
    """The delta with which Theorem 3 fails with this probability, all in all.

    Examples
    --------
    >>> delta = theorem_3_delta(0.05, rows=100_000, norm_bound=1.0)
    >>> theorem_3(1e3, rows=100_000, kernels=5, budget=400, norm_bound=1.0, delta=delta).holds
    'with probability at least 0.95'
    """
    run = _Smooth(0.0, rows, 1, 2, norm_bound, failure, G1, 1.0)
    return failure / _share(3, max(*run.variances, rows))


# ---- parts ----------------------------------------------------------------------------------------------------------


def _share(events: int, largest: float) -> int:
    """What the improved Bernstein inequality multiplies delta by, for so many sums of variance at most `largest`."""
    return events * 2 * math.ceil(math.log2(max(largest, 2.0)))


@dataclass(frozen=True)
class _Smooth:
    """M-OMD-S on a stream, as Lemma 2 and Theorems 3 and 5 see it."""

    loss: float
    rows: int
    kernels: int
    budget: int
    U: float
    delta: float
    G1: float
    G2: float

    def conditions(self) -> tuple[Condition, ...]:
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
        return math.log(1 / self.delta)

    @property
    def room(self) -> float:
        """B' = B - 4/3 ln(1/delta), of an even B."""
        return self.budget // 2 * 2 - 4 / 3 * self.log

    @property
    def variances(self) -> tuple[float, float]:
        """The most that the variances of the two sums over sampled gradients can be."""
        return max(2.0, 4 * self.U**2 * self.G1**2 * self.rows), max(2.0, 4 * self.G1**4 * self.rows)

    def probability(self, events: int, largest: float) -> tuple[Condition, str]:
        """What the improved Bernstein inequality leaves, for so many sums of variance at most `largest`."""
        failure = _share(events, largest) * self.delta
        numbers = f"V = {largest:.4g}, delta = {self.delta:g}"
        condition = Condition(f"{2 * events} ceil(log2 V) delta < 1", numbers, failure < 1)
        return condition, f"with probability at least {1 - failure:.4g}"

    def roots(self, rate: float) -> dict[str, float]:
        """Parts that grow with the root of the learner's own loss: their factors."""
        U, G1, G2, log, experts = self.U, self.G1, self.G2, self.log, math.log(self.kernels)
        return {
            "expert advice": 6 * U * math.sqrt(G1 * G2 * experts / 2),
            "merging": 4 * U * math.sqrt(2 * G2 * experts),
            "sampling": 4 * U * math.sqrt(G1 * G2 * log) + 2 * rate * math.sqrt(G1**3 * G2 * log),
        }

    def constants(self, rate: float) -> dict[str, float]:
        """Parts that do not grow."""
        U, G1, log = self.U, self.G1, self.log
        first, second = self.variances
        tails = math.sqrt(2 * log / first) + rate / 2 * math.sqrt(2 * log / second)
        return {
            "expert advice": advice_constant(self.kernels, 2 * U * G1),
            "merging": 0.0,
            "sampling": 4 / 3 * U * G1 * log + 2 / 3 * rate * G1**2 * log + tails,
        }

    def solve(self, rate: float, gamma: float, start: float) -> dict[str, float]:
        """Solve L' - L <= gamma L' + a sqrt(L') + c for L' - L."""
        a, c = sum(self.roots(rate).values()), start + sum(self.constants(rate).values())
        left = 1 - gamma
        return {
            "share of the loss": gamma / left * self.loss,
            "constants": c / left,
            "square": (a / left) ** 2,
            "root of the loss": a / (left * math.sqrt(left)) * math.sqrt(self.loss + c),
        }

    def printed_3(self) -> float:
        U, G, room = self.U, self.G1 * self.G2, math.sqrt(self.budget - 4 / 3 * self.log)
        left, start = 1 - 6 * U * self.G2 / room, U * self.G1 * math.sqrt(self.budget)
        return (
            24 * U * self.G2 * self.loss / room
            + start
            + 100 * U**2 * G * self.log / left**2
            + 10 * U / (left * math.sqrt(left)) * math.sqrt(G * self.log) * math.sqrt(self.loss + start / 4)
        )

    def printed_5(self) -> float:
        U, G, room = self.U, self.G1 * self.G2, self.budget - 4 / 3 * self.log
        left = 1 - 16 * U * self.G2 / room
        return (
            32 * U * self.G2 * self.loss / room
            + 144 * U**2 * G * self.log / left**2
            + 12 * U / (left * math.sqrt(left)) * math.sqrt(G * self.loss * self.log)
        )
