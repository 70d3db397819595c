"""M-OMD-H: what the proof of Theorem 1 implies for a finished run."""

import math
from dataclasses import dataclass

from pocketkernel.certificate.bound import IN_EXPECTATION, Bound, Condition, advice_constant, check


def theorem_1_afterwards(
    own_loss: float,
    *,
    errors: float,
    removals: int,
    full_rounds: float,
    rows: int,
    kernels: int,
    budget: int,
    norm_bound: float,
    step: float = 1.0,
    eager: bool = False,
) -> Bound:
    """What the proof of Theorem 1 implies for a finished run and one kernel, from the learner's counters.

    The measured sum of squared gradient errors is used instead of the alignment, the counted removals instead of Lemma
    1, and the learner's own loss instead of the competitor's: a competitor with a larger loss causes no regret. The
    inequality is about expectations over the learner's random draws, so a single run gives an estimate of it, not a
    bound that holds with some confidence.

    Parameters
    ----------
    own_loss : float
        Sum of the learner's own losses, `diagnostics_.cumulative_loss`.
    errors : float
        Sum of squared gradient errors of the kernel, `diagnostics_.alignment_proxy`.
    removals : int
        Of the kernel.
    full_rounds : float
        Number of rounds with a loss that began with a full buffer.
    rows, kernels, budget : int
        T, K and B.
    norm_bound : float
        U, above 1.
    step : float, default=1.0
        c of lambda = c U / sqrt(B).
    eager : bool, default=False
        Whether a buffer is halved as soon as it is full (`removal="eager"`), so that no step meets a full one.

    Examples
    --------
    >>> setting = dict(rows=10_000, kernels=5, budget=100, norm_bound=2.0, full_rounds=0)
    >>> theorem_1_afterwards(5000.0, errors=50.0, removals=0, **setting).value < 1000
    True
    """
    run = HingeRun(own_loss, rows, kernels, budget, norm_bound, step, full_rounds, eager)
    conditions = check(
        Condition("B >= 2", f"B = {budget}", budget >= 2),
        Condition("errors >= 0", f"errors = {errors:g}", errors >= 0),
        Condition("|J| >= 0", f"|J| = {removals}", removals >= 0),
        *run.conditions(),
    )
    return Bound(run.terms(errors, removals, 4 * norm_bound**2 * removals), conditions, IN_EXPECTATION)


def shared_buffer_afterwards(
    own_loss: float,
    *,
    errors: float,
    spent: float,
    removals: int,
    rows: int,
    kernels: int,
    budget: int,
    norm_bound: float,
    step: float = 1.0,
) -> Bound:
    """The same for SharedMOMDH, whose kernels share one buffer and one draw.

    In a round in which it steps by chance, kernel i pays lambda/2 (D/P - |H|^2) <= lambda/2 C D, because P is at least
    D / (C D + |H|^2), where C = 1 / max(p_i, 1 / (2K)). All else is as in Theorem 1 with eager removal.

    Parameters
    ----------
    spent : float
        Sum over rounds of C D / 2, or of 2 D where the kernel stepped at a stored row.
    own_loss, errors, removals, rows, kernels, budget, norm_bound, step
        As in `theorem_1_afterwards`.

    Examples
    --------
    >>> setting = dict(rows=10_000, kernels=5, budget=100, norm_bound=2.0, removals=0)
    >>> shared_buffer_afterwards(5000.0, errors=50.0, spent=80.0, **setting).value < 1000
    True
    """
    run = HingeRun(own_loss, rows, kernels, budget, norm_bound, step, 0, eager=True)
    conditions = check(
        Condition("errors >= 0 and spent >= 0", f"errors = {errors:g}, spent = {spent:g}", min(errors, spent) >= 0),
        *run.conditions(),
    )
    terms = run.terms(errors, removals, 4 * norm_bound**2 * removals, spent)
    return Bound({name: term for name, term in terms.items() if name != "full buffer"}, conditions, IN_EXPECTATION)


# ---- parts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HingeRun:
    """A run of M-OMD-H on a stream, in the terms of Theorems 1 and 2."""

    loss: float
    rows: int
    kernels: int
    budget: int
    U: float
    step: float
    full: float
    eager: bool = False

    def conditions(self) -> tuple[Condition, ...]:
        """What both assume."""
        full = f"full_rounds = {self.full:g}, T = {self.rows}"
        return (
            Condition("L >= 0", f"L = {self.loss:g}", self.loss >= 0),
            Condition("K >= 1", f"K = {self.kernels}", self.kernels >= 1),
            Condition("U > 1", f"U = {self.U:g}", self.U > 1),
            Condition("step > 0", f"step = {self.step:g}", self.step > 0),
            Condition("0 <= full_rounds <= T", full, 0 <= self.full <= self.rows),
        )

    @property
    def rate(self) -> float:
        """Lambda."""
        return self.step * self.U / math.sqrt(self.budget)

    def terms(self, errors: float, removals: float, moved: float, spent: float | None = None) -> dict[str, float]:
        """All terms.

        `moved` is what all removals together add to the squared distance from the competitor, `spent` what all steps
        cost, divided by lambda.
        """
        U, rate = self.U, self.rate
        parts = {
            "start": U**2 / (2 * rate),
            "removals": moved / (2 * rate) + (0.0 if self.eager else 2 * U * removals),
            "full buffer": 0.0 if self.eager else 2 * U * math.sqrt(self.full * errors),
            "steps": rate * (5 / 2 * errors if spent is None else spent),
            "merging": 4 * (U + rate) * math.sqrt(errors),
        }
        largest = 1 + U + rate
        extra = advice_constant(self.kernels, largest)
        slope = 3 * math.sqrt(largest * math.log(self.kernels) / 2)
        kernel_loss = self.loss + math.fsum(parts.values())
        return parts | {"expert advice": extra + slope**2 + slope * math.sqrt(max(kernel_loss, 0.0) + extra)}
