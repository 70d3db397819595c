"""A run of M-OMD-S or M-OMD-H recorded round by round: the quantities in the paper's proofs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.kernels import Kernel
from pocketkernel.lab.theory.losses import loss_of, loss_values
from pocketkernel.lab.theory.rows import Floats, gram
from pocketkernel.learners import MOMDH, MOMDS, core_of, recipe_of


@dataclass(frozen=True, eq=False)
class Removal:
    """What a removal of one kernel's examples does: f before it, and the projected rest of it, as expansions.

    Attributes
    ----------
    round : int
        t, from 0.
    kernel : int
        i.
    places : array of int
        Rows of the stream that f was an expansion over.
    before, after : array of float
        Coefficients on them of f'_{t-1,i} (of f_{t,i} in M-OMD-S) and of its projected rest.
    norms2 : tuple of float
        Squared norms of both.
    """

    round: int
    kernel: int
    places: npt.NDArray[np.int64]
    before: Floats
    after: Floats
    norms2: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Trace:
    """A run of M-OMD-S or M-OMD-H, round by round.

    Attributes
    ----------
    loss : str
        What the learner minimises.
    y : array of shape (T,)
        Labels.
    scores : array of shape (T,)
        f_t(x_t).
    kernel_scores, weights : array of shape (T, K)
        f_{t,i}(x_t) and p_{t,i}.
    full : array of shape (T, K)
        Whether the round began with a full buffer.
    errors : array of shape (T, K)
        Squared gradient errors of M-OMD-H, summed up to and with the round; 0 for M-OMD-S.
    norms : array of shape (T, K)
        Norms of the kernels' functions after the round.
    evidence : array of shape (T, n)
        What the dual bound of M-OMD-S needs besides: see `dual_bound`; n is 0 for M-OMD-H.
    removals : tuple of Removal
        In order of time.
    norm_bound : float
        U.
    """

    loss: str
    y: Floats
    scores: Floats
    kernel_scores: Floats
    weights: Floats
    full: npt.NDArray[np.bool_]
    errors: Floats
    norms: Floats
    evidence: Floats
    removals: tuple[Removal, ...]
    norm_bound: float

    @property
    def own_loss(self) -> float:
        """Sum of the learner's losses."""
        return float(loss_values(self.loss, self.scores, self.y).sum())

    @property
    def full_rounds(self) -> npt.NDArray[np.int64]:
        """For each kernel, rounds with a loss of its own that begin with a full buffer: of Theorem 1."""
        return np.asarray(np.sum(self.hurt_while_full, axis=0))

    @property
    def hurt_while_full(self) -> npt.NDArray[np.bool_]:
        """The same, round by round."""
        hurt = self.y[:, None] * self.kernel_scores < 1 if self.loss == "hinge" else True
        return np.asarray(self.full & hurt)

    @property
    def removal_counts(self) -> npt.NDArray[np.int64]:
        """|J_i|."""
        return np.bincount([removal.kernel for removal in self.removals], minlength=self.weights.shape[1])


def trace(learner: MOMDS | MOMDH, X: Any, y: Any) -> Trace:
    """Run M-OMD-S or M-OMD-H over a stream, one row at a time, and record the quantities in the proofs.

    Takes O(T K) memory, and as much time as a call for every row does.

    Parameters
    ----------
    learner : MOMDS or MOMDH
        One that has not learned yet.
    X : array or sparse matrix of shape (T, d)
        The stream.
    y : array of shape (T,)
        Labels -1 and 1.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> from pocketkernel.stream import known_kernel
    >>> X, y = known_kernel(500)
    >>> run = trace(MOMDS(budget=20, random_state=0), X, y)
    >>> bool(np.allclose(np.sum(run.weights * run.kernel_scores, axis=1), run.scores))
    True
    """
    if not isinstance(learner, MOMDS | MOMDH):
        raise ValueError(f"{type(learner).__name__} has no parts to trace: use MOMDS or MOMDH.")
    if learner.removal == "eager":
        raise ValueError("removal='eager' cannot be traced, as rows leave in the round in which they came: use 'half'.")
    if hasattr(learner, "budget_"):
        raise ValueError("this learner has learned already: trace a new one.")
    X = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    scores = np.empty(len(y))
    scores[:1] = learner.predict_then_learn(X[:1], y[:1], classes=[-1, 1])
    watch = _Watch(learner, X)
    K = len(learner.kernel_weights_)
    kernel_scores, weights = np.zeros((len(y), K)), np.full((len(y), K), 1 / K)
    full, errors = np.zeros((len(y), K), dtype=np.bool_), np.zeros((len(y), K))
    errors[0] = watch.counts.alignment_proxy
    norms, evidence = np.zeros((len(y), K)), np.zeros((len(y), len(core_of(learner).evidence())))
    norms[0], evidence[0] = watch.counts.norms, core_of(learner).evidence()
    for t in range(1, len(y)):
        kernel_scores[t], weights[t] = learner.kernel_scores(X[t : t + 1])[0], learner.kernel_weights_
        full[t] = watch.before()
        scores[t] = learner.predict_then_learn(X[t : t + 1], y[t : t + 1])[0]
        watch.after(t)
        errors[t], norms[t] = watch.counts.alignment_proxy, watch.counts.norms
        evidence[t] = core_of(learner).evidence()
    return Trace(
        loss=loss_of(learner),
        y=y,
        scores=scores,
        kernel_scores=kernel_scores,
        weights=weights,
        full=full,
        errors=errors,
        norms=norms,
        evidence=evidence,
        removals=tuple(watch.removals),
        norm_bound=recipe_of(learner).norm_bound,
    )


class _Watch:
    """Tracks which rows a learner has stored, from its counters, and records the effect of removals."""

    def __init__(self, learner: MOMDS | MOMDH, X: Floats):
        self.learner, self.X = learner, X
        self.kernels: tuple[Kernel, ...] = recipe_of(learner).kernels
        self.removals: list[Removal] = []
        done = learner.diagnostics_
        self.stored = [[0] * int(added) for added in done.kernel_additions]
        self.archive = [0] * int(done.archived)
        self.counts = done
        self.coefficients: dict[int, Floats] = {}

    def before(self) -> npt.NDArray[np.bool_]:
        """Record the coefficients of kernels whose buffer is full; return which are full."""
        full = np.array([len(rows) == self.learner.budget_ for rows in self.stored])
        self.coefficients = {i: self.learner.coefficients(i) for i in np.flatnonzero(full).tolist()}
        return full

    def after(self, t: int) -> None:
        now = self.learner.diagnostics_
        if now.overflowed:
            raise ValueError(f"the archive is full after {t} rows: give the learner a larger horizon.")
        for i, rows in enumerate(self.stored):
            if now.kernel_removals[i] > self.counts.kernel_removals[i]:
                kept = self._kept(len(rows))
                self.removals.append(self._removal(t, i, kept))
                rows[:] = [row for row, stays in zip(rows, kept, strict=True) if stays]
            if now.kernel_additions[i] > self.counts.kernel_additions[i]:
                rows.append(t)
        if now.archived > self.counts.archived:
            self.archive.append(t)
        self.counts = now

    def _kept(self, size: int) -> npt.NDArray[np.bool_]:
        """Which examples of a full buffer stay."""
        place = np.arange(size)
        if self.learner.removal == "oldest":
            return place >= 1
        left = size - (size // 2 if self.learner.removal == "half" else size)
        return place < left if isinstance(self.learner, MOMDH) else place >= size - left

    def _removal(self, t: int, i: int, kept: npt.NDArray[np.bool_]) -> Removal:
        before = self.coefficients[i]
        places = np.array([*self.stored[i], *(self.archive if len(before) > len(kept) else ())])
        rest = before.copy()
        rest[: len(kept)][~kept] = 0.0
        K = gram(self.X[places], self.X[places], self.kernels[i])
        norm2 = float(rest @ K @ rest)
        shrunk = min(1.0, recipe_of(self.learner).norm_bound / max(np.sqrt(max(norm2, 0.0)), 1e-300))
        norms2 = float(before @ K @ before), shrunk**2 * norm2
        return Removal(t, i, places, before, shrunk * rest, norms2)
