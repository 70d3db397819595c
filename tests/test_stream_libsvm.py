"""LIBSVM text: what is read, what is refused and where, and in how much memory."""

import io
import itertools
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from pocketkernel.lab.streams import line_of
from pocketkernel.stream import StreamError, gather, open_stream
from pocketkernel.stream.errors import Skipped
from pocketkernel.stream.files import find
from pocketkernel.stream.libsvm import Libsvm, width_of


def read(text, **options):
    return gather(open_stream(io.BytesIO(text), format="libsvm", **options).blocks())


def pieces(text, *, chunk, width=None, on_error="raise"):
    """What comes of a text that is read in chunks of a few bytes."""
    with mock.patch("pocketkernel.stream.files.CHUNK", chunk):
        reader = Libsvm(find(io.BytesIO(text)).kept, Skipped(on_error), width)
        return list(reader.pieces()), reader.skipped


numbers = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.tuples(numbers, st.dictionaries(st.integers(0, 40), numbers)), min_size=1, max_size=30)


# ---- what is read ---------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(rows, st.integers(1, 200), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_what_is_written_is_read(rows, chunk, newline, last):
    lines = []
    for label, entries in rows:
        columns = np.array(sorted(entries), int)
        lines.append(line_of(label, columns, np.array([entries[c] for c in columns])).rstrip(b"\n"))
    text = newline.join(lines) + (newline if last else b"")
    found, _ = pieces(text, chunk=chunk, width=41)
    X = np.concatenate([piece.X.toarray() for piece in found])
    np.testing.assert_array_equal(np.concatenate([piece.y for piece in found]), [label for label, _ in rows])
    wanted = np.zeros((len(rows), 41))
    for row, (_, entries) in enumerate(rows):
        for column, value in entries.items():
            wanted[row, column] = value
    np.testing.assert_array_equal(X, wanted)
    np.testing.assert_array_equal(np.concatenate([piece.lines for piece in found]), np.arange(1, len(rows) + 1))


def test_agrees_with_scikit_learn():
    X = sparse.random(500, 60, density=0.2, format="csr", random_state=0)
    y = np.random.default_rng(0).integers(0, 3, 500)
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False)
    block = read(file.getvalue(), n_features=60)
    file.seek(0)
    theirs, labels = load_svmlight_file(file, n_features=60, zero_based=False)
    assert (theirs != block.X).nnz == 0
    np.testing.assert_array_equal(block.y, labels)
    assert block.X.indices.dtype == np.int32
    assert block.X.has_canonical_format


@pytest.mark.parametrize(
    ("text", "X", "y"),
    [
        (b"+1 1:2 2:+3\n-1\n", [[2, 3], [0, 0]], [1, -1]),
        (b"\n\n  \n1 2:1 # a comment 9:9\n# another\n2 1:1#no space\n", [[0, 1], [1, 0]], [1, 2]),
        (b"\xef\xbb\xbf1.5 1:1e-400 2:1E3\t \r\n", [[0, 1000]], [1.5]),
        (b"0\t1:.5\t2:5.", [[0.5, 5]], [0]),
        (b"-1.000000 1:-0.0000001 2:4.9e-324", [[-1e-7, 4.9e-324]], [-1]),
        (b"1 1:123456789012345678901234567890 2:0.1", [[1.2345678901234568e29, 0.1]], [1]),
    ],
)
def test_forms(text, X, y):
    block = read(text)
    np.testing.assert_array_equal(block.X.toarray(), X)
    np.testing.assert_array_equal(block.y, y)


def test_blocks_are_full_and_know_where_they_begin():
    text = b"# head\n" + b"".join(b"%d 1:%d\n\n" % (n % 2, n) for n in range(1, 9000))
    blocks = list(open_stream(io.BytesIO(text), block=700).blocks())
    assert [len(block) for block in blocks] == [700] * 12 + [599]
    assert [block.line for block in blocks] == [2 + 2 * 700 * k for k in range(13)]
    np.testing.assert_array_equal(gather(blocks).X.toarray().ravel(), np.arange(1, 9000))


def test_a_start_leaves_rows_out():
    text = b"".join(b"1 1:%d\n" % n for n in range(10_000))
    for start in (0, 1, 4096, 9_999, 10_000, 20_000):
        blocks = list(open_stream(io.BytesIO(text), block=1000, n_features=1).blocks(start))
        found = np.concatenate([b.X.toarray().ravel() for b in blocks]) if blocks else np.empty(0)
        np.testing.assert_array_equal(found, np.arange(start, 10_000))


def test_rows_may_be_float32_and_without_labels():
    block = read(b"1 1:0.1\n", dtype="float32", label=False)
    assert block.X.dtype == np.float32
    assert block.y is None


# ---- width ----------------------------------------------------------------------------------------------------------


def test_the_width_of_files_is_found_before_the_first_row(tmp_path):
    for name, text in {"a": b"1 1:1\n1 5:1 # 99:1", "b": b"bad 50:1\n1 2:1 300:1\n1 700:x\n\n1 9:1 \r\n"}.items():
        (tmp_path / f"{name}.svm").write_bytes(text)
    stream = open_stream(str(tmp_path / "*.svm"), on_error="skip")
    assert stream.n_features == 300
    assert [block.X.shape for block in stream.blocks()] == [(4, 300)]
    assert stream.skipped.count == 2


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(1, 3000), unique=True), min_size=1), st.integers(3, 50))
def test_the_first_pass_finds_the_largest_column(columns, chunk):
    text = b"".join(b" ".join([b"1", *(b"%d:1" % c for c in sorted(row))]) + b"\n" for row in columns)
    with mock.patch("pocketkernel.stream.files.CHUNK", chunk):
        assert width_of(find(io.BytesIO(text))) == max((c for row in columns for c in row), default=0)


def test_a_pipe_has_the_width_of_its_first_block():
    for block in (1, 3, 5000):
        text = b"1 1:1\n" * (block - 1) + b"1 3:1\n" + b"1 2:1\n" * 9 + b"1 4:1\n"
        stream = open_stream(io.BytesIO(text), block=block)
        assert stream.n_features == 3
        with pytest.raises(StreamError, match=rf"line {block + 10}, byte 3: expected a column of at most 3 .*n_fea"):
            list(stream.blocks())
        assert read(text, n_features=10).X.shape == (block + 10, 10)


def test_no_columns_at_all():
    with pytest.raises(ValueError, match="n_features"):
        open_stream(io.BytesIO(b"1\n-1\n"), format="libsvm")
    assert read(b"1\n-1\n", n_features=2).X.shape == (2, 2)


# ---- what is refused ------------------------------------------------------------------------------------------------

MALFORMED = [
    (b"x 1:1", 1, "a label", "'x'"),
    (b"nan 1:1", 1, "a label", "'nan'"),
    (b"1,2 1:1", 1, "a label", "'1,2'"),
    (b"1:1 2:1", 1, "a label", "'1:1'"),
    (b"+-1 1:1", 1, "a label", "'+-1'"),
    (b"1 qid:3 1:1", 3, "no qid", "'qid:3'"),
    (b"1 0:1", 3, "a column, which is a whole number from 1 up", "'0:1'"),
    (b"1 -2:1", 3, "a column", "'-2:1'"),
    (b"1 a:1", 3, "a column", "'a:1'"),
    (b"1 1:1 2", 8, "a ':'", "the end of the line"),
    (b"1 1.5:2", 4, "a ':'", "'.5:2'"),
    (b"1 1:", 5, "a finite number", "the end of the line"),
    (b"1 1: 2", 5, "a finite number", "' '"),
    (b"1 1:1 2:x", 9, "a finite number", "'x'"),
    (b"1 1:1.5abc", 5, "a finite number", "'1.5abc'"),
    (b"1 1:nan", 5, "a finite number", "'nan'"),
    (b"1 1:-inf", 5, "a finite number", "'-inf'"),
    (b"1 1:1e400", 5, "a finite number", "'1e400'"),
    (b"1 1:0x10", 5, "a finite number", "'0x10'"),
    (b"1 2:1 2:1", 7, "a column above 2", "'2:1'"),
    (b"1 3:1 2:1", 7, "a column above 3", "'2:1'"),
    (b"1 1:1 8:1", 7, "a column of at most 7", "'8:1'"),
    (b"1 99999999999999999999:1", 3, "a column of at most 7", "'99999999999999999999:1'"),
    (b"1 1:1\x002:1", 5, "a finite number", r"'1\x002:1'"),
    (b"1 1:\xff", 5, "a finite number", r"'\\xff'"),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize(("line", "column", "expected", "found"), MALFORMED)
def test_malformed_lines(line, column, expected, found, end):
    with pytest.raises(StreamError) as caught:
        read(b"1 1:1\n\n" + line + end, n_features=7)
    error = caught.value
    assert (error.line, error.column) == (3, column)
    assert error.expected.startswith(expected)
    assert error.found == found
    assert str(error).startswith(f"a file object, line 3, byte {column}: expected ")


@pytest.mark.parametrize("chunk", [1, 7, 100, 1 << 20])
def test_skipped_lines_are_counted_and_reported(chunk):
    text = b"".join(line + b"\n1 7:%d\n" % n for n, (line, *_) in enumerate(MALFORMED))
    found, skipped = pieces(text, chunk=chunk, width=7, on_error="skip")
    np.testing.assert_array_equal(np.concatenate([p.X.toarray()[:, 6] for p in found]), np.arange(len(MALFORMED)))
    np.testing.assert_array_equal(np.concatenate([p.lines for p in found]), np.arange(2, 2 * len(MALFORMED) + 1, 2))
    assert skipped.count == len(MALFORMED)
    assert [(e.line, e.column) for e in skipped.reports] == [(2 * n + 1, c) for n, (_, c, *_) in enumerate(MALFORMED)][
        :10
    ]


def test_labels_are_classes():
    assert read(b"2 1:1\n1 1:1\n", classes=["1", "2"]).y.tolist() == [2, 1]
    with pytest.raises(StreamError, match="line 2, byte 1: expected one of the classes -1, 1, found 3"):
        read(b"-1 1:1\n3 1:1\n", classes=[-1, 1])
    stream = open_stream(io.BytesIO(b"-1 1:1\n3 1:2\n1 1:3\n"), classes=[-1, 1], on_error="skip")
    assert gather(stream.blocks()).X.toarray().ravel().tolist() == [1, 3]
    assert stream.skipped.count == 1


def test_a_line_may_be_long_but_not_endless():
    long = b"1 " + b" ".join(b"%d:1" % n for n in range(1, 30_000)) + b"\n"
    found, _ = pieces(long * 3, chunk=1000)
    assert sum(map(len, found)) == 3
    assert found[0].X.nnz == 29_999
    with (
        mock.patch("pocketkernel.stream.files.LONGEST_LINE", 100_000),
        pytest.raises(StreamError, match="line 1: expected a line of at most 0 MiB"),
    ):
        pieces(long, chunk=1000)


def test_options_for_tables_are_refused():
    with pytest.raises(ValueError, match="LIBSVM text has no named columns"):
        read(b"1 1:1\n", drop=["a"])


# ---- memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc/self/statm to tell resident memory")
def test_a_long_pipe_takes_no_memory():
    # Not ru_maxrss: a child inherits its parent's peak, which would hide everything.
    program = """
        from pathlib import Path
        from pocketkernel.stream import open_stream

        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1])

        stream, rows, pages = open_stream("-", n_features=22), 0, []
        before = resident()
        for number, block in enumerate(stream.blocks()):
            rows += len(block)
            if number % 20 == 0:
                pages.append(resident())
        print(rows, stream.consumed, max(pages) - before)
    """
    line = b"-1 " + b" ".join(b"%d:0.%06d" % (n, n * 12345) for n in range(1, 23)) + b"\n"
    piece = line * 5000
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        count = 200_000_000 // len(piece)
        for _ in range(count):
            child.stdin.write(piece)
        child.stdin.close()
        rows, consumed, pages = map(int, child.stdout.read().split())
    assert rows == 5000 * count
    assert consumed == len(piece) * count
    assert pages * os.sysconf("SC_PAGE_SIZE") < 24e6


# ---- the first rows only --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["file", "pipe"])
@pytest.mark.parametrize("rows", [3, 4096, 5000])
def test_what_follows_the_first_rows_is_not_checked(source, rows, tmp_path):
    text = b"1 1:1\n-1 1:2\n" * (rows // 2) + b"1 1:3\n" * (rows % 2) + b"7 1:1\n1 1:x\n"
    (tmp_path / "a.svm").write_bytes(text)
    for on_error, classes in itertools.product(("raise", "skip"), (None, [-1, 1])):
        what = tmp_path / "a.svm" if source == "file" else io.BytesIO(text)
        stream = open_stream(what, rows=rows, classes=classes, on_error=on_error)
        assert sum(map(len, stream.blocks())) == rows
        assert stream.skipped.count == 0


def test_skipped_rows_do_not_count():
    text = b"1 1:1\n7 1:1\n1 1:x\n-1 1:2\n7 1:1\n"
    stream = open_stream(io.BytesIO(text), rows=2, classes=[-1, 1], n_features=1, on_error="skip")
    assert gather(stream.blocks()).y.tolist() == [1, -1]
    assert [report.line for report in stream.skipped.reports] == [2, 3]


def test_a_label_by_place_is_refused():
    with pytest.raises(ValueError, match="LIBSVM text has no named columns"):
        read(b"1 1:1\n", label=0)
    assert read(b"1 1:1\n", label=False).y is None
