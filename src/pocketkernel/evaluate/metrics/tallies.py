"""Counters that a pass over a stream adds to: bounded in size, saved and restored to the last bit."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel.model_file import ModelFileError

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


MOST_ROWS, MOST_SUM = 2**53, 1e200
"""Of what a file may hold: nothing that a pass counts comes near."""


class Tallies:
    """Some arrays of int64 or float64 whose shapes never change.

    A subclass names them (`_names`) and sets them in its constructor. Everything that it knows is in them.
    """

    _names: tuple[str, ...] = ()

    def state(self) -> dict[str, Array]:
        """Copies of the arrays, by name."""
        return {name: getattr(self, name).copy() for name in self._names}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over the arrays of a state. ModelFileError if one is missing, unknown or of another shape or type."""
        if state.keys() != set(self._names):
            raise ModelFileError(f"metrics are {sorted(state)}, not {sorted(self._names)}.")
        for name in self._names:
            mine, other = getattr(self, name), state[name]
            if other.dtype != mine.dtype or other.shape != mine.shape:
                raise ModelFileError(f"metrics.{name} has the wrong shape or type.")
            if not np.all(np.isfinite(other)):
                raise ModelFileError(f"metrics.{name} is impossible: not all of its numbers are finite.")
            if not np.all(np.abs(other) <= (MOST_ROWS if other.dtype == np.int64 else MOST_SUM)):
                raise ModelFileError(f"metrics.{name} is impossible: its numbers are too large.")
            setattr(self, name, other.copy())
        if not self.valid():
            raise ModelFileError(f"metrics of {type(self).__name__} are impossible: they contradict each other.")

    def valid(self) -> bool:
        """Whether a pass can lead to such arrays, as far as that can be told."""
        return True

    def add(self, other: Any) -> None:
        """Add the arrays of another pass to these."""
        for name in self._names:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def all_states(parts: Mapping[str, Tallies]) -> dict[str, Array]:
    """The states of several tallies in one, each name with its part's before it."""
    return {f"{key}.{name}": array for key, part in parts.items() for name, array in part.state().items()}


def restore_all(parts: Mapping[str, Tallies], state: Mapping[str, Array]) -> None:
    """Restore several tallies from what `all_states` gave."""
    for name in state:
        if name.partition(".")[0] not in parts:
            raise ModelFileError(f"metrics.{name} is unknown.")
    for key, part in parts.items():
        before = f"{key}."
        part.restore({name.removeprefix(before): array for name, array in state.items() if name.startswith(before)})


def ratio(part: float, whole: float) -> float | None:
    """A share, or None of nothing."""
    return float(part) / float(whole) if whole else None


def mean_of(numbers: Iterable[float | None]) -> float | None:
    """The mean of the numbers that there are, or None."""
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None
