"""LKMBooks: one buffer filled by random adding, one coefficient vector for all kernels."""

from typing import Any

from pocketkernel.learners._described import with_parameters
from pocketkernel.learners._paper import StoringLearner
from pocketkernel.learners._recipe import Recipe


@with_parameters
class LKMBooks(StoringLearner):
    """Learning kernels with memory by randomly adding examples (LKMBooks), a baseline of the paper.

    Stores at most B examples and never removes one; it needs to know the number of rounds in advance.

    Parameters
    ----------
    kernels, budget, memory
    nu : float, default=0.5
        How early examples are added, between 0 and 1. The paper tries 1/2, 1/3 and 1/4.
    step : float, default=10.0
        Factor of the step size, positive.
    horizon : float, default=None
        T, the number of rounds. If it is None, `fit` uses the number of rows; `partial_fit` requires it.
    loss, dtype, storage, class_weight, shuffle, epochs, n_jobs, random_state

    Attributes
    ----------
    classes_, budget_, kernel_weights_, diagnostics_, nbytes

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

    nu: float = 0.5
    step: float = 10.0
    horizon: float | None = None
    loss: str = "logistic"

    _learner = "lkm_books"
    _unproved = "Li & Liao (2022) bound the expected regret of LKMBooks; that bound is not computed here."

    def _configure(self, recipe: Recipe, rows: int | None, **derived: Any) -> None:
        if self.horizon is None and rows is None:
            raise ValueError(
                "horizon=None: LKMBooks needs to know the number of rounds in advance; set horizon, or use fit."
            )
        super()._configure(recipe, rows, horizon=rows if self.horizon is None else self.horizon)
