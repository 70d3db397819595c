"""Tables: CSV, TSV, JSON lines, Parquet and Arrow give the same rows, and say where they cannot be read."""

import csv
import io
import json
import pickle
import sys
import time
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketkernel.evaluate.job import Job
from pocketkernel.stream import StreamError, arrow, gather, open_stream
from pocketkernel.stream.delimited import Delimited
from pocketkernel.stream.errors import Skipped
from pocketkernel.stream.files import find

pa = pytest.importorskip("pyarrow")
feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")

numbers = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)
tricky = st.sampled_from(['say "x"', "a,b", "a;b", "tab\there", "two\nlines", "ü", "'", '"'])
tables = st.lists(st.tuples(numbers, st.one_of(words, tricky), st.integers(-9, 9), words), min_size=1, max_size=20)
HEAD = ["first", "text", "second", "label"]


def to_csv(rows, delimiter=",", newline="\n"):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=newline).writerows([HEAD, *rows])
    return file.getvalue().encode()


def to_jsonl(rows):
    return "".join(json.dumps(dict(zip(HEAD, row, strict=True))) + "\n" for row in rows).encode()


def to_arrow(rows):
    columns = list(zip(*rows, strict=True))
    kinds = [pa.float64(), pa.string(), pa.int32(), pa.dictionary(pa.int8(), pa.string())]
    return pa.table({n: pa.array(c).cast(k) for n, c, k in zip(HEAD, columns, kinds, strict=True)})


def written(rows, form, folder):
    path = folder / f"table.{form}"
    if form in ("csv", "tsv"):
        path.write_bytes(to_csv(rows, "\t" if form == "tsv" else ","))
    elif form == "jsonl":
        path.write_bytes(to_jsonl(rows))
    elif form == "parquet":
        parquet.write_table(to_arrow(rows), path, row_group_size=7)
    elif form == "arrow":
        with pa.ipc.new_file(path, to_arrow(rows).schema) as writer:
            writer.write_table(to_arrow(rows), max_chunksize=3)
    elif form == "feather":
        feather.write_feather(to_arrow(rows), path)
    else:
        with pa.ipc.new_stream(path, to_arrow(rows).schema) as writer:
            writer.write_table(to_arrow(rows), max_chunksize=3)
    return path


def read(text, **options):
    return gather(open_stream(io.BytesIO(text), **options).blocks())


# ---- what is read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "arrow", "feather", "arrows"])
@settings(deadline=None, max_examples=25)
@given(rows=tables, block=st.integers(1, 9))
def test_what_is_written_is_read(form, rows, block, tmp_path_factory):
    rows = [(a, "t" + text, b, "l" + label) for a, text, b, label in rows]  # a label like 7 would be a number
    path = written(rows, form, tmp_path_factory.mktemp("tables"))
    stream = open_stream(path, categorical=["text"], max_categories=20, block=block)
    assert stream.feature_names == ["first", *(f"text#{k}" for k in range(1, 21)), "second"]
    blocks = list(stream.blocks())
    assert [len(b) for b in blocks[:-1]] == [block] * (len(blocks) - 1)
    whole = gather(blocks)
    np.testing.assert_array_equal(whole.X[:, 0], [row[0] for row in rows])
    np.testing.assert_array_equal(whole.X[:, -1], [row[2] for row in rows])
    order = list(dict.fromkeys(row[1] for row in rows))
    np.testing.assert_array_equal(whole.X[:, 1:-1].argmax(axis=1), [order.index(row[1]) for row in rows])
    np.testing.assert_array_equal(whole.X[:, 1:-1].sum(axis=1), 1)
    assert whole.y.tolist() == [row[3] for row in rows]
    assert list(stream.encoding.features[1].categories) == order
    assert stream.consumed == stream.size == path.stat().st_size


@settings(deadline=None, max_examples=40)
@given(rows=tables, chunk=st.integers(1, 60), newline=st.sampled_from(["\n", "\r\n"]))
def test_chunks_may_end_anywhere(rows, chunk, newline):
    rows = [(a, "t" + text.replace("\n", newline), b, "l" + label) for a, text, b, label in rows]
    text = to_csv(rows, newline=newline)
    with mock.patch("pocketkernel.stream.files.CHUNK", chunk):
        reader = Delimited(find(io.BytesIO(text)).kept, Skipped(), delimiter=",", header=True, columns=None)
        found, numbers = [], []
        for table in reader.tables(dict(zip(HEAD, "ntnt", strict=True))):
            found.append(table)
            numbers += table.column("first").tolist()  # now: the next table overwrites them
    assert [value for table in found for value in table.column("text")] == [row[1] for row in rows]
    np.testing.assert_array_equal(numbers, [row[0] for row in rows])
    lines = np.cumsum([2] + [1 + row[1].count("\n") for row in rows])[:-1]
    np.testing.assert_array_equal(np.concatenate([table.lines for table in found]), lines)


@pytest.mark.parametrize(
    ("text", "options", "X", "y"),
    [
        (b"a,y,b\n1,0,2\n3,1,4\n", {}, [[1, 2], [3, 4]], [0, 1]),
        (b"1,2,g\n3,4,h", {"label": -1}, [[1, 2], [3, 4]], ["g", "h"]),
        (b"1,2,g\n3,4,h", {"label": "column3", "drop": [0]}, [[2], [4]], ["g", "h"]),
        (b"1,2,g\n3,4,h", {"columns": ["u", "v", "w"], "label": "w", "drop": ["u"]}, [[2], [4]], ["g", "h"]),
        (b"a,b\nx,1\nx,2\n", {"label": 0, "header": False, "categorical": [1], "max_categories": 3},
         [[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["a", "x", "x"]),
        (b'"a ""1""","Class"\n" 1 ", p\r\n\r\n2.5 ,"q"\n', {}, [[1], [2.5]], ["p", "q"]),
        (b"\xef\xbb\xbfa;target\n1;2\n", {"delimiter": ";", "format": "csv"}, [[1]], [2]),
        (b",a,label\n0,5,1\n1,6,0\n", {"drop": ["column1"]}, [[5], [6]], [1, 0]),
        (b"a\tlabel\n+1e3\t-1\n", {}, [[1000]], [-1]),
        (b'{"a": 1, "y": "p"}\n\n{"y": "q", "a": true}\n', {}, [[1], [1]], ["p", "q"]),
        (b'{"a": 1, "y": 2, "z": []}\n', {"columns": ["y", "a"]}, [[1]], [2]),
        (b'{"a": 1, "y": 2}\n', {"label": False}, [[1, 2]], None),
    ],
)  # fmt: skip
def test_forms(text, options, X, y):
    block = read(text, **options)
    np.testing.assert_array_equal(block.X, X)
    assert (None if block.y is None else block.y.tolist()) == y


def test_label_and_classes():
    text = b"a,label\n1,0\n2,1\n"
    assert read(text, classes=["0", "1"]).y.dtype.kind == "i"
    assert read(text).y.dtype == float
    assert read(b"a,label\n1,no\n", classes=["yes", "no"]).y.tolist() == ["no"]
    with pytest.raises(StreamError, match=r"line 3, column 'label': expected one of the classes 0, 2, found '1'"):
        read(text, classes=[0, 2])
    with pytest.raises(StreamError, match=r"line 2, column 'label': expected one of the classes no, yes, found '0'"):
        read(text, classes=["no", "yes"])
    with pytest.raises(StreamError, match=r"line 3, column 'label': expected a label, found none"):
        read(b"a,label\n1,2\n3,\n")
    with pytest.raises(ValueError, match="which column has the labels"):
        read(b"a,b\n1,2\n")
    with pytest.raises(ValueError, match="label and y could be the label"):
        read(b"label,y,a\n1,2,3\n")
    with pytest.raises(ValueError, match="label='c' is not a column: choose one of these 2: a, b"):
        read(b"a,b\n1,2\n", label="c")
    with pytest.raises(ValueError, match="too short"):
        read(text, classes=[1])


def test_files_are_read_as_one(tmp_path):
    (tmp_path / "1.csv").write_text("a,label\n1,x\n2,y\n")
    (tmp_path / "2.csv").write_text("label,a\nx,3\n")
    stream = open_stream([tmp_path / "1.csv", tmp_path / "2.csv"])
    assert gather(stream.blocks()).X.ravel().tolist() == [1, 2, 3]
    assert gather(stream.blocks()).X.ravel().tolist() == [1, 2, 3]  # and again
    (tmp_path / "2.csv").write_text("label,b\nx,3\n")
    with pytest.raises(StreamError, match=r"2\.csv: expected a column 'a', found label, b"):
        gather(stream.blocks())
    (tmp_path / "2.csv").write_text("label,a,b\nx,3,4\n")
    with pytest.raises(StreamError, match=r"2\.csv: expected the columns of the first file, found 'b'"):
        gather(stream.blocks())


# ---- what is refused ------------------------------------------------------------------------------------------------

MALFORMED = [
    (b"a,b,label\n1,2,3\n4,x,6\n", 3, 3, "b", "a finite number", "'x'"),
    (b"a,b,label\n1,2,3\n4, inf ,6\n", 3, 4, "b", "a finite number", "'inf'"),
    (b'a,b,label\n1,2,3\n4,"5 6",6\n', 3, 4, "b", "a finite number", "'5 6'"),
    (b"a,b,label\n1,2,3\n\n\n4,5\n", 5, 1, "", "3 fields", "2"),
    (b"a,b,label\n1,2,3\n4,5,6,7\n", 3, 1, "", "3 fields", "4"),
    (b'a,b,label\n1,2,3\n4,"5"x,6\n', 3, 6, "", "',' or the end of the line after a quote", "'x,6'"),
    (b'a,b,label\n1,2,3\n4,"5,6\n', 3, 3, "", "a quote that is closed", "'\"5,6'"),
    (b'a,b,label\n1,2,3\n4,"5,6', 3, 3, "", "a quote that is closed", "'\"5,6'"),
    (b'a,b,label\n1,2,"q\nr"\n4,x,6\n', 4, 3, "b", "a finite number", "'x'"),
    (b'{"a": 1, "label": 2}\n{"a": 1,, "label": 2}\n', 2, 9, "", "JSON (", "', \"label\": 2}'"),
    (b'{"a": 1, "label": 2}\n{"a": 1', 2, 8, "", "JSON (", "the end of the line"),
    (b'{"a": 1, "label": 2}\n[1, 2]\n', 2, None, "", "an object", "'[1, 2]'"),
    (b'{"a": 1, "label": 2}\n{"a": NaN, "label": 2}\n', 2, None, "", "JSON", "NaN is not valid JSON"),
    (b'{"a": 1, "label": 2}\n{"a": "x", "label": 2}\n', 2, None, "a", "a number", "'\"x\"'"),
    (b'{"a": 1, "label": 2}\n{"a": [1], "label": 2}\n', 2, None, "a", "a number", "'[1]'"),
    (b'{"a": 1, "label": 2}\n{"a": 1' + b"0" * 400 + b', "label": 2}\n', 2, None, "a", "a finite number", "infinity"),
    (b'{"a": 1, "label": 2}\n{"a": 1e999, "label": 2}\n', 2, None, "a", "a finite number", "infinity"),
]


@pytest.mark.parametrize(("text", "line", "column", "field", "expected", "found"), MALFORMED)
def test_malformed_rows(text, line, column, field, expected, found):
    with pytest.raises(StreamError) as caught:
        read(text)
    error = caught.value
    assert (error.line, error.column, error.field, error.found) == (line, column, field, found)
    assert error.expected.startswith(expected)
    after = b'\n7,8,"9"\n' if b"{" not in text else b'\n{"a": 7, "label": 2}\n'
    stream = open_stream(io.BytesIO(text + after), on_error="skip")
    assert gather(stream.blocks()).X[:, 0].tolist() == [1, 7]
    assert [str(report) for report in stream.skipped.reports] == [str(error)]


def test_a_key_that_comes_late():
    first = b'{"a": 1, "label": 2}\n' * 1000
    with pytest.raises(StreamError, match=r"line 1001, column 'b': expected the keys of the first rows .*columns="):
        read(first + b'{"a": 1, "b": 2, "label": 3}\n')
    assert read(first + b'{"a": 1, "b": 2, "label": 3}\n', columns=["a", "label"]).X.shape == (1001, 1)


@pytest.mark.parametrize("odd", [0, 1, 4])
def test_one_row_with_another_key(odd):
    lines = [b'{"a": %d, "label": 2}\n' % n for n in range(5)]
    lines[odd] = b'{"a": 9, "b": 1, "label": 2}\n'
    text = b"".join(lines)
    with pytest.raises(StreamError, match=f"line {odd + 1}, column 'b': expected the keys of the first rows"):
        read(text)
    stream = open_stream(io.BytesIO(text), on_error="skip")
    assert gather(stream.blocks()).X.ravel().tolist() == [n for n in range(5) if n != odd]
    assert [report.line for report in stream.skipped.reports] == [odd + 1]


def test_rows_are_reported_in_order_of_lines():
    good = b'{"a": 1, "label": 2}\n'
    bad = [b'{"a": "x", "label": 2}\n', b'{"b": 1, "label": 2}\n', b"{\n", b'{"label": 2}\n', b"[]\n"]
    stream = open_stream(io.BytesIO(good * 3 + b"".join(line + good for line in reversed(bad)) + good), on_error="skip")
    assert len(gather(stream.blocks())) == 9
    assert [report.line for report in stream.skipped.reports] == [4, 6, 8, 10, 12]
    with pytest.raises(StreamError, match="line 1, byte 2: expected JSON"):
        read(b"{\n" + good)


def test_later_files_may_have_a_key_more_rarely(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"a": 1, "b": 1, "label": 1}\n')
    (tmp_path / "2.jsonl").write_text('{"a": 2, "label": 1}\n' * 2 + '{"a": 3, "b": 1, "label": 1}\n')
    assert len(gather(open_stream(str(tmp_path / "*.jsonl"), missing="mean").blocks())) == 4


def test_half_a_character_is_refused_with_its_line():
    text = b'{"a": "\\ud83d\\ude00", "label": 1}\n{"a": "\\ud800", "label": 2}\n{"a": "\\u00e9", "label": 3}\n'
    with pytest.raises(StreamError, match=r"line 2: expected text of whole characters, found '\\ud800', half a pair"):
        read(text, categorical=["a"])
    stream = open_stream(io.BytesIO(text), categorical=["a"], on_error="skip")
    assert gather(stream.blocks()).y.tolist() == [1, 3]
    assert list(stream.encoding.features[0].categories) == ["\U0001f600", "é"]


@pytest.mark.parametrize(
    "text", [b"a,label\n1,2\n%s,%s\n", b'{"a": 1, "label": 2}\n{"a": %s, "label": %s}\n'], ids=["csv", "jsonl"]
)
def test_advice_for_text_among_numbers(text):
    word, infinite = (b'"x"', b"1e999") if b"{" in text else (b"x", b"inf")
    advice = r" \(if the column has categories, list it in categorical=\)$"
    with pytest.raises(StreamError, match=advice):
        read(text % (word, b"3"), categorical=())
    with pytest.raises(StreamError) as caught:
        read(text % (infinite, b"3"))
    assert "categorical=" not in str(caught.value)
    first = text.split(b"\n")[-3] + b"\n"
    text = text.replace(first, first * 1000) % (b"1", word)
    with pytest.raises(StreamError, match=r"\(if the labels are text, list all of them in classes=\)$") as caught:
        read(text)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_typographic_minus_is_a_minus():
    block = read("a,label\n\u22121.5,1\n2e\u22122,0\n\u2212\u22123,0\n".encode(), format="csv", on_error="skip")
    assert block.X.ravel().tolist() == [-1.5, 0.02] and block.y.tolist() == [1, 0]


def test_words_for_missing():
    words = ["NA", "n/a", "NaN", "Null", "none", "?"]
    text = "a,b,label\n1,p,yes\n" + "".join(f"{word},{word},{word}\n" for word in words)
    stream = open_stream(io.BytesIO(text.encode()), categorical=["b"], missing="mean")
    block = gather(stream.blocks())
    assert block.X[:, 1].tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert list(stream.encoding.features[1].categories) == ["p", *words]
    assert block.y.tolist() == ["yes", *words]
    assert all(word.lower() in open_stream.__doc__ for word in words)


# ---- the first rows only --------------------------------------------------------------------------------------------


FAULTS = {
    "csv": ("a,c,label\n", "{},{},{}\n", ["x,p,1\n", ",p,1\n", "1\n", "1,\udcff,1\n", '1,"p'], "1,p,9\n"),
    "jsonl": (
        "", '{{"a": {}, "c": "{}", "label": {}}}\n', ['{"a": "x", "label": 1}\n', "{\n", '{"b": 1}\n', "[]"],
        '{"a": 1, "c": "p", "label": 9}\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("form", "fault"), [(form, fault) for form in FAULTS for fault in FAULTS[form][2]])
@pytest.mark.parametrize("rows", [5, 4096, 5000])
@pytest.mark.parametrize("source", ["file", "pipe"])
def test_what_follows_the_first_rows_is_neither_checked_nor_encoded(form, fault, rows, source, tmp_path):
    head, row, _, label = FAULTS[form]
    start = head + "".join(row.format(n, f"c{n % 4}", n % 2) for n in range(rows))
    options = {"categorical": ["c"], "classes": [0, 1], "max_categories": 8, "block": 1000, "format": form}
    wanted = open_stream(io.BytesIO(start.encode()), **options)
    whole = gather(wanted.blocks())
    text = (start + row.format(1, "new", 1) + label + fault).encode("utf-8", "surrogateescape")
    (tmp_path / "file").write_bytes(text)
    for on_error in ("raise", "skip"):
        what = tmp_path / "file" if source == "file" else io.BytesIO(text)
        stream = open_stream(what, rows=rows, on_error=on_error, **options)
        found = gather(stream.blocks())
        np.testing.assert_array_equal(found.X, whole.X)
        assert stream.encoding.to_dict() == wanted.encoding.to_dict()
        assert stream.skipped.count == 0


def test_skipped_rows_do_not_count():
    text = b"a,label\n1,0\n,0\n2,1\nx,1\n3,1\n4,0\n,0\n"
    stream = open_stream(io.BytesIO(text), rows=3, on_error="skip", categorical=())
    assert gather(stream.blocks()).X.ravel().tolist() == [1, 2, 3]
    assert [report.line for report in stream.skipped.reports] == [3, 5]


def test_the_rest_begins_where_it_would(tmp_path):
    (tmp_path / "a.csv").write_text("a,label\n" + "".join(f"{n},0\n" for n in range(20)))
    (tmp_path / "b.csv").write_text("not,this\n1,2\n")
    stream = open_stream([tmp_path / "a.csv", tmp_path / "b.csv"], rows=20, block=6)
    assert gather(stream.blocks(start=12)).X.ravel().tolist() == list(range(12, 20))
    assert list(stream.blocks(start=20)) == []


def test_a_job_of_some_rows(tmp_path):
    start = "a,c,label\n" + "".join(f"{n % 7 - 3},c{n % 2},{n % 2}\n" for n in range(50))
    (tmp_path / "a.csv").write_text(start)
    (tmp_path / "b.csv").write_text(start + "1,new,0\nx,c0,1\n")
    pipelines = []
    for name, most in (("a.csv", None), ("b.csv", 50)):
        parameters, reading = {"memory": "16KiB", "random_state": 0}, {"categorical": ["c"], "label": "label"}
        run = Job(tmp_path / name, parameters=parameters, reading=reading, rows=most).start()
        assert [progress.rows for progress in run.steps()] == [50]
        pipelines.append(run.pipeline().encoding)
    assert pipelines[0] == pipelines[1]


def test_headers():
    with pytest.raises(StreamError, match=r"line 1: expected a different name for each column, found 'a' twice"):
        read(b"a,a,label\n1,2,3\n")
    with pytest.raises(StreamError, match="give delimiter=';'"):
        read(b"a;b;label\n1;2;3\n", format="csv")
    with pytest.raises(StreamError, match="found an empty file"):
        read(b"", format="csv")
    with pytest.raises(StreamError, match="expected 2 fields, one for each of columns=, found 3"):
        read(b"1,2,3\n", columns=["a", "label"])
    with pytest.raises(StreamError, match="expected the columns a, label, found a, y"):
        read(b"a,y\n1,2\n", columns=["a", "label"], header=True)
    with pytest.raises(ValueError, match="delimiter='::' is not supported"):
        read(b"1::2\n", format="csv", delimiter="::")
    assert list(open_stream(io.BytesIO(b"a,label\n")).blocks()) == []


def test_text_in_another_code_is_skipped():
    text = b"a,b,label\n1,x,\xfe\n2,\xff,\xff\n,y,z\n3,y,z\n"
    stream = open_stream(io.BytesIO(text), categorical=["b"], on_error="skip")
    block = gather(stream.blocks())
    assert (block.X[:, 0].tolist(), block.y.tolist()) == ([3], ["z"])
    assert list(stream.encoding.features[1].categories) == ["y"]
    assert [(report.line, report.column) for report in stream.skipped.reports] == [(2, 5), (3, 3), (4, None)]
    stream = open_stream(io.BytesIO(b"1,\xff\n2,x\n"), label=-1, on_error="skip")
    assert gather(stream.blocks()).X.tolist() == [[2]]
    with pytest.raises(StreamError, match="line 1, byte 3: expected text in UTF-8"):
        open_stream(io.BytesIO(b"a,\xff\n2,x\n"), label=-1, on_error="skip")


def test_text_must_be_utf8():
    with pytest.raises(StreamError, match=r"line 3, byte 3: expected text in UTF-8, found '\\\\xff'"):
        read(b"a,label\n1,x\n2,\xff\n")
    with pytest.raises(StreamError, match="line 1, byte 8: expected JSON in UTF-8, found"):
        read(b'{"a": "\xff"}\n')


def test_arrow_types(tmp_path):
    table = pa.table({
        "flag": [True, None], "whole": pa.array([1, 2], pa.uint8()), "half": pa.array(np.array([1, 2], np.float16)),
        "money": pa.array([1, 2], pa.decimal128(9, 2)), "label": ["a", "b"],
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "t.parquet")
    block = gather(open_stream(tmp_path / "t.parquet", missing="mean").blocks())
    np.testing.assert_array_equal(block.X[:, ::2], [[1, 1, 1, 1], [1, 2, 2, 2]])
    with pytest.raises(StreamError, match=r"t\.parquet, row 2, column 'flag': expected a value .*, found none"):
        gather(open_stream(tmp_path / "t.parquet").blocks())
    when = table.append_column("when", pa.array([0, 1], pa.timestamp("s")))
    parquet.write_table(when, tmp_path / "t.parquet")
    with pytest.raises(StreamError, match="column 'when': expected numbers, found timestamp"):
        gather(open_stream(tmp_path / "t.parquet", missing="mean").blocks())
    with pytest.raises(StreamError, match="column 'label': expected numbers, found string"):
        gather(open_stream(tmp_path / "t.parquet", label="whole", drop=["when"], missing="mean").blocks())


def test_every_batch_of_an_arrow_stream_is_read():
    rows, batches = 2500, 7
    table = pa.table({"x": np.arange(rows * batches) % 97 * 0.5, "label": np.arange(rows * batches) % 2})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    stream = open_stream(io.BytesIO(sink.getvalue()), format="arrow", strict=False)
    assert not stream.inferred.whole
    np.testing.assert_array_equal(gather(stream).X[:, 0], table["x"])


def test_a_parquet_file_that_was_looked_at_whole_is_read_once(tmp_path, monkeypatch):
    parquet.write_table(
        pa.table({"x": [1.5, 2.5, 3.5] * 4, "t": ["a", "b", None] * 4, "y": [0, 1] * 6}), tmp_path / "a"
    )
    read, times = parquet.ParquetFile.iter_batches, []
    monkeypatch.setattr(
        parquet.ParquetFile, "iter_batches", lambda *given, **named: times.append(1) or read(*given, **named)
    )
    stream = open_stream(tmp_path / "a", format="parquet", strict=False)
    first = gather(stream)
    assert len(times) == 1
    assert len(first) == 12
    np.testing.assert_array_equal(gather(stream).X, first.X)
    assert len(times) == 2


@pytest.mark.parametrize("strict", [True, False])
def test_columns_that_are_read_one_lot_after_the_other(tmp_path, monkeypatch, strict):
    """Batches of pyarrow end where a dictionary ends, so those of the other columns are longer."""
    rows, width = 50, 30
    words = pa.chunked_array(
        [pa.array([f"w{k // 7}{j % 3}" for j in range(7)]).dictionary_encode() for k in range(0, rows, 7)]
    )
    columns = {f"c{k}": np.arange(rows) * 0.5 + k for k in range(width)}
    columns["words"], columns["y"] = words.combine_chunks()[:rows], np.arange(rows) % 2
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=7)
    options = {"label": "y", "categorical": "auto"} if strict else {"label": "y", "strict": False}
    expected = gather(open_stream(tmp_path / "a.parquet", **options).blocks())
    monkeypatch.setattr(arrow, "TOGETHER", 8)
    monkeypatch.setattr(arrow, "ROWS", 16)
    found = gather(open_stream(tmp_path / "a.parquet", **options).blocks())
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.X[:, :width], np.column_stack([columns[f"c{k}"] for k in range(width)]))
    np.testing.assert_array_equal(found.y, columns["y"])


def test_a_parquet_file_with_fewer_rows_than_it_says(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"a": np.arange(20) * 0.5, "y": np.arange(20) % 2}), tmp_path / "a.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", lambda *given, **named: iter(()))
    with pytest.raises(StreamError, match="expected data that is whole, found fewer rows"):
        gather(open_stream(tmp_path / "a.parquet").blocks())


def test_few_rows_of_a_wide_table_are_looked_at():
    lines = b"".join(b'{%s, "y": %d}\n' % (b", ".join(b'"c%d": 1' % k for k in range(50)), i % 2) for i in range(60))
    with mock.patch("pocketkernel.stream.dicts.VALUES", 500):
        stream = open_stream(io.BytesIO(lines), format="jsonl", label="y", strict=False)
        assert stream.inferred.rows == 9
        assert len(gather(stream)) == 60


@pytest.mark.parametrize("header", [b"c", b"a longer name of a column, "])
def test_long_lines_are_read_many_at_once(header):
    names = b",".join(header.strip(b", ") + b"%d" % k for k in range(300))
    lines = names + b"\n" + b"".join(b",".join([b"%d" % (i % 3)] * 300) + b"\n" for i in range(400))
    with mock.patch("pocketkernel.stream.files.CHUNK", 1000):
        reader = Delimited(find(io.BytesIO(lines)).first(), Skipped("raise"), delimiter=None, header=True, columns=None)
        tables = [len(table) for table in reader.tables(dict.fromkeys(reader.names, "n"))]
    assert sum(tables) == 400
    assert len(tables) < 20


def test_broken_arrow(tmp_path):
    path = written([(1.0, "t", 1, "l")] * 5000, "parquet", tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(StreamError, match="expected parquet data"):
        open_stream(path)
    path = written([(1.0, "t", 1, "l")] * 3000, "arrows", tmp_path)
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(StreamError, match="expected data that is whole"):
        list(open_stream(path, categorical="auto").blocks())


def test_parquet_needs_a_file(tmp_path):
    path = written([(1.0, "t", 1, "l")], "parquet", tmp_path)
    with path.open("rb") as file, pytest.raises(ValueError, match="must be an uncompressed file on disk"):
        open_stream(io.BytesIO(file.read()))
    stream = written([(1.0, "t", 1, "l")], "arrows", tmp_path).read_bytes()
    assert read(stream, categorical="auto").y.tolist() == ["l"]


def test_without_pyarrow(tmp_path, monkeypatch):
    path = written([(1.0, "t", 1, "l")], "parquet", tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'pocketkernel\[files\]'"):
        open_stream(path)
    assert read(b"a,label\n1,x\n").X.tolist() == [[1]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xls"}, "format='xls' is unknown"),
        ({"missing": "zero"}, "missing='zero' is unknown"),
        ({"on_error": "ignore"}, "on_error='ignore' is unknown"),
        ({"block": 0}, "block=0 is too small"),
        ({"rows": 0}, "rows=0 is too small"),
        ({"max_categories": 0}, "max_categories=0 is too small"),
        ({"dtype": "int32"}, "dtype='int32'"),
        ({"n_features": 7}, "n_features=7 is wrong"),
        ({"drop": ["a"]}, "all columns were dropped"),
        ({"drop": ["b"]}, "drop='b' is not a column"),
        ({"categorical": [5]}, "categorical=5 is not a column"),
    ],
)
def test_options(options, message):
    with pytest.raises(ValueError, match=message):
        read(b"a,label\n1,2\n", **options)


# ---- many columns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "text", "jsonl"])
def test_time_is_linear_in_columns(tmp_path, kind):
    """Ratios of CPU time, so that a busy machine does not matter: 8 if it is linear, 64 if it is quadratic."""

    def seconds(width):
        names = [f"column{k}" for k in range(width)]
        path = tmp_path / f"{width}.{'jsonl' if kind == 'jsonl' else 'csv'}"
        if kind == "jsonl":
            lines = [json.dumps(dict.fromkeys(names, 0.5) | {"label": label}) for label in (0, 1)]
        else:
            value = "0.5" if kind == "numbers" else "red"
            lines = [",".join([*names, "label"])] + [",".join([value] * width + [label]) for label in "01"]
        path.write_text("\n".join(lines) + "\n")
        began = time.process_time()
        stream = open_stream(path, categorical="auto", max_categories=1)
        assert sum(len(block) for block in stream.blocks()) == 2
        assert stream.n_features == width
        again = open_stream(path, encoding=stream.encoding.to_dict(), label=False)
        assert sum(len(block) for block in again.blocks()) == 2
        return time.process_time() - began

    seconds(1000)
    assert min(seconds(16_000) for _ in range(2)) < 28 * seconds(2000)


@pytest.mark.parametrize("option", ["max_categories", "hash_width"])
def test_categories_are_bounded(tmp_path, option):
    (tmp_path / "a.csv").write_text("colour,label\nred,1\nblue,0\n")
    for number in (65_537, 10**9):
        with pytest.raises(ValueError, match=f"{option}={number} is too large: use at most 65,536"):
            open_stream(tmp_path / "a.csv", categorical=["colour"], **{option: number})
    stream = open_stream(tmp_path / "a.csv", categorical=["colour"], max_categories=65_536, hash_width=65_536)
    assert next(stream.blocks()).X.shape == (2, 131_072)


def test_rows_that_become_wide_are_encoded_in_parts(tmp_path, monkeypatch):
    lines = [f"{k},{'' if k % 7 == 3 else k % 5},{k % 2}" for k in range(200)]
    (tmp_path / "a.csv").write_text("x,colour,label\n" + "\n".join(lines) + "\n")
    options = {"categorical": ["colour"], "on_error": "skip", "block": 64}
    whole = open_stream(tmp_path / "a.csv", **options)
    expected = gather(whole.blocks())
    monkeypatch.setattr("pocketkernel.stream.reader.NUMBERS", 1000)
    parts = open_stream(tmp_path / "a.csv", **options)
    found = list(parts.blocks())
    assert {len(block) for block in found[:-1]} == {1000 // 33}
    np.testing.assert_array_equal(gather(found).X, expected.X)
    assert list(map(str, parts.skipped.reports)) == list(map(str, whole.skipped.reports))
    assert parts.skipped.count == whole.skipped.count == 29


def test_wide_rows_are_bounded(tmp_path):
    names = [f"colour{k}" for k in range(16)]
    (tmp_path / "a.csv").write_text(",".join([*names, "label"]) + "\n" + ",".join(["red"] * 16 + ["1"]) + "\n")
    with pytest.raises(ValueError, match="rows would have 1,048,576 columns, more than 1,000,000"):
        open_stream(tmp_path / "a.csv", categorical=names, max_categories=65_536)
    stream = open_stream(tmp_path / "a.csv", categorical=names, max_categories=60_000, block=10**6)
    assert stream.block == (1 << 25) // 960_000, "a block takes at most 256 MiB"


def test_json_numbers_in_quotes():
    lines = b'{"a":"6","b":0.7,"y":1}\n{"a":7,"b":"-1.5","y":0}\n{"a":"","b":"NA","y":1}\n{"a":"six","b":1,"y":0}\n'
    stream = open_stream(io.BytesIO(lines), format="jsonl", label="y", missing="keep", on_error="skip")
    whole = gather(stream.blocks())
    np.testing.assert_array_equal(whole.X, [[6, 0.7], [7, -1.5], [np.nan, np.nan]])
    assert [str(report) for report in stream.skipped.reports] and stream.skipped.count == 1
    assert stream.skipped.reports[0].line == 4
