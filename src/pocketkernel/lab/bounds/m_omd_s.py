"""M-OMD-S: Lemma 2, Theorems 3 and 5, and what the proof of Theorem 3 implies for a finished run."""

import math
from dataclasses import replace

from pocketkernel.certificate.bound import Bound, Condition, check
from pocketkernel.lab.bounds.removals import harmless
from pocketkernel.lab.bounds.smooth_run import SmoothRun, share, theorem_3_premises


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
    run = SmoothRun(own_loss, rows, 1, budget, 1.0, delta, G1, G2)
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
    eager: bool = False,
) -> Bound:
    """Most regret of M-OMD-S, with high probability: U L / sqrt(B) + U sqrt(L) + U sqrt(B), with its constants.

    The proof shows that Reg <= gamma L' + a sqrt(L') + c, L' being the learner's own loss, and solves for L'. The
    statement drops parts of all three, here they are kept:

    - gamma has 16 U G2 / B' from the gradients at removals, B' = B - 4/3 ln(1/delta): as much as the rest at B = 7.
    - a has the factor sqrt(2 ln K) of the merging radius, which the proof loses in case 1; expert advice has ln K, not
      ln(1/delta), so the printed 10 needs K <= delta^-0.367; and Bernstein's inequality gives 4 U, not 2 sqrt(2) U.
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
        c of lambda = c U / sqrt(B); None means the paper's 2 / G1.
    G1, G2 : float, default=1.0
        Constants of the loss.
    eager : bool, default=False
        Whether a buffer is halved as soon as it is full (`removal="eager"`), so that no step meets a full one.

    Examples
    --------
    >>> bound = theorem_3(1000.0, rows=100_000, kernels=5, budget=400, norm_bound=1.0, delta=1e-4)
    >>> bound.holds
    'with probability at least 0.9886'
    >>> bound.value < bound.printed
    True
    """
    run = SmoothRun(loss, rows, kernels, budget, norm_bound, delta, G1, G2, eager)
    given = theorem_3_premises(run, step)
    terms = _solved(run, given.rate, given.gamma, norm_bound**2 / (2 * given.rate))
    return Bound(terms, given.conditions, given.holds, _printed_3(run))


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
    eager: bool = False,
) -> Bound:
    """Most regret of M-OMD-S if its removals do little harm, with high probability: U L / B + U sqrt(L).

    Like Theorem 3, except that removals move f away from the competitor by Lambda = xi U^2 |J| in total. The paper's
    lambda, U / sqrt(G1 G2 L') with the learner's own loss L', is known only afterwards, and is not that of Theorem 3,
    whose conditions the paper assumes; here lambda is an argument. With that of Theorem 3 the order stays
    U L / sqrt(B).

    Parameters
    ----------
    norm_bound : float
        U, at most B' / (32 G2).
    xi : float
        Lambda / (U^2 |J|), measured: `removal_harm`; xi |J| at most 1.
    removals : float
        |J|, measured.
    step : float, default=None
        c of lambda = c U / sqrt(B); None means U / sqrt(G1 G2 L) with the competitor's L, at most
        1 / (4 G1 G2).
    loss, rows, kernels, budget, delta, G1, G2, eager
        As in `theorem_3`.

    Examples
    --------
    >>> setting = dict(rows=100_000, kernels=1, budget=400, norm_bound=1.0, delta=1e-4)
    >>> theorem_5(1e4, xi=0.01, removals=20, **setting).value < theorem_3(1e4, **setting).value
    True
    """
    run = SmoothRun(loss, rows, kernels, budget, norm_bound, delta, G1, G2, eager)
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
    gamma = rate * G1 * G2 + (0.0 if eager else 16 * U * G2 / run.room)
    more, holds = run.probability(3, max(*run.variances, rows))
    conditions = check(*conditions, Condition("gamma < 1", f"gamma = {gamma:.4g}", gamma < 1), more)
    terms = _solved(run, rate, gamma, U**2 / (2 * rate) * (1 + xi * removals))
    return Bound(terms, conditions, holds, _printed_5(run))


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
    eager: bool = False,
) -> Bound:
    """What the proof of Theorem 3 implies for a finished run, from the learner's counters.

    The proof bounds the regret by the learner's own loss and its removals before it replaces both, the first by the
    competitor's loss and the second by Lemma 2. After a run both are known. So this needs neither Lemma 2 nor the
    conditions for the replacement (B >= 21 ln(1/delta), U <= ..., gamma < 1), and it holds simultaneously for the
    functions of norm at most U of all kernels: the best of them is fixed by the rows. It is not proved for rows that
    react to the learner's random draws, nor at a time chosen by looking; the dual bound of `pocketkernel.certificate`
    holds for both, and is smaller.

    Parameters
    ----------
    own_loss : float
        Sum of the learner's own losses, `diagnostics_.cumulative_loss`.
    removals : int
        |J|, for any kind of removal.
    rows, kernels, budget, norm_bound, step, G1, G2, eager
        As in `theorem_3`.
    failure : float, default=0.05
        Total probability that the bound fails, between 0 and 1.

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
    run = SmoothRun(own_loss, rows, kernels, budget, norm_bound, failure, G1, G2, eager)
    run = replace(run, delta=failure / share(2, max(run.variances)))
    U, rate = norm_bound, step * norm_bound / math.sqrt(budget)
    constants = run.constants(rate)
    terms = {
        "start": U**2 / (2 * rate),
        "removals": removals * run.per_removal(rate),
        "steps": rate * G1 * G2 * own_loss,
    }
    terms |= {name: factor * math.sqrt(own_loss) + constants[name] for name, factor in run.roots(rate).items()}
    return Bound(terms, conditions, f"with probability at least {1 - failure:.4g}")


def theorem_3_delta(failure: float, *, rows: int, norm_bound: float, G1: float = 1.0) -> float:
    """The delta for which Theorem 3 fails with this total probability.

    Examples
    --------
    >>> delta = theorem_3_delta(0.05, rows=100_000, norm_bound=1.0)
    >>> run = SmoothRun(1e3, rows=100_000, kernels=5, budget=400, U=1.0, delta=delta, G1=1.0, G2=1.0)
    >>> theorem_3_premises(run, step=2.0).holds
    'with probability at least 0.95'
    """
    run = SmoothRun(0.0, rows, 1, 2, norm_bound, failure, G1, 1.0)
    return failure / share(3, max(*run.variances, rows))


# ---- parts ----------------------------------------------------------------------------------------------------------


def _solved(run: SmoothRun, rate: float, gamma: float, start: float) -> dict[str, float]:
    """Solve L' - L <= gamma L' + a sqrt(L') + c for L' - L."""
    a, c = sum(run.roots(rate).values()), start + sum(run.constants(rate).values())
    left = 1 - gamma
    return {
        "share of the loss": gamma / left * run.loss,
        "constants": c / left,
        "square": (a / left) ** 2,
        "root of the loss": a / (left * math.sqrt(left)) * math.sqrt(max(0.0, run.loss + c)),
    }


def _printed_3(run: SmoothRun) -> float:
    U, G, room = run.U, run.G1 * run.G2, math.sqrt(run.budget - 4 / 3 * run.log)
    left, start = 1 - 6 * U * run.G2 / room, U * run.G1 * math.sqrt(run.budget)
    return (
        24 * U * run.G2 * run.loss / room
        + start
        + 100 * U**2 * G * run.log / left**2
        + 10 * U / (left * math.sqrt(left)) * math.sqrt(G * run.log) * math.sqrt(run.loss + start / 4)
    )


def _printed_5(run: SmoothRun) -> float:
    U, G, room = run.U, run.G1 * run.G2, run.budget - 4 / 3 * run.log
    left = 1 - 16 * U * run.G2 / room
    return (
        32 * U * run.G2 * run.loss / room
        + 144 * U**2 * G * run.log / left**2
        + 12 * U / (left * math.sqrt(left)) * math.sqrt(G * run.loss * run.log)
    )
