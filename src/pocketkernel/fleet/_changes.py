"""What happens to the models of a fleet, as bytes: which key got which slot, and which rows a slot has learned.

A piece is the length of its head in 4 bytes, the head in canonical JSON, and bytes. There are two kinds:

    moves     slots that lose their key, or get one: with the state of the base, or with one of their own
    learn     rows, and the slot that has learned each

Slots, not keys: a state that was stored later than a piece is left alone when the piece is repeated, and a key may have
had several slots since.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pocketkernel._core import KeyColumn
from pocketkernel._json import canonical, parse
from pocketkernel.fleet._keys import KINDS, Key, column_of
from pocketkernel.fleet.errors import FleetStoreError

Rows = tuple[Any, ...]  # a matrix, or values, columns and starts of a CSR matrix
Piece = list[Any]  # bytes, or arrays of them
Slots = npt.NDArray[np.int64]

CLOSE, OPEN, LOAD = 0, 1, 2
_DTYPES = ("<f4", "<f8", "<i4", "<i8", "|b1", "|i1")
_LARGEST = 2**24  # bytes of rows in a piece


class Move(NamedTuple):
    """A slot that loses its key, or gets one, before a row of a call; when it is read, the events before it."""

    row: int
    what: int
    slot: int
    key: Key = 0
    state: bytes = b""


class Lesson(NamedTuple):
    """Rows, labels or targets, and the slot that learns each."""

    slots: Slots
    rows: Rows
    y: Any
    weights: Any = None
    born: npt.NDArray[np.bool_] | None = None  # which rows begin their slot as a copy of the shared base
    clock: int = 0  # events before the first row

    def part(self, start: int, stop: int) -> "Lesson":
        """Some of the rows."""
        some = slice(start, stop)
        weights = None if self.weights is None else self.weights[some]
        born = None if self.born is None else self.born[some]
        return Lesson(
            self.slots[some], part_of(self.rows, start, stop), self.y[some], weights, born, self.clock + start
        )


class Change:
    """What a call does to the models. Until it is `whole`, slots and tables may disagree with each other."""

    def __init__(self, *, kept: bool, clock: int = 0) -> None:
        self.whole = False
        self.clock = clock  # events before it
        self.rows = 0  # learned
        self.events = 0  # rows learned, and models set or removed
        self.pieces: list[Piece] = []
        self.evicted: dict[bytes, bytes] = {}  # by key, as the archive has it; empty: removed there
        self.moves: list[Move] = []  # not yet in the pieces
        self.kind: str | None = None  # of the keys
        self.offset: Any = None  # of the fleet after it
        self._kept = kept

    @property
    def is_empty(self) -> bool:
        """Whether nothing has happened."""
        return self.events == 0 and not self.moves and not self.pieces

    def move(self) -> None:
        """Make a piece of the moves."""
        if self.moves and self._kept:
            self.pieces.append(_moves_piece(self.moves, self.clock))
        self.moves = []

    def learn(self, lesson: Lesson) -> None:
        """Rows that were learned, after the moves."""
        self.move()
        slots, rows, y, weights, born, _ = lesson
        count = len(slots)
        self.rows += count
        self.events += count
        if not self._kept:
            return
        size = sum(array.nbytes for array in (*rows, y))
        at_once = count if size <= _LARGEST else max(1, count * _LARGEST // size)
        for first in range(0, count, at_once):
            some = lesson.part(first, min(first + at_once, count))
            more = [part for part in (some.weights, some.born) if part is not None]
            head = {"do": "learn", "clock": some.clock, "weights": weights is not None, "born": born is not None}
            self.pieces.append(_piece(head, some.slots.astype("<i4"), *some.rows, some.y, *more))


def part_of(rows: Rows, start: int, stop: int) -> Rows:
    """Some of the rows."""
    if len(rows) == 1:
        return (rows[0][start:stop],)
    values, columns, starts = rows
    some = slice(int(starts[start]), int(starts[stop]))
    return values[some], columns[some], starts[start : stop + 1] - starts[start]


def _moves_piece(moves: list[Move], clock: int) -> Piece:
    keys = column_of([move.key for move in moves if move.what != CLOSE])
    head = {"do": "moves", "kind": keys.kind or "str", "clock": clock}
    slots = np.array([move.slot for move in moves], dtype="<i4")
    what = np.array([move.what for move in moves], dtype=np.int8)
    return _piece(head, slots, what, keys.encoded(len(keys)), b"".join(move.state for move in moves))


def piece_of_states(slots: Slots, keys: KeyColumn, used: npt.NDArray[np.uint64], states: Any) -> Piece:
    """The models of some slots, the last of which have these keys."""
    head = {"do": "states", "kind": keys.kind or "str", "keys": len(keys)}
    return _piece(head, slots.astype("<i4"), keys.encoded(len(keys)), used.astype("<u8").view("<i8"), states)


def _piece(head: dict[str, Any], *parts: Any) -> Piece:
    of = [None if isinstance(part, bytes) else [part.dtype.str, *part.shape] for part in parts]
    sizes = [len(part) if isinstance(part, bytes) else part.nbytes for part in parts]
    text = canonical(head | {"parts": of, "sizes": sizes}).encode()
    arrays = [
        part if isinstance(part, bytes) else np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts
    ]
    return [len(text).to_bytes(4, "little") + text, *arrays]


def size_of(piece: Piece) -> int:
    """Bytes of a piece."""
    return sum(memoryview(part).nbytes for part in piece)


class Read(NamedTuple):
    """A piece that was read: its head, and its parts as bytes or arrays."""

    head: dict[str, Any]
    parts: list[Any]


def pieces_in(record: bytes) -> Iterator[Read]:
    """The pieces of a record; FleetStoreError if they are not."""
    at, view = 0, memoryview(record)
    try:
        while at < len(record):
            size = int.from_bytes(view[at : at + 4], "little")
            head = parse(bytes(view[at + 4 : at + 4 + size]).decode("ascii"))
            at += 4 + size
            parts = []
            for of, length in zip(head["parts"], head["sizes"], strict=True):
                if type(length) is not int or not 0 <= length <= len(record) - at:
                    raise ValueError
                some = view[at : at + length]
                parts.append(bytes(some) if of is None else _array(of, some))
                at += length
            yield Read(head, parts)
    except (KeyError, TypeError, ValueError, UnicodeDecodeError, AttributeError):
        raise invalid() from None


def invalid() -> FleetStoreError:
    """What is said of a record whose digest is right and whose contents are not."""
    return FleetStoreError("it has an invalid record")


def _array(of: Any, data: memoryview) -> npt.NDArray[Any]:
    dtype, *shape = of
    if dtype not in (*_DTYPES, "|u1") or not 1 <= len(shape) <= 2:
        raise ValueError
    array: npt.NDArray[Any] = np.frombuffer(data, dtype=dtype).reshape(shape)
    return np.require(array, requirements="A")


def read_moves(piece: Read, slot_bytes: int) -> list[Move]:
    """The moves of a piece."""
    try:
        slots, what, keys, states = piece.parts
        kinds, all_slots = what.tolist(), slots.tolist()
        opened, loaded = sum(kind != CLOSE for kind in kinds), kinds.count(LOAD)
        clock = piece.head["clock"]
        if piece.head["kind"] not in KINDS or set(kinds) - {CLOSE, OPEN, LOAD} or len(states) != loaded * slot_bytes:
            raise ValueError
        if type(clock) is not int or not 0 <= clock < 2**62:
            raise ValueError
        names = iter(KeyColumn.decoded(keys, piece.head["kind"], opened))
        moves, at = [], 0
        for kind, slot in zip(kinds, all_slots, strict=True):
            state = states[at : at + slot_bytes] if kind == LOAD else b""
            at += len(state)
            moves.append(Move(clock, kind, slot, 0 if kind == CLOSE else next(names), state))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise invalid() from None
    return moves


def read_lesson(piece: Read) -> Lesson:
    """The rows of a piece."""
    try:
        slots, *parts = piece.parts
        born = parts.pop() if piece.head["born"] is True else None
        weights = parts.pop() if piece.head["weights"] is True else None
        y, clock = parts.pop(), piece.head["clock"]
        if len(parts) not in (1, 3) or type(clock) is not int or not 0 <= clock < 2**62:
            raise ValueError
        if slots.dtype != np.int32 or slots.ndim != 1 or len(slots) == 0 or (slots < 1).any():
            raise ValueError
        if born is not None and (born.dtype != np.bool_ or born.shape != slots.shape):
            raise ValueError
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        raise invalid() from None
    return Lesson(slots.astype(np.int64), tuple(parts), y, weights, born, clock)


class States(NamedTuple):
    """Models of some slots."""

    slots: Slots
    keys: KeyColumn
    used: npt.NDArray[np.uint64]
    states: npt.NDArray[np.uint8]


def read_states(piece: Read, slot_bytes: int) -> States:
    """The models of a piece."""
    try:
        slots, names, used, states = piece.parts
        keys = KeyColumn.decoded(names, piece.head["kind"], piece.head["keys"])
        if states.shape != (len(slots), slot_bytes) or used.shape != slots.shape or used.dtype != np.int64:
            raise ValueError
        if slots.dtype != np.int32 or (np.diff(slots) <= 0).any() or len(slots) - len(keys) not in (0, 1):
            raise ValueError
        if (len(keys) < len(slots) and slots[0] != 0) or (len(keys) == len(slots) and 0 in slots[:1]):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise invalid() from None
    return States(slots.astype(np.int64), keys, used.view(np.uint64), states)
