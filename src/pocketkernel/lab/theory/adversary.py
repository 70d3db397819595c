"""The stream of the lower bound (Theorem 4), which is hard for learners that store B rows, and its best competitor."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.sparse import csr_matrix
from scipy.special import expit

from pocketkernel.lab.theory.losses import loss_values
from pocketkernel.lab.theory.rows import Floats


def adversary(rows: int, *, budget: int, seed: int = 0) -> tuple[Any, npt.NDArray[np.int64]]:
    """3B basis vectors with alternating labels, one after the other, then again and again, drawn uniformly.

    Basis vectors are orthogonal under every linear or polynomial kernel, so a stored row gives no information about the
    others, and a learner that stores B rows knows nothing about at least two thirds of the rows. A longer stream begins
    with the shorter one.

    Parameters
    ----------
    rows : int
        Length of the stream.
    budget : int
        B of the learner that is to fail, at least 1; a row has 3B features.
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    X : sparse matrix of shape (rows, 3 * budget)
        CSR, one 1 in each row.
    y : array of shape (rows,)
        Labels 1 and -1: that of basis vector j is 1 if j = 0, 2, 4 ...

    References
    ----------
    Li & Liao (2024), proof of Theorem 4.

    Examples
    --------
    >>> from pocketkernel import MOMDS, kernels
    >>> X, y = adversary(6000, budget=50)
    >>> X.shape, X.nnz
    ((6000, 150), 6000)
    >>> model = MOMDS(kernels=kernels.Linear(), budget=50, norm_bound=2.0, random_state=0)
    >>> bool(np.mean((model.predict_then_learn(X, y) >= 0) != (y > 0)) > 1 / 4)
    True
    """
    if budget < 1:
        raise ValueError(f"budget={budget} is too small: use a positive integer.")
    width = 3 * budget
    repeats = np.random.default_rng(seed).integers(width, size=max(rows - width, 0))
    places = np.concatenate((np.arange(min(rows, width)), repeats))
    X = csr_matrix((np.ones(rows), places, np.arange(rows + 1)), shape=(rows, width))
    return X, np.where(places % 2 == 0, 1, -1)


def adversary_competitor(X: Any, y: Any, *, norm_bound: float, loss: str = "logistic", equal: bool = False) -> Floats:
    """Losses of the best f with |f| <= U on an `adversary`, row by row; linear and polynomial kernels have the same.

    f = sum_j c_j y_j kappa(e_j, .) has the norm of c, and c_j is its margin on the n_j rows e_j: minimise
    sum_j n_j l(c_j) with |c| <= U. At the optimum n_j l'(c_j) + mu c_j = 0, and mu is found by bisection.

    Parameters
    ----------
    X, y
        What `adversary` gives.
    norm_bound : float
        U, positive.
    loss : {"logistic", "hinge"}, default="logistic"
        What is minimised.
    equal : bool, default=False
        The paper's competitor instead, c_j = U / sqrt(3B).

    Examples
    --------
    >>> X, y = adversary(3000, budget=10)
    >>> best = adversary_competitor(X, y, norm_bound=1.0).sum()
    >>> equal = adversary_competitor(X, y, norm_bound=1.0, equal=True).sum()
    >>> bool(0.99 * equal < best < equal)
    True
    """
    if not norm_bound > 0:
        raise ValueError(f"norm_bound={norm_bound} is not positive.")
    if loss not in _MARGINS:
        raise ValueError(f"loss={loss!r} has no competitor here: use one of {', '.join(map(repr, _MARGINS))}.")
    width = X.shape[1]
    counts = np.bincount(X.indices, minlength=width).astype(np.float64)
    margins = np.full(width, norm_bound / np.sqrt(width)) if equal else _best_margins(counts, norm_bound, loss)
    return loss_values(loss, margins[X.indices], 1.0)


def _best_margins(counts: Floats, U: float, loss: str) -> Floats:
    margins = _MARGINS[loss]

    def excess(log_mu: float) -> float:
        return float(np.linalg.norm(margins(counts, np.exp(log_mu)))) - U

    # So small a mu leaves margins of 60 or, of hinge loss, all of 1; so large a one leaves none.
    low, high = -60.0, float(np.log(counts.max() * len(counts) / U)) + 1
    return margins(counts, np.exp(low if excess(low) < 0 else brentq(excess, low, high, xtol=1e-13)))


def _hinge_margins(counts: Floats, mu: float) -> Floats:
    return np.minimum(1.0, counts / mu)


def _logistic_margins(counts: Floats, mu: float) -> Floats:
    """Margins c with n / (1 + exp(c)) = mu c, by halving intervals."""
    low, high = np.zeros_like(counts), np.minimum(counts / (2 * mu), 700.0)
    for _ in range(60):
        middle = (low + high) / 2
        short = counts * expit(-middle) > mu * middle
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return (low + high) / 2


_MARGINS = {"logistic": _logistic_margins, "hinge": _hinge_margins}
