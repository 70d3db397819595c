"""Advice from the first part of a stream: which learner, in how much memory, and how sure that is.

Candidates learn the part, each row answered before its label, in 4 KiB to 1 MiB. The advice is the smallest memory that
is surely about as good as the best, and the learner that does best in it. Beside it stand the terms of Theorem 3's
bound for M-OMD-S, U L/sqrt(B) + U sqrt(L) + U sqrt(B), with the complexity L measured on the same rows: memory helps as
long as the first is the largest.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pocketkernel.kernels import Gaussian, gaussians
from pocketkernel.lab.theory._trials import (
    FACTORS,
    Candidate,
    Trial,
    Width,
    attempt,
    confidence_within,
    typical_distance,
)
from pocketkernel.lab.theory.alignment import estimate_alignment
from pocketkernel.lab.theory.competitor import best_in_ball
from pocketkernel.lab.theory.rows import check_rows
from pocketkernel.learners import MOMDS, check_labels
from pocketkernel.memory import parse_bytes
from pocketkernel.stream import gather, open_stream, permutation
from pocketkernel.stream.block import is_sparse

ROWS = 10_000
FEWEST_ROWS = 100
MEMORIES = tuple(1 << power for power in (12, 14, 16, 18, 20))
"""Bytes that are tried: 4, 16, 64, 256 KiB and 1 MiB."""
MOST_MEMORY = 4 << 20
"""More bytes are not tried: the time grows with them."""
NEAR = 0.05
"""So many more mistakes are taken for less memory."""
CLOSE = 0.1
"""What "about the best" means in `confidence`, and in which widths matter."""
SURE, FAIRLY_SURE, LIKELY = 0.99, 0.9, 0.5

NORM_BOUNDS = (1.0, 2.0, 4.0, 8.0, 16.0)
_COMPETITOR_ROWS, _LANDMARKS = 2000, 150
_DENSE_FROM, _MOST_DENSE = 0.25, 1 << 25
_READ_AHEAD = 0.5
_WIDE = 2000  # columns from which on the complexities, which need dense rows, take too much time and memory


@dataclass(frozen=True)
class BoundTerms:
    """The bound of Theorem 3 for M-OMD-S in some memory, without its constants, per row.

    Attributes
    ----------
    memory, budget : int
        Bytes, and B, the rows that M-OMD-S stores in them.
    norm_bound : float
        U for which the sum of all is least, of 1, 2, 4, 8, 16.
    least_loss : float
        L/T, of the best function of norm at most U of the width that does best by itself.
    from_memory, from_loss, from_start : float
        U L/sqrt(B), U sqrt(L) and U sqrt(B), divided by T. More memory makes the first smaller and the last larger.
    """

    memory: int
    budget: int
    norm_bound: float
    least_loss: float
    from_memory: float
    from_loss: float
    from_start: float

    @property
    def total(self) -> float:
        """Sum of loss and terms."""
        return self.least_loss + self.from_memory + self.from_loss + self.from_start


@dataclass(frozen=True, repr=False, eq=False)
class Advice:
    """What to use for a stream, and what it rests on; printed, it is a short table and a sentence.

    Attributes
    ----------
    rows, columns, classes : int
        Of the part that was tried.
    length : int or None
        Rows of the whole stream, if something is known about it.
    limit : int or None
        Bytes that were allowed.
    least : int
        Bytes of the smallest learner for such rows.
    skipped : int
        Rows that could not be read and were left out.
    trials : tuple of Trial
        All candidates in all memories.
    widths : tuple of Width
        Kernels by themselves.
    bounds : tuple of BoundTerms
        By memory; empty if there are more than two classes or 2,000 columns.
    """

    rows: int
    columns: int
    classes: int
    length: int | None
    limit: int | None
    least: int
    skipped: int
    trials: tuple[Trial, ...] = field(repr=False)
    widths: tuple[Width, ...]
    bounds: tuple[BoundTerms, ...]

    @cached_property
    def chosen(self) -> Trial:
        """What to use: the best learner in the smallest memory that is surely about as good as the best.

        That is, it makes at most 5 % more mistakes if nothing more is learned, and is sure not to make 10 % more even
        if larger memories go on learning. If this is sure of none, then it is the largest memory of those that are
        within 5 %: in doubt, more memory.
        """
        allowed = self._best_by_memory(self._allowed)
        most = (1 + NEAR) * min(map(self._at_worst, allowed))
        near = [trial for trial in allowed if self._at_worst(trial) <= most]
        return next((trial for trial in near if self._confidence(trial) >= SURE), near[-1])

    @cached_property
    def confidence(self) -> float:
        """Least chance that nothing else that was tried makes under 1/1.1 of its mistakes, if the stream goes on so.

        Larger memories are supposed to go on learning as they are expected to, and the chosen one is not: on a long
        stream this is often far from sure.
        """
        return self._confidence(self.chosen)

    @property
    def sure(self) -> str:
        """The confidence in words."""
        if self.confidence >= SURE:
            return "sure"
        return "fairly sure" if self.confidence >= FAIRLY_SURE else "not sure"

    @property
    def table(self) -> list[dict[str, Any]]:
        """The best learner in each memory: memory, learner, budget, mistakes, rate, low, high."""
        return [trial.to_dict() for trial in self._best_by_memory(self.trials)]

    @property
    def gain(self) -> float:
        """Share of the chosen one's mistakes that the best of the larger memories would save; 0 if none would."""
        larger = [trial for trial in self.trials if trial.memory > self.chosen.memory]
        now = self._at_worst(self.chosen)
        if not larger or not now:
            return 0.0
        return max(0.0, 1 - min(map(self._at_worst, larger)) / now)

    @property
    def sentence(self) -> str:
        """What to do, what to expect of it, and how sure that is."""
        chosen = self.chosen
        use = f"Use {_call(chosen)}:"
        if self.length == self.rows:
            made = f"{chosen.mistakes:,} mistakes on all {self.rows:,} rows"
            return f"{use} it made {made} ({_percent(chosen.mistakes / self.rows)}); {self._more()}."
        expected = f"{_percent(chosen.rate)} mistakes, {_percent(chosen.low)} to {_percent(chosen.high)}"
        chance = "over 99 %" if self.confidence > SURE else f"{100 * self.confidence:.0f} %"
        sure = f"{self.sure.capitalize()} ({chance})" if self.confidence > LIKELY else "Not sure"
        return (
            f"{use} on the rows to come expect {expected}; {self._more()}. {sure} that "
            "nothing else that was tried is 10 % better, if the stream goes on as it began."
        )

    def within(self, memory: int | str) -> "Advice":
        """The same advice for another limit, from the same trials."""
        return _limited(self, parse_bytes(memory), memory)

    def build(self, random_state: Any = None) -> Any:
        """The learner to use, which has learned nothing yet."""
        chosen = self.chosen
        return Candidate(chosen.learner, chosen.parameters).build(chosen.memory, random_state)

    @property
    def options(self) -> list[str]:
        """Options of `pocketkernel run` that stand for the learner to use."""
        chosen = self.chosen
        some = ["--learner", chosen.learner.lower(), "--memory", str(chosen.memory)]
        for name, value in chosen.parameters.items():
            widths = ",".join(f"{kernel.width:g}" for kernel in value) if name == "kernels" else ""
            some += ["--kernels", widths] if name == "kernels" else ["--set", f"{name}={value}"]
        return some

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            "rows": self.rows,
            "columns": self.columns,
            "classes": self.classes,
            "length": self.length,
            "limit": self.limit,
            "least_memory": self.least,
            "skipped": self.skipped,
            "chosen": self.chosen.to_dict(),
            "confidence": self.confidence,
            "sure": self.sure,
            "gain_of_more_memory": self.gain,
            "sentence": self.sentence,
            "table": self.table,
            "trials": [trial.to_dict() for trial in self.trials],
            "widths": [asdict(width) for width in self.widths],
            "bounds": [asdict(terms) for terms in self.bounds],
        }

    def __repr__(self) -> str:
        lines: list[tuple[str, ...]] = [("memory", "learner", "stores", "mistakes", "from", "to")]
        lines += [
            (in_units(m), f"does not fit: {self.least:,} bytes are the least", *4 * [""]) for m in self._too_small
        ]
        for trial in self._best_by_memory(self.trials):
            shares = map(_percent, (trial.rate, trial.low, trial.high))
            lines.append((in_units(trial.memory), trial.learner, f"{trial.budget:,}", *shares))
        sizes = [max(len(line[place]) for line in lines if line[2] or not place) for place in range(6)]
        made = [
            f"{line[0]:>{sizes[0]}}  {line[1]:<{sizes[1]}}  " + "  ".join(map(str.rjust, line[2:], sizes[2:]))
            for line in lines
        ]
        of = "" if self.length in (None, self.rows) else f" of {self.length:,}"
        title = f"{self.rows:,} rows{of}, {self.columns:,} columns, {self.classes} classes"
        title += f"; {self.skipped:,} rows cannot be read and were left out" if self.skipped else ""
        return "\n".join([title, *(line.rstrip() for line in made), *self.remarks, self.sentence])

    @property
    def remarks(self) -> list[str]:
        """A line on the widths, and one on the bound."""
        some = ", ".join(f"{width.width:g}" for width in self.widths if width.matters)
        remarks = [f"widths that matter: {some} (of {', '.join(f'{width.width:g}' for width in self.widths)})"]
        if self.bounds:
            here = min(self.bounds, key=lambda terms: (terms.memory < self.chosen.memory, terms.memory))
            remarks.append(
                f"bound of M-OMD-S in {in_units(here.memory)} (B = {here.budget:,}, U = {here.norm_bound:g}), per row: "
                f"L {here.least_loss:.2g} + U L/sqrt(B) {here.from_memory:.2g} + U sqrt(L) {here.from_loss:.2g} + "
                f"U sqrt(B) {here.from_start:.2g}"
            )
            last = self.bounds[-1]
            if last is not here:
                less = 1 - last.total / here.total
                remarks[-1] += f"; {100 * less:.0f} % less in {in_units(last.memory)}"
        return remarks

    # ---- parts ------------------------------------------------------------------------------------------------------

    @property
    def _allowed(self) -> list[Trial]:
        return [trial for trial in self.trials if self.limit is None or trial.memory <= self.limit]

    @property
    def _too_small(self) -> list[int]:
        return [memory for memory in MEMORIES if memory < self.least]

    def _at_worst(self, trial: Trial) -> float:
        return trial.at_worst(self.length)

    def _confidence(self, trial: Trial) -> float:
        if self.length == self.rows:
            return 1.0  # these are all rows
        return confidence_within(trial, [other for other in self._allowed if other is not trial], CLOSE)

    def _best_by_memory(self, trials: Sequence[Trial]) -> list[Trial]:
        memories = sorted({trial.memory for trial in trials})
        return [min((trial for trial in trials if trial.memory == memory), key=self._at_worst) for memory in memories]

    def _more(self) -> str:
        if self.chosen.memory == max(trial.memory for trial in self.trials):
            return f"more than {in_units(self.chosen.memory)} was not tried"
        if self.gain <= NEAR:
            return "more memory would hardly help"
        return f"more memory would help: {self._best_of_more()} is expected to make {100 * self.gain:.0f} % fewer"

    def _best_of_more(self) -> str:
        larger = (trial for trial in self.trials if trial.memory > self.chosen.memory)
        return in_units(min(larger, key=self._at_worst).memory)


def advise(
    source: Any,
    y: Any = None,
    *,
    memory: int | str | None = None,
    rows: int = ROWS,
    length: int | None = None,
    permute: int | None = None,
    seed: int = 0,
    **reading: Any,
) -> Advice:
    """Advise on learner and memory, from the first part of a stream.

    PocketClassifier, M-OMD-S in two forms and Raker (of more than two classes the first two) learn the part in 4, 16,
    64, 256 KiB, 1 MiB and `memory`: it takes about ten seconds. What they are expected to do on the rows to come lies
    between two extremes, that they learn nothing more, and that mistakes go on growing as the same power of the rows.
    Nothing is known about a stream that changes, nor about other seeds than the one that was tried.

    Parameters
    ----------
    source : path, glob, list of paths, "-", binary file; or array or sparse matrix of shape (n, d)
        The stream, or rows from its beginning. Rows sorted by class tell nothing: shuffle them.
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
    **reading
        Options of `open_stream`.

    Examples
    --------
    >>> from pocketkernel.stream import rings
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
        raise ValueError(f"{', '.join(reading) or 'permute'}: this is for files, and rows were given.")
    else:
        X, y = check_rows(source), check_labels(y)
        if X.shape[0] != len(y):
            raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels: give one label per row.")
        if length is None and len(y) > rows:
            length = len(y)
        X, y = X[:rows], y[:rows]
    labels = _checked(X, y, length)
    columns = X.shape[1]
    least = Candidate("PocketClassifier").least(columns, len(labels))
    made = Advice(len(y), columns, len(labels), length, None, least, skipped, (), (), ())
    if limit is not None:
        _check_limit(made, limit, memory)
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
    made = replace(made, trials=trials, widths=widths, bounds=bounds)
    return made if limit is None else _limited(made, limit, memory)


def candidates(classes: int, widths: Sequence[Width]) -> list[Candidate]:
    """What is tried in each memory."""
    fitted = {"kernels": gaussians([width.width for width in widths if width.matters]), "removal": "oldest"}
    if classes > 2:
        return [Candidate("PocketClassifier"), Candidate("MulticlassMOMDS"), Candidate("MulticlassMOMDS", fitted)]
    return [Candidate("PocketClassifier"), Candidate("MOMDS"), Candidate("MOMDS", fitted), Candidate("Raker")]


def in_units(memory: int) -> str:
    """Bytes as people write them.

    Examples
    --------
    >>> in_units(65536), in_units(1 << 20), in_units(5000)
    ('64 KiB', '1 MiB', '5,000 B')
    """
    for power, unit in ((20, "MiB"), (10, "KiB")):
        if memory >= 1 << power and memory % (1 << power) == 0:
            return f"{memory >> power:,} {unit}"
    return f"{memory:,} B"


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
    # Files are read ahead: a guess from a few large pieces would be too low.
    about = float(f"{rows / share:.2g}") if 0 < share <= _READ_AHEAD else None
    return whole.X[:rows], whole.y[:rows], None if about is None else int(about), stream.skipped.count


def _checked(X: Any, y: Any, length: int | None) -> Any:
    """The labels, or an error that says what is wrong with the rows."""
    if len(y) < FEWEST_ROWS:
        raise ValueError(f"there are {len(y)} rows: advice needs at least {FEWEST_ROWS}.")
    if length is not None and length < len(y):
        raise ValueError(f"length={length} is too small: there are {len(y)} rows already.")
    labels = np.unique(y)
    if len(labels) < 2:
        raise ValueError(
            f"the first {len(y):,} rows have only one class, {labels.tolist()[0]!r}: if they are sorted, shuffle "
            "them, a file by permute=SEED; or take more."
        )
    return labels


def _check_limit(made: Advice, limit: int, asked: Any) -> None:
    if limit < made.least:
        raise ValueError(
            f"memory={asked!r} is too small: for {made.columns:,} columns and {made.classes} classes the smallest "
            f"learner takes {made.least:,} bytes."
        )


def _limited(made: Advice, limit: int, asked: Any) -> Advice:
    _check_limit(made, limit, asked)
    return replace(made, limit=limit)


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


# ---- words ----------------------------------------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _call(trial: Trial) -> str:
    """The learner as it is written in Python."""
    parameters = {
        "memory": f'"{in_units(trial.memory).replace(" ", "")}"' if trial.memory % 1024 == 0 else trial.memory
    }
    parameters |= {
        name: f"gaussians({[kernel.width for kernel in value]})" if name == "kernels" else f'"{value}"'
        for name, value in trial.parameters.items()
    }
    return f"{trial.learner}({', '.join(f'{name}={value}' for name, value in parameters.items())})"
