"""Files that are hardly tables: each is read as far as it can be, or refused with a sentence."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from pocketkernel.stream import StreamError, gather, jsonl, open_stream
from pocketkernel.stream.sniff import Dialect, dialect_of, lines_before, title_lines

ROWS = "".join(f"{k % 7}.5,{'red' if k % 3 else 'blue'},{k % 2}\n" for k in range(60)).encode()
GOOD = b"a,c,y\n" + ROWS


def opened(tmp_path, text, name="t.csv", **options):
    (tmp_path / name).write_bytes(text)
    return open_stream(tmp_path / name, **{"label": "y", "strict": False} | options)


@pytest.mark.parametrize(
    ("text", "rows", "skipped"),
    [
        (b"a,c,y\n1,re\rd,0\n" + ROWS, 61, 0),
        (b"a,c\r,y\n" + ROWS, 60, 0),
        (b"x\ry\na,c,y\n" + ROWS, 60, 0),
        (b"# made\rhere\na,c,y\n" + ROWS, 60, 0),
        (GOOD.replace(b"\n", b"\r\n", 20), 60, 0),
        (b"\xef\xbb\xbf" + GOOD, 60, 0),
        (b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD, 60, 0),
        (GOOD.decode().encode("utf-16"), 60, 0),
        (GOOD.replace(b"red", b"r\x0cd").replace(b"blue", b"b\x0bl\x1c"), 60, 0),
        (GOOD.replace(b"red", "r\u2028d\u0085".encode()), 60, 0),
        (b"# " + b"x," * 300_000 + b"\n" + GOOD, 60, 0),
        (b"a" * 300_000 + b",c,y\n" + ROWS, 60, 0),
        (b"a,c,y\n" + b"x" * 3_000_000 + b"\n" + ROWS, 60, 1),
        (GOOD + ROWS * 9 + b"\0\0,x\n", 600, 1),
    ],
)
def test_what_is_readable_is_read(tmp_path, text, rows, skipped):
    stream = opened(tmp_path, text)
    assert len(gather(stream.blocks())) == rows
    assert stream.skipped.count == skipped
    assert [column.role for column in stream.inferred.columns] == ["number", "category", "label"]


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", GOOD.replace(b"\n", b"\r"), "found lines that end in carriage returns alone"),
        ("t.csv", GOOD.replace(b"red", b"r\0d"), "found binary data"),
        ("t.csv", b"", "expected at least one line, found an empty file"),
        ("t.csv", b"\n\n  \n\r\n", "expected at least one line, found an empty file"),
        ("t.csv", b"\xef\xbb\xbf", "expected at least one line, found an empty file"),
        ("t.csv", b",,,\n,,,\n", "label='y' is not a column"),
        ("t.csv", b"x" * 3_000_000, "label='y' is not a column: the only one is x{37}[.]{4}$"),
        ("t.csv", GOOD.decode().encode("utf-16")[:-1], "expected text in UTF-16"),
        ("t.csv.gz", gzip.compress(GOOD, mtime=0)[:-9], "expected compressed data that is whole"),
        ("t.csv.gz", b"\x1f\x8b", "expected compressed data that is whole"),
        ("t.csv.gz", gzip.compress(b"", mtime=0), "expected at least one line, found an empty file"),
        ("t.csv.xz", lzma.compress(GOOD)[:-7], "expected compressed data that is whole"),
        ("t.csv.bz2", bz2.compress(GOOD)[:-4], "expected compressed data that is whole"),
        ("t.zip", zipped(), "expected one file in the archive, found none"),
        ("t.zip", zipped(**{"d/": b""}), "expected one file in the archive, found none"),
        ("t.zip", zipped(**{"a.csv": GOOD})[:-30], "expected a .zip archive that can be read"),
        ("t.jsonl", b"", "expected at least one object, {...}, found an empty file"),
        ("t.jsonl", b"\n\n", "expected at least one object, {...}, found an empty file"),
        ("t.json", b"[" * 100_000, "line 1: expected JSON with at most 200 brackets within brackets"),
        ("t.jsonl", b'{"a": "\xff", "y": 1}\n', "line 1, byte 8: expected JSON in UTF-8, found"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        gather(opened(tmp_path, text, name, on_error="raise").blocks())


@pytest.mark.parametrize("fault", [b'{"a": 1} x', b"\0", b'{"a": "\xff"}', b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}"])
@pytest.mark.parametrize("place", [0, 1, 50])
def test_lines_of_json_that_cannot_be_read(tmp_path, fault, place):
    """Wherever they are; also for an encoding, of whose columns one row is looked at."""
    lines = [b'{"a": %d.5, "y": %d}' % (k % 7, k % 2) for k in range(60)]
    encoding = opened(tmp_path, b"\n".join(lines), "t.jsonl").encoding.to_dict()
    lines.insert(place, fault)
    for options in (
        {},
        {"strict": True, "on_error": "skip"},
        {"encoding": encoding, "label": False, "on_error": "skip"},
    ):
        stream = opened(tmp_path, b"\n".join(lines), "t.jsonl", **options)
        assert len(gather(stream.blocks())) == 60
        assert [report.line for report in stream.skipped.reports] == [place + 1]


@pytest.mark.parametrize("depth", [199, 200, 201, 5000])
def test_nested_json(tmp_path, depth):
    """Deeper than is read, or deeper than the parser can go: both are told with their line."""
    lines = [b'{"b": 1.5, "y": 0}', b'{"b": 2.5, "y": 1}'] * 20
    lines[7] = b'{"b": 3.5, "y": 1, "a": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    stream = opened(tmp_path, b"\n".join(lines), "t.jsonl")
    assert len(gather(stream.blocks())) == 40 - (depth > jsonl.DEEPEST)
    assert [report.line for report in stream.skipped.reports] == [8] * (depth > jsonl.DEEPEST)


def test_sniffing_takes_any_text():
    """Carriage returns within lines, and fields that are longer than the module csv takes."""
    assert dialect_of(b"a;b\rc;d\n1;2\r3;4\n5;6;7\n", ",").delimiter == ";"
    assert title_lines(b"x\ry\na,b,c\n1,2\r,3\n1,2,3\n", Dialect(",")) == (4, 1)
    assert lines_before(b"# id,\ra\n1,2\n").named(Dialect(",")) == ["id", "a"]
    assert len(lines_before(b"# id," + b"a" * 200_000 + b"\n1,2\n").named(Dialect(","))) == 2


def test_an_encoding_of_no_rows_that_fit(tmp_path):
    """All rows of a block may be refused."""
    encoding = opened(tmp_path, GOOD).encoding.to_dict()
    stream = opened(tmp_path, b"a,c,y\nx,red,0\n" * 1, encoding=encoding, label=None, on_error="skip")
    assert sum(len(block) for block in stream.blocks()) == 0
    assert stream.skipped.count == 1
    stream = opened(tmp_path, GOOD, classes=[5, 6])
    assert sum(len(block) for block in stream.blocks()) == 0
    with pytest.raises(StreamError, match="line 2, column 'y': expected one of the classes 5, 6, found '0'"):
        gather(opened(tmp_path, GOOD, classes=[5, 6], on_error="raise").blocks())
