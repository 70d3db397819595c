"""M-OMD-H: hinge loss, one buffer per kernel, a reservoir and optimistic gradients."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from sklearn.utils import Bunch

from pocketkernel.certificate import Bound, Guarantee, theorem_1_afterwards
from pocketkernel.kernels import Kernel
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._hinge import hinge_guarantee


class MOMDH(OnlineKernelClassifier):
    """Memory-bounded optimistic mirror descent for the hinge loss (M-OMD-H).

    Each kernel has its own buffer of at most B examples; a uniform sample of past rows (the reservoir) is used to
    predict the next gradient for all kernels. When a buffer is full, its newer half is removed.

    Parameters
    ----------
    kernels : kernel or list of kernels, default=None
        The kernels to combine; None means the paper's five Gaussians of widths 1/4, 1, 4, 16, 64.
    budget : int, default=None
        B, the number of stored examples of each kernel, at least 2; None means 400 unless `memory` is given.
    memory : int or str, default=None
        Bytes instead of `budget`, such as 65536 or "64KiB": the largest B that fits is chosen.
    step : float, default=1.0
        c of the step size lambda = c U / sqrt(B), positive. The paper tries 2, 1 and 0.5.
    norm_bound : float, default=None
        U, the largest RKHS norm of a hypothesis, positive; None means sqrt(B).
    reservoir : int, default=10
        M, the number of examples in the reservoir.
    horizon : float, default=1e9
        Number of rounds for which the archive of past reservoir members is sized: it has room for
        M (1 + ceil(ln(horizon))) examples. More rounds are possible; members that no longer fit are counted as
        overflowed.
    removal : {"half", "restart", "oldest", "eager"}, default="half"
        What is removed from a full buffer before the next example enters: its newer half, everything, or only the
        oldest example. "eager" removes the newer half as soon as the buffer is full.
    dtype : {"float32", "float64"}, default="float32"
        Precision of stored rows and of arithmetic.
    storage : {None, "float16", "bfloat16"}, default=None
        How rows are stored: as `dtype`, or rounded to 16 bits, so that almost twice as many rows fit. float16 is more
        precise but limited to 65504; bfloat16 is less precise and has float32's range. Arithmetic stays in float32.
    class_weight : {None, "balanced"} or dict, default=None
        Factor of the weights of a class's rows, such as {"ham": 1, "spam": 5}; a label that is not in it has 1.
        "balanced" means the inverse of the class's share in the rows: in all rows in `fit`, in the rows so far in
        `partial_fit`. It is multiplied with `sample_weight`.
    shuffle : bool, default=True
        Whether `fit` learns the rows in random order, seeded by `random_state`. `partial_fit` and `predict_then_learn`
        never change the order.
    epochs : int or "auto", default=1
        How often `fit` goes through the rows.
    n_jobs : int, default=None
        Maximum number of threads that score a block, at most one per core; -1 means all cores, None means the value of
        POCKETKERNEL_NUM_THREADS or OMP_NUM_THREADS, or all cores if neither is set. Each thread needs temporary memory
        for a few rows.
    random_state : int, NumPy generator or None, default=None
        Seed of the sampling and of the order in `fit`.

    Attributes
    ----------
    classes_ : array of the two labels, the negative one first
    budget_ : int
        The B that is used.
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
        class_weight: Any = None,
        shuffle: bool = True,
        epochs: int | str = 1,
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
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.epochs = epochs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        return hinge_guarantee(
            self._recipe, done, "Theorem 1 of Li & Liao (2024), after the run", partial(self._bound, done)
        )

    def _bound(self, done: Bunch, i: int) -> Bound:
        """What the proof implies for kernel i."""
        made = self._recipe
        added, removed = int(done.kernel_additions[i]), int(done.kernel_removals[i])
        # A round that adds to a buffer with free space did not begin with a full buffer.
        never_full = removed == 0 and int(done.stored[i]) < made.budget
        return theorem_1_afterwards(
            float(done.cumulative_loss),
            errors=float(done.alignment_proxy[i]),
            removals=removed,
            full_rounds=0 if never_full else int(done.rounds) - (added - removed),
            rows=int(done.rounds),
            kernels=len(made.kernels),
            budget=made.budget,
            norm_bound=made.norm_bound,
            step=made.step,
            eager=made.removal == "eager",
        )
