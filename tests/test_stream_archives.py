"""Archives with one member, and workbooks."""

import bz2
import datetime
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from pocketkernel.stream import StreamError, archives, gather, open_stream

TEXT = b"a,c,y\n" + b"".join(b"%d.5,%s,%d\n" % (k, b"red" if k % 3 else b"blue", k % 2) for k in range(2000))
PACK = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}  # fmt: skip


def tarred(kind=tarfile.DEFAULT_FORMAT, **members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=kind) as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def inferred(path, **options):
    return open_stream(path, **{"strict": False, "label": "y"} | options)


def check(path):
    stream = inferred(path)
    block = gather(stream.blocks())
    assert block.X[:, 0].tolist() == [k + 0.5 for k in range(2000)] and stream.skipped.count == 0
    assert stream.format == "csv" and stream.consumed <= stream.size == path.stat().st_size
    assert len(gather(stream.blocks())) == 2000  # once more


@pytest.mark.parametrize("outside", PACK)
@pytest.mark.parametrize("inside", ["", ".gz"])
@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_a_tar_with_one_member(tmp_path, outside, inside, kind):
    member = {f"folder/t.csv{inside}": PACK[inside](TEXT), "folder/._t.csv": b"x", "__MACOSX/t.csv": b"x"}
    path = tmp_path / f"t.tar{outside}"
    path.write_bytes(PACK[outside](tarred(kind, **member)))
    check(path)


@pytest.mark.parametrize("inside", [".gz", ".bz2", ".xz", ".zst"])
def test_what_is_compressed_twice(tmp_path, inside):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr(f"t.csv{inside}", PACK[inside](TEXT))
    check(tmp_path / "t.zip")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(PACK[inside](TEXT)))
    check(tmp_path / "t.csv.gz")


def test_utf16_in_an_archive(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.decode().encode("utf-16")))
    check(tmp_path / "t.csv.gz")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (tarred(**{"a.csv": TEXT, "b.csv": TEXT}), "expected one file in the archive, found 2: a.csv, b.csv"),
        (tarred(), "expected one file in the archive, found none"),
        (gzip.compress(tarred(**{"a.csv": TEXT})[:5000]), "expected a .tar archive that can be read"),
        (gzip.compress(tarred(**{"a.csv": TEXT}))[:-2000], "expected a .tar archive that can be read"),
        (tarred(**{"a.tar": tarred(**{"a.csv": TEXT})}), "expected a table in the archive, found another archive"),
    ],
)
def test_other_archives(tmp_path, data, message):
    (tmp_path / "t.tar.gz").write_bytes(data)
    with pytest.raises(StreamError, match=message):
        inferred(tmp_path / "t.tar.gz")


def test_a_tar_from_a_pipe_is_refused():
    program = "from pocketkernel.stream import open_stream\nopen_stream('-')\n"
    data = gzip.compress(tarred(**{"a.csv": TEXT}))
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=False)
    assert b"a .tar archive cannot be read from a pipe: use a file, or pipe what it has: tar -xOf" in done.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="open files cannot be counted here")
def test_no_file_stays_open(tmp_path):
    (tmp_path / "t.tar.gz").write_bytes(gzip.compress(tarred(**{"a.csv": TEXT})))
    check(tmp_path / "t.tar.gz")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        check(tmp_path / "t.tar.gz")
    assert len(os.listdir("/proc/self/fd")) <= before


# ---- workbooks ------------------------------------------------------------------------------------------------------


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def table(rows=60):
    yield ["n", "when", "colour", "ok", "note", "y"]
    for k in range(rows):
        when = datetime.datetime(2020, 1, 1 + k % 28, 6 * (k % 4))
        yield [k * 0.5 if k % 9 else None, when, ["red", "dark, red"][k % 2], k % 3 == 0, "two\nlines", k % 2]


def test_a_workbook(tmp_path):
    path = workbook(tmp_path / "t.xlsx", Empty=[], Data=table(), Other=[["x"], [1]])
    stream = inferred(path)
    roles = {column.name: column.role for column in stream.inferred.columns}
    assert roles == {
        "n": "number", "when": "date", "colour": "category", "ok": "boolean", "note": "left out", "y": "label",
    }  # fmt: skip
    assert stream.inferred.remarks == ["The sheet 'Data' is read, and not 'Other'."]
    block = gather(stream.blocks())
    names = stream.feature_names
    np.testing.assert_array_equal(block.X[:, names.index("n")], [k * 0.5 if k % 9 else np.nan for k in range(60)])
    assert block.X[:5, names.index("when days")].tolist() == [18262, 18263.25, 18264.5, 18265.75, 18266]
    assert block.y.tolist() == [k % 2 for k in range(60)] and stream.skipped.count == 0
    again = inferred(path, label=None, encoding=stream.encoding.to_dict())
    np.testing.assert_array_equal(gather(again.blocks()).X, block.X)


def test_a_title_above_the_table_of_a_workbook(tmp_path):
    path = workbook(tmp_path / "t.xlsx", Data=[["Sales 2023"], [], *table()])
    assert [column.name for column in inferred(path).inferred.columns][:2] == ["n", "when"]


def test_workbooks_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(StreamError, match="expected a sheet with values, found none"):
        inferred(workbook(tmp_path / "empty.xlsx", Data=[]))
    with zipfile.ZipFile(tmp_path / "broken.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(StreamError, match="expected a workbook that can be read"):
        inferred(tmp_path / "broken.xlsx")
    (tmp_path / "old.xls").write_bytes(archives.OLD_WORKBOOK + b"x" * 2000)
    with pytest.raises(StreamError, match="expected a workbook that can be read"):
        inferred(tmp_path / "old.xls")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    path = workbook(tmp_path / "t.xlsx", Data=table())
    with pytest.raises(ModuleNotFoundError, match=r"t\.xlsx: reading a workbook needs python_calamine: pip install "):
        inferred(path)
    with path.open("rb") as file, pytest.raises(ValueError, match="a workbook cannot be read from a pipe"):
        inferred(io.BytesIO(file.read()))
