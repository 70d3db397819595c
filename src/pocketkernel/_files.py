"""Writing files so that a reader finds the old one or the new one, whole."""

import errno
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put the data in the place of the file, all of it or, if anything fails, none."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "this is not a regular file, and would be replaced by one", os.fspath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder to save into does not exist", str(target.parent))
    temporary = target.parent / f".pocketkernel-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        raise named(error, path) from error
    _sync(target.parent)


def named(error: BaseException, path: str | os.PathLike[str]) -> BaseException:
    """The error with the name of the file, if it is one of the system that names none, such as a full disk."""
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        return OSError(error.errno, error.strerror, os.fspath(path))
    return error


def _sync(folder: Path) -> None:
    """Make the new name of a file last. A failure is told; what a system cannot do at all is not asked of it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder, and others none that may be written but not read
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise OSError(error.errno, f"the folder cannot be synced: {error.strerror}", os.fspath(folder)) from error
    finally:
        os.close(handle)
