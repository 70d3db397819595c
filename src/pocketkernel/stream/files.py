"""Files, globs and standard input, plain or compressed, opened one after the other and read in constant memory.

The compression and format of a file are detected from its first bytes and its name. Nothing here parses rows.
"""

import bz2
import codecs
import errno
import glob
import gzip
import io
import lzma
import os
import re
import sys
import tarfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from pocketkernel._optional import optional
from pocketkernel.stream import archives
from pocketkernel.stream.errors import StreamError, shown
from pocketkernel.stream.sniff import LINES, aligned_by

Source = str | os.PathLike[str] | BinaryIO | Iterable[str | os.PathLike[str]]

BUFFER = 1 << 18
CHUNK = 1 << 20
FEW_LINES = 16
LONGEST_LINE = 64 << 20
STDIN = "-"
MOST_WRAPPERS = 4  # compressions and archives around each other
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".tbz2", ".txz", ".xlsx", ".xlsb", ".xls", ".ods")
SUFFIXES = {
    "libsvm": (".svm", ".libsvm", ".svmlight"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "jsonl": (".jsonl", ".ndjson", ".json", ".geojson", ".geojsonl"),
    "arff": (".arff",),
    "vw": (".vw",),
}
_BROKEN = (EOFError, OSError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, tarfile.TarError)
_LIBSVM_LINE = re.compile(rb"[-+.\deE]+[ \t]+\d+:")
_VW_LINE = re.compile(rb"(?:[-+.\deE]+[ \t]){1,3}(?:'\S*)?\|(?:[A-Za-z_]\S* | \S+:[-+.\d])")


class StoppedError(Exception):
    """No further bytes are read, as asked."""


class Counted(io.RawIOBase):
    """A binary file that counts the bytes read from it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.count = 0
        self.waiting = False  # whether further bytes are being awaited
        self.stopped = False  # whether to read no further; set by another thread

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """Read at most as many bytes as fit into the buffer."""
        room = memoryview(cast(bytearray, buffer))
        read = getattr(self.file, "read1", self.file.read)
        self.waiting = True
        if self.stopped:
            raise StoppedError
        data = read(len(room))
        self.waiting = False
        if not isinstance(data, bytes):
            raise TypeError(f"a file opened in binary mode is needed, but its read returned {type(data).__name__}.")
        room[: len(data)] = data
        self.count += len(data)
        return len(data)


@dataclass
class Opened:
    """One file of a source, open for reading."""

    name: str  # for messages
    file: io.BufferedIOBase  # what is in it, uncompressed
    raw: Counted  # the file itself
    compressed: bool
    path: Path | None = None  # None for a file that can be read only once
    share: float | None = None  # how much has been read, if the reader knows better
    owned: bool = False  # whether a file that is read only once is to be closed at its end
    inner: str = ""  # name of the file in an archive
    unpacked: int = 0  # its bytes, which are then those that `raw` counts
    remark: str = ""  # what else was found
    broken: Exception | None = field(default=None, repr=False)  # what was wrong with the first bytes

    def read(self, size: int, *, wait: bool = True) -> bytes:
        """Read bytes, or without waiting for all of them; broken compression is an error of the stream."""
        with self.whole():
            return self.file.read(size) if wait else self.file.read1(size)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Within this, broken compression is an error of the stream."""
        try:
            if self.broken is not None:
                raise self.broken
            yield
        except _BROKEN as error:
            if not self.compressed:
                raise
            raise StreamError("compressed data that is whole", str(error), file=self.name) from error

    def close(self) -> None:
        """Close the file."""
        self.raw.file.close()

    def start(self) -> bytes:
        """How it begins; nothing if that cannot be told, which is reported when it is read."""
        try:
            return cast(io.BufferedReader, self.file).peek(archives.TELLING)[: archives.TELLING]
        except _BROKEN as error:
            self.broken = error
            return b""

    def peek(self, size: int) -> bytes:
        """The first bytes, which stay to be read."""
        with self.whole():
            return cast(io.BufferedReader, self.file).peek(size)


@dataclass
class Files:
    """The files of a source, in order."""

    paths: list[Path] = field(default_factory=list)  # files that can be read again and again
    kept: Opened | None = None  # instead, one that can be read only once: standard input, a pipe, a file object
    size: int | None = None  # bytes on disk, all together, if known
    used: bool = False
    done: int = 0
    current: Opened | None = field(default=None, repr=False)
    looked_at: Opened | None = field(default=None, repr=False)

    @property
    def consumed(self) -> int:
        """Bytes read so far from the files as they are on disk."""
        now = self.current or self.kept
        if now is None:
            return self.done
        share = now.raw.count / now.unpacked if now.unpacked else now.share
        if share is not None and now.path is not None:
            return self.done + int(share * now.path.stat().st_size)
        return self.done + now.raw.count

    def first(self) -> Opened:
        """The first file, to look at how it begins: `open_each` reads on from there, once."""
        if self.kept is not None:
            return self.kept
        if self.looked_at is None:
            self.looked_at = _open(self.paths[0])
            weakref.finalize(self, self.looked_at.close)  # if nothing is ever read
        return self.looked_at

    def open_each(self) -> Iterator[Opened]:
        """Open one file after the other; each is closed before the next."""
        if self.kept is not None:
            if self.used:
                raise ValueError(f"{self.kept.name} can be read only once.")
            self.used = True
            yield self.kept
            if self.kept.owned:
                self.kept.close()
            return
        self.done = 0
        for path in self.paths:
            opened, self.looked_at = self.looked_at or _open(path), None
            with closing(opened) as self.current:
                yield opened
            self.current = None
            self.done += path.stat().st_size


def _open(path: Path) -> Opened:
    file = cast(BinaryIO, path.open("rb", buffering=0))
    try:
        return _opened(file, str(path), path)
    except BaseException:
        file.close()
        raise


def _widen(file: BinaryIO) -> None:
    """Let a pipe hold a whole chunk, where the system can: it is then read in few large pieces."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import fcntl  # noqa: PLC0415  (not on every system)

        fcntl.fcntl(file.fileno(), fcntl.F_SETPIPE_SZ, CHUNK)


def _opened(file: BinaryIO, name: str, path: Path | None = None) -> Opened:
    if path is None:
        _widen(file)
    raw = Counted(file)
    opened = Opened(name, io.BufferedReader(raw, BUFFER), raw, False, path)
    kinds: list[Callable[..., Any]] = []  # how to come to the same place again from the start of the file
    for _ in range(MOST_WRAPPERS):
        start = opened.start()
        kind = next((kind for magic, kind in COMPRESSED.items() if start.startswith(magic)), None)
        if kind is not None:
            opened.file, opened.compressed = kind(opened.file), True
            kinds.append(kind)
        elif start.startswith((*archives.ZIP, archives.OLD_WORKBOOK)) or archives.is_tar(start):
            opened = _member(opened, start, kinds)
        else:
            break
    if opened.start().startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        opened.file = io.BufferedReader(_FromUtf16(opened.file, name), BUFFER)
    return opened


def _member(opened: Opened, start: bytes, kinds: list[Callable[..., Any]]) -> Opened:
    """What is in an archive or a workbook."""
    path, is_tar = opened.path, archives.is_tar(start)
    if path is None:
        how = "pipe what it has: tar -xOf FILE | ..." if is_tar else "compress with gzip"
        kind = "a .tar archive" if is_tar else "a .zip archive or a workbook"
        raise ValueError(f"{opened.name}: {kind} cannot be read from a pipe: use a file, or {how}.")
    if opened.inner or (kinds and not is_tar):
        raise StreamError("a table in the archive", "another archive", file=opened.name)
    if is_tar:
        with path.open("rb") as file:
            again: Any = file
            for unpack in kinds:
                again = unpack(again)
            member = archives.in_tar(opened.name, again, cast(BinaryIO, opened.file))
        kinds.clear()
        inside = cast(io.BufferedIOBase, member.file)
        return replace(opened, file=inside, compressed=True, inner=member.name)
    opened.close()
    member = archives.zipped(path) if start.startswith(archives.ZIP) else archives.table_of_workbook(path)
    raw = Counted(member.file)
    file = io.BufferedReader(raw, BUFFER)
    return Opened(opened.name, file, raw, True, path, inner=member.name, unpacked=member.size, remark=member.remark)


class _FromUtf16(io.RawIOBase):
    """Text in UTF-16, as Excel writes it, in UTF-8."""

    def __init__(self, file: io.BufferedIOBase, name: str) -> None:
        self._file, self._name, self._text = file, name, b""
        self._decode = codecs.getincrementaldecoder("utf-16")().decode

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """Read at most as many bytes as fit into the buffer."""
        room = memoryview(cast(bytearray, buffer))
        while not self._text:
            data = self._file.read1(BUFFER)
            try:
                self._text = self._decode(data, not data).encode()
            except UnicodeError as error:
                raise StreamError("text in UTF-16", str(error), file=self._name) from None
            if not data:
                break
        count = min(len(room), len(self._text))
        room[:count], self._text = self._text[:count], self._text[count:]
        return count


def _zstandard(file: io.BufferedReader) -> io.BufferedReader:
    pa = optional("pyarrow", "reading .zst files", "files")
    return io.BufferedReader(Counted(pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")), BUFFER)


COMPRESSED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _zstandard,
}


def find(source: Source) -> Files:
    """The files that a path, a glob, a list of paths, "-" (standard input) or a binary file refers to."""
    if isinstance(source, (str, os.PathLike)):
        if source == STDIN:
            return Files(kept=_opened(standard_input(), "standard input"))
        paths = _matching(os.fspath(source))
    elif callable(getattr(source, "read", None)):
        file = cast(BinaryIO, source)
        return Files(kept=_opened(file, str(getattr(file, "name", "a file object"))))
    else:
        paths = [Path(part) for part in cast(Iterable[str | os.PathLike[str]], source)]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist.")
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder: use a file, or a glob such as '{path}/*.csv'.")
    if len(paths) == 1 and not paths[0].is_file():  # a named pipe or a device can be read only once
        kept = _opened(cast(BinaryIO, paths[0].open("rb", buffering=0)), str(paths[0]))
        kept.owned = True
        return Files(kept=kept)
    if not paths or not all(path.is_file() for path in paths):
        raise ValueError(f"{list(map(str, paths))} cannot be read one after the other: use one or more files.")
    return Files(paths, size=sum(path.stat().st_size for path in paths))


def standard_input() -> BinaryIO:
    """Standard input, or an error if the process has none."""
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(errno.EBADF, "it is closed", "standard input")
    return sys.stdin.buffer


def _matching(text: str) -> list[Path]:
    if os.path.exists(text) or not glob.has_magic(text):
        return [Path(text)]
    paths = [Path(name) for name in sorted(glob.glob(text, recursive=True)) if os.path.isfile(name)]
    if not paths:
        raise FileNotFoundError(f"no file matches {text!r}.")
    return paths


def named_format(name: str) -> str | None:
    """Tell a file's format by its name, if it says so.

    Examples
    --------
    >>> named_format("day.csv.zst"), named_format("day.txt")
    ('csv', None)
    """
    name = name.lower()
    while ending := next(filter(name.endswith, ENDINGS), ""):
        name = name.removesuffix(ending)
    return next((known for known, suffixes in SUFFIXES.items() if name.endswith(suffixes)), None)


def guess_format(opened: Opened) -> str:
    """Tell a file's format by its name, or else by how it begins."""
    if known := named_format(opened.inner or opened.name):
        return known
    start = opened.peek(1 << 16)
    lines = [line for line in start.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    line = next((line for line in lines if not line.startswith((b"#", b"%"))), b"")
    signs = {
        "parquet": start.startswith(b"PAR1"),
        "arrow": start.startswith((b"ARROW1", b"\xff\xff\xff\xff")),
        "jsonl": line.lstrip().startswith((b"{", b"[{")) or line.strip() == b"[",
        "libsvm": _LIBSVM_LINE.match(line) is not None,
        "arff": line.strip().lower().startswith((b"@relation", b"@attribute")),
        "vw": _VW_LINE.match(line) is not None,
        "tsv": b"\t" in line,
        "csv": any(sign in line for sign in (b",", b";", b"|"))
        or (len(lines) > 1 and aligned_by([line.decode("utf-8", "replace") for line in lines[:LINES]]) != ""),
    }
    for known, is_it in signs.items():
        if is_it:
            return known
    raise ValueError(f"the format of {opened.name} cannot be detected: set format=, one of {', '.join(SUFFIXES)}.")


class Text:
    """A growing and shrinking piece of a text file: whole lines are taken off its front, chunks come in at its back."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.buffer = opened.read(CHUNK, wait=False)
        self.at = 0  # the first byte that has not been used
        while self.buffer.startswith(codecs.BOM_UTF8, self.at):  # some programs write two
            self.at += len(codecs.BOM_UTF8)
        self.line = 1  # number of the line there, from 1
        self.final = not self.buffer  # whether nothing follows
        self._chunk, self._before = CHUNK, 1  # bytes to read next, and the number of the line when they were last read

    def more(self) -> None:
        """Read on; what was not used stays."""
        tail = self.buffer[self.at :]
        if len(tail) > LONGEST_LINE:
            found = f"one of more than {len(tail) >> 20} MiB"
            raise StreamError(f"a line of at most {LONGEST_LINE >> 20} MiB", found, file=self.name, line=self.line)
        # What a slow pipe has is taken at once; of a long line as much again, so that it costs linear time. A chunk
        # that held few lines is followed by a larger one, as every table costs time for each of its columns.
        if self.line - self._before < FEW_LINES and len(self.buffer) >= self._chunk:
            self._chunk = max(CHUNK, min(4 * self._chunk, LONGEST_LINE // 4))
        self._before = self.line
        new = self.opened.read(max(self._chunk, len(tail)), wait=len(tail) > CHUNK)
        self.buffer, self.at, self.final = tail + new, 0, not new

    def fill(self) -> None:
        """Read on until there is a whole chunk, so that what is told from it does not depend on a pipe's pace."""
        while not self.final and len(self.buffer) < CHUNK:
            self.more()

    def advance(self, end: int, lines: int) -> None:
        """Take off what was used."""
        self.at, self.line = end, self.line + lines

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.opened.name

    def error(self, expected: str, found: bytes | str, at: int, field: str = "") -> StreamError:
        """An error at a place of the piece that has not been used."""
        begin = self.buffer.rfind(b"\n", 0, at) + 1
        if begin == 0 and self.line == 1 and self.buffer.startswith(b"\xef\xbb\xbf"):
            begin = 3
        line = self.line + self.buffer.count(b"\n", self.at, at)
        found = found if isinstance(found, str) else shown(found)
        return StreamError(expected, found, file=self.name, line=line, column=at - begin + 1, field=field)

    def batches(self) -> Iterator[list[tuple[int, bytes]]]:
        """Numbers and bytes of the remaining lines, without their newlines: those that are there, then further ones."""
        while True:
            stop = len(self.buffer) if self.final else self.buffer.rfind(b"\n") + 1
            whole = self.buffer[self.at : stop]
            if whole:
                self.at = stop
                lines = whole.removesuffix(b"\n").split(b"\n")
                self.line += len(lines)
                yield list(enumerate(lines, self.line - len(lines)))
            if self.final:
                return
            self.more()

    def take(self) -> str:
        """All of it as text, but for a character that is cut off."""
        text, used = codecs.utf_8_decode(self.buffer[self.at :], "replace", self.final)
        self.at += used
        return text
