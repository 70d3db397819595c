"""What M-OMD-S saves: the same learner with a buffer for each kernel instead of one for all."""

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch  # type: ignore[import-untyped, unused-ignore]

from pocketkernel import MOMDS, Gaussian
from pocketkernel.kernels import PAPER_KERNELS

Scores = npt.NDArray[np.float64]


class KBuffers:
    """One M-OMD-S for each of the paper's kernels, each with a buffer of its own, mixed as M-OMD-S mixes its kernels.

    Every learner learns at its own score, so it needs nothing of the others; each merges, stores and removes by itself.
    A single kernel would never merge rows (gamma is 0 for K = 1), which would be another difference than the one in
    question. So each learner is run with K copies of its kernel: they stay equal, and gamma is that of K kernels. One
    copy is what would have to be stored, and `nbytes` counts that.

    Parameters
    ----------
    budget : int
        B of each learner, at least 2.
    nbytes : int
        Bytes that K learners of one kernel each take with that budget.
    dtype, random_state, n_jobs, and others
        As in `MOMDS`; learner i has the seed `random_state` + i.
    """

    kernels: ClassVar[tuple[Gaussian, ...]] = PAPER_KERNELS
    K: ClassVar[int] = len(PAPER_KERNELS)

    def __init__(self, *, budget: int, nbytes: int, random_state: int = 0, **parameters: Any) -> None:
        self.budget_ = budget
        self.nbytes = nbytes
        self._learners = [
            MOMDS(kernels=[kernel] * self.K, budget=budget, random_state=random_state + i, **parameters)
            for i, kernel in enumerate(self.kernels)
        ]
        self._costs = [0.0] * self.K
        self._variance = 0.0
        self._weights = [1 / self.K] * self.K
        self._loss = 0.0

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Scores:
        """Score of each row before its label. Parameters as in the learners."""
        each = np.column_stack([learner.predict_then_learn(X, y, classes=classes) for learner in self._learners])
        signs = np.where(np.asarray(y) == self._learners[0].classes_[1], 1.0, -1.0)
        return np.array([self._mix(f, sign) for f, sign in zip(each.tolist(), signs.tolist(), strict=True)])

    def _mix(self, f: list[float], y: float) -> float:
        """Mixed score of the learners' scores f; then the weights learn of the label.

        Eq. updating_sampling_probability, with the costs of M-OMD-S.
        """
        score = sum(p * u for p, u in zip(self._weights, f, strict=True))
        margin = y * score
        self._loss += max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
        slope = -y * 0.5 * (1 - math.tanh(0.5 * margin))  # of ln(1 + exp(-margin)), without overflow
        best = min(f) if slope > 0 else max(f)
        costs = [slope * (u - best) for u in f]
        self._variance += sum(p * c * c for p, c in zip(self._weights, costs, strict=True))
        self._costs = [total + c for total, c in zip(self._costs, costs, strict=True)]
        eta = math.sqrt(2 * math.log(self.K) / (1 + self._variance))
        least = min(self._costs)
        raw = [math.exp(-eta * (total - least)) for total in self._costs]
        self._weights = [r / sum(raw) for r in raw]
        return score

    @property
    def diagnostics_(self) -> Bunch:
        """Cumulative loss of the mixture; additions, proxies, removals over all learners."""
        each = [learner.diagnostics_ for learner in self._learners]
        counts = {name: sum(d[name] for d in each) for name in ("additions", "proxies", "removals")}
        return Bunch(cumulative_loss=self._loss, **counts)
