"""M-OMD-S for more than two classes: one buffer shared by all kernels and all classes."""

from sklearn.utils import Bunch

from pocketkernel.certificate import Guarantee
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._dual import dual_guarantee
from pocketkernel.learners._paper import MirrorDescent


@with_parameters
class MulticlassMOMDS(MirrorDescent):
    """M-OMD-S with the multinomial logistic loss, for two or more classes.

    All kernels and all classes share one buffer of at most B examples: a class adds one coefficient per stored example
    and kernel, not another buffer, and the kernel values of a row are computed once for all classes. With f_i a
    function into R^C the algorithm is that of M-OMD-S; the probability of storing a row depends on 1 - P(its class).

    Parameters
    ----------
    kernels, budget, memory, step, norm_bound, removal
    dtype, storage, n_classes, class_weight, shuffle, epochs, n_jobs, random_state

    Attributes
    ----------
    classes_, budget_, kernel_weights_, diagnostics_, nbytes

    References
    ----------
    Li & Liao (2024), "Learnability in Online Kernel Selection with Memory Constraint via Data-dependent Regret
    Analysis", Algorithm 2, extended to vector-valued functions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pocketkernel import MulticlassMOMDS
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassMOMDS(memory="256KiB", random_state=0).fit(X / 16, y)
    >>> bool(model.score(X / 16, y) > 0.9)
    True
    >>> model.predict_proba(X[:2] / 16).shape
    (2, 10)
    """

    removal: str = "half"
    n_classes: int | None = None

    _learner = "multiclass_m_omd_s"
    _multiclass = True

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        recipe = self._recipe
        return dual_guarantee(recipe, done, self._fitted().evidence(), delta, functions=recipe.classes)
