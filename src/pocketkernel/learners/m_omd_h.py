"""M-OMD-H: hinge loss, one buffer per kernel, a reservoir and optimistic gradients."""

from typing import Any

from sklearn.utils import Bunch

from pocketkernel.certificate import Guarantee, theorem_1_afterwards
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._hinge import changes, hinge_guarantee
from pocketkernel.learners._paper import MirrorDescent


@with_parameters
class MOMDH(MirrorDescent):
    """Memory-bounded optimistic mirror descent for the hinge loss (M-OMD-H).

    Each kernel has its own buffer of at most B examples; a uniform sample of past rows (the reservoir) is used to
    predict the next gradient for all kernels. When a buffer is full, its newer half is removed.

    Parameters
    ----------
    kernels, budget, memory, step, norm_bound, reservoir, horizon, removal
    dtype, storage, class_weight, shuffle, epochs, n_jobs, random_state

    Attributes
    ----------
    classes_, budget_, kernel_weights_, diagnostics_, nbytes

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

    reservoir: int = 10
    horizon: float = 1e9
    removal: str = "half"

    _learner = "m_omd_h"
    _loss = "hinge"

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        made = self._recipe

        def counts(i: int) -> dict[str, Any]:
            rows, added, removed = int(done.rounds), int(done.kernel_additions[i]), int(done.kernel_removals[i])
            # A round that adds to a buffer with free space did not begin with a full buffer.
            never_full = removed == 0 and int(done.stored[i]) < made.budget
            full_rounds = 0 if never_full else min(rows + int(done.repeats) - (added - removed), rows)
            return {"removals": changes(done, removed), "full_rounds": full_rounds, "eager": made.removal == "eager"}

        theorem = "Theorem 1 of Li & Liao (2024), after the run"
        return hinge_guarantee(made, done, theorem, theorem_1_afterwards, counts)
