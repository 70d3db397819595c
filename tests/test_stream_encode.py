"""From columns to rows: categories, missing values, and the same encoding for another file."""

import io
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from pocketkernel import MOMDS, model_file
from pocketkernel.evaluate.pipeline import Pipeline
from pocketkernel.stream import StreamError, gather, open_stream


def stream_of(text, **options):
    return open_stream(io.BytesIO(text.encode()), format="csv", **options)


def rows(text, **options):
    return gather(stream_of(text, **options).blocks()).X


# ---- categories -----------------------------------------------------------------------------------------------------


def test_the_first_categories_have_their_own_place():
    text = "colour,label\nred,0\ngreen,1\nred,0\nblue,1\n"
    stream = stream_of(text, categorical=["colour"], max_categories=3)
    assert stream.feature_names == ["colour#1", "colour#2", "colour#3"]
    assert gather(stream.blocks()).X.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert stream.encoding.hashed == {"colour": 0}


@pytest.mark.parametrize("hash_width", [0, 4])
def test_further_categories_are_hashed_and_counted(hash_width):
    names = [f"name{n}" for n in range(50)]
    text = "name,label\n" + "".join(f"{name},0\n" for name in names + names)
    stream = stream_of(text, categorical="auto", max_categories=3, hash_width=hash_width)
    X = gather(stream.blocks()).X
    assert X.shape == (100, 3 + hash_width)
    np.testing.assert_array_equal(X.sum(axis=1), 1)
    np.testing.assert_array_equal(X[:50], X[50:])
    assert X[:3, :3].tolist() == np.eye(3).tolist()
    places = [3 + zlib.crc32(n.encode()) % 4 if hash_width else zlib.crc32(n.encode()) % 3 for n in names[3:]]
    assert X[3:50].argmax(axis=1).tolist() == places
    assert stream.encoding.hashed == {"name": 94}


def test_text_is_an_error_unless_it_is_named_categorical():
    text = "a,b,label\n1,x,0\n2,y,1\n"
    with pytest.raises(StreamError, match=r"line 2, column 'b': expected a finite number, found 'x'"):
        rows(text)
    assert rows(text, drop=["b"]).tolist() == [[1], [2]]
    assert rows(text, categorical=["b"], max_categories=2).tolist() == [[1, 1, 0], [2, 0, 1]]
    assert rows(text, categorical="auto", max_categories=2).tolist() == [[1, 1, 0], [2, 0, 1]]


def test_numbers_may_be_categories():
    assert rows("zip,label\n8001,0\n8002,0\n8001,0\n", categorical=[0], max_categories=2).argmax(1).tolist() == [
        0,
        1,
        0,
    ]


def test_auto_looks_at_the_first_thousand_rows_whatever_the_block():
    text = "a,label\n" + "1,0\n" * 1000 + "x,0\n"
    for block in (1, 5000):
        with pytest.raises(StreamError, match="line 1002"):
            rows(text, categorical="auto", block=block)
    text = "a,label\n" + "1,0\n" * 999 + "x,0\n"
    assert rows(text, categorical="auto", max_categories=2, block=1).shape == (1000, 2)


# ---- missing values -------------------------------------------------------------------------------------------------

GAPS = "a,c,label\n,x,0\n2,,1\nNA,x,0\n4,y,1\n?,y,0\nnull,x,0\n"


def test_a_missing_value_is_an_error():
    with pytest.raises(StreamError, match=r"line 2, column 'a': expected a value .*missing='mean'.*, found none"):
        rows(GAPS, categorical=["c"])
    stream = stream_of(GAPS, categorical=["c"], max_categories=2, on_error="skip")
    assert gather(stream.blocks()).X.tolist() == [[4, 1, 0]]  # only rows that are used are learned from
    assert stream.skipped.count == 5
    assert [report.line for report in stream.skipped.reports] == [2, 3, 4, 6, 7]


def test_the_mean_so_far_and_an_indicator():
    stream = stream_of(GAPS, categorical=["c"], max_categories=2, missing="mean")
    assert stream.feature_names == ["a", "a is missing", "c#1", "c#2", "c is missing"]
    assert gather(stream.blocks()).X.tolist() == [
        [0, 1, 1, 0, 0],
        [2, 0, 0, 0, 1],
        [2, 1, 1, 0, 0],
        [4, 0, 0, 1, 0],
        [3, 1, 0, 1, 0],
        [3, 1, 1, 0, 0],
    ]


def test_the_mean_does_not_depend_on_blocks_or_on_what_is_to_come():
    rng = np.random.default_rng(0)
    values = ["" if rng.random() < 0.3 else repr(float(x)) for x in rng.normal(size=9000)]
    text = "a,label\n" + "".join(f"{value},0\n" for value in values)
    whole = rows(text, missing="mean")
    np.testing.assert_array_equal(rows(text, missing="mean", block=7), whole)
    np.testing.assert_array_equal(rows("\n".join(text.split("\n")[:5001]), missing="mean"), whole[:5000])
    known = np.array([float(v) if v else np.nan for v in values])
    for row in (10, 4095, 4096, 8999):
        wanted = np.nanmean(known[:row]) if np.isnan(known[row]) else known[row]
        np.testing.assert_allclose(whole[row], [wanted, np.isnan(known[row])], rtol=1e-12)


@pytest.mark.parametrize("block", [7, 4096])
def test_a_gap_that_comes_late_has_the_mean_so_far(block):
    """No column has a gap among the rows that the columns were inferred from, so none has an indicator."""
    values = [str(k % 10) for k in range(12_000)]
    values[11_000] = ""
    text = "a,b,label\n" + "".join(f"{value},1,{k % 2}\n" for k, value in enumerate(values))
    stream = stream_of(text, missing="mean", strict=False, block=block)
    X = gather(stream.blocks()).X
    assert X.shape == (12_000, 2) and X[11_000].tolist() == [4.5, 1]
    again = stream_of("a,b,label\n3,,0\n", encoding=stream.encoding.to_dict())
    assert gather(again.blocks()).X.tolist() == [[3, 1]]


# ---- the same for another file --------------------------------------------------------------------------------------


def test_an_encoding_can_be_kept_and_used_again():
    stream = stream_of(GAPS, categorical=["c"], max_categories=3, missing="mean", classes=["0", "1"])
    first = gather(stream.blocks())
    kept = json.loads(json.dumps(stream.encoding.to_dict()))
    again = stream_of("label,c,extra,a\n1,y,zzz,5\n0,new,zzz,\n", encoding=kept)
    assert again.feature_names == stream.feature_names
    assert again.classes == [0, 1]
    block = gather(again.blocks())
    place = zlib.crc32(b"new") % 3
    assert block.X.tolist() == [[5, 0, 0, 1, 0, 0], [3, 1, *np.eye(3)[place], 0]]  # the mean is that of the first file
    assert block.y.tolist() == [1, 0]
    assert first.X.shape[1] == block.X.shape[1]
    assert gather(stream_of("c,a\ny,5\n", encoding=kept).blocks()).y is None
    with pytest.raises(StreamError, match="expected a column 'c', found a, label"):
        gather(stream_of("a,label\n5,1\n", encoding=kept).blocks())
    lines = io.BytesIO(b'{"a": 5, "other": [1], "c": "y"}\n')
    assert gather(open_stream(lines, encoding=kept).blocks()).X.tolist() == [[5, 0, 0, 1, 0, 0]]
    assert gather(stream_of("c,a,label\ny,5,odd\n", encoding=kept, label=False).blocks()).y is None


def test_reading_again_begins_anew(tmp_path):
    (tmp_path / "a.csv").write_text(GAPS)
    stream = open_stream(tmp_path / "a.csv", categorical=["c"], missing="mean")
    np.testing.assert_array_equal(gather(stream.blocks()).X, gather(stream.blocks()).X)
    rest = gather(stream.blocks(start=4)).X
    np.testing.assert_array_equal(rest, gather(stream.blocks()).X[4:])


def test_a_pipeline_can_be_written_whatever_its_columns_are_called():
    names = ["half \udcff", "label"]  # what a command line in another code gives
    stream = stream_of("1,2\n", columns=names)
    encoding = stream.encoding.to_dict()
    section, arrays = Pipeline(1, encoding, None, {"columns": names, "format": "csv"}).written()
    model = MOMDS(budget=2).fit([[0.0], [1.0]], [0, 1])._contents({})
    data = model_file.encode(replace(model, sections={"pipeline": section}, arrays=arrays))
    again = Pipeline.of(model_file.decode(data, lambda *_: None))
    assert (again.encoding, again.feature_names) == (encoding, names[:1])
