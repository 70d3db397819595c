"""SharedMOMDH: the hinge loss, one buffer shared by all kernels, a reservoir and optimistic gradients."""

from typing import Any

from sklearn.utils import Bunch

from pocketkernel.certificate import Guarantee, shared_buffer_afterwards
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._hinge import changes, hinge_guarantee
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
    kernels, budget, memory, step, norm_bound, reservoir, horizon
    dtype, storage, class_weight, shuffle, epochs, n_jobs, random_state

    Attributes
    ----------
    classes_, budget_, kernel_weights_, diagnostics_, nbytes

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
        spent = self._fitted().evidence()

        def counts(i: int) -> dict[str, Any]:
            return {"spent": spent[i], "removals": changes(done, int(done.removals))}

        theorem = "The bound of M-OMD-H, for one shared buffer"
        return hinge_guarantee(self._recipe, done, theorem, shared_buffer_afterwards, counts)
