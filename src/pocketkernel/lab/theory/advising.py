"""The basis of the advice: candidates learn the first part of a stream, each row scored before its label is used.

They do so in 4 KiB to 1 MiB, as do kernels of several widths by themselves; complexities are of the same rows.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pocketkernel.evaluate.task import CLASSIFICATION, REGRESSION, found_task
from pocketkernel.kernels import Gaussian, gaussians
from pocketkernel.lab.theory._trials import FACTORS, Candidate, Width, attempt, typical_distance
from pocketkernel.lab.theory.advice import CLOSE, MEMORIES, Advice, BoundTerms
from pocketkernel.lab.theory.alignment import estimate_alignment
from pocketkernel.lab.theory.competitor import best_in_ball
from pocketkernel.lab.theory.rows import check_rows
from pocketkernel.learners import MOMDS, check_labels
from pocketkernel.memory import parse_bytes
from pocketkernel.stream import Stream, gather, open_stream, permutation
from pocketkernel.stream.block import is_sparse

ROWS = 10_000
FEWEST_ROWS = 100
MOST_MEMORY = 4 << 20
"""More bytes are not tried: the time grows with them."""
NORM_BOUNDS = (1.0, 2.0, 4.0, 8.0, 16.0)
_COMPETITOR_ROWS, _LANDMARKS = 2000, 150
_DENSE_FROM, _MOST_DENSE = 0.25, 1 << 25
_READ_AHEAD = 0.5
_COUNTED = 1 << 28  # bytes of files whose rows are counted
_WIDE = 2000  # columns from which on the complexities, which need dense rows, take too much time and memory


def advise(
    source: Any,
    y: Any = None,
    *,
    memory: int | str | None = None,
    rows: int = ROWS,
    length: int | None = None,
    permute: int | None = None,
    seed: int = 0,
    task: str | None = None,
    **reading: Any,
) -> Advice:
    """Advise on learner and memory, from the first part of a stream.

    PocketClassifier, M-OMD-S in two forms and Raker (of more than two classes the first two) learn the part in 4, 16,
    64, 256 KiB, 1 MiB and `memory`: it takes about ten seconds. What they are expected to do on the rows to come lies
    between two extremes, that they learn nothing more, and that mistakes keep growing as the same power of the rows.
    Nothing is known about a stream that changes, nor about other seeds than the one that was tried.

    Parameters
    ----------
    source : path, glob, list of paths, "-", binary file; or array or sparse matrix of shape (n, d)
        The stream, or rows from its start. Shuffle rows that are sorted by class.
    y : array of shape (n,), default=None
        Labels of the rows, two or more different ones; None if `source` is to be read.
    memory : int or str, default=None
        Bytes that the learner may take, such as 65536 or "64KiB". None: as many as pay, up to 1 MiB.
    rows : int, default=10000
        Rows to try, at least 100. Of LIBSVM files the width is found by a pass over all, unless n_features is given.
    length : int, default=None
        Rows of the whole stream. None: guessed from the bytes of a large file; of rows in memory, all of them if there
        are more than are tried; else twice as many as are tried.
    permute : int, default=None
        Put the rows of a file in random order by this seed at first. They all have to fit in memory.
    seed : int, default=0
        Of the learners and of the sampling.
    task : {"classification"}, default=None
        That labels are classes, even if they have many different values. There is no advice on numbers.
    **reading
        Options of `open_stream`.

    Examples
    --------
    >>> from pocketkernel.lab.streams import rings
    >>> advice = advise(*rings(2000), memory="16KiB")
    >>> advice.chosen.learner, advice.chosen.memory <= 16 * 1024
    ('PocketClassifier', True)
    >>> model = advice.build(random_state=0)
    """
    if rows < FEWEST_ROWS:
        raise ValueError(f"rows={rows} is too small: advice needs at least {FEWEST_ROWS} rows.")
    limit, skipped = None if memory is None else parse_bytes(memory), 0
    if y is None:
        X, y, found, skipped = _first_rows(source, rows, permute, reading)
        length = found if length is None else length
    elif reading or permute is not None:
        raise ValueError(f"{', '.join(reading) or 'permute'}: this applies only to files, but rows were given.")
    else:
        X, y = check_rows(source), check_labels(y)
        if X.shape[0] != len(y):
            raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels: give one label per row.")
        if length is None and len(y) > rows:
            length = len(y)
        X, y = X[:rows], y[:rows]
    labels = _checked(X, y, length, task)
    columns = X.shape[1]
    least = Candidate("PocketClassifier").least(columns, len(labels))
    made = Advice(len(y), columns, len(labels), length, None, least, skipped, (), (), ())
    if limit is not None:
        made = made.limited(limit, memory)
    memories = _memories(limit, least)
    X = _handy(X)
    widths = _try_widths(X, y, labels, length, seed)
    trials = tuple(
        attempt(candidate, bytes_, X, y, length=length, seed=seed)
        for bytes_ in memories
        for candidate in candidates(len(labels), widths)
        if candidate.fits(bytes_, columns, len(labels))
    )
    bounds: tuple[BoundTerms, ...] = ()
    if len(labels) == 2 and columns <= _WIDE:
        bounds = _bounds(X, _signs(y, labels), widths, memories, length or len(y))
    return replace(made, trials=trials, widths=widths, bounds=bounds)


def candidates(classes: int, widths: Sequence[Width]) -> list[Candidate]:
    """What is tried in each memory."""
    fitted = {"kernels": gaussians([width.width for width in widths if width.matters]), "removal": "oldest"}
    if classes > 2:
        return [Candidate("PocketClassifier"), Candidate("MulticlassMOMDS"), Candidate("MulticlassMOMDS", fitted)]
    return [Candidate("PocketClassifier"), Candidate("MOMDS"), Candidate("MOMDS", fitted), Candidate("Raker")]


# ---- what is tried --------------------------------------------------------------------------------------------------


def _first_rows(
    source: Any, rows: int, permute: int | None, reading: dict[str, Any]
) -> tuple[Any, Any, int | None, int]:
    """Rows, labels, about how many there are in all, and how many were left out."""
    stream = open_stream(source, rows=rows + 1 if permute is None else None, **reading)
    blocks, share = [], 0.0
    for block in stream.blocks():
        blocks.append(block)
        share = stream.consumed / stream.size if stream.size else 0.0
    if not blocks:
        raise ValueError(f"{stream.name} has no rows.")
    whole = gather(blocks)
    if whole.y is None:
        raise ValueError("there are no labels: give label=NAME of their column.")
    if permute is not None:
        chosen = whole.take(permutation(len(whole), permute)[:rows])
        return chosen.X, chosen.y, len(whole), stream.skipped.count
    if len(whole) <= rows:
        return whole.X, whole.y, len(whole), stream.skipped.count
    return whole.X[:rows], whole.y[:rows], _length(source, stream, rows, share, reading), stream.skipped.count


def _length(source: Any, stream: Stream, rows: int, share: float, reading: dict[str, Any]) -> int | None:
    """Number of rows of a file that is soon read; of a larger one about how many; None for a pipe."""
    if not stream.live and (stream.size or 0) <= _COUNTED:
        return sum(len(block) for block in open_stream(source, **reading).blocks())
    # Files are read ahead: a guess from a few large pieces would be too low.
    return int(float(f"{rows / share:.2g}")) if 0 < share <= _READ_AHEAD else None


def _checked(X: Any, y: Any, length: int | None, task: str | None) -> Any:
    """The labels, or an error that says what is wrong with the rows."""
    if task not in (None, CLASSIFICATION) or (task is None and found_task(np.asarray(y)) == REGRESSION):
        raise ValueError(
            f"the labels have {len(np.unique(y)):,} different values and are numbers, not classes: there is advice on "
            "classes only. `pocketkernel lab compare` compares learners of numbers; or give task='classification'."
        )
    if len(y) < FEWEST_ROWS:
        raise ValueError(f"there are {len(y)} rows: advice needs at least {FEWEST_ROWS}.")
    if length is not None and length < len(y):
        raise ValueError(f"length={length} is too small: there are {len(y)} rows already.")
    labels = np.unique(y)
    if len(labels) < 2:
        raise ValueError(
            f"the first {len(y):,} rows have only one class, {labels.tolist()[0]!r}: if they are sorted, shuffle "
            "them (a file with permute=SEED), or use more rows."
        )
    return labels


def _memories(limit: int | None, least: int) -> list[int]:
    """Bytes to try: if the smallest of the usual ones have no room for any learner, also the least."""
    some = {memory for memory in MEMORIES if memory >= least}
    if len(some) < len(MEMORIES):
        some.add(least)
    if limit is not None:
        some.add(min(limit, max(MOST_MEMORY, least)))
    return sorted(some)


def _handy(X: Any) -> Any:
    """Rows dense if they are nearly so, which takes less time."""
    full = is_sparse(X) and X.nnz > _DENSE_FROM * X.shape[0] * X.shape[1]
    return X.toarray() if full and X.shape[0] * X.shape[1] <= _MOST_DENSE else X


def _try_widths(X: Any, y: Any, labels: Any, length: int | None, seed: int) -> tuple[Width, ...]:
    """M-OMD-S with one kernel at a time, in 64 KiB, or twice the least that it takes if that is more."""
    distance = typical_distance(X, seed)
    kernels = gaussians([float(f"{factor * distance:.2g}") for factor in FACTORS])
    name = "MOMDS" if len(labels) == 2 else "MulticlassMOMDS"
    some = [Candidate(name, {"kernels": (kernel,)}) for kernel in kernels]
    room = max(1 << 16, 2 * some[0].least(X.shape[1], len(labels)))
    trials = [attempt(candidate, room, X, y, length=length, seed=seed) for candidate in some]
    shares: list[float | None] = [None] * len(kernels)
    if len(labels) == 2 and X.shape[1] <= _WIDE:
        shares = estimate_alignment(X, _signs(y, labels), kernels, seed=seed).value.tolist()
    halves = [int(trial.wrong[len(y) // 2 :].sum()) for trial in trials]
    return tuple(
        Width(kernel.width, trial.rate, trial.low, trial.high, share, made <= (1 + CLOSE) * min(halves))
        for kernel, trial, share, made in zip(kernels, trials, shares, halves, strict=True)
    )


def _signs(y: Any, labels: Any) -> Any:
    return np.where(y == labels[1], 1.0, -1.0)


def _bounds(X: Any, y: Any, widths: Sequence[Width], memories: Sequence[int], T: int) -> tuple[BoundTerms, ...]:
    """Terms of Theorem 3 by memory, with U for the least sum; L by Nyström from the last rows of the part."""
    kernel = Gaussian(min(widths, key=lambda width: width.rate).width)
    X, y = X[-_COMPETITOR_ROWS:], y[-_COMPETITOR_ROWS:]
    losses = {
        U: best_in_ball(
            X, y, kernel, U, "logistic", landmarks=min(_LANDMARKS, len(y)), all_pairs=False, tolerance=1e-3
        ).loss / len(y)
        for U in NORM_BOUNDS
    }  # fmt: skip
    found = []
    for memory in memories:
        if Candidate("MOMDS").fits(memory, X.shape[1], 2):
            B = min(MOMDS.plan(X.shape[1], memory).budget, T)
            terms = [
                BoundTerms(memory, B, U, L, U * L / math.sqrt(B), U * math.sqrt(L / T), U * math.sqrt(B) / T)
                for U, L in losses.items()  # L is per row here
            ]
            found.append(min(terms, key=lambda some: some.total))
    return tuple(found)
