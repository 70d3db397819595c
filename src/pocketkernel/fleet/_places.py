"""The places of models: which key has which slot, which was used least recently, and where evicted models go."""

from collections import deque
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.fleet._changes import CLOSE, LOAD, OPEN, Change, Move, Slots
from pocketkernel.fleet._keys import Key, blob_of, column_of
from pocketkernel.fleet._slabs import MappedSlabs
from pocketkernel.fleet.errors import FleetStoreError

BASE = 0
"""The slot of the model that new keys begin with, and that answers for unknown keys."""


class Archive(Protocol):
    """Where evicted models are kept."""

    def archived(self, key: bytes) -> bytes | None:
        """The state of an evicted model; None if there is none."""


class Places:
    """Slots, and which key has which."""

    def __init__(self, core: _core.Fleet, *, max_keys: int | None, mapped: MappedSlabs | None = None) -> None:
        self.core = core
        self._mapped = mapped
        self.max_keys = max_keys
        self.of = _core.Keys()
        self.evicted = 0
        self.clock = 0  # rows learned, and models set or removed
        self.archive: Archive | None = None
        self.logged = False  # whether changes are to be kept in a store
        self.change: Change | None = None  # what a call has done, until it is settled
        self._slots = 1  # in use or free
        self._used = np.zeros(1024, dtype=np.uint64)
        self._free: list[int] = []
        self._oldest: deque[tuple[int, int]] = deque()  # (last used, slot) of the slots used least recently
        self.reserve(1)
        core.begin([BASE], -1)

    # ---- keys -------------------------------------------------------------------------------------------------------

    def slots(self) -> Slots:
        """The slots of all keys, in the order of `of.column()`."""
        slots = np.empty(len(self.of), dtype=np.int64)
        self.of.slots(slots)
        return slots

    @property
    def index_bytes(self) -> int:
        """Bytes of the tables of keys."""
        return self.of.nbytes + self._used.nbytes + 40 * len(self._free) + 80 * len(self._oldest)

    def set(self, key: Key, state: bytes) -> None:
        """Give a key a model, a new slot if it has none yet."""
        change = self.begin()
        slot = self.of.get(key)
        if slot is None:
            if self.max_keys is not None and len(self.of) >= self.max_keys:
                self._evict(self._least_recent(), 0)
            slot = self._new_slot()
            self.of.put(key, slot)
        self.load(slot, state)
        self._used[slot] = self.clock
        change.moves.append(Move(0, LOAD, slot, key, state))
        self._end(change)

    def remove(self, key: Key) -> None:
        """Forget a key, evicted or not; KeyError if there is none."""
        evicted, slot = self.archived(key), self.of.get(key)
        if slot is None and evicted is None:
            raise KeyError(key)
        change = self.begin()
        if slot is not None:
            self._close(slot)
            change.moves.append(Move(0, CLOSE, slot))
        if evicted is not None:
            change.evicted[blob_of(key)] = b""
        self._end(change)

    def begin(self) -> Change:
        """What is done to slots and tables from now on is one change, which is whole or leaves all unusable."""
        self.change = change = Change(kept=self.logged, clock=self.clock)
        return change

    def _end(self, change: Change) -> None:
        change.move()
        change.events += 1
        self.clock += 1
        change.whole = True

    def archived(self, key: Key) -> bytes | None:
        """The state of an evicted model."""
        if self.archive is None or not self.evicted:
            return None
        blob = blob_of(key)
        state = None if self.change is None else self.change.evicted.get(blob)
        return (self.archive.archived(blob) if state is None else state) or None

    @property
    def has_archived(self) -> bool:
        """Whether there may be evicted models: to answer, they take a slot for the time of a call."""
        return self.archive is not None and self.evicted > 0

    def used(self) -> npt.NDArray[np.uint64]:
        """The number of the last event of every key, in the order of the keys."""
        return self._used[self.slots()]

    def place(self, keys: _core.KeyColumn, slots: Slots, used: npt.NDArray[np.uint64], count: int) -> bool:
        """Give keys these slots, in a fleet without keys that has so many slots; False if one comes twice.

        `used` is of all slots.
        """
        if not self.of.place(keys, slots):
            return False
        self._used = np.concatenate([used, np.zeros(1024, dtype=np.uint64)])
        self.reserve(count)
        free = np.ones(count, dtype=bool)
        free[BASE] = False
        free[slots] = False
        self._free = np.flatnonzero(free)[::-1].tolist()
        self._slots = count
        return True

    @property
    def slot_count(self) -> int:
        """Slots in use or free."""
        return self._slots

    def used_in(self, first: int, stop: int) -> npt.NDArray[np.uint64]:
        """For each of these slots, the number of the last event of its key, or of when it lost its key."""
        return self._used[first:stop]

    def _open_all(self, keys: dict[Key, int], born: npt.NDArray[np.bool_] | None, change: Change) -> None:
        """Give slots to keys, each of which is new in some row."""
        if self.has_archived:
            for key, row in keys.items():
                self._open(key, born, row, change)
            return
        slots = [self._new_slot() for _ in keys]
        if born is None:
            self.core.begin(slots, BASE)
        else:
            born[list(keys.values())] = True
        change.moves += [Move(row, OPEN, slot, key) for (key, row), slot in zip(keys.items(), slots, strict=True)]
        self.of.place(column_of(list(keys)), np.array(slots))

    def _open(self, key: Key, born: npt.NDArray[np.bool_] | None, row: int, change: Change) -> int:
        slot = self._new_slot()
        state = self.archived(key)
        if state is not None:
            self.load(slot, state)
            change.moves.append(Move(row, LOAD, slot, key, state))
        else:
            if born is None:
                self.core.begin([slot], BASE)
            else:
                born[row] = True
            change.moves.append(Move(row, OPEN, slot, key))
        self.of.put(key, slot)
        return slot

    def _new_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot = self._slots
        if slot >= len(self._used):
            self._used = np.concatenate([self._used, np.zeros(len(self._used), dtype=np.uint64)])
        self.reserve(slot + 1)
        self._slots = slot + 1
        return slot

    def make_room(self, keys: int) -> None:
        """Have memory for so many more keys, before any of them gets a slot."""
        self.reserve(self._slots + max(0, keys - len(self._free)))

    def reserve(self, slots: int) -> None:
        """Have memory for so many slots."""
        if slots <= self.core.capacity:
            return
        if self._mapped is None:
            self.core.reserve(slots)
            return
        while self.core.capacity < slots:
            self.core.add_slab(self._mapped.new(self.core.bytes_of_slab))

    def _close(self, slot: int) -> None:
        self.of.remove(slot)
        self._used[slot] = self.clock  # so that its slab is known to have changed
        self._free.append(slot)

    def load(self, slot: int, state: bytes) -> None:
        """Fill a slot with a state; FleetStoreError if it is none of such a model."""
        if len(state) != self.core.slot_bytes or not self.core.write(
            np.array([slot]), np.frombuffer(state, dtype=np.uint8).reshape(1, -1)
        ):
            raise FleetStoreError("the store of this fleet has an invalid model")

    def state(self, slot: int) -> bytes:
        """A model's state, without a header."""
        out = np.empty((1, self.core.slot_bytes), dtype=np.uint8)
        self.core.read(np.array([slot]), out)
        return out.tobytes()

    # ---- visitors ----------------------------------------------------------------------------------------------------

    def spare(self) -> int:
        """A slot that nobody has, until `leave`."""
        return self._new_slot()

    def leave(self, slot: int) -> None:
        """Give back the slot of a visitor."""
        if slot != BASE:
            self._free.append(slot)

    def visit(self, key: Key) -> int:
        """A slot for the time of one call with an archived model; that of the base if there is none."""
        state = self.archived(key)
        if state is None:
            return BASE
        slot = self._new_slot()
        self.load(slot, state)
        return slot

    # ---- eviction ---------------------------------------------------------------------------------------------------

    def _least_recent(self) -> int:
        """The slot whose key was used least recently. Slots are sorted in batches; one used since is skipped."""
        while True:
            while self._oldest:
                last, slot = self._oldest.popleft()
                if self.of.has(slot) and int(self._used[slot]) == last:
                    return slot
            slots = self.slots()
            last_used = self._used[slots]
            few = max(16, len(slots) // 16)
            if few < len(slots):
                slots = slots[np.argpartition(last_used, few)[:few]]
                last_used = self._used[slots]
            order = np.lexsort((slots, last_used))
            self._oldest.extend(zip(last_used[order].tolist(), slots[order].tolist(), strict=True))

    def _evict(self, slot: int, row: int) -> None:
        change = self.change
        assert change is not None, "a change that has begun"
        if self.archive is not None:
            change.evicted[blob_of(self.of.name(slot))] = self.state(slot)
        self.evicted += 1
        self._close(slot)
        change.moves.append(Move(row, CLOSE, slot))
