"""M-OMD-H: hinge loss, one buffer per kernel, a reservoir and optimistic gradients."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from pocketkernel.certificate import Condition, Guarantee
from pocketkernel.certificate.certificate import ROUNDING, WEIGHTS, guarantee_of
from pocketkernel.certificate.m_omd_h import theorem_1_afterwards
from pocketkernel.kernels import Kernel
from pocketkernel.learners._base import OnlineKernelClassifier


class MOMDH(OnlineKernelClassifier):
    """Memory-bounded optimistic mirror descent for the hinge loss (M-OMD-H).

    Each kernel has its own buffer of at most B examples; a uniform sample of the past (the reservoir) serves all of
    them as a guess of the next gradient. When a buffer is full, its newer half is dropped.

    Parameters
    ----------
    kernels : kernel or list of kernels, default=None
        What to choose from; None stands for the paper's five Gaussians of widths 1/4, 1, 4, 16, 64.
    budget : int, default=None
        B, the number of stored examples of each kernel, at least 2; None stands for 400 unless `memory` is given.
    memory : int or str, default=None
        Bytes instead of `budget`, such as 65536 or "64KiB": the largest B that fits is chosen.
    step : float, default=1.0
        c of the step size lambda = c U / sqrt(B), positive. The paper tries 2, 1 and 0.5.
    norm_bound : float, default=None
        U, the largest RKHS norm of a hypothesis, positive; None stands for sqrt(B).
    reservoir : int, default=10
        M, the number of examples in the reservoir.
    horizon : float, default=1e9
        Number of rounds that the archive of past reservoir members is made for: it has room for
        M (1 + ceil(ln(horizon))) examples. More rounds are fine; members that had to leave are counted as overflowed.
    removal : {"half", "restart", "oldest"}, default="half"
        What a full buffer loses: its newer half, everything, or only the oldest example.
    dtype : {"float32", "float64"}, default="float32"
        Precision of stored rows and of arithmetic.
    storage : {None, "float16", "bfloat16"}, default=None
        How rows are held: as `dtype` says, or rounded to 16 bits, which nearly doubles the rows that fit. float16 is
        finer and reaches to 65504; bfloat16 is coarser and has float32's range. Arithmetic stays in float32.
    n_jobs : int, default=None
        Most threads that score a block together, at most one per core; -1 stands for all, None for the environment's
        POCKETKERNEL_NUM_THREADS or OMP_NUM_THREADS, else all cores. Each takes scratch of a few rows while it runs.
    random_state : int, NumPy generator or None, default=None
        Seed of the sampling.

    Attributes
    ----------
    classes_ : array of the two labels, the negative one first
    budget_ : int
        B as it was chosen.
    kernel_weights_, diagnostics_, nbytes
        See the properties.

    References
    ----------
    Li & Liao (2024), "Learnability in Online Kernel Selection with Memory Constraint via Data-dependent Regret
    Analysis", Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pocketkernel import MOMDH
    >>> X, y = make_circles(2000, noise=0.1, factor=0.5, random_state=0)
    >>> model = MOMDH(budget=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> int(model.diagnostics_.archived) >= 10
    True
    >>> MOMDH.plan(2, budget=100).nbytes == model.nbytes
    True
    """

    _learner = "m_omd_h"
    _loss = "hinge"
    _smallest_budget = 2

    def __init__(
        self,
        *,
        kernels: Iterable[Kernel] | Kernel | None = None,
        budget: int | None = None,
        memory: int | str | None = None,
        step: float = 1.0,
        norm_bound: float | None = None,
        reservoir: int = 10,
        horizon: float = 1e9,
        removal: str = "half",
        dtype: str = "float32",
        storage: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.kernels = kernels  # type: ignore[assignment]
        self.budget = budget
        self.memory = memory
        self.step = step
        self.norm_bound = norm_bound
        self.reservoir = reservoir
        self.horizon = horizon
        self.removal = removal
        self.dtype = dtype
        self.storage = storage
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        made, i = self._recipe, int(np.argmax(self.kernel_weights_))
        added, removed = int(done.kernel_additions[i]), int(done.kernel_removals[i])
        # A round that adds to a buffer with room did not begin with a full one.
        never_full = removed == 0 and int(done.stored[i]) < made.budget
        full = 0 if never_full else int(done.rounds) - (added - removed)
        bound = partial(
            theorem_1_afterwards,
            float(done.cumulative_loss),
            errors=float(done.alignment_proxy[i]),
            removals=removed,
            full_rounds=full,
            rows=int(done.rounds),
            kernels=len(made.kernels),
            budget=made.budget,
            norm_bound=made.norm_bound,
            step=made.step,
        )
        conditions = (
            Condition("U > 1", f"U = {made.norm_bound:g}", made.norm_bound > 1),
            Condition("M > 1", f"M = {made.reservoir}", made.reservoir > 1),
            Condition("nothing left the archive", f"overflowed = {done.overflowed}", int(done.overflowed) == 0),
        )
        theorem = "Theorem 1 of Li & Liao (2024), afterwards"
        against = (
            f"The regret is against every function of norm at most U = {made.norm_bound:.4g} of {made.kernels[i]!r}, "
            "which has the largest weight; the theorem is about means over the learner's draws, and one run gives an "
            "estimate of such a bound, not a bound with confidence: delta has no part in it."
        )
        unknown = (
            "the alignment of the kernel: the sum of its squared gradient errors stands in its place",
            "the loss of the best function: the own loss stands in its place",
            f"rounds that began with a full buffer: at most {full:,}",
            "which kernel was meant beforehand: the one with the largest weight was chosen afterwards",
            WEIGHTS,
            ROUNDING,
        )
        if not all(condition.met for condition in conditions):
            return Guarantee(theorem, against, None, conditions, unknown)
        return guarantee_of(bound, conditions, theorem=theorem, against=against, unknown=unknown)
