"""M-OMD-S: smooth losses, one buffer shared by all kernels."""

from sklearn.utils import Bunch

from pocketkernel.certificate import Guarantee
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._dual import dual_guarantee
from pocketkernel.learners._paper import MirrorDescent


@with_parameters
class MOMDS(MirrorDescent):
    """Memory-bounded online mirror descent for smooth losses (M-OMD-S).

    Runs all kernels on one buffer of at most B examples. A row close to a stored row is merged into it; any other row
    is stored with a probability that grows with the slope of the loss. When the buffer is full, its older half is
    removed.

    Parameters
    ----------
    kernels, budget, memory, step, norm_bound
    loss : {"logistic", "smooth_hinge"}, default="logistic"
        A loss with |l'| <= G1 and |l'| <= G2 l.
    removal, dtype, storage, class_weight, shuffle, epochs, n_jobs, random_state

    Attributes
    ----------
    classes_, budget_, kernel_weights_, diagnostics_, nbytes

    References
    ----------
    Li & Liao (2024), "Learnability in Online Kernel Selection with Memory Constraint via Data-dependent Regret
    Analysis", Algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pocketkernel import MOMDS
    >>> X, y = make_circles(2000, noise=0.1, factor=0.5, random_state=0)
    >>> model = MOMDS(memory="16KiB", random_state=0)
    >>> scores = model.predict_then_learn(X, y)
    >>> bool(((scores >= 0) == y).mean() > 0.9)
    True
    >>> model.nbytes <= 16 * 1024
    True
    >>> MOMDS.plan(2, memory="16KiB").nbytes == model.nbytes
    True
    """

    loss: str = "logistic"
    removal: str = "half"

    _learner = "m_omd_s"

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        return dual_guarantee(self._recipe, done, self._fitted().evidence(), delta)
