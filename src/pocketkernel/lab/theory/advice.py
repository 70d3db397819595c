"""Advice: which learner to use for a stream, with how much memory, and how certain that is.

It is the smallest memory that is surely about as good as the best, and the learner that does best in it. Beside it
stand the terms of Theorem 3's bound for M-OMD-S, U L/sqrt(B) + U sqrt(L) + U sqrt(B), with the complexity L measured on
the same rows: memory helps as long as the first is the largest. What it rests on is tried in `advising`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from pocketkernel.lab.theory._trials import Candidate, Trial, Width, confidence_within
from pocketkernel.memory import parse_bytes

MEMORIES = tuple(1 << power for power in (12, 14, 16, 18, 20))
"""Bytes that are tried: 4, 16, 64, 256 KiB and 1 MiB."""
NEAR = 0.05
"""The fraction of additional mistakes that is accepted for less memory."""
CLOSE = 0.1
"""What "about the best" means in `confidence`, and in which widths matter."""
SURE, FAIRLY_SURE, LIKELY = 0.99, 0.9, 0.5


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
        Number of rows that could not be read and were skipped.
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
        """The recommended trial: the best learner in the smallest memory that is almost as good as the best.

        That is, it makes at most 5 % more mistakes if nothing more is learned, and is sure not to make 10 % more even
        if larger memories keep learning. If this is sure of none, then it is the largest memory of those that are
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
    def whole(self) -> bool:
        """Whether all rows of the stream were tried, so that nothing is left to expect."""
        return self.length == self.rows

    def rate_of(self, trial: Trial) -> float:
        """Share of mistakes: on all rows if all were tried, else what is expected of the remaining ones."""
        return trial.mistakes / self.rows if self.whole else trial.rate

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
        """The recommendation, its expected mistake rate, and how certain it is."""
        chosen = self.chosen
        use = f"Use {_call(chosen)}:"
        if self.whole:
            made = f"{chosen.mistakes:,} mistakes on all {self.rows:,} rows"
            return f"{use} it made {made} ({_percent(chosen.mistakes / self.rows)}); {self._more()}."
        expected = f"{_percent(chosen.rate)} mistakes, {_percent(chosen.low)} to {_percent(chosen.high)}"
        chance = "over 99 %" if self.confidence > SURE else f"{100 * self.confidence:.0f} %"
        sure = f"{self.sure.capitalize()} ({chance})" if self.confidence > LIKELY else "Not sure"
        return (
            f"{use} on the remaining rows expect {expected}; {self._more()}. {sure} that "
            "nothing else that was tried is 10 % better, if the stream does not change."
        )

    def within(self, memory: int | str) -> "Advice":
        """The same advice for another limit, from the same trials."""
        return self.limited(parse_bytes(memory), memory)

    def limited(self, limit: int, asked: Any) -> "Advice":
        """The same for a limit that was asked for in these words."""
        if limit < self.least:
            raise ValueError(
                f"memory={asked!r} is too small: for {self.columns:,} columns and {self.classes} classes the smallest "
                f"learner takes {self.least:,} bytes."
            )
        return replace(self, limit=limit)

    def build(self, random_state: Any = None) -> Any:
        """The recommended learner, untrained."""
        chosen = self.chosen
        return Candidate(chosen.learner, chosen.parameters).build(chosen.memory, random_state)

    @property
    def options(self) -> list[str]:
        """Options of `pocketkernel run` for the recommended learner."""
        chosen = self.chosen
        some = ["--learner", chosen.learner.lower(), "--memory", str(chosen.memory)]
        for name, value in chosen.parameters.items():
            widths = ",".join(f"{kernel.width:g}" for kernel in value) if name == "kernels" else ""
            some += ["--kernels", widths] if name == "kernels" else ["--set", f"{name}={value}"]
        return some

    def to_dict(self) -> dict[str, Any]:
        """All fields, in a form that JSON can represent."""
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
        ends = () if self.whole else ("from", "to")
        lines: list[tuple[str, ...]] = [
            ("memory", "learner", "stores", "mistakes" if self.whole else "expected", *ends)
        ]
        lines += [
            (in_units(m), f"does not fit: at least {self.least:,} bytes are needed", *["", "", *["" for _ in ends]])
            for m in self._too_small
        ]
        for trial in self._best_by_memory(self.trials):
            shares = map(_percent, (self.rate_of(trial), *((trial.low, trial.high) if ends else ())))
            lines.append((in_units(trial.memory), trial.learner, f"{trial.budget:,}", *shares))
        sizes = [max(len(line[place]) for line in lines if line[2] or not place) for place in range(len(lines[0]))]
        made = [
            f"{line[0]:>{sizes[0]}}  {line[1]:<{sizes[1]}}  " + "  ".join(map(str.rjust, line[2:], sizes[2:]))
            for line in lines
        ]
        of = "" if self.length in (None, self.rows) else f" of {self.length:,}"
        title = f"{self.rows:,} rows{of}, {self.columns:,} columns, {self.classes} classes"
        title += f"; {self.skipped:,} rows could not be read and were skipped" if self.skipped else ""
        title += "; mistakes on all of them" if self.whole else "; mistakes expected on the remaining rows"
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
        if self.whole:
            return 1.0
        return confidence_within(trial, [other for other in self._allowed if other is not trial], CLOSE)

    def _best_by_memory(self, trials: Sequence[Trial]) -> list[Trial]:
        memories = sorted({trial.memory for trial in trials})
        return [min((trial for trial in trials if trial.memory == memory), key=self._at_worst) for memory in memories]

    def _more(self) -> str:
        if self.chosen.memory == max(trial.memory for trial in self.trials):
            return f"more than {in_units(self.chosen.memory)} was not tried"
        if self.gain <= NEAR:
            return "more memory would barely help"
        return f"more memory would help: {self._best_of_more()} is expected to make {100 * self.gain:.0f} % fewer"

    def _best_of_more(self) -> str:
        larger = (trial for trial in self.trials if trial.memory > self.chosen.memory)
        return in_units(min(larger, key=self._at_worst).memory)


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
