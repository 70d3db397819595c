"""SharedMOMDH: the hinge loss, one buffer shared by all kernels, a reservoir and optimistic gradients."""

from functools import partial

from sklearn.utils import Bunch

from pocketkernel.certificate import Bound, Guarantee, shared_buffer_afterwards
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._hinge import hinge_guarantee
from pocketkernel.learners._paper import MirrorDescent


@with_parameters
class SharedMOMDH(MirrorDescent):
    """M-OMD-H with one buffer for all kernels.

    All kernels share a buffer of at most B examples, and a row is stored or not for all of them at once; a uniform
    sample of past rows (the reservoir) is used to predict the next gradient. Kernels that count little in the mixture
    have little say in what is stored. When the buffer is full, its newer half is removed at once. In the same bytes it
    holds almost K times as many rows as M-OMD-H.

    Parameters
    ----------
    kernels
    budget : int, default=None
        B, the number of stored examples, at least 2; None means 400 unless `memory` is given.
    memory, step, norm_bound, reservoir, horizon, dtype, storage, class_weight, shuffle, epochs, n_jobs, random_state

    Attributes
    ----------
    classes_, budget_
    kernel_weights_, diagnostics_, nbytes
        See the properties.

    References
    ----------
    Li & Liao (2024), "Learnability in Online Kernel Selection with Memory Constraint via Data-dependent Regret
    Analysis", Algorithm 1, and the question that it leaves open, whether K kernels need K buffers.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pocketkernel import SharedMOMDH
    >>> X, y = make_circles(2000, noise=0.1, factor=0.5, random_state=0)
    >>> model = SharedMOMDH(budget=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> int(model.diagnostics_.archived) >= 10
    True
    >>> SharedMOMDH.plan(2, budget=100).nbytes == model.nbytes
    True
    """

    reservoir: int = 10
    horizon: float = 1e9

    _learner = "shared_m_omd_h"
    _loss = "hinge"

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        bound = partial(self._bound, done, self._fitted().evidence())
        return hinge_guarantee(self._recipe, done, "The bound of M-OMD-H, for one shared buffer", bound)

    def _bound(self, done: Bunch, spent: list[float], i: int) -> Bound:
        """What the proof implies for kernel i."""
        made = self._recipe
        return shared_buffer_afterwards(
            float(done.cumulative_loss),
            errors=float(done.alignment_proxy[i]),
            spent=spent[i],
            removals=int(done.removals),
            rows=int(done.rounds),
            kernels=len(made.kernels),
            budget=made.budget,
            norm_bound=made.norm_bound,
            step=made.step,
        )
