"""What is in an archive of one member (zip, tar), and the table of a workbook (Excel, OpenDocument) as CSV."""

import csv
import io
import tarfile
import zipfile
from datetime import datetime, time
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from pocketkernel._optional import optional
from pocketkernel.stream.errors import StreamError

ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the latter of an empty archive
OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
_TAR_AT, _TAR = 257, b"ustar"
TELLING = _TAR_AT + len(_TAR)
"""Bytes that tell what a file is."""

_WORKBOOKS = ("[Content_Types].xml", "content.xml")  # of Excel and of OpenDocument
_HIDDEN = ("__MACOSX/", "._")  # what macOS adds
_EXAMPLES = 5


class Member(NamedTuple):
    """The only file in an archive, or a table in a workbook."""

    file: BinaryIO
    name: str
    size: int = 0  # its bytes, if they are known
    remark: str = ""


def is_tar(start: bytes) -> bool:
    """Whether a file that begins like this is a .tar archive."""
    return start[_TAR_AT:TELLING] == _TAR


def zipped(path: Path) -> Member:
    """What is in a .zip archive, or in a workbook, which is one."""
    try:
        with zipfile.ZipFile(path) as archive:
            if not {*archive.namelist()}.isdisjoint(_WORKBOOKS):
                return table_of_workbook(path)
            only = _only(str(path), [one.filename for one in archive.infolist() if not one.is_dir()])
            member = archive.getinfo(only)
            return Member(cast(BinaryIO, archive.open(member)), only, member.file_size)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # broken, encrypted, an odd compression
        raise StreamError("a .zip archive that can be read", str(error), file=str(path)) from error


def in_tar(name: str, again: BinaryIO, file: BinaryIO) -> Member:
    """What is in a .tar archive that is open twice: to look which files it has, and to read it."""
    try:
        with tarfile.open(fileobj=again, mode="r|") as archive:
            only = _only(name, [one.name for one in archive if one.isfile()])
        archive = tarfile.open(fileobj=file, mode="r|")  # noqa: SIM115  (its member is read later)
        member = next(one for one in archive if one.name == only and one.isfile())
        return Member(cast(BinaryIO, archive.extractfile(member)), only)
    except (tarfile.TarError, EOFError) as error:
        raise StreamError("a .tar archive that can be read", str(error), file=name) from error


def _only(name: str, members: list[str]) -> str:
    """The only member that is not hidden."""
    shown = [one for one in members if not one.startswith(_HIDDEN) and not one.rpartition("/")[2].startswith(_HIDDEN)]
    if len(shown) != 1:
        found = f"{len(shown)}: {', '.join(shown[:_EXAMPLES])}" if shown else "none"
        raise StreamError("one file in the archive", found, file=name)
    return shown[0]


def table_of_workbook(path: Path) -> Member:
    """The first sheet with values, as CSV."""
    try:
        calamine = optional("python_calamine", f"{path}: reading a workbook", "xlsx")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error} Or save the sheet as CSV.", name=error.name) from None
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
        filled = {name: sheet for name, sheet in sheets.items() if sheet.total_height}
        if not filled:
            raise StreamError("a sheet with values", "none", file=str(path))
        name, sheet = next(iter(filled.items()))
        rows = sheet.iter_rows()
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([_written(cell) for cell in row] for row in rows)
    except calamine.CalamineError as error:
        raise StreamError("a workbook that can be read", str(error), file=str(path)) from error
    data = text.getvalue().encode("utf-8", "replace")
    others = list(filled)[1:]
    remark = f"The sheet {name!r} is read, and not {', '.join(map(repr, others))}." if others else ""
    return Member(io.BytesIO(data), f"{name}.csv", len(data), remark)


def _written(cell: Any) -> Any:
    """A cell as it would be in a text table, on one line."""
    if isinstance(cell, bool) or cell is None:
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime | time):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    return " ".join(cell.splitlines()) if isinstance(cell, str) else cell
