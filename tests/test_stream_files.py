"""Where rows come from: paths, globs, lists, pipes, file objects; plain or compressed; and how much has been read."""

import bz2
import gc
import gzip
import io
import lzma
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from pocketkernel.lab.streams import permute
from pocketkernel.stream import StreamError, blocks_of, gather, open_stream

TEXT = b"".join(b"%d 1:%d 2:0.5\n" % (n % 2, n) for n in range(5000))
TABLE = b"a,label\n" + b"".join(b"%d,%d\n" % (n, n % 2) for n in range(5000))
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def first_column(stream):
    X = gather(stream.blocks()).dense().X
    return X[:, 0]


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize(("name", "text"), [("rows.svm", TEXT), ("rows.csv", TABLE), ("a9a.t", TEXT), ("magic", TABLE)])
def test_compression(tmp_path, name, text, ending):
    path = tmp_path / (name + ending)
    path.write_bytes(PACK[ending](text))
    stream = open_stream(path)
    assert stream.size == path.stat().st_size
    seen = []
    for block in stream.blocks():
        seen.append(stream.consumed)
        assert block.file == str(path)
    assert seen == sorted(seen)
    assert stream.consumed == stream.size
    np.testing.assert_array_equal(first_column(stream), np.arange(5000))
    with path.open("rb") as file:  # as a file object, without a name to go by
        np.testing.assert_array_equal(first_column(open_stream(io.BytesIO(file.read()))), np.arange(5000))


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_compressed_parts_may_be_joined_but_not_broken(tmp_path, ending):
    path = tmp_path / f"rows.svm{ending}"
    path.write_bytes(PACK[ending](TEXT) + PACK[ending](TEXT))
    assert len(gather(open_stream(path).blocks())) == 10_000
    path.write_bytes(PACK[ending](TEXT)[:-20])
    with pytest.raises(StreamError, match=r"rows\.svm\S+: expected compressed data that is whole"):
        list(open_stream(path, n_features=2).blocks())
    broken = bytearray(PACK[ending](TEXT))
    broken[len(broken) // 2] ^= 255
    path.write_bytes(broken)
    with pytest.raises(StreamError):
        list(open_stream(path, n_features=2).blocks())


def test_globs_and_lists(tmp_path):
    for n in range(3):
        (tmp_path / f"part{n}.svm").write_bytes(b"1 1:%d\n" % n)
    (tmp_path / "part3.svm").mkdir()
    stream = open_stream(str(tmp_path / "part?.svm"), block=2)
    assert first_column(stream).tolist() == [0, 1, 2]
    assert [block.file[-9:] for block in stream.blocks()] == ["part0.svm", "part2.svm"]
    assert stream.size == stream.consumed == 18
    assert first_column(open_stream([tmp_path / "part2.svm", str(tmp_path / "part0.svm")])).tolist() == [2, 0]
    odd = tmp_path / "a[1].svm"  # a name, though it looks like a glob
    odd.write_bytes(b"1 1:7\n")
    assert first_column(open_stream(str(odd))).tolist() == [7]


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.svm does not exist"):
        open_stream(tmp_path / "no.svm")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        open_stream(str(tmp_path / "*.svm"))
    with pytest.raises(IsADirectoryError, match="is a folder: use a file"):
        open_stream(tmp_path)
    with pytest.raises(ValueError, match="one or more files"):
        open_stream([])
    with pytest.raises(ValueError, match="the format of a file object cannot be detected: set format="):
        open_stream(io.BytesIO(b"hello\n"))
    with pytest.raises(TypeError, match="binary mode"):
        open_stream(io.StringIO("1 1:1\n"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(pack):
    program = (
        "from pocketkernel.stream import open_stream, gather\n"
        "stream = open_stream('-')\n"
        "block = gather(stream.blocks())\n"
        "print(stream.format, stream.size, stream.consumed, block.X.shape, block.file, block.line)\n"
    )
    sent = pack(TEXT)
    done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, check=True)
    assert done.stdout.decode().split("\n")[0] == f"libsvm None {len(sent)} (5000, 2) standard input 1"


def test_a_pipe_is_read_once_and_as_it_comes():
    there, here = os.pipe()
    with open(there, "rb") as source, open(here, "wb", buffering=0) as sink:
        sink.write(b"1 1:1\n1 1:2\n1 1:")
        stream = open_stream(source, block=1, n_features=1)
        blocks = stream.blocks()
        assert next(blocks).X.toarray() == 1
        assert next(blocks).X.toarray() == 2  # the third is not there yet
        sink.write(b"3\n")
        assert next(blocks).X.toarray() == 3
        sink.close()
        assert list(blocks) == []
        with pytest.raises(ValueError, match="can be read only once"):
            list(stream.blocks())


def test_a_table_is_told_from_a_slow_pipe():
    there, here = os.pipe()

    def write():
        with open(here, "wb", buffering=0) as sink:
            for piece in (b"a,lab", b"el\n1,", b"x\n2,y", b"\n3,x\n"):
                sink.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    with open(there, "rb") as source:
        block = gather(open_stream(source, format="csv").blocks())
    writer.join()
    assert block.y.tolist() == ["x", "y", "x"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe(tmp_path):
    path = tmp_path / "pipe.svm"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(TEXT))
    writer.start()
    stream = open_stream(path)
    np.testing.assert_array_equal(first_column(stream), np.arange(5000))
    writer.join()
    assert stream.size is None
    stream._files.kept.close()


def test_errors_can_be_pickled():
    with pytest.raises(StreamError) as caught:
        open_stream(io.BytesIO(b"1 1:x\n"), format="libsvm")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) == "a file object, line 1, byte 5: expected a finite number, found 'x'"


# ---- blocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sparse", [False, True])
def test_permutations(is_sparse):
    whole = gather(open_stream(io.BytesIO(TEXT)).blocks())
    whole = whole if is_sparse else whole.dense()
    order = np.random.default_rng(3).permutation(5000)
    blocks = list(permute(blocks_of(whole.X, whole.y, block=700), seed=3, block=900))
    assert [len(block) for block in blocks] == [900] * 5 + [500]
    found = gather(blocks).dense()
    np.testing.assert_array_equal(found.X[:, 0], order)
    np.testing.assert_array_equal(found.y, order % 2)
    with pytest.raises(ValueError, match="no rows"):
        list(permute([], 0))


def test_a_block_can_be_cut():
    block = gather(open_stream(io.BytesIO(TEXT)).blocks())
    part = block[10:20]
    np.testing.assert_array_equal(part.X.toarray()[:, 0], np.arange(10, 20))
    assert part.line is None
    assert block[:5].line == 1
    assert len(block[7:3]) == 0
    np.testing.assert_array_equal(block[::1000].X.toarray()[:, 0], np.arange(0, 5000, 1000))


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "x,label\n1,0\n2,1\n"), ("a.jsonl", '{"x": 1, "label": 0}\n' * 3)]
)
def test_a_file_is_opened_once(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    opened, real = [], Path.open

    def counting(path, *arguments, **options):
        opened.append(path)
        return real(path, *arguments, **options)

    with mock.patch.object(Path, "open", counting):
        stream = open_stream(tmp_path / name)
        first = gather(stream.blocks())
        assert len(opened) == 1
        assert gather(stream.blocks()).X.tolist() == first.X.tolist()
        assert len(opened) == 2


def test_a_stream_that_is_never_read_leaves_no_open_file(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,0\n")
    stream = open_stream(tmp_path / "a.csv")
    opened = stream._files.looked_at
    del stream
    gc.collect()
    assert opened.raw.file.closed
