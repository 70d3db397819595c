"""Memory for models in a file, of which the system keeps in memory what is used."""

import mmap
import os
import tempfile
import weakref
from pathlib import Path


class MappedSlabs:
    """Slabs in a file without a name: scratch space, which is gone when the process ends.

    The space is reserved before it is mapped, so that a full disk is an error here and not a crash later.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - used as long as the fleet exists
        weakref.finalize(self, self._file.close)
        self._size = 0

    def new(self, size: int) -> mmap.mmap:
        """Another slab of at least so many bytes."""
        size = -(-size // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file.fileno(), self._size, size)
        else:
            os.truncate(self._file.fileno(), self._size + size)
        slab = mmap.mmap(self._file.fileno(), size, offset=self._size)
        if hasattr(mmap, "MADV_RANDOM"):
            slab.madvise(mmap.MADV_RANDOM)
        self._size += size
        return slab
