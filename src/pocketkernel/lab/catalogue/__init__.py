"""The paper's eight data sets: what they are, where they come from, and whether a file is the right one.

Every data set is one file NAME.svm.xz of LIBSVM text with labels -1 and +1. `get` makes it from the files of the
official sites; copies that are already there are found by `locate`.
"""

import hashlib
import lzma
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pocketkernel.lab.catalogue.download import Progress, download
from pocketkernel.lab.streams import line_of
from pocketkernel.stream.block import gather
from pocketkernel.stream.errors import StreamError
from pocketkernel.stream.files import CHUNK, Text, find
from pocketkernel.stream.reader import open_stream
from pocketkernel.stream.stream import Stream

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/magic/"
ENDINGS = (".svm.xz", ".svm", ".svm.gz", ".svm.bz2")
VARIABLE = "POCKETKERNEL_DATA"


class DataError(OSError):
    """A data set that is not there, or is not what it should be."""


@dataclass(frozen=True)
class DataSet:
    """A data set of the paper.

    Attributes
    ----------
    name : str
    rows, features, positives : int
        How many rows it has, columns, and rows labelled +1.
    page : str
        Where it is described.
    files : tuple of str
        What to download; the rows of these files, one after the other, are the data set.
    samples : dict
        Positives by rows, for smaller files that will do as well; None if they are not known.
    head : int
        If not 0, only this number of rows is taken from the start.
    note : str
        What else to know.
    sha256 : str
        Of the uncompressed text of the copy that the documented results were measured on. `check` says whether a file
        is that copy. It is not a digest of what the official site serves: `get` rewrites labels and compression, and
        neither site publishes digests. A file that has the right counts but other bytes is therefore accepted, unless
        `check` is told to be exact.
    """

    name: str
    rows: int
    features: int
    positives: int
    page: str
    files: tuple[str, ...]
    samples: tuple[tuple[int, int | None], ...] = ()
    head: int = 0
    note: str = ""
    sha256: str = ""


CATALOGUE = {
    entry.name: entry
    for entry in (
        DataSet(
            "mushrooms",
            8_124,
            112,
            3_916,
            LIBSVM_PAGE + "mushrooms",
            (LIBSVM + "mushrooms",),
            note="Labels 1 and 2 on the site; the 3,916 poisonous ones are +1.",
            sha256="e90a2a0f8ac10615e6ea9c0267d50994cedc08be426e1d756db0e593c18e9be9",
        ),
        DataSet(
            "phishing",
            11_055,
            68,
            6_157,
            LIBSVM_PAGE + "phishing",
            (LIBSVM + "phishing",),
            note="Labels 0 and 1 on the site.",
            sha256="3fe2ad97b71bf4cca4c28d8247b487f391d0e851a1810c36b369bc3b98674d0f",
        ),
        DataSet(
            "magic04",
            19_020,
            10,
            12_332,
            "https://archive.ics.uci.edu/dataset/159/magic+gamma+telescope",
            (UCI + "magic04.data",),
            note="CSV on the site; g (gamma) is +1, h (hadron) -1.",
            sha256="a195485d911d897915a3049ad2aebfaf90e29877a982e14197e377afc51b79c8",
        ),
        DataSet(
            "a9a",
            48_842,
            123,
            11_687,
            LIBSVM_PAGE + "a9a",
            (LIBSVM + "a9a", LIBSVM + "a9a.t"),
            note="Training and test file, 32,561 and 16,281 rows.",
            sha256="6a89beff85da7a9789a1eda3d983f39f751917c746ddb2f4dd5f71735499b4d0",
        ),
        DataSet(
            "w8a",
            49_749,
            300,
            1_479,
            LIBSVM_PAGE + "w8a",
            (LIBSVM + "w8a",),
            note="The training file alone.",
            sha256="05af7655871a35d5bc89c755791b5338a9969cb604c9df045c811c5e5a45426e",
        ),
        DataSet(
            "SUSY",
            5_000_000,
            18,
            2_287_827,
            LIBSVM_PAGE + "SUSY",
            (LIBSVM + "SUSY.xz",),
            samples=((30_000, 13_815), (50_000, None)),
            head=50_000,
            note="The paper has 50,000 rows and does not say which: the first ones are taken, and no more downloaded.",
            sha256="e3c440a5ae5b4ef34cfc433a63adc923468131667f9a2b2d2147c1ea3cac6866",
        ),
        DataSet(
            "ijcnn1",
            141_691,
            22,
            13_565,
            LIBSVM_PAGE + "ijcnn1",
            (LIBSVM + "ijcnn1.bz2", LIBSVM + "ijcnn1.t.bz2"),
            note="Training and test file, 49,990 and 91,701 rows.",
            sha256="983202c0d63dbc55d1b2baf689bb3c156fa6eecee4c5cd2b4d763ee3cb2e62bd",
        ),
        DataSet(
            "cod-rna",
            271_617,
            8,
            90_539,
            LIBSVM_PAGE + "cod-rna",
            (LIBSVM + "cod-rna.t",),
            note="The test file alone.",
            sha256="6c6e3c53de92a2f3fa06eea249eb9996347b3d63ac5ce26f2004a48878aed823",
        ),
    )
}

NAMES = tuple(CATALOGUE)
"""The paper's data sets, in its order."""


@dataclass(frozen=True)
class Checked:
    """What was found in a file; `sha256` is that of its uncompressed text."""

    path: Path
    rows: int
    features: int
    positives: int
    sha256: str


# ---- files that are there -------------------------------------------------------------------------------------------


def entry(name: str) -> DataSet:
    """A data set of the catalogue by its name, case-insensitive."""
    for known, found in CATALOGUE.items():
        if known.lower() == name.lower():
            return found
    raise DataError(f"{name!r} is not in the catalogue: choose from {', '.join(CATALOGUE)}.")


def cache_folder() -> Path:
    """Where downloads are kept: pocketkernel in $XDG_CACHE_HOME, or else in the system's usual place."""
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "pocketkernel"
    if os.name == "nt" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "pocketkernel" / "Cache"
    return Path.home() / ".cache" / "pocketkernel"


def folders(folder: str | os.PathLike[str] | None = None) -> list[Path]:
    """Where data sets are looked for: the folder given, $POCKETKERNEL_DATA, the cache."""
    given = [Path(folder)] if folder is not None else []
    named = os.environ.get(VARIABLE)
    return [*given, *([Path(named)] if named else []), cache_folder()]


def locate(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Find the file of a data set.

    Parameters
    ----------
    name : str
        Such as "a9a".
    folder : path, default=None
        Where to look before $POCKETKERNEL_DATA and the cache.
    """
    wanted = entry(name)
    for place in folders(folder):
        for ending in ENDINGS:
            if (path := place / (wanted.name + ending)).is_file():
                return path
    places = ", ".join(map(str, folders(folder)))
    raise DataError(
        f"{wanted.name}{ENDINGS[0]} is not in {places}: download it with 'pocketkernel lab data get {wanted.name}', "
        f"or set {VARIABLE} to the folder that has it."
    )


def open_data(name: str, folder: str | os.PathLike[str] | None = None, *, block: int = 1000) -> Stream:
    """Open a data set as a stream of sparse rows with labels -1 and +1."""
    return open_stream(
        locate(name, folder), format="libsvm", n_features=entry(name).features, classes=[-1, 1], block=block
    )


def load(name: str, folder: str | os.PathLike[str] | None = None) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
    """All rows and labels of a data set."""
    whole = gather(open_data(name, folder, block=10_000))
    assert whole.y is not None
    return whole.X, whole.y


def check(name: str, folder: str | os.PathLike[str] | None = None, *, exact: bool = False) -> Checked:
    """Count rows, columns and labels of a data set's file; a difference from the catalogue is an error.

    If `exact`, so is another SHA-256 than that of the copy which was used for the documented results.
    """
    found, wanted = check_file(name, locate(name, folder)), entry(name)
    if exact and found.sha256 != wanted.sha256:
        known = f"not {wanted.sha256}" if wanted.sha256 else "and none is known"
        raise DataError(
            f"{found.path} is not the copy of {wanted.name} that was used for the documented results: its text has the "
            f"SHA-256 {found.sha256}, {known}. Its counts are right; leave out --exact to accept it."
        )
    return found


def check_file(name: str, path: Path) -> Checked:
    """The same for any file."""
    wanted = entry(name)
    labels: Counter[float] = Counter()
    features = 0
    try:
        for block in open_stream(path, format="libsvm", n_features=2**31 - 1, block=10_000).blocks():
            assert block.y is not None
            labels.update(block.y.tolist())
            features = max(features, int(block.X.indices.max(initial=-1)) + 1)
    except StreamError as error:
        raise DataError(f"{path} is not {wanted.name}: {error}.") from error
    found = Checked(path, labels.total(), features, labels[1.0], _digest(path))
    if set(labels) - {-1.0, 1.0}:
        raise DataError(f"{path} is not {wanted.name}: its labels are {sorted(labels)[:5]}, not -1 and +1.")
    _compare(wanted, found)
    return found


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for opened in find(path).open_each():
        while piece := opened.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _compare(wanted: DataSet, found: Checked) -> None:
    sizes: dict[int, int | None] = {wanted.rows: wanted.positives, **dict(wanted.samples)}
    rows = " or ".join(f"{size:,}" for size in sizes)
    problems = []
    if found.rows not in sizes:
        problems.append(f"{found.rows:,} rows instead of {rows}")
    elif (positives := sizes[found.rows]) is None:
        share, usual = found.positives / found.rows, wanted.positives / wanted.rows
        if abs(share - usual) > 5 * (usual * (1 - usual) / found.rows) ** 0.5:
            problems.append(f"a share of {share:.3f} positives instead of about {usual:.3f}")
    elif found.positives != positives:
        problems.append(f"{found.positives:,} positives instead of {positives:,}")
    if found.features != wanted.features:
        problems.append(f"{found.features:,} columns instead of {wanted.features}")
    if problems:
        raise DataError(f"{found.path} is not {wanted.name}: it has {' and '.join(problems)}.")


# ---- files to download ----------------------------------------------------------------------------------------------


def get(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    mirror: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Checked:
    """Download a data set from its official site, check it and keep it as NAME.svm.xz.

    An interrupted download is resumed when this is called again. A file with the wrong contents is removed.

    Parameters
    ----------
    name : str
        Such as "a9a".
    folder : path, default=None
        Where to put it. None: the cache.
    mirror : str, default=None
        Address of a folder that has the same files as the official site.
    progress : callable, default=None
        Called as progress(bytes, total) for each file that is downloaded.
    options
        Of `download`: attempts, wait, timeout.
    """
    wanted = entry(name)
    target = Path(cache_folder() if folder is None else folder) / (wanted.name + ENDINGS[0])
    if target.exists():
        return check_file(wanted.name, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    urls = [url if mirror is None else mirror.rstrip("/") + "/" + _file_name(url) for url in wanted.files]
    parts = [target.parent / f"{wanted.name}.from.{_file_name(url)}" for url in urls]
    for url, part in zip(urls, parts, strict=True):
        if not part.exists():
            enough = _counter(wanted.head) if wanted.head else None
            download(url, part, progress=progress, enough=enough, most=_most_bytes(wanted), **options)
    try:
        made = _make(wanted, parts, target)
    except (DataError, StreamError) as error:
        _remove(parts)
        raise DataError(f"{' and '.join(urls)} is not {wanted.name}; nothing was kept. {error}") from error
    _remove(parts)
    return made


def _remove(parts: list[Path]) -> None:
    for part in parts:
        part.unlink(missing_ok=True)


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]


def _most_bytes(wanted: DataSet) -> int:
    """Bytes that one of its files can have; none of the numbers, with its column, takes more than 32."""
    return 32 * (wanted.head or wanted.rows) * (wanted.features + 1)


def _counter(rows: int) -> Callable[[bytes], bool]:
    """Reports when this number of lines of an .xz file has arrived."""
    decoder, lines = lzma.LZMADecompressor(), 0

    def enough(piece: bytes) -> bool:
        nonlocal lines
        with suppress(lzma.LZMAError, EOFError):  # a wrong file is found out later
            lines += decoder.decompress(piece, CHUNK).count(b"\n")
            while lines < rows and not decoder.needs_input and not decoder.eof:
                lines += decoder.decompress(b"", CHUNK).count(b"\n")
        return lines >= rows

    return enough


def _make(wanted: DataSet, parts: list[Path], target: Path) -> Checked:
    """Write the rows of the downloaded files, with labels -1 and +1, and check them before they get their name."""
    rows: list[tuple[str, bytes]] = []
    for part in parts:
        for row in _rows(part):
            rows.append(row)
            if len(rows) == wanted.head:
                break
            if len(rows) > wanted.rows:
                raise DataError(f"there are more than {wanted.rows:,} rows.")
    counts = Counter(label for label, _ in rows)
    positive = _positive(wanted, counts)
    handle, name = tempfile.mkstemp(ENDINGS[0], f"{wanted.name}.", target.parent)
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as raw, lzma.open(raw, "wb") as file:
            for label, rest in rows:
                file.write((b"+1" if label == positive else b"-1") + rest + b"\n")
        found = check_file(wanted.name, made)
        made.chmod(0o644)
        os.replace(made, target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return replace(found, path=target)


def _rows(part: Path) -> Iterator[tuple[str, bytes]]:
    """Label and rest of each line of LIBSVM text, or of magic04's CSV."""
    if part.name.endswith(".data"):
        for block in open_stream(part, format="csv", label=-1, header=False).blocks():
            assert block.y is not None
            columns = np.arange(block.X.shape[1])
            for label, row in zip(block.y.tolist(), block.X, strict=True):
                yield label, b" " + line_of(None, columns, row).rstrip()
        return
    for opened in find(part).open_each():
        for number, line in chain.from_iterable(Text(opened).batches()):
            label, _, rest = line.strip().partition(b" ")
            if label:
                try:
                    yield str(float(label)), b" " + rest if rest else b""
                except ValueError:
                    raise StreamError("a label, which is a number", file=str(part), line=number) from None


def _positive(wanted: DataSet, counts: "Counter[str]") -> str:
    """The label that means +1: it has as many rows as the catalogue says; of a part of the rows, the larger."""
    if len(counts) != 2:
        some = ", ".join(sorted(counts)[:5])
        raise DataError(f"there are {len(counts)} labels ({some}) instead of two.")
    if wanted.head:
        return max(counts, key=float)
    by_count = {count: label for label, count in counts.items()}
    if wanted.positives not in by_count:
        raise DataError(
            f"there are {counts.total():,} rows instead of {wanted.rows:,}, and none of the labels has "
            f"{wanted.positives:,}."
        )
    return by_count[wanted.positives]
