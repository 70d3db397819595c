"""Raker: random features shared by all kernels."""

from collections.abc import Iterable
from typing import Any

from sklearn.utils import Bunch

from pocketkernel.certificate import Guarantee
from pocketkernel.kernels import Kernel
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._frequencies import RandomFrequencies


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
    loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        The loss.
    dtype : {"float32", "float64"}, default="float32"
        Precision of frequencies, coefficients and arithmetic.
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
        Seed of the frequencies and of the order in `fit`.

    Attributes
    ----------
    classes_ : array of the two labels, the negative one first
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

    _learner = "raker"
    _budget_name = "features"

    def __init__(
        self,
        *,
        kernels: Iterable[Kernel] | Kernel | None = None,
        features: int | None = None,
        memory: int | str | None = None,
        rate: float = 0.5,
        regularization: float = 0.0005,
        loss: str = "logistic",
        dtype: str = "float32",
        class_weight: Any = None,
        shuffle: bool = True,
        epochs: int | str = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.kernels = kernels  # type: ignore[assignment]
        self.features = features
        self.memory = memory
        self.rate = rate
        self.regularization = regularization
        self.loss = loss
        self.dtype = dtype
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.epochs = epochs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        return Guarantee(
            None,
            "Shen, Chen & Giannakis (2019) bound the regret of Raker; that bound is not computed here.",
        )
