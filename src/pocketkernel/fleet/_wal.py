"""SQLite's write-ahead log, read without SQLite, to see whether it would leave out what it has acknowledged.

SQLite reads a log up to the first frame whose checksum is wrong, and takes what follows for the remains of a crash.
That is right for the last transaction only: if another one follows, it was once complete.
See https://www.sqlite.org/fileformat2.html#walformat.
"""

import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

_MAGIC = 0x377F0682  # the last bit says that the checksums are of big-endian words
_HEAD = struct.Struct(">8I")  # magic, version, page size, checkpoints, two salts, two sums
_FRAME = struct.Struct(">6I")  # page, pages after a commit or 0, two salts, two sums

Sums = tuple[int, int]


def fault_in(path: Path) -> str | None:
    """What is wrong with a log, if SQLite would not see it; None if nothing is, or if there is no log."""
    try:
        with open(path, "rb", opener=_without_following) as file:
            return _fault(file)
    except FileNotFoundError:
        return None


def _without_following(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _fault(file: BinaryIO) -> str | None:
    head = file.read(_HEAD.size)
    if not head:
        return None
    if len(head) < _HEAD.size:
        return "its header is truncated"
    magic, _, page, _, *salts, first, second = _HEAD.unpack(head)
    words = ">u4" if magic & 1 else "<u4"
    if magic & ~1 != _MAGIC or not 512 <= page <= 65536 or page & (page - 1):
        return "its header is damaged"
    if _sums((0, 0), head[:-8], words, _fibonacci(_HEAD.size // 4)) != (first, second):
        return "its header is damaged"
    numbers = _fibonacci((page + 8) // 4)
    sums, bad, has_commit = (first, second), 0, False
    number = 0
    while len(frame := file.read(_FRAME.size + page)) == _FRAME.size + page:
        number += 1
        _, committed, *after = _FRAME.unpack_from(frame)
        is_of_this_log = after[:2] == salts
        if not bad and is_of_this_log:
            sums = _sums(sums, frame[:8] + frame[_FRAME.size :], words, numbers)
            if sums == tuple(after[2:]):
                continue
        bad = bad or number
        if has_commit and is_of_this_log:
            return f"frame {bad} is damaged, and complete transactions follow it"
        has_commit |= is_of_this_log and committed != 0
    return None


def _fibonacci(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The numbers 0, 1, 1, 2, ... modulo 2^32, and one more than `count`."""
    numbers = [0, 1]
    while len(numbers) <= count + 1:
        numbers.append((numbers[-1] + numbers[-2]) & 0xFFFFFFFF)
    return np.array(numbers, dtype=np.uint32)


def _sums(before: Sums, data: bytes, words: str, fibonacci: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> Sums:
    """Both sums after some pairs of words: each pair x, y makes of (a, b) first a + b + x, then b + that + y.

    So the word that is k words before the end counts F(k + 1) times in a and F(k + 2) times in b.
    """
    given = np.frombuffer(data, dtype=words).astype(np.uint32)
    n = len(given)
    a, b = (int(np.dot(given, fibonacci[n - 1 + k :: -1][:n])) for k in (0, 1))
    first, second = before
    f = fibonacci[n - 1 : n + 2].tolist()
    return (a + f[0] * first + f[1] * second) & 0xFFFFFFFF, (b + f[1] * first + f[2] * second) & 0xFFFFFFFF
