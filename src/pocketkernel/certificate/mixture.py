"""A mixture of experts: its regret against each of them, exactly, and a bound against all mixtures, from sums it keeps.

F = sum_i w_i s_i is the mixture's score, whatever rule its weights follow. The loss l satisfies |l'''| <= a l'' along a
line on which scores differ by at most a, so for every v with |v| <= r the loss of sum_i v_i s_i is at least

    l(F) + l'(F) d + c/2 l''(F) d^2,    d = sum_i v_i s_i - F,    c = 2 (e^-a + a - 1) / a^2

with a the largest |d| that such a v allows. Summed over all rows this is a quadratic function of v, whose maximum over
the ball bounds the regret. Nothing is random, and nothing is assumed about the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RADIUS = 2.0
"""Largest norm of v for which the sums of the core hold."""


@dataclass(frozen=True)
class MixtureSums:
    """Sums that a mixture of E experts keeps.

    Attributes
    ----------
    losses : array of shape (E,)
        Sum of the loss of each expert.
    linear : array of shape (E + 1,)
        Sum of slope times score, of the mixture and of each expert.
    quadratic : array of shape (E + 1, E + 1)
        Sum of c l'' times products of their scores.
    """

    losses: npt.NDArray[np.float64]
    linear: npt.NDArray[np.float64]
    quadratic: npt.NDArray[np.float64]

    @classmethod
    def of(cls, evidence: Sequence[float], experts: int) -> "MixtureSums":
        """From the core's numbers: losses, linear sums, and the lower triangle of the quadratic ones, row by row."""
        numbers = np.asarray(evidence, dtype=np.float64)
        quadratic = np.zeros((experts + 1, experts + 1))
        quadratic[np.tril_indices(experts + 1)] = numbers[2 * experts + 1 :]
        quadratic += np.tril(quadratic, -1).T
        return cls(numbers[:experts], numbers[experts : 2 * experts + 1], quadratic)


def mixture_regret(sums: MixtureSums, norm: float = RADIUS) -> float:
    """Upper bound on the regret against every mixture of the experts whose weights have at most this norm.

    Examples
    --------
    >>> sums = MixtureSums(np.array([3.0]), np.array([0.5, -1.0]), np.array([[2.0, 1.0], [1.0, 1.0]]))
    >>> round(mixture_regret(sums), 3)  # 0.5 + v - (2 - 2 v + v^2) / 2, at v = 2
    1.5
    """
    if not 0 <= norm <= RADIUS:
        raise ValueError(f"norm={norm!r} is out of range: the sums hold for norms from 0 to {RADIUS:g}.")
    values, vectors = np.linalg.eigh(sums.quadratic[1:, 1:])
    values = np.maximum(values, 0.0)
    slope = vectors.T @ (sums.quadratic[1:, 0] - sums.linear[1:])
    floor = 1e-12 * max(float(values[-1]), 1.0)

    def at(shift: float) -> npt.NDArray[np.float64]:
        return np.asarray(slope / (values + shift))

    # The best v is inside the ball, or on its boundary, where v = (H + shift)^-1 slope has that norm. The value is that
    # of the Lagrangian, which is never too small, whatever the shift.
    low, high = floor, floor + float(np.linalg.norm(slope)) / max(norm, 1e-12)
    if np.linalg.norm(at(low)) > norm:
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.linalg.norm(at(middle)) > norm else (low, middle)
    else:
        high = floor
    dual = 0.5 * float(slope @ at(high)) + 0.5 * high * norm**2
    return float(sums.linear[0] - 0.5 * sums.quadratic[0, 0]) + dual
