"""One run at a time in a folder."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from pocketkernel.evaluate.run import RunError

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Prevent other runs in a folder. The lock is released when the process that holds it ends, for any reason.

    Raises
    ------
    RunError
        Another run holds it; the message names the process.
    """
    path = folder / LOCK
    while True:
        file = open(path, "a+b", opener=_open)  # noqa: SIM115  (held as long as the lock)
        if not _lock(file):
            with file:
                raise RunError(
                    f"{folder} is in use by another run{_holder(file)}: wait until it ends, or use another folder."
                )
        if _is_at(file, path):
            break
        file.close()  # its holder has ended, and taken it away after we opened it
    holder = os.getpid()
    try:
        file.truncate(_ROOM)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {since}".encode())
        file.flush()
        yield
    finally:
        if os.getpid() == holder:  # not a fork of it, whose end is not that of the run
            with suppress(OSError):  # Windows does not remove an open file; an old lock file harms nobody
                path.unlink()
        file.close()


# The first byte is what is locked: on Windows, others cannot read what is.
_ROOM = 1


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))  # a link could lead out of the folder, to be cut short


def _lock(file: BinaryIO) -> bool:
    """Lock a file for this process, unless another holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, _ROOM)
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_at(file: BinaryIO, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def _holder(file: BinaryIO) -> str:
    file.seek(_ROOM)
    text = file.read(200).decode("utf-8", "replace")
    return f" ({text})" if text.isprintable() and text else ""
