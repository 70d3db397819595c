"""Raker: random features shared by all kernels."""

from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._frequencies import RandomFrequencies
from pocketkernel.learners._paper import Kernels


@with_parameters
class Raker(RandomFrequencies, OnlineKernelClassifier):
    """Random-feature multi-kernel learning (Raker), a baseline of the paper.

    Stores no examples: each Gaussian kernel is a linear model on cosines and sines of D random projections, which all
    kernels share.

    Parameters
    ----------
    kernels : Gaussian or list of Gaussians, default=None
        The kernels to combine; None means the paper's five Gaussians of widths 1/4, 1, 4, 16, 64.
    features : int, default=None
        D, the number of frequencies, at least 1; None means 400 unless `memory` is given.
    memory : int or str, default=None
        Bytes instead of `features`, such as 65536 or "64KiB": the largest D that fits is chosen.
    rate : float, default=0.5
        eta, the step size of the kernels and of their weights, positive. The paper tries 10^-3 ... 10^3 over sqrt(T).
    regularization : float, default=0.0005
        mu, weight of the squared norm, from 0 to less than 1/rate. The paper tries 0.05, 0.005 and 0.0005.
    loss, dtype, class_weight, shuffle, epochs, n_jobs, random_state

    Attributes
    ----------
    classes_
    budget_ : int
        The D that is used.
    frequencies_, kernel_weights_, diagnostics_, nbytes
        See the properties.

    References
    ----------
    Shen, Chen & Giannakis (2019), "Random feature-based online multi-kernel learning in environments with unknown
    dynamics".

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pocketkernel import Raker
    >>> X, y = make_circles(2000, noise=0.1, factor=0.5, random_state=0)
    >>> model = Raker(features=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> model.frequencies_.shape
    (100, 2)
    >>> Raker.plan(2, features=100).nbytes == model.nbytes
    True
    """

    kernels: Kernels = None
    features: int | None = None
    rate: float = 0.5
    regularization: float = 0.0005
    loss: str = "logistic"

    _learner = "raker"
    _budget_name = "features"
    _unproved = "Shen, Chen & Giannakis (2019) bound the regret of Raker; that bound is not computed here."
