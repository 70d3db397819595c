"""The best function of one kernel in hindsight, the competitor of the regret: min of L(f) over |f| <= U.

L(f) = sum_t l(f(x_t), y_t). With features phi(x) of the space that r of the rows (landmarks) span, f = w'phi and the
problem is one in r numbers, |w| <= U. Both losses are softened hinges, mu log(1 + exp((s - y f) / mu)): the logistic
loss with s = 0, mu = 1, the hinge loss with s = 1 as mu goes to 0. Each is minimised by Newton steps within the ball.

The slopes a_t = -y_t l'(f(x_t)), all in [0, 1], prove how good that is. For every f in the ball and any such a,

    L(f) >= sum_t c(a_t) - U |sum_t a_t y_t kappa(x_t, .)|,  c(a) = a (hinge) or the entropy of a (logistic),

with the norm in the whole space of the kernel: what the landmarks cannot express makes it larger, so the bound holds
for Nyström, too. Without a pass over all pairs, the residuals rho_t = kappa(x_t, x_t) - |phi(x_t)|^2 bound that norm:
its square is at most |sum_t a_t y_t phi(x_t)|^2 + (sum_t a_t sqrt(rho_t))^2.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.special import entr, expit

from pocketkernel.kernels import Kernel
from pocketkernel.lab.theory._pairs import blas_threads, quadratic_forms
from pocketkernel.lab.theory.losses import loss_values
from pocketkernel.lab.theory.rows import Floats, check_data, check_kernels, check_rows, dense, gram

EXACT_ROWS = 2000
"""Up to this number of rows, all are landmarks by default."""
LANDMARKS = 1000
PAIRS_UP_TO = 20_000
"""Up to this number of rows, the norm in the bound is summed over all pairs."""

_AT_ONCE = 8192
_LARGE = 10**6  # features from which threads pay
_DEPENDENT = 1e-12  # a landmark with less than this of its own is left out
_NEWTON_STEPS = 60
_SOFTEST, _SHARPEST = 1.0, 1e-9  # mu of the softened hinge, a quarter of the last each time
_NEGLIGIBLE = 1e-6  # curvature of a row, against the largest, that is left out of a Newton step


@dataclass(frozen=True, eq=False)
class Competitor:
    """A function f = sum_j c_j kappa(z_j, .) with |f| <= U, and what is known about the best one.

    Attributes
    ----------
    kernel : Kernel
    loss_name : str
        "hinge" or "logistic".
    norm_bound : float
        U.
    loss : float
        L(f) on the rows it was made for.
    lower_bound : float
        No function of norm at most U has less.
    norm : float
        |f|.
    multiplier : float
        nu, zero inside the ball: f also minimises L(f) + nu/2 |f|^2.
    landmarks : array of shape (r, d)
        z_j.
    coefficients : array of shape (r,)
        c_j.
    """

    kernel: Kernel
    loss_name: str
    norm_bound: float
    loss: float
    lower_bound: float
    norm: float
    multiplier: float
    landmarks: Floats = field(repr=False)
    coefficients: Floats = field(repr=False)

    @property
    def gap(self) -> float:
        """How much less than `loss` the minimum can be, at most."""
        return self.loss - self.lower_bound

    def decision_function(self, X: Any) -> Floats:
        """f(x) for each row."""
        rows = check_rows(X)
        if rows.shape[1] != self.landmarks.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} features instead of {self.landmarks.shape[1]}.")
        parts = (gram(part, self.landmarks, self.kernel) @ self.coefficients for part in _parts(rows))
        return np.concatenate(list(parts))

    def losses(self, X: Any, y: Any) -> Floats:
        """Loss of each row; their cumulative sums are what regret is measured against."""
        rows, labels = check_data(X, y)
        return loss_values(self.loss_name, self.decision_function(rows), labels)


def best_in_ball(
    X: Any,
    y: Any,
    kernel: Kernel,
    norm_bound: float,
    loss: Literal["hinge", "logistic"] = "hinge",
    *,
    landmarks: int | None = None,
    all_pairs: bool | None = None,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> Competitor:
    """Find the function of least cumulative loss among those of one kernel with norm at most U.

    Exact, up to the gap that is reported, if all rows are landmarks; else (Nyström) the function is the best that
    random landmarks express, and the gap includes the error of this.

    Parameters
    ----------
    X : array or CSR matrix of shape (T, d)
    y : array of shape (T,)
        Labels -1 and 1.
    kernel : Kernel
    norm_bound : float
        U, positive; the paper takes the root of the budget.
    loss : {"hinge", "logistic"}, default="hinge"
    landmarks : int, default=None
        Rows to express the function by; those that depend on others are left out. None: all up to 2,000 rows, else
        1,000.
    all_pairs : bool, default=None
        Whether the lower bound sums over all pairs of rows, which takes O(T^2) time, rather than be looser. None: up to
        20,000 rows.
    tolerance : float, default=1e-5
        Gap per row, within the space of the landmarks, at which to stop.
    seed : int, default=0
        Of the choice of landmarks.

    Examples
    --------
    >>> from pocketkernel import Gaussian
    >>> from pocketkernel.lab.streams import rings
    >>> X, y = rings(500)
    >>> best = best_in_ball(X, y, Gaussian(1.0), norm_bound=10)
    >>> bool(best.norm < 10.001 and 0 <= best.gap < 1e-3 * best.loss)
    True
    >>> wider = best_in_ball(X, y, Gaussian(1.0), norm_bound=20)
    >>> bool(wider.loss < best.loss < 500)
    True
    """
    rows, labels = check_data(X, y)
    (kernel,) = check_kernels(kernel)
    _check(norm_bound, loss, landmarks, tolerance)
    T = len(labels)
    count = min(T, landmarks or (T if T <= EXACT_ROWS else LANDMARKS))
    chosen = np.random.default_rng(seed).choice(T, count, replace=False) if count < T else np.arange(T)
    Z, triangle = _independent(dense(rows[chosen]), kernel)
    M = np.vstack([_features(part, Z, triangle, kernel) for part in _parts(rows)])
    M *= labels[:, None]
    with blas_threads(1 if M.size < _LARGE else None):
        found = _minimise(M, norm_bound, loss, tolerance * T)
    a = found.slopes
    if T <= PAIRS_UP_TO if all_pairs is None else all_pairs:
        (norm2,) = quadratic_forms(rows, a * labels, [kernel], precise=True)
    else:
        rho = np.maximum(1 - np.square(M).sum(axis=1), 0)
        norm2 = np.square(a @ M).sum() + (a @ np.sqrt(rho)) ** 2
    bound = _conjugate(a, loss) - norm_bound * np.sqrt(max(norm2, 0.0))
    return Competitor(
        kernel=kernel,
        loss_name=loss,
        norm_bound=float(norm_bound),
        loss=found.loss,
        lower_bound=float(np.clip(bound, 0.0, found.loss)),
        norm=float(np.linalg.norm(found.w)),
        multiplier=found.multiplier,
        landmarks=Z,
        coefficients=solve_triangular(triangle, found.w, trans="T", lower=True),
    )


def _check(norm_bound: float, loss: str, landmarks: int | None, tolerance: float) -> None:
    if not 0 < norm_bound < np.inf:
        raise ValueError(f"norm_bound={norm_bound} must be positive and finite.")
    if loss not in ("hinge", "logistic"):
        raise ValueError(f"loss={loss!r} is unknown: use 'hinge' or 'logistic'.")
    if landmarks is not None and landmarks < 1:
        raise ValueError(f"landmarks={landmarks} is too small: use 1 or more.")
    if not tolerance > 0:
        raise ValueError(f"tolerance={tolerance} must be positive.")


# ---- features -------------------------------------------------------------------------------------------------------


def _parts(X: Any) -> Iterator[Any]:
    return (X[start : start + _AT_ONCE] for start in range(0, X.shape[0], _AT_ONCE))


def _independent(Z: Floats, kernel: Kernel) -> tuple[Floats, Floats]:
    """Rows of Z whose kernel functions are independent, and the triangle L of their kernel matrix LL'."""
    factor, order, rank, _ = dpstrf(gram(Z, Z, kernel), tol=_DEPENDENT, lower=1)
    return Z[order[:rank] - 1], np.tril(factor[:rank, :rank])


def _features(X: Any, Z: Floats, triangle: Floats, kernel: Kernel) -> Floats:
    """The features phi with phi(x)'phi(z) = kappa(x, z) for all landmarks z."""
    return np.asarray(solve_triangular(triangle, gram(X, Z, kernel).T, lower=True).T)


# ---- losses ---------------------------------------------------------------------------------------------------------


def _conjugate(slopes: Floats, loss: str) -> float:
    """The sum of c(a_t)."""
    return float(np.sum(slopes if loss == "hinge" else entr(slopes) + entr(1 - slopes)))


# ---- the problem in the space of the landmarks ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    w: Floats
    slopes: Floats
    loss: float
    multiplier: float


@dataclass(frozen=True, eq=False)
class _Softened:
    """The sum of mu log(1 + exp((s - margin) / mu)) over the margins Mw."""

    M: Floats
    s: float
    mu: float

    def value(self, margins: Floats) -> float:
        return float(self.mu * np.logaddexp(0, (self.s - margins) / self.mu).sum())

    def slopes(self, margins: Floats) -> Floats:
        return np.asarray(expit((self.s - margins) / self.mu))

    def cost(self, slopes: Floats) -> float:
        """What softening a hinge adds to the gap."""
        return self.mu * _conjugate(slopes, "logistic") if self.s else 0.0

    def hessian(self, slopes: Floats) -> Floats:
        """M' diag M, without the rows that do not matter."""
        weights = slopes * (1 - slopes) / self.mu
        some = np.flatnonzero(weights > _NEGLIGIBLE * weights.max())
        H = np.zeros((self.M.shape[1], self.M.shape[1]))
        for start in range(0, len(some), _AT_ONCE):
            part = some[start : start + _AT_ONCE]
            scaled = self.M[part] * np.sqrt(weights[part])[:, None]
            H += scaled.T @ scaled
        return H


def _minimise(M: Floats, U: float, loss: str, enough: float) -> _Found:
    """Least sum of losses of the margins Mw over |w| <= U, until the gap is small enough."""
    problem = _Softened(M, 1.0, _SOFTEST) if loss == "hinge" else _Softened(M, 0.0, 1.0)
    w, multiplier = np.zeros(M.shape[1]), 0.0
    while True:
        w, multiplier = _newton(problem, w, U, multiplier, enough)
        margins = M @ w
        slopes = problem.slopes(margins)
        total = float(loss_values(loss, margins, 1.0).sum())
        gap = total - _conjugate(slopes, loss) + U * float(np.linalg.norm(slopes @ M))
        if loss == "logistic" or gap <= enough or problem.mu < _SHARPEST:
            return _Found(w, slopes, total, multiplier)
        problem = replace(problem, mu=problem.mu / 4)


def _newton(problem: _Softened, w: Floats, U: float, multiplier: float, enough: float) -> tuple[Floats, float]:
    """Minimise a softened loss until its own gap adds little to what softening costs, or is a quarter of enough."""
    margins = problem.M @ w
    for _ in range(_NEWTON_STEPS):
        slopes = problem.slopes(margins)
        gradient = -(slopes @ problem.M)
        gap = float(gradient @ w) + U * float(np.linalg.norm(gradient))
        if gap <= max(problem.cost(slopes) / 8, enough / 4):
            break
        H = problem.hessian(slopes)
        target, multiplier = _least_in_ball(H, H @ w - gradient, U, multiplier)
        step = target - w
        descent = float(gradient @ step)
        if descent >= 0:
            break  # nothing but rounding is left
        before, change, share = problem.value(margins), problem.M @ step, 1.0
        while problem.value(margins + share * change) > before + 0.1 * share * descent and share > 1e-9:
            share /= 2
        w, margins = w + share * step, margins + share * change
    return w, multiplier


def _least_in_ball(H: Floats, b: Floats, U: float, multiplier: float) -> tuple[Floats, float]:
    """The v with |v| <= U of least v'Hv/2 - b'v, and nu with (H + nu I) v = b, by Newton's method on 1/|v| - 1/U."""
    least = 1e-15 * float(np.trace(H)) + 1e-300
    nu = max(multiplier, least)
    for _ in range(100):
        try:
            factor = cho_factor(H + nu * np.eye(len(H)), lower=True)
        except np.linalg.LinAlgError:
            least = nu = 10 * nu
            continue
        v = cho_solve(factor, b)
        length = float(np.linalg.norm(v))
        if abs(length - U) <= 1e-10 * U or (length < U and nu == least):
            break
        q = solve_triangular(factor[0], v, lower=True)
        nu = max(least, nu + float(length**2 / (q @ q)) * (length - U) / U)
    return v * min(1.0, U / length) if length > 0 else v, 0.0 if nu == least else nu
