"""M-OMD-S: a bound on its regret against functions of any norm, from numbers that the learner keeps.

The losses are convex, so against a function u of kernel i

    Reg(u) <= sum_t g_t f_t(x_t) - <u, sum_t g_t kappa_i(x_t, .)>

with the slopes g_t. The learner knows the first sum. The second is the sum of its own steps, divided by -lambda, up to
three differences: what removals and projections changed, how far merged rows are from the rows that they were merged
into, and the random choice of rows to store, which is a martingale in the kernel's space. The last is bounded by
Pinelis (1994): cosh(theta |M|) exp(-psi(theta) v) is a supermartingale. So for all u, all kernels and all times at
once, also if rows react to what the learner drew, with probability at least 1 - delta:

    Reg(u) <= sum_t g_t f_t(x_t) + |u| Gamma_i

Weights of rows are factors of losses and slopes. The sums run over rows that were new when they came: what later passes
of a fit did to the learner's functions is one more change, like a removal.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pocketkernel.losses import LOSSES


@dataclass(frozen=True)
class DualBound:
    """Regret at most `linear` + r `slope` against every function of norm at most r, of any kernel.

    Attributes
    ----------
    own_loss : float
        Sum of the learner's losses.
    linear : float
        Sum of g_t f_t(x_t).
    terms : tuple of (str, float)
        Parts of the slope, for the kernel for which it is largest: they sum to it.
    weight : float
        Sum of the rows' weights: T if each has weight 1.
    loss : str
        Name of the loss.
    functions : int
        1 for two classes; C for the learner for several classes, where the norm is that of all C functions together.
    """

    own_loss: float
    linear: float
    terms: tuple[tuple[str, float], ...]
    weight: float
    loss: str
    functions: int = 1

    @property
    def slope(self) -> float:
        """Regret at most for each unit of the competitor's norm."""
        return math.fsum(term for _, term in self.terms)

    def regret(self, norm: float) -> float:
        """Upper bound on the regret against every function of this norm or less."""
        return self.linear + norm * self.slope

    def anyway(self, norm: float) -> float:
        """Lower bound on the loss of every such function on any rows: no score exceeds its norm."""
        if self.functions == 1:
            return self.weight * LOSSES[self.loss].value(norm, 1.0)
        # The best scores of norm r: one class above all others, which are equal.
        others = self.functions - 1
        return self.weight * math.log1p(others * math.exp(-norm * math.sqrt(self.functions / others)))

    def least_loss(self, norm: float) -> float:
        """Lower bound on the loss of every such function on these rows."""
        return max(self.anyway(norm), self.own_loss - self.regret(norm))

    @property
    def informative_up_to(self) -> float:
        """The largest norm for which `least_loss` is more than `anyway`; 0 if there is none."""
        low, high = 0.0, max(self.own_loss - self.linear, 0.0) / max(self.slope, 1e-300)
        gain = [self.own_loss - self.regret(r) - self.anyway(r) for r in (high * k / 1000 for k in range(1001))]
        best = max(range(1001), key=gain.__getitem__)
        if gain[best] <= 0:
            return 0.0
        low = high * best / 1000  # the gain is concave
        for _ in range(60):
            middle = 0.5 * (low + high)
            informative = self.own_loss - self.regret(middle) > self.anyway(middle)
            low, high = (middle, high) if informative else (low, middle)
        return low


def dual_bound(
    own_loss: float,
    linear: float,
    *,
    unmerged: float,
    steepest: float,
    gammas: Sequence[float],
    norms: Sequence[float],
    rate: float,
    weight: float,
    loss: str = "logistic",
    functions: int = 1,
    delta: float = 0.05,
) -> DualBound:
    """The bound of this module.

    Parameters
    ----------
    own_loss : float
        Sum of the learner's losses.
    linear : float
        Sum of g_t f_t(x_t).
    unmerged : float
        Sum of |g_t| over rounds that were not merged.
    steepest : float
        The largest of these: more than G1 only if a row had a weight above 1.
    gammas : list of float
        For each kernel: the way that removals and projections moved its function, divided by lambda, and the slopes of
        merged rows times their distances.
    norms : list of float
        Norms of the kernels' functions.
    rate : float
        lambda.
    weight : float
        Sum of the rows' weights.
    loss : str, default="logistic"
        A smooth loss.
    functions : int, default=1
        C for the learner for several classes: the norm of its C slopes is at most sqrt(2) times what it counts as |g|.
    delta : float, default=0.05
        Probability that the bound ever fails.

    Examples
    --------
    >>> sums = dict(unmerged=200.0, steepest=1.0, gammas=[30.0], norms=[2.0], weight=1000.0)
    >>> bound = dual_bound(500.0, -80.0, rate=0.1, **sums)
    >>> bound.regret(1.0) < bound.regret(2.0) < 500
    True
    """
    G1 = LOSSES[loss].G1
    assert G1 is not None
    # A row that is stored deviates by G1, another by its slope.
    sampling = deviation(G1 * unmerged, G1, max(G1, steepest), kernels=len(gammas), delta=delta)
    sampling *= 1.0 if functions == 1 else math.sqrt(2)
    worst = max(range(len(gammas)), key=lambda i: norms[i] / rate + gammas[i])
    terms = (
        ("last function", norms[worst] / rate),
        ("removals, projections, merging", gammas[worst]),
        ("sampling", sampling),
    )
    return DualBound(own_loss, linear, terms, weight, loss, functions)


def deviation(variance: float, G1: float, longest: float | None = None, *, kernels: int, delta: float) -> float:
    """Most that the norms of K martingales ever are, at times of this summed variance and this longest step.

    Pinelis (1994), for theta = 2^(-j/2) / G1, each j with the share 1 / ((j + 1) (j + 2)) of delta. A step's length is
    known before it is drawn, and psi grows with it, so that of the longest step so far (G1 by default) is enough.
    """
    b = G1 if longest is None else longest

    def most(j: int) -> float:
        theta = 2 ** (-j / 2) / G1
        if theta * b > 700:
            return math.inf
        psi = (math.expm1(theta * b) - theta * b) / b**2
        return (math.log(2 * kernels * (j + 1) * (j + 2) / delta) + psi * variance) / theta

    return min(most(j) for j in range(60))
