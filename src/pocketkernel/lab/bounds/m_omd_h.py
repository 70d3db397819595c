"""M-OMD-H: Lemma 1 and Theorems 1 and 2."""

import math

from pocketkernel.certificate.bound import IN_EXPECTATION, Bound, Condition, check
from pocketkernel.certificate.m_omd_h import HingeRun
from pocketkernel.lab.bounds.removals import harmless


def lemma_1(alignment: float, *, rows: int, budget: int, reservoir: int = 10, k1: float = 1.0) -> Bound:
    """Most removals of one kernel of M-OMD-H, in expectation.

    Every removal takes floor(B/2) additions, and a row is added with probability at most 2 D / k1, where D is its
    squared distance from the reservoir's mean; the sum of D is at most `surrogate_alignment` in expectation.

    The paper's condition B >= 2 M (1 + ln T) divides memory between archive and buffers. A learner whose buffers are
    given needs no such condition. (The proof then takes a buffer for B/K although the archive leaves only half of
    that in the worst case: with `budget` the buffer itself, this slip has no effect.)

    Parameters
    ----------
    alignment : float
        A of the kernel, from 0 to T.
    rows, budget : int
        T and B; B at least 2.
    reservoir : int, default=10
        M, at least 2.
    k1 : float, default=1.0
        Least kappa(x, x), above 0, at most 1.

    Examples
    --------
    >>> round(lemma_1(100.0, rows=10_000, budget=50).value, 1)
    23.4
    """
    conditions = check(*_removal_conditions(alignment, rows, budget, reservoir, k1))
    surrogate = surrogate_alignment(alignment, rows=rows, reservoir=reservoir)
    printed = math.ceil(4 * (3 * alignment * (1 + math.log(rows) / reservoir) + 8) / (budget * k1))
    return Bound({"removals": _removals(surrogate, budget, k1)}, conditions, IN_EXPECTATION, float(printed))


def surrogate_alignment(alignment: float, *, rows: int, reservoir: int) -> float:
    """Most that the sum of M-OMD-H's squared gradient errors is in expectation: 1 + 2 A + A ln(T) / M.

    The paper's Lemma A.1 has 3 A + 8 + 3 A ln(T) / M, where 8 should be 8.74 (the sum of 12/t^2 from t = 2 on is 7.74).
    The reservoir's mean is unbiased, so its squared distance from a row is that of the true mean plus a variance:
    no factor 3.
    """
    return 1 + alignment * (2 + math.log(rows) / reservoir)


def theorem_1(
    loss: float,
    alignment: float,
    *,
    rows: int,
    kernels: int,
    budget: int,
    norm_bound: float,
    step: float = math.sqrt(0.5),
    reservoir: int = 10,
    full_rounds: float | None = None,
    k1: float = 1.0,
    eager: bool = False,
) -> Bound:
    """Most regret of M-OMD-H, in expectation: sqrt(U L ln K) + U sqrt(B) + U A ln(T) / sqrt(B), with its constants.

    The part of a kernel is the inequality before "Let lambda_i" in the paper's proof, which holds for any step; that of
    expert advice is the one before it is simplified. Where they differ from the paper:

    - A loss is at most 1 + U + lambda, not 1 + U: the score is f' + lambda H, which is not projected.
    - The proof takes the gradient at a removal to be at most 1. It is scaled by 1/P, and one inner product of it does
      not average out while a buffer is full: the term "full buffer", 2 U sqrt(full_rounds A').
    - Expert advice costs sqrt(ln(K) / 2) (1 + c^2) more, c being the largest loss.

    Parameters
    ----------
    loss : float
        L of the competitor, hinge loss.
    alignment : float
        A of its kernel, from 0 to T.
    rows, kernels, budget : int
        T, K and B; B at least 2 (the paper's B > K).
    norm_bound : float
        U, above 1; the competitor's norm is at most this.
    step : float, default=sqrt(1/2)
        c of lambda = c U / sqrt(B); the default is the statement's lambda (the proof has 1/2).
    reservoir : int, default=10
        M, at least 2.
    full_rounds : float, default=None
        Mean number of rounds with a loss that begin with a full buffer, see `Trace.full_rounds`; None means T,
        which is all that is known before a run.
    k1 : float, default=1.0
        Least kappa(x, x).
    eager : bool, default=False
        Whether a buffer is halved as soon as it is full (`removal="eager"`), so that no step meets a full one.

    Examples
    --------
    >>> setting = dict(rows=100_000, kernels=5, budget=100, norm_bound=5.0)
    >>> bound = theorem_1(500.0, 200.0, full_rounds=0, **setting)
    >>> bound.value < theorem_1(500.0, 400.0, full_rounds=0, **setting).value
    True
    >>> sorted(bound.terms)
    ['expert advice', 'full buffer', 'merging', 'removals', 'start', 'steps']
    """
    full = rows if full_rounds is None else full_rounds
    run = HingeRun(loss, rows, kernels, budget, norm_bound, step, full, eager)
    conditions = check(*_removal_conditions(alignment, rows, budget, reservoir, k1), *run.conditions())
    errors = surrogate_alignment(alignment, rows=rows, reservoir=reservoir)
    removals = _removals(errors, budget, k1)
    return Bound(run.terms(errors, removals, 4 * norm_bound**2 * removals), conditions, IN_EXPECTATION)


def theorem_2(
    loss: float,
    alignment: float,
    *,
    rows: int,
    kernels: int,
    budget: int,
    norm_bound: float,
    xi: float,
    removals: float,
    step: float | None = None,
    reservoir: int = 10,
    full_rounds: float | None = None,
    k1: float = 1.0,
    eager: bool = False,
) -> Bound:
    """Most regret of M-OMD-H if its removals do little harm: sqrt(U L ln K) + U A ln(T) / B + U sqrt(A ln T).

    Like Theorem 1, except that removals move f' away from the competitor by Lambda = xi U^2 |J| in total. The paper's
    statement lacks sqrt(U) in its first term; its proof has sqrt((1 + U) L ln K). Its xi "in (0, 4]" may be negative,
    and its lambda presumes that the alignment is known.

    Parameters
    ----------
    xi : float
        Lambda / (U^2 |J|), measured: `removal_harm`; xi |J| at most 1 in every run.
    removals : float
        |J|, measured.
    step : float, default=None
        c of lambda = c U / sqrt(B); None means the paper's lambda, U sqrt(2 / (5 A')).
    loss, alignment, rows, kernels, budget, norm_bound, reservoir, full_rounds, k1, eager
        As in `theorem_1`.

    Examples
    --------
    >>> setting = dict(rows=100_000, kernels=5, budget=100, norm_bound=5.0, full_rounds=0)
    >>> theorem_2(500.0, 200.0, xi=0.01, removals=20, **setting).value < theorem_1(500.0, 200.0, **setting).value
    True
    """
    if step is None:
        surrogate = surrogate_alignment(max(alignment, 0.0), rows=max(rows, 1), reservoir=max(reservoir, 1))
        step = math.sqrt(2 * max(budget, 1) / (5 * surrogate))
    full = rows if full_rounds is None else full_rounds
    run = HingeRun(loss, rows, kernels, budget, norm_bound, step, full, eager)
    conditions = check(
        *_removal_conditions(alignment, rows, budget, reservoir, k1), *run.conditions(), harmless(xi, removals)
    )
    errors = surrogate_alignment(alignment, rows=rows, reservoir=reservoir)
    most = _removals(errors, budget, k1)
    return Bound(run.terms(errors, most, norm_bound**2 * xi * removals), conditions, IN_EXPECTATION)


# ---- parts ----------------------------------------------------------------------------------------------------------


def _removal_conditions(alignment: float, rows: int, budget: int, reservoir: int, k1: float) -> tuple[Condition, ...]:
    return (
        Condition("T >= 1", f"T = {rows}", rows >= 1),
        Condition("0 <= A <= T", f"A = {alignment:g}, T = {rows}", 0 <= alignment <= rows),
        Condition("B >= 2", f"B = {budget}", budget >= 2),
        Condition("M > 1", f"M = {reservoir}", reservoir > 1),
        Condition("0 < k1 <= 1", f"k1 = {k1:g}", 0 < k1 <= 1),
    )


def _removals(errors: float, budget: int, k1: float) -> float:
    return 2 * errors / (k1 * (budget // 2))
