"""A run of M-OMD-S, M-OMD-H or SharedMOMDH recorded round by round: the quantities in the proofs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import Bunch

from pocketkernel.kernels import Kernel
from pocketkernel.lab.theory.losses import loss_of, loss_values
from pocketkernel.lab.theory.rows import Floats, gram
from pocketkernel.learners import MOMDH, MOMDS, SharedMOMDH, core_of, recipe_of


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
    """A run of M-OMD-S, M-OMD-H or SharedMOMDH, round by round.

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
        Squared gradient errors of a hinge learner, summed up to and with the round; 0 for M-OMD-S.
    norms : array of shape (T, K)
        Norms of the kernels' functions after the round.
    evidence : array of shape (T, n)
        What the bounds of M-OMD-S and SharedMOMDH need besides: see `dual_bound` and `shared_buffer_afterwards`; n is
        0 for M-OMD-H.
    removed : array of shape (T, K)
        Whether the round removed examples.
    removals : tuple of Removal or None
        In order of time; None for SharedMOMDH, whose f before a removal is not recorded.
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
    removed: npt.NDArray[np.bool_]
    removals: tuple[Removal, ...] | None
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
        return np.asarray(np.sum(self.removed, axis=0))


def trace(learner: MOMDS | MOMDH | SharedMOMDH, X: Any, y: Any) -> Trace:
    """Run M-OMD-S, M-OMD-H or SharedMOMDH over a stream, one row at a time, and record the quantities in the proofs.

    Takes O(T K) memory, and as much time as a call for every row does.

    Parameters
    ----------
    learner : MOMDS, MOMDH or SharedMOMDH
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
    if not isinstance(learner, MOMDS | MOMDH | SharedMOMDH):
        raise ValueError(f"{type(learner).__name__} has no parts to trace: use MOMDS, MOMDH or SharedMOMDH.")
    if hasattr(learner, "budget_"):
        raise ValueError("this learner has learned already: trace a new one.")
    X = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    scores = np.empty(len(y))
    scores[:1] = learner.predict_then_learn(X[:1], y[:1], classes=[-1, 1])
    watch = None if isinstance(learner, SharedMOMDH) else _Watch(learner, X)
    K = len(learner.kernel_weights_)
    kernel_scores, weights = np.zeros((len(y), K)), np.full((len(y), K), 1 / K)
    full, removed, errors = (
        np.zeros((len(y), K), dtype=np.bool_),
        np.zeros((len(y), K), np.bool_),
        np.zeros((len(y), K)),
    )
    norms, evidence = np.zeros((len(y), K)), np.zeros((len(y), len(core_of(learner).evidence())))
    now = learner.diagnostics_
    errors[0], norms[0], evidence[0] = now.alignment_proxy, now.norms, core_of(learner).evidence()
    for t in range(1, len(y)):
        kernel_scores[t], weights[t] = learner.kernel_scores(X[t : t + 1])[0], learner.kernel_weights_
        if watch is not None:
            full[t] = watch.before()
        scores[t] = learner.predict_then_learn(X[t : t + 1], y[t : t + 1])[0]
        before, now = now, learner.diagnostics_
        if now.overflowed:
            raise ValueError(f"the archive is full after {t} rows: give the learner a larger horizon.")
        removed[t] = now.kernel_removals > before.kernel_removals
        if watch is not None:
            watch.after(t, y[t], now)
        errors[t], norms[t], evidence[t] = now.alignment_proxy, now.norms, core_of(learner).evidence()
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
        removed=removed,
        removals=None if watch is None else tuple(watch.removals),
        norm_bound=recipe_of(learner).norm_bound,
    )


class _Watch:
    """Tracks which rows a learner has stored, from its counters, and records the effect of removals.

    Lazy removals happen before a row is added, so f before a removal is f before the round. Eager ones happen in the
    round that fills the buffer: a learner that removes lazily repeats that round, and has f before the removal.
    """

    def __init__(self, learner: MOMDS | MOMDH, X: Floats):
        self.learner, self.X = learner, X
        self.kernels: tuple[Kernel, ...] = recipe_of(learner).kernels
        self.removals: list[Removal] = []
        done = learner.diagnostics_
        self.stored = [[0] * int(added) for added in done.kernel_additions]
        self.archive = [0] * int(done.archived)
        self.counts = done
        self.coefficients: dict[int, Floats] = {}
        self.eager = learner.removal == "eager"
        self.state = b""
        if self.eager:
            self.lazy = clone(learner).set_params(removal="half").partial_fit(X[:1], [1], classes=[-1, 1])

    def before(self) -> npt.NDArray[np.bool_]:
        """Record what a removal in this round needs; return which kernels' buffers are full."""
        sizes = np.array([len(rows) for rows in self.stored])
        full = np.asarray(sizes == self.learner.budget_)
        if self.eager:
            self.state = core_of(self.learner).save() if sizes.max() == self.learner.budget_ - 1 else b""
        else:
            self.coefficients = {i: self.learner.coefficients(i) for i in np.flatnonzero(full).tolist()}
        return full

    def after(self, t: int, y: float, now: Bunch) -> None:
        """Record the removals of the round, and where its row is stored."""
        removed = np.flatnonzero(now.kernel_removals > self.counts.kernel_removals).tolist()
        if self.eager and removed:
            self._repeat(t, y, removed)
            self._add(t, now)
        for i in removed:
            rows = self.stored[i]
            kept = self._kept(len(rows))
            self.removals.append(self._removal(t, i, kept))
            rows[:] = [row for row, stays in zip(rows, kept, strict=True) if stays]
        if not (self.eager and removed):
            self._add(t, now)
        self.counts = now

    def _add(self, t: int, now: Bunch) -> None:
        """Note where row t is stored."""
        for i, rows in enumerate(self.stored):
            if now.kernel_additions[i] > self.counts.kernel_additions[i]:
                rows.append(t)
        if now.archived > self.counts.archived:
            self.archive.append(t)

    def _repeat(self, t: int, y: float, kernels: list[int]) -> None:
        """Record the coefficients that the round makes before it removes any."""
        core = core_of(self.lazy)
        # The first 16 bytes of a state name the configuration, of which the way of removal is a part.
        if core.load(core.save()[:16] + self.state[16:]) != 0:
            raise RuntimeError("the state of a learner with eager removal was refused by one with lazy removal")
        self.lazy.partial_fit(self.X[t : t + 1], [y])
        self.coefficients = {i: self.lazy.coefficients(i) for i in kernels}

    def _kept(self, size: int) -> npt.NDArray[np.bool_]:
        """Which examples of a full buffer stay."""
        place = np.arange(size)
        if self.learner.removal == "oldest":
            return place >= 1
        left = 0 if self.learner.removal == "restart" else size - size // 2
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
