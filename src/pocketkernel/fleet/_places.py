"""The places of models: which key has which slot, which was used least recently, and where evicted models go."""

from collections import deque
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pocketkernel import _core
from pocketkernel.fleet._keys import Key
from pocketkernel.fleet._slabs import MappedSlabs
from pocketkernel.fleet.errors import FleetStoreError

Slots = npt.NDArray[np.int64]

BASE = 0
"""The slot of the model that new keys begin with, and that answers for unknown keys."""


class Archive(Protocol):
    """Where evicted models are kept."""

    def put(self, key: Key, clock: int, state: bytes) -> None:
        """Keep a state."""

    def get(self, key: Key, clock: int) -> bytes | None:
        """The state that was kept last before that moment."""


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
        self._slots = 1  # in use or free
        self._used = np.zeros(1024, dtype=np.uint64)
        self._free: list[int] = []
        self._oldest: deque[tuple[int, int]] = deque()  # (last used, slot) of the slots used least recently
        self._reserve(1)
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

    def open(self, key: Key) -> int:
        """The slot of a key, a new one if it has none yet."""
        slot = self.of.get(key)
        if slot is None:
            if self.max_keys is not None and len(self.of) >= self.max_keys:
                self._evict(self._least_recent(), self.clock)
            slot = self._open(key, None, 0)
        self._used[slot] = self.clock
        self.clock += 1
        return slot

    def remove(self, key: Key) -> None:
        """Forget a key, evicted or not; KeyError if there is none."""
        evicted = self.archived(key)
        if key in self.of or evicted is None:
            self._close(key)
        if self.archive is not None and evicted is not None:
            self.archive.put(key, self.clock, b"")
        self.clock += 1

    def archived(self, key: Key, row: int = 0) -> bytes | None:
        """The state of an evicted model, as that row of a call finds it."""
        return self.archive.get(key, self.clock + row) if self.archive is not None and self.evicted else None

    @property
    def has_archived(self) -> bool:
        """Whether there may be evicted models: to answer, they take a slot for the time of a call."""
        return self.archive is not None and self.evicted > 0

    def used(self) -> npt.NDArray[np.uint64]:
        """The number of the last event of every key, in the order of the keys."""
        return self._used[self.slots()]

    def place(self, keys: _core.KeyColumn, used: npt.NDArray[np.uint64]) -> bool:
        """Give keys the slots from 1 on, in an empty fleet; False if one comes twice."""
        if not self.of.place(keys, 1):
            return False
        self._slots = 1 + len(keys)
        self._used = np.concatenate([np.zeros(1, dtype=np.uint64), used, np.zeros(1024, dtype=np.uint64)])
        self._reserve(self._slots)
        return True

    def _open(self, key: Key, born: npt.NDArray[np.bool_] | None, row: int) -> int:
        slot = self._new_slot()
        state = self.archived(key, row)
        if state is not None:
            self.load(slot, state)
        elif born is None:
            self.core.begin([slot], BASE)
        else:
            born[row] = True
        self.of.put(key, slot)
        return slot

    def _new_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot = self._slots
        if slot >= self.core.capacity:
            self._reserve(slot + 1)
        self._slots += 1
        if slot >= len(self._used):
            self._used = np.concatenate([self._used, np.zeros(len(self._used), dtype=np.uint64)])
        return slot

    def _reserve(self, slots: int) -> None:
        if self._mapped is None:
            self.core.reserve(slots)
            return
        while self.core.capacity < slots:
            self.core.add_slab(self._mapped.new(self.core.bytes_of_slab))

    def _close(self, key: Key) -> None:
        slot = self.of.get(key)
        if slot is None:
            raise KeyError(key)
        self.of.remove(slot)
        self._used[slot] = 0
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

    def _evict(self, slot: int, clock: int) -> None:
        key = self.of.name(slot)
        if self.archive is not None:
            self.archive.put(key, clock, self.state(slot))
        self.evicted += 1
        self._close(key)
