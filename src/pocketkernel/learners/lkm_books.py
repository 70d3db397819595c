"""LKMBooks: one buffer filled by random adding, one coefficient vector for all kernels."""

from collections.abc import Iterable
from typing import Any

from sklearn.utils import Bunch

from pocketkernel.certificate import Guarantee
from pocketkernel.kernels import Kernel
from pocketkernel.learners._base import OnlineKernelClassifier
from pocketkernel.learners._recipe import Recipe


class LKMBooks(OnlineKernelClassifier):
    """Learning kernels with memory by randomly adding examples (LKMBooks), a baseline of the paper.

    Stores at most B examples and never removes one; it needs to know the number of rounds in advance.

    Parameters
    ----------
    kernels : kernel or list of kernels, default=None
        The kernels to combine; None means the paper's five Gaussians of widths 1/4, 1, 4, 16, 64.
    budget : int, default=None
        B, the number of stored examples, at least 1; None means 400 unless `memory` is given.
    memory : int or str, default=None
        Bytes instead of `budget`, such as 65536 or "64KiB": the largest B that fits is chosen.
    nu : float, default=0.5
        How early examples are added, between 0 and 1. The paper tries 1/2, 1/3 and 1/4.
    step : float, default=10.0
        Factor of the step size, positive.
    horizon : float, default=None
        T, the number of rounds. If it is None, `fit` uses the number of rows; `partial_fit` requires it.
    loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        The loss.
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
    Li & Liao (2022), "Worst-case regret analysis of online kernel selection with memory constraint".

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pocketkernel import LKMBooks
    >>> X, y = make_circles(2000, noise=0.1, factor=0.5, random_state=0)
    >>> model = LKMBooks(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> LKMBooks.plan(2).nbytes == model.nbytes
    True
    """

    _learner = "lkm_books"

    def __init__(
        self,
        *,
        kernels: Iterable[Kernel] | Kernel | None = None,
        budget: int | None = None,
        memory: int | str | None = None,
        nu: float = 0.5,
        step: float = 10.0,
        horizon: float | None = None,
        loss: str = "logistic",
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
        self.nu = nu
        self.step = step
        self.horizon = horizon
        self.loss = loss
        self.dtype = dtype
        self.storage = storage
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.epochs = epochs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _configure(self, recipe: Recipe, rows: int | None, **derived: Any) -> None:
        if self.horizon is None and rows is None:
            raise ValueError(
                "horizon=None: LKMBooks needs to know the number of rounds in advance; set horizon, or use fit."
            )
        super()._configure(recipe, rows, horizon=rows if self.horizon is None else self.horizon)

    def _guarantee(self, done: Bunch, delta: float) -> Guarantee:
        return Guarantee(
            None,
            "Li & Liao (2022) bound the expected regret of LKMBooks; that bound is not computed here.",
        )
