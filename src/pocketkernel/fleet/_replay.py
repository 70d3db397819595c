"""Models that come back from a store: stored states, and what happened since, once more."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pocketkernel import _core, learners
from pocketkernel.fleet._changes import (
    CLOSE,
    LOAD,
    OPEN,
    Read,
    States,
    invalid,
    pieces_in,
    read_lesson,
    read_moves,
)
from pocketkernel.fleet._keys import Key, column_of
from pocketkernel.fleet._models import Models
from pocketkernel.fleet._places import BASE
from pocketkernel.fleet.errors import FleetStoreError

_GAPS = 2**16  # slots that have never had a key, because a call that asked for them was interrupted


class Replay:
    """The models of a fleet that is being opened.

    Parameters
    ----------
    template, models
        Of the fleet, which nobody uses yet.
    slots_of_slab : int
        Slots whose states are stored together. States may be stored later than a record; then it is not repeated there.
    """

    def __init__(self, template: Any, models: Models, slots_of_slab: int = 2**31) -> None:
        self._template, self._models = template, models
        self._per = slots_of_slab
        self._learned = 0  # events up to the last row
        self._seqs: list[int] = []  # of the slabs
        slots = models.slots()
        self._names: dict[int, Key] = dict(zip(slots.tolist(), models.of.column(), strict=True))
        self._opened = models.slot_count
        self._count = models.slot_count
        self._used = np.zeros(self._count + 1024, dtype=np.uint64)
        self._used[: self._count] = models.used_in(0, self._count)
        self._named = np.zeros(len(self._used), dtype=bool)
        self._named[slots] = True

    def states(self, number: int, seq: int, stored: States) -> None:
        """The states of a slab, as they were after a record."""
        first, stop = number * self._per, (number + 1) * self._per
        if number != len(self._seqs) or ((stored.slots < first) | (stored.slots >= stop)).any():
            raise invalid()
        self._seqs.append(seq)
        self._opened = max(self._opened, stop)
        slots = stored.slots
        if len(slots) == 0:
            return
        self._extend(int(slots[-1]) + 1)
        if not self._models.core.write(slots, np.ascontiguousarray(stored.states)):
            raise FleetStoreError("it has an invalid model")
        own = slots[len(slots) - len(stored.keys) :]
        self._names.update(zip(own.tolist(), stored.keys, strict=True))
        self._named[own] = True
        self._used[slots] = stored.used

    def lose(self, number: int) -> None:
        """Leave out a slab that cannot be read, whatever happened to its models later."""
        if number >= len(self._seqs):
            self._seqs.append(2**62)
            self._opened = max(self._opened, (number + 1) * self._per)

    def repeat(self, record: bytes, seq: int = 2**62, base: bytes | None = None) -> None:
        """What a record says, in all slots whose states are older; `base`: the shared one before it."""
        if base is not None:
            self._models.load(BASE, base)
        for piece in pieces_in(record):
            if piece.head.get("do") == "moves":
                self._move(piece, seq)
            elif piece.head.get("do") == "learn":
                self._learn(piece, seq)
            else:
                raise invalid()

    def clock_after(self, clock: int) -> int:
        """The clock of the fleet, if it was so before and rows were learned since."""
        return max(clock, self._learned)

    def finish(self) -> None:
        """Give the keys their slots."""
        models = self._models
        slots = np.array(sorted(self._names), dtype=np.int64)
        try:
            keys = column_of([self._names[slot] for slot in slots.tolist()])
        except ValueError:
            raise invalid() from None
        models.of = _core.Keys()
        if not models.place(keys, slots, self._used[: self._count], self._count):
            raise FleetStoreError("it has a key twice")

    def _extend(self, count: int) -> None:
        if count > self._opened + _GAPS:
            raise invalid()
        self._models.reserve(count + 1)  # and one for rows that are not learned again
        self._count = max(self._count, count)
        if count >= len(self._used):
            more = np.zeros(max(count, 2 * len(self._used)) + 1 - len(self._used), dtype=np.uint64)
            self._used = np.concatenate([self._used, more])
            self._named = np.concatenate([self._named, more.astype(bool)])

    def _move(self, piece: Read, seq: int) -> None:
        models, names = self._models, self._names
        moves = read_moves(piece, models.core.slot_bytes)
        slots = np.array([move.slot for move in moves])
        if len(moves) == 0 or slots.min() < 1:
            raise invalid()
        self._opened += sum(move.what != CLOSE for move in moves)
        self._extend(int(slots.max()) + 1)
        begun: dict[int, None] = {}  # as copies of the base
        for move, later in zip(moves, self._later(slots, seq).tolist(), strict=True):
            if later:
                continue
            clock, what, slot, key, state = move
            begun.pop(slot, None)
            if what == LOAD:
                models.load(slot, state)
                names[slot] = key
            elif what == OPEN and slot not in names:
                begun[slot] = None
                names[slot] = key
            elif what != CLOSE or names.pop(slot, None) is None:
                raise invalid()
            self._named[slot] = what != CLOSE
            self._used[slot] = clock
        models.core.begin(list(begun), BASE)

    def _learn(self, piece: Read, seq: int) -> None:
        models = self._models
        lesson = read_lesson(piece)
        slots = lesson.slots
        if (lesson.born is not None) != models.shared or int(slots.max()) >= self._count:
            raise invalid()
        self._learned = lesson.clock + len(slots)
        later = self._later(slots, seq)
        if not self._named[slots[~later]].all():
            raise invalid()
        self._used[slots[~later]] = np.uint64(lesson.clock) + np.flatnonzero(~later).astype(np.uint64)
        if later.all() and not models.shared:
            return
        if later.any():  # in a slot that is nobody's: the shared base learns all rows
            models.core.begin([self._count], BASE)
            lesson = lesson._replace(slots=np.where(later, self._count, slots))
        try:
            status = models.teach(lesson, learners.room_for_scores(self._template, len(slots)))
        except (TypeError, ValueError):
            raise invalid() from None
        if status != 0:
            raise FleetStoreError("it has rows that cannot be learned")

    def _later(self, slots: npt.NDArray[np.int64], seq: int) -> npt.NDArray[np.bool_]:
        """Which of these slots have their states from that record, or from a later one."""
        seqs = np.array([*self._seqs, -1])
        return np.asarray(seqs[np.minimum(slots // self._per, len(self._seqs))] >= seq)
