"""Write files atomically, so that a reader finds either the old or the new one; read files up to a maximum size."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def read_file(path: str | os.PathLike[str], most: int) -> bytes:
    """All of a file; ValueError if it has more than `most` bytes, or is a pipe or a device, which may have no end."""
    with open(path, "rb", opener=_without_waiting) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("this is not a regular file")
        if about.st_size > most:
            raise ValueError(f"it has {about.st_size} bytes, more than {most}")
        return file.read(about.st_size)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a named pipe would wait for its writer


def write_atomically(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    follow: bool = True,
    read: Callable[[bytes], object] | None = None,
) -> None:
    """Replace the contents of the file atomically; if anything fails, the file is unchanged. `follow`: `replacing`.

    The data is first read back by `read`, which raises if it could not be used: a good file is never replaced by one
    that cannot be read.
    """
    if read is not None:
        read(data)
    with replacing(path, follow=follow) as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[BinaryIO]:
    """A file to write to that replaces another when it is complete; if anything fails, the other is unchanged.

    If only the last step fails, which makes the file outlast a loss of power, the file is there and OSError is raised.
    Without `follow`, a symbolic link is replaced itself: for files that the caller did not name, since a folder from
    someone else may contain a link to any file.
    """
    path = Path(path)
    target = Path(os.path.realpath(path)) if follow else Path(os.path.realpath(path.parent), path.name)
    link = target.is_symlink()  # only without `follow`
    if not link and target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not link and target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "this is not a regular file, and would be replaced by one", os.fspath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder to save into does not exist", str(target.parent))
    temporary = target.parent / f".pocketkernel-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not link and target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
        settle(target.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        raise named(error, path) from error


def named(error: BaseException, path: str | os.PathLike[str]) -> BaseException:
    """The error of a system with the name of the file: a full disk does not say whose file it cut short."""
    if isinstance(error, OSError) and error.errno is not None:
        return OSError(error.errno, os.strerror(error.errno), os.fspath(path))
    return error


def settle(folder: Path) -> None:
    """Flush the entries of a folder to disk."""
    if os.name == "nt":  # cannot open a folder
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems sync no folders
            raise
    finally:
        os.close(opened)
