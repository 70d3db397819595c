"""ARFF, the text of Vowpal Wabbit, and GeoJSON."""

import io
import json

import numpy as np
import pytest
from scipy.io import arff

from pocketkernel.stream import StreamError, files, gather, open_stream
from pocketkernel.stream.sniff import LINES


def inferred(text, **options):
    source = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return open_stream(source, **{"strict": False, "label": None} | options)


def roles(stream):
    return {column.name: column.role for column in stream.inferred.columns}


def column(stream, block, name):
    """The one column of the rows that a column of the file became."""
    return block.X[:, stream.feature_names.index(name)].tolist()


# ---- ARFF -----------------------------------------------------------------------------------------------------------

HEAD = """% made by hand
@RELATION 'some plants'

@attribute 'sepal length' REAL
@attribute colour {red, 'dark green', "it's"}
@Attribute when date "yyyy-MM-dd"
@ATTRIBUTE\tn\tinteger
@attribute note string
@attribute class {+, -, maybe}
@data
"""
COLOURS = ["red", "'dark green'", '"it\'s"', "?"]


def line(k, cut=","):
    note = f"'a \\'note\\', {k}'" if k % 2 else f'"about {k}"'
    return cut.join([f"{k * 0.5}", COLOURS[k % 4], f"2020-01-{k % 28 + 1:02}", f"{k % 7}", note, "+-"[k % 2]]) + "\n"


def test_arff():
    rows = "% a remark\n\n".join([line(k) for k in range(60)])
    stream = inferred(HEAD + rows)
    assert stream.format == "arff" and stream.classes == ["+", "-", "maybe"]
    assert roles(stream) == {
        "sepal length": "number", "colour": "category", "when": "date", "n": "number", "note": "left out",
        "class": "label",
    }  # fmt: skip
    block = gather(stream.blocks())
    assert stream.skipped.count == 0 and block.y.tolist() == ["+", "-"] * 30 and block.line == 11
    assert column(stream, block, "sepal length") == [k * 0.5 for k in range(60)]
    places = [stream.feature_names.index(f"colour#{k}") for k in (1, 2, 3)]
    assert block.X[:4, places].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert column(stream, block, "when days")[:2] == [18262, 18263]
    again = inferred(HEAD + line(5).replace(",-", ",?"), encoding=stream.encoding.to_dict(), label=False)
    assert gather(again.blocks()).X.tolist() == block.X[5:6].tolist()


def test_nominal_attributes_that_are_booleans():
    head = "@relation r\n@attribute a {f,t}\n@attribute b {0,1,?}\n@attribute class {yes,no}\n@data\n"
    stream = inferred(head + "t,1,yes\nf,0,no\n?,?,no\n" * 20)
    assert roles(stream) == {"a": "boolean", "b": "category", "class": "label"} and stream.n_features == 1 + 1 + 2 + 1
    assert stream.classes == ["yes", "no"]
    block = gather(stream.blocks())
    assert column(stream, block, "a")[:2] == [1, 0]
    places = block.X[:2, [stream.feature_names.index(f"b#{k}") for k in (1, 2)]]
    assert sorted(places.tolist()) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("cut", [",", ", ", " , ", "\t", "  "])
def test_arff_divided_by_blanks(cut):
    stream = inferred(HEAD + "".join(line(k, cut) for k in range(60)))
    assert stream.skipped.count == 0
    assert column(stream, gather(stream.blocks()), "n") == [k % 7 for k in range(60)]


def test_levels_of_a_sorted_arff_are_those_of_its_header():
    """A late class is learned, and a late level has a place."""
    rows = [line(k).replace("'dark green'", "red").replace(",-\n", ",+\n") for k in range(12_000)]
    stream = inferred(HEAD + "".join(rows) + line(1).replace(",-\n", ",maybe\n"))
    block = gather(stream.blocks())
    assert stream.skipped.count == 0 and block.y[-1] == "maybe" and len(block) == 12_001
    assert block.X[-1, [stream.feature_names.index(f"colour#{k}") for k in (1, 2, 3)]].sum() == 1
    assert not np.array_equal(block.X[-1, :4], block.X[0, :4])


def test_sparse_arff():
    head = "@relation r\n@attribute a numeric\n@attribute c {x,'y, z',w}\n@attribute b real\n"
    head += "@attribute class {0,1}\n@data\n"
    rows = ["{0 1.5, 3 1}", "{}", "{ 1 'y, z' , 2 -2e1 }", "{1 w,3 '1'}, {0.5}", "{0 ?}"] * 12
    stream = inferred(head + "\n".join(rows) + "\n")
    block = gather(stream.blocks())
    assert stream.skipped.count == 0 and block.y.tolist() == ["1", "0", "0", "1", "0"] * 12
    np.testing.assert_array_equal(column(stream, block, "a")[:5], [1.5, 0, 0, 0, np.nan])
    assert column(stream, block, "b")[:5] == [0, 0, -20, 0, 0]
    assert column(stream, block, "c#1")[:5] == [1, 1, 0, 0, 1]  # the first level is what is left out


def test_arff_as_scipy_reads_it(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["@relation r", *(f"@attribute a{k} real" for k in range(3)), "@attribute class {no,yes}", "@data"]
    for row in rng.normal(size=(200, 3)):
        fields = ["?" if rng.random() < 0.1 else repr(float(value)) for value in row]
        lines.append(",".join([*fields, "yes" if row[0] > 0 else "no"]))
    (tmp_path / "t.arff").write_text("\n".join(lines) + "\n")
    data, _ = arff.loadarff(tmp_path / "t.arff")
    block = gather(open_stream(tmp_path / "t.arff", strict=False).blocks())
    for k in range(3):
        np.testing.assert_array_equal(block.X[:, k if block.X.shape[1] == 3 else 2 * k], data[f"a{k}"])
    assert block.y.tolist() == [label.decode() for label in data["class"]]
    plain = gather(open_stream(tmp_path / "t.arff", label="class", missing="mean").blocks())
    assert len(plain) == 200


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,red,2020-01-01,1,x", "line 11: expected 6 fields, found 5"),
        ("x,red,2020-01-01,1,x,+", "line 11, column 'sepal length': expected a number, found 'x'"),
        ("{0 1, 9 2}", "line 11: expected the number of an attribute, from 0 to 5, and its value, found '9 2'"),
        ("{0 1, red}", "line 11: expected the number of an attribute, from 0 to 5, and its value, found 'red'"),
        (
            "1,red,2020-01-01,1,x,never",
            "line 11, column 'class': expected one of the classes +, -, maybe, found 'never'",
        ),
    ],
)
def test_rows_of_arff_that_cannot_be_read(row, message):
    text = HEAD + row + "\n" + "".join(line(k) for k in range(60))
    stream = inferred(text)
    assert len(gather(stream.blocks())) == 60 and stream.skipped.count == 1
    assert message in str(stream.skipped.reports[0])
    with pytest.raises(StreamError, match="line 11"):
        gather(inferred(text, on_error="raise").blocks())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation r\n@attribute a relational\n@data\n1\n", "numeric, {a, b}, string or date, found 'relational'"),
        ("@relation r\n@attribute a\n@data\n1\n", "line 2: expected @attribute NAME TYPE, found 'a'"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n", "line 3: expected a different name"),
        ("@relation r\n@data\n1\n", "expected a line @attribute before @data, found none"),
        ("@relation r\n@attribute a real\n", "expected a line @data, found none"),
        ("@relation r\n@attribute a real\n1\n2\n", "line 3: expected @relation, @attribute or @data, found '1'"),
    ],
)
def test_headers_of_arff_that_cannot_be_read(text, message):
    with pytest.raises(StreamError, match="expected") as error:
        inferred(text, label=False)
    assert message in str(error.value)


# ---- Vowpal Wabbit --------------------------------------------------------------------------------------------------


def vw(rows=60):
    lines = []
    for k in range(rows):
        weight = " 2.0" if k == 7 else ""
        tag = f" 'row{k}" if k % 2 else " "
        city, rain, hot = ["Paris", "Rome"][k % 3 % 2], ":3" if k % 5 else "", "hot" if k % 3 else ""
        head = f"{1 if k % 2 else -1}{weight}{tag}"
        lines.append(f"{head}|city {city} |m:2 size:{k * 0.5 + 0.25} big | rain{rain} {hot}\n")
    return "".join(lines)


def test_vowpal_wabbit():
    stream = inferred(vw())
    assert stream.format == "vw"
    assert roles(stream) == {
        "label": "label", "city": "category", "m^size": "number", "m^big": "left out", "rain": "number",
        "hot": "number", "tag": "left out",
    }  # fmt: skip
    assert "every row counts once" in " ".join(stream.inferred.remarks)
    block = gather(stream.blocks())
    assert stream.skipped.count == 0 and block.y.tolist() == [-1, 1] * 30
    assert column(stream, block, "m^size") == [k + 0.5 for k in range(60)]  # times the 2 of the namespace
    assert column(stream, block, "rain") == [3.0 if k % 5 else 1.0 for k in range(60)]
    assert column(stream, block, "hot") == [float(k % 3 > 0) for k in range(60)]
    assert column(stream, block, "city#1") == [float(k % 3 != 1) for k in range(60)]
    rows = "\n".join(line.partition(" ")[2] for line in vw().split("\n")[:-1])  # without labels
    again = inferred(rows, format="vw", encoding=stream.encoding.to_dict(), label=False)
    assert gather(again.blocks()).X.tolist() == block.X.tolist()


def test_a_feature_that_comes_twice_is_added_up():
    stream = inferred("1 |n a:2 b:1 a:3\n-1 |n b:0.5 a:1.5\n" * 20)
    block = gather(stream.blocks())
    assert column(stream, block, "n^a")[:2] == [5, 1.5] and column(stream, block, "n^b")[:2] == [1, 0.5]


def test_a_namespace_that_has_several_features_later_is_a_category_still():
    text = vw() + "1 |city Oslo Bergen |m size:1\n"
    stream = inferred(vw())
    again = inferred(text, format="vw", encoding=stream.encoding.to_dict())
    block = gather(again.blocks())
    assert len(block) == 61 and block.X[-1, :2].tolist() == [0, 0]
    assert roles(inferred(text))["city^Paris"] == "number"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1:0.5 2:0.3 |city Paris |m size:1", "a label that is a number, its weight, and a tag, found '1:0.5 2:0.3'"),
        ("yes |city Paris |m size:1", "a label that is a number, its weight, and a tag, found 'yes'"),
        ("1 |city Paris |m size:big", "a finite number, found 'big'"),
        ("1e999 |city Paris |m size:1", "a finite number, found '1e999'"),
    ],
)
def test_rows_of_vowpal_wabbit_that_cannot_be_read(row, message):
    stream = inferred(vw() + row + "\n")
    assert len(gather(stream.blocks())) == 60 and stream.skipped.count == 1
    assert message in str(stream.skipped.reports[0]) and stream.skipped.reports[0].line == 61
    with pytest.raises(StreamError, match="line 61"):
        gather(inferred(vw() + row + "\n", on_error="raise").blocks())


@pytest.mark.parametrize("text", ["{}|2|{}\n", "{} | 2 | {}\n", "a|b {}|{}\n", "{}|New York|{}\n"])
def test_fields_between_pipes_are_no_vowpal_wabbit(text):
    rows = "".join(text.format("1347"[k % 4], k % 2) for k in range(40))
    assert inferred(rows, label=-1).format == "csv"


def test_strict_vowpal_wabbit():
    stream = inferred("1 |n a:2 b:1\n-1 |n b:0.5\n" * 20, strict=True)
    assert gather(stream.blocks()).X[:2].tolist() == [[2, 1], [0, 0.5]]


# ---- GeoJSON --------------------------------------------------------------------------------------------------------


def feature(k, **geometry):
    geometry = geometry or {"type": "Point", "coordinates": [k * 0.5, 53 - k * 0.25, 7.0]}
    return {
        "type": "Feature", "id": f"f{k}", "geometry": geometry,
        "properties": {"kind": ["park", "shop"][k % 2], "area": {"ha": k % 9 + 0.5}, "y": k % 2},
    }  # fmt: skip


FORMS = {
    "one line": lambda rows: json.dumps({"type": "FeatureCollection", "features": rows}),
    "many lines": lambda rows: json.dumps({"type": "FeatureCollection", "features": rows}, indent=1),
    "other members": lambda rows: json.dumps(
        {"crs": {"type": "name", "properties": {"name": "x"}}, "type": "FeatureCollection", "features": rows, "n": [1]},
        indent=2,
    ),
    "a feature in each line": lambda rows: "".join(json.dumps(row) + "\n" for row in rows),
    "a list": json.dumps,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_geojson(form, chunk, monkeypatch):
    rows = [feature(k) for k in range(60)]
    text = FORMS[form](rows)
    if chunk == 64 and form != "a feature in each line":
        monkeypatch.setattr(files, "CHUNK", 4096)
    stream = inferred(text, label="y")
    assert stream.format == "jsonl" and stream.skipped.count == 0
    assert roles(stream) == {
        "id": "left out", "longitude": "number", "latitude": "number", "kind": "category", "area.ha": "number",
        "y": "label",
    }  # fmt: skip
    block = gather(stream.blocks())
    assert column(stream, block, "longitude") == [k * 0.5 for k in range(60)]
    assert column(stream, block, "latitude") == [53 - k * 0.25 for k in range(60)]
    assert column(stream, block, "area.ha") == [k % 9 + 0.5 for k in range(60)]


@pytest.mark.parametrize(
    ("geometry", "place"),
    [
        ({"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 2], [0, 0]]]}, (2, 1)),
        ({"type": "MultiPolygon", "coordinates": [[[[0, 0], [1, 1]]], [[[5, 5], [9, 3]]]]}, (4.5, 2.5)),
        ({"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [1.5, 2.5]}]}, (1.5, 2.5)),
        (None, (np.nan, np.nan)),
        ({"type": "Point", "coordinates": []}, (np.nan, np.nan)),
    ],
)
def test_the_place_of_a_geometry(geometry, place):
    odd = {**feature(1), "geometry": geometry}
    stream = inferred("".join(json.dumps(row) + "\n" for row in [*map(feature, range(40)), odd]), label="y")
    block = gather(stream.blocks())
    np.testing.assert_array_equal([column(stream, block, name)[-1] for name in ("longitude", "latitude")], place)


def test_a_property_of_that_name_comes_first():
    rows = [feature(k) for k in range(40)]
    for k, row in enumerate(rows):
        row["properties"]["longitude"] = k + 0.125
    stream = inferred(json.dumps({"type": "FeatureCollection", "features": rows}), label="y")
    assert column(stream, gather(stream.blocks()), "longitude")[3] == 3.125


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "FeatureCollection", "features": 3}', "a list of features in the collection, found none"),
        ('{"type": "FeatureCollection"}', "a list of features in the collection, found none"),
        ('{"type": "FeatureCollection", "features": []}', "at least one object"),
    ],
)
def test_collections_without_features(text, message):
    with pytest.raises(StreamError, match=message):
        inferred(text, label="y")


def test_a_collection_that_is_cut_off_or_followed_by_another():
    whole = FORMS["one line"]([feature(k) for k in range(60)])
    for text in (whole[:-1], whole + whole):
        stream = inferred(text, label="y")
        assert len(gather(stream.blocks())) == 60
        assert "the end of the collection" in str(stream.skipped.reports[0])


def test_what_only_looks_like_a_collection_is_read_as_lines():
    rows = [{"a": k % 7 + 0.5, "note": '"type": "FeatureCollection"', "y": k % 2} for k in range(LINES)]
    stream = inferred("".join(json.dumps(row) + "\n" for row in rows), label="y")
    assert len(gather(stream.blocks())) == LINES
