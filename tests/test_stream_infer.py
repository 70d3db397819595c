"""What is inferred of the columns of a table."""

import gzip
import io
import json
import zipfile
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tables
from pocketkernel.stream import Encoding, StreamError, dates, gather, infer, open_stream, values
from pocketkernel.stream.values import MISSING_WORDS


def inferred(text, **options):
    source = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return open_stream(source, **{"strict": False, "label": "y", "format": "csv"} | options)


def roles(stream):
    return {column.name: column.role for column in stream.inferred.columns}


def one_column(values, name="a", **options):
    """The role of a column with these values, and its numbers."""
    lines = [f'"{value}",{k % 2}' for k, value in enumerate(values)]
    stream = inferred(f"{name},y\n" + "\n".join(lines) + "\n", **options)
    return roles(stream)[name], gather(stream.blocks()).X


def test_the_rows_that_are_looked_at_do_not_depend_on_how_they_come(tmp_path):
    """Those of the first MiB of a file, plain or compressed, and of a pipe at any pace."""
    rng = np.random.default_rng(0)
    lines = [
        f"{size!r},{'word ' * 100}{k},{'up' if size > 0 else 'down'}\n"
        for k, size in enumerate(rng.normal(size=4000).tolist())
    ]
    data = ("size,text,y\n" + "".join(lines)).encode()
    plain, packed = tmp_path / "rows.csv", tmp_path / "rows.csv.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data, 1))
    looked_at = [data.count(b"\n", 0, 1 << 20) - 1] * 5
    pieces = [1 << 14, 100_000, 1 << 22]
    sources = [plain, packed, *(io.BufferedReader(Slow(data, size), 1 << 22) for size in pieces)]
    assert [inferred_of(source).rows for source in sources] == looked_at


class Slow(io.RawIOBase):
    """A pipe in which there are never more than some bytes."""

    def __init__(self, data, size):
        self.file, self.size = io.BytesIO(data), size

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.file.read(min(len(buffer), self.size))
        buffer[: len(data)] = data
        return len(data)


def inferred_of(source):
    return open_stream(source, strict=False, label="y", format="csv").inferred


# ---- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1.5", "-2", "NA", "1e3"], [1.5, -2, np.nan, 1000]),
        (["1,5", "-2,25", "-", "3"], [1.5, -2.25, np.nan, 3]),
        (["1.234,5", "12,25", "1.000.000,0"], [1234.5, 12.25, 1e6]),
        (["$1,200", "$80", "$3,000,000.50"], [1200, 80, 3000000.5]),
        (["12 %", "7.5%", "?"], [12, 7.5, np.nan]),
        (["€ 3,50", "4,25 €", "-€ 1,00"], [3.5, 4.25, -1]),
        (["1 234", "5 678 901", "12"], [1234, 5678901, 12]),
        (["1'234.5", "12"], [1234.5, 12]),
        (["\u22121.5", "2", "3e\u22122"], [-1.5, 2, 0.03]),
        (["\u22121,5", "2,25", "\u2212€ 3,00"], [-1.5, 2.25, -3]),
        (["(1,234.50)", "80.00", "($3.25)"], [-1234.5, 80, -3.25]),
        (["12,50-", "7,25", "1.000,00-"], [-12.5, 7.25, -1000]),
    ],
)
def test_numbers(values, numbers):
    role, X = one_column(values)
    assert role == "number"
    np.testing.assert_array_equal(X[:, 0], numbers)


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
def test_words_for_missing_values_in_either_reader(word):
    """The list in the binding is the same; a category has them, too."""
    _, X = one_column(["1", "2", word.upper(), "4"])
    np.testing.assert_array_equal(X[:, 0], [1, 2, np.nan, 4])
    stream = inferred("a,y\n" + "red,0\nblue,1\n" * 20 + f"{word},1\n")
    assert list(stream.encoding.features[0].categories) == ["red", "blue"]
    assert gather(stream.blocks()).X[-1, :2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["True", "False", "NA", "true"], [1, 0, np.nan, 1]),
        (["yes", "no", "", "No"], [1, 0, np.nan, 0]),
        (["t", "f", "f"], [1, 0, 0]),
    ],
)
def test_booleans(values, expected):
    role, X = one_column(values)
    assert role == "boolean"
    np.testing.assert_array_equal(X[:, 0], expected)


@pytest.mark.parametrize(
    ("values", "days", "width"),
    [
        (["2024-01-31", "1970-01-02"], [19753, 1], 5),
        (["2024-01-31T12:00:00", "1970-01-02 00:00"], [19753.5, 1], 7),
        (["31/01/2024", "2/1/1970"], [19753, 1], 5),
        (["01/31/2024", "1/2/1970"], [19753, 1], 5),
        (["31.01.2024 06:00", "02.01.1970 00:00"], [19753.25, 1], 7),
        (["31 Jan 2024", "02 Jan 1970"], [19753, 1], 5),
        (["Jan-2024", "Jan-1970"], [19723, 0], 3),
        (["Jan 31 2024", "Jan 2 1970"], [19753, 1], 5),
        (["January 31, 2024", "Jan. 2, 1970"], [19753, 1], 5),
        (["Jan-31-2024", "Jan-2-1970"], [19753, 1], 5),
        (["31. Januar 2024", "2. Jänner 1970"], [19753, 1], 5),
        (["12. Mai 1998", "3. März 2001", "1. Juli 2000"], [10358, 11384, 11139], 5),
        (["31 janvier 2024", "1 août 1970"], [19753, 212], 5),
        (["31 de enero de 2024", "2 de Agosto de 1970"], [19753, 213], 5),
        (["1/31/24 6:00 AM", "1/2/70 12:00 AM"], [19753.25, 1], 7),
        (["1/2/24 6:00 AM", "2/1/70 12:00 AM"], [19724.25, 31], 7),
        (["2024-01-31 6:00 PM", "1970-01-02 12:00 PM"], [19753.75, 1.5], 7),
        (["Wed, 31 Jan 2024 06:00:00 GMT", "Fri, 02 Jan 1970 12:00:00 GMT"], [19753.25, 1.5], 7),
        (["31/Jan/2024:06:00:00 -0600", "02/Jan/1970:00:00:00 +0000"], [19753.5, 1], 7),
        (["Wed Jan 31 06:00:00 +0000 2024", "Fri Jan 02 12:00:00 +0100 1970"], [19753.25, 1 + 11 / 24], 7),
        (["20240131", "19700102", "20240131", "19700102", "19700102"], [19753, 1, 19753, 1, 1], 5),
    ],
)
def test_dates_are_numbers_and_places_on_circles(values, days, width):
    role, X = one_column(values)
    assert (role, X.shape[1]) == ("date", width)
    np.testing.assert_array_equal(X[:, 0], days)
    np.testing.assert_allclose(X[:, 1] ** 2 + X[:, 2] ** 2, 1)
    week = 2 * np.pi * np.array(days) / 7
    if width > 3:
        np.testing.assert_allclose(X[:, 3], np.sin(week), atol=1e-9)


def test_times_of_the_day():
    role, X = one_column(["00:00", "06:00", "18:00"])
    assert role == "date"
    np.testing.assert_allclose(X, [[0, 1], [1, 0], [-1, 0]], atol=1e-12)


def test_an_ambiguous_date_is_told_and_can_be_decided():
    text = "when,y\n" + "01/02/2020,0\n03/04/2020,1\n"
    stream = inferred(text)
    assert "--date when=%m/%d/%Y" in stream.inferred.columns[0].encoded
    other = inferred(text, date=["when=%m/%d/%Y"])
    assert gather(other.blocks()).X[0, 0] == 18263 and gather(stream.blocks()).X[0, 0] == 18293
    by_half_days = inferred("when,y\n" + "1/2/20 3:07 PM,0\n3/4/20 3:07 PM,1\n").inferred.columns[0]
    assert "(%m/%d/%y %I:%M %p)" in by_half_days.encoded and "--date when=%d/%m/%y %I:%M %p" in by_half_days.encoded
    assert "--date when=%m-%d-%Y" in inferred(text.replace("/", "-")).inferred.columns[0].encoded


@pytest.mark.parametrize(
    "words",
    [
        ["May", "June", "July"],
        ["Mar 10", "Set 12", "Jun 5"],
        ["5 set 12", "3 out 10"],
        ["Set-10", "Dez-11"],
        ["Out 2000", "Set 3000"],
        ["1.2.3", "1.10.2"],
        ["10.12.13.4", "10.0.0.1"],
        ["12 Main 2000", "3 Juice 1998"],
        ["Rev 12, 1998", "Act 1, 1999"],
        ["5 of 12", "3 of 10"],
        ["12/5", "7/11"],
        ["3:1", "10:12:14:1"],
        ["a-1-2000", "b-2-2001"],
        ["jui 12 1998", "x 3 2001"],
    ],
)
def test_ordinary_text_is_no_date(words):
    assert one_column(words * 9)[0] == "category"
    assert dates.format_of(words) is None


def test_ids_text_and_constants_are_left_out():
    lines = [f"{k + 1},K{k:04},{k},A few words about {k},EUR,,{k % 3},00{k % 4}1,{k % 2}" for k in range(60)]
    stream = inferred("row,key,user_id,note,unit,none,z,zip,y\n" + "\n".join(lines) + "\n")
    found = {column.name: (column.role, column.encoded.split(":")[0]) for column in stream.inferred.columns}
    assert found == {
        "row": ("left out", "id"), "key": ("left out", "id"), "user_id": ("left out", "id"),
        "note": ("left out", "text"), "unit": ("left out", "constant"), "none": ("left out", "empty"),
        "z": ("number", "as it is"), "zip": ("category", "4 levels in 4 columns (codes with leading zeros)"),
        "y": ("label", "2 different values"),
    }  # fmt: skip
    assert stream.n_features == 5
    kept = inferred("row,key,user_id,note,unit,none,z,zip,y\n" + "\n".join(lines) + "\n",
                    categorical=["key"], numeric=["user_id"], drop=["z"])  # fmt: skip
    assert roles(kept)["key"] == "category" and roles(kept)["user_id"] == "number" and roles(kept)["z"] == "left out"


def test_categories_have_the_places_they_need():
    levels = [f"level{k % 7}" for k in range(2000)] + [f"name{k}" for k in range(100)] * 20
    text = "a,b,y\n" + "".join(
        f"{a},{b},{k % 2}\n" for k, (a, b) in enumerate(zip(levels[:2000], levels[2000:], strict=True))
    )
    stream = inferred(text)
    first, second = stream.encoding.features
    assert (first.places, first.spare) == (7, 0)
    assert (second.places, second.spare) == (73, 16)  # 48 columns each on average, and hashing beyond
    assert gather(stream.blocks()).X.sum() == 2 * 2000
    assert stream.encoding.hashed == {"a": 0, "b": 27 * 20}


def test_all_categories_together_are_bounded():
    head = ",".join([f"c{k}" for k in range(200)] + ["y"])
    rows = [",".join([f"v{(k * 7 + j) % 40}" for j in range(200)] + [str(k % 2)]) for k in range(120)]
    assert inferred(head + "\n" + "\n".join(rows) + "\n").n_features <= 1024
    wide = inferred(head + "\n" + "\n".join(rows) + "\n", max_categories=40)
    assert wide.n_features == 200 * 40


def test_many_categories_still_tell_something():
    """A category whose levels all have one column tells nothing, however many such columns there are."""
    head = ",".join([*(f"rs{k}" for k in range(600)), "y"])
    rows = [",".join([*(("AA", "AG", "GG")[(k + row) % 3] for k in range(600)), str(row % 2)]) for row in range(60)]
    X = gather(inferred("\n".join([head, *rows, ""])).blocks()).X
    assert X.shape == (60, 1200)
    assert np.unique(X[:, :2], axis=0).tolist() == [[0, 1], [1, 0]]


def test_a_flag_where_values_are_missing():
    lines = [f"{'' if k % 10 == 0 else k % 7},{k % 5},{'' if k % 4 == 0 else 'red'},{k % 2}" for k in range(200)]
    text = "a,b,c,y\n" + "\n".join(lines) + "\n"
    stream = inferred(text)
    assert stream.feature_names == ["a", "a is missing", "b", "c#1", "c is missing"]
    X = gather(stream.blocks()).X
    assert np.isnan(X[0, 0]) and X[0, 1:].tolist() == [1, 0, 0, 1]
    filled = gather(inferred(text, missing="mean").blocks()).X
    assert not np.isnan(filled).any()
    np.testing.assert_array_equal(filled[:, 1:], X[:, 1:])
    assert filled[10, 0] == np.nanmean(X[:10, 0])


def test_some_typos_do_not_make_a_number_a_category():
    lines = [f"{k % 9},{k % 2}" for k in range(500)]
    lines[300] = "3x,0"
    stream = inferred("a,y\n" + "\n".join(lines) + "\n")
    assert roles(stream)["a"] == "number" and "'3x'" in stream.inferred.columns[0].encoded
    assert len(gather(stream.blocks())) == 499
    assert str(stream.skipped.reports[0]).startswith("a file object, line 302, column 'a': expected a finite number")


# ---- how a file is written ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_delimiters(delimiter, format):
    text = (
        delimiter.join(["a", "b", "y"]) + "\n" + "".join(f"{k}{delimiter}{k % 3}{delimiter}{k % 2}\n" for k in range(9))
    )
    stream = inferred(text, format=format)
    assert stream.n_features == 2 and stream.dialect["delimiter"] == delimiter


def test_headers():
    rows = "".join(f"{k % 4},red,{k % 2}\n" for k in range(30))
    assert roles(inferred("2019,b,y\n" + rows.replace("red", "7"), label=-1)).keys() == {"2019", "b", "y"}
    assert len(gather(inferred(rows, label=-1).blocks())) == 30
    words = "".join(f"{'pq'[k % 2]},{'xyz'[k % 3]},{'ab'[k % 2]}\n" for k in range(30))
    assert len(gather(inferred(words, label=-1).blocks())) == 30  # its first line is one like the others
    assert inferred("a,a,y\n" + rows).inferred.columns[1].name == "a (2)"
    by_r = inferred('"a" "y"\n"1" 5 0\n"2" 6 1\n"3" 6 1\n', delimiter=" ")
    assert roles(by_r) == {"column1": "left out", "a": "number", "y": "label"}


BELOW = "".join(f"{k},{k * 0.5},{'red' if k % 3 else 'blue'},{k % 2}\n" for k in range(30))


@pytest.mark.parametrize(
    ("before", "names", "line"),
    [
        ("# made by a tool\n# on Monday, at noon\nn,a,b,y\n", ["n", "a", "b"], 4),
        ("\n# one, two, three, four\n\nn,a,b,y\n", ["n", "a", "b"], 5),  # as many fields, but a header follows
        ("#n,a,b,y\n", ["#n", "a", "b"], 2),
        ("# made by a tool\n#n,a,b,y\n", ["#n", "a", "b"], 3),
        ("# made by a tool\n# n,a,b,y\n", ["n", "a", "b"], 3),  # as numpy.savetxt writes
        ("sep=,\nn,a,b,y\n", ["n", "a", "b"], 3),
        ('"sep=,"\r\nn,a,b,y\r\n', ["n", "a", "b"], 3),
        ("\ufeffsep=,\n# a remark\nn,a,b,y\n", ["n", "a", "b"], 4),
    ],
)
def test_lines_before_the_table(before, names, line):
    stream = inferred(before + BELOW)
    assert [column.name for column in stream.inferred.columns] == [*names, "y"]
    assert (stream.inferred.remarks != []) == (not before.startswith("#n"))
    assert next(stream.blocks()).line == line
    # Further files are read in the same way, and with true lines.
    again = inferred(before + BELOW + "1,x,red,0\n", label=None, encoding=stream.encoding.to_dict(), on_error="raise")
    with pytest.raises(StreamError, match=f"line {line + 30}, column 'a': expected a finite number, found 'x'"):
        gather(again.blocks())


def test_lines_before_a_table_say_what_divides_it():
    stream = inferred("sep=;\na;b;y\n" + "1,5;2;0\n2,5;3;1\n" * 9)
    assert stream.dialect["delimiter"] == ";" and "sep=;" in stream.inferred.remarks[0]
    stream = inferred("# a\n# b\n# c\nn\ta\ty\n" + "1\t2\t0\n2\t3\t1\n" * 9)
    assert stream.dialect["delimiter"] == "\t" and stream.inferred.remarks[0].startswith(
        "Lines 1 to 3 are comments (#) before the table"
    )


def test_a_file_of_nothing_but_comments_is_no_table():
    with pytest.raises(ValueError, match="label='y' is not a column"):
        inferred("# a,b\n# c,d\n")


TITLED = "region,amount,n,y\n" + "".join(f"{'NS'[k % 2]},{k * 1.5},{k % 9},{k % 2}\n" for k in range(30))


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("Sales report 2023\n\n", 4),
        ("Sales report 2023\nprepared by,ACME\n\n", 5),
        ("Sales report 2023,,,\n,,,\n", 4),
        ("# a comment\nSales report\n", 4),
    ],
)
def test_titles_before_the_table(before, line):
    stream = inferred(before + TITLED)
    assert list(roles(stream)) == ["region", "amount", "n", "y"] and next(stream.blocks()).line == line
    assert "before the table" in " ".join(stream.inferred.remarks)
    again = inferred(before + TITLED, label=None, encoding=stream.encoding.to_dict())
    assert next(again.blocks()).line == line


def test_what_is_no_title():
    assert list(roles(inferred("a;b\n1;2;0\n3;4;1\n5;6;0\n", label=-1))) == ["column1", "a", "b"]  # as R writes
    with pytest.raises(StreamError, match="line 2, byte 1: expected 2 fields, found 4"):
        inferred("name,y\n" + "Smith, John, Dr,1\nDoe, Jane, Dr,0\n" * 9)
    assert inferred("a,b,y\n1\n2\n3,4,0\n5,6,1\n" + "7,8,0\n9,1,1\n" * 9).inferred.remarks == []


def test_units_of_a_whole_column():
    role, X = one_column(["57.9 kg", "89 kg", "1,200.5 kg", "NA"] * 6)
    assert role == "number"
    np.testing.assert_array_equal(X[:4, 0], [57.9, 89, 1200.5, np.nan])
    stream = inferred("a;y\n" + "16,5 cm;1\n8cm;0\n" * 9)
    assert stream.inferred.columns[0].encoded == "as it is, decimal comma, in cm"
    again = inferred("a;y\n4cm;1\n4 mm;0\n4;0\n", label=None, encoding=stream.encoding.to_dict(), on_error="skip")
    assert gather(again.blocks()).X.ravel().tolist() == [4, 4] and again.skipped.count == 1
    assert "a number with a decimal comma in cm, found '4 mm'" in str(again.skipped.reports[0])
    assert one_column(["3 kg", "4 lb", "5 kg"] * 8)[0] == "category"
    assert one_column(["10A", "11A", "12B"] * 8)[0] == one_column(["A1", "A2"] * 8)[0] == "category"


def test_words_among_numbers_are_told():
    lines = [f"{'unknown' if k % 3 == 0 else k * 0.5},{k * 1.5},{k % 2}" for k in range(60)]
    column = inferred("a,b,y\n" + "\n".join(lines) + "\n").inferred.columns[0]
    assert "numbers but for 'unknown': --numeric a takes only numbers" in column.encoded
    assert one_column(["3 USD", "4.5 USD", "5 EUR"] * 8)[0] == one_column(["3 USD", "4 USD"] * 8)[0] == "number"


def test_a_column_that_is_the_label_is_told():
    text = "a,again,y\n" + "".join(f"{k * 0.5},{k % 2},{k % 2}\n" for k in range(30))
    assert "The column 'again' has the same values as the label" in inferred(text).inferred.leaks[0]
    assert inferred(text, drop=["again"]).inferred.remarks == []


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"a,b,y\r1,2,0\r3,4,1\r", "carriage returns alone"),
        (b"\n<!DOCTYPE html>\n<html><p>not, found</p></html>\n", "a page in HTML or XML"),
        (b'{"data": [{"a": 1, "y": 0}, {"a": 2, "y": 1}]}', "one object with all rows in it"),
        (b'{"a": {"0": 1, "1": 2}, "y": {"0": 0, "1": 1}}', "one object with all rows in it"),
    ],
)
def test_what_is_no_table_is_told(data, found):
    with pytest.raises(StreamError, match=found):
        inferred(data, format="jsonl" if data.startswith(b"{") else "csv")


def test_fields_divided_by_spaces():
    stream = inferred("a b y\n" + "1.5 red 0\n2.5 blue 1\n" * 9, format=None)
    assert stream.dialect["delimiter"] == " " and roles(stream) == {"a": "number", "b": "category", "y": "label"}


@pytest.mark.parametrize("values", [["(1)", "(2)", "(3)"], ["(1.5)", "-2.5", "3"], ["5-", "-2", "3"]])
def test_negative_numbers_are_written_in_one_way(values):
    assert one_column(values * 8)[0] == "category"


def test_text_that_is_not_utf8():
    for code in ("utf-8", "utf-8-sig", "latin-1", "cp1252"):
        stream = inferred("Größe,Straße,y\n1,Ä,0\n2,Ö,1\n3,Ä,1\n".encode(code))
        gather(stream.blocks())
        assert list(roles(stream)) == ["Größe", "Straße", "y"]
        assert list(stream.encoding.features[1].categories) == ["Ä", "Ö"]
    for code in ("utf-16-le", "utf-16-be"):  # as Excel writes "Unicode text"
        text = "\ufeffcolour\tsize\ty\r\n" + "gr\u00fcn \U0001f34f\t1,5\tja\r\nrot\t2,5\tnein\r\n" * 20
        stream = inferred(text.encode(code), format=None)
        block = gather(stream.blocks())
        assert (stream.format, roles(stream)["size"], block.line, *block.y[:2]) == ("tsv", "number", 2, "ja", "nein")
        assert "gr\u00fcn \U0001f34f" in stream.encoding.features[0].categories
    with pytest.raises(StreamError, match=r"expected text in UTF-16, found .*truncated"):
        gather(inferred(b"\xff\xfe" + "a,y\n1,2\n".encode("utf-16-le") + b"x").blocks())


def test_what_is_compressed(tmp_path):
    text = tables.titanic(rows=50)
    wanted = gather(inferred(text, label="Survived").blocks()).X
    (tmp_path / "a.csv.zst").write_bytes(pa.compress(text, codec="zstd", asbytes=True))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("folder/titanic.csv", text)
        archive.writestr("__MACOSX/folder/._titanic.csv", b"x")
    for name in ("a.csv.zst", "b.csv.gz", "c.zip"):
        stream = open_stream(tmp_path / name, strict=False, label="Survived")
        np.testing.assert_array_equal(gather(stream.blocks()).X, wanted)
        assert stream.format == "csv" and stream.consumed <= stream.size == (tmp_path / name).stat().st_size
    with zipfile.ZipFile(tmp_path / "c.zip", "a") as archive:
        archive.writestr("other.csv", text)
    with pytest.raises(StreamError, match=r"expected one file in the archive, found 2: folder/titanic.csv, other.csv"):
        open_stream(tmp_path / "c.zip", strict=False)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "c.zip").read_bytes()[:200])
    with pytest.raises(StreamError, match=r"a \.zip archive that can be read"):
        open_stream(tmp_path / "cut.zip", strict=False)
    (tmp_path / "cut.csv.zst").write_bytes((tmp_path / "a.csv.zst").read_bytes()[:300])
    with pytest.raises(StreamError, match="compressed data that is whole"):
        gather(open_stream(tmp_path / "cut.csv.zst", strict=False, label="Survived").blocks())


# ---- other formats --------------------------------------------------------------------------------------------------

ROWS = [
    {"user": {"age": 20 + k % 30, "home": {"town": "AB"[k % 2]}}, "ok": k % 3 == 0, "tags": ["x"], "y": k % 2}
    for k in range(40)
]


@pytest.mark.parametrize("form", ["lines", "array", "indented"])
def test_nested_json(form):
    text = (
        "\n".join(map(json.dumps, ROWS))
        if form == "lines"
        else json.dumps(ROWS, indent=2 if form == "indented" else None)
    )
    stream = inferred(text, format=None)
    assert roles(stream) == {
        "user.age": "number", "user.home.town": "category", "ok": "boolean", "tags": "left out", "y": "label",
    }  # fmt: skip
    X = gather(stream.blocks()).X
    assert X.shape == (40, 4) and X[1].tolist() == [21, 0, 1, 0]


def test_labels_that_are_true_and_false_stay_so(tmp_path):
    rows = [{"age": 20 + k % 7, "bought": k % 3 == 0} for k in range(40)]
    stream = inferred("\n".join(map(json.dumps, rows)), format="jsonl", label="bought")
    assert gather(stream.blocks()).y[:2].tolist() == ["true", "false"]
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    found = gather(open_stream(tmp_path / "rows.parquet", label="bought", strict=False).blocks())
    assert found.y[:2].tolist() == ["true", "false"]


def test_an_array_is_read_in_pieces_and_its_end_is_told(monkeypatch):
    text = json.dumps(ROWS, indent=1)
    monkeypatch.setattr("pocketkernel.stream.files.CHUNK", 100)
    assert len(gather(inferred(text, format="jsonl").blocks())) == 40
    cut = text[: text.rindex("age")]
    stream = inferred(cut, format="jsonl")
    assert len(gather(stream.blocks())) == 39
    line = cut[: cut.rindex("\n {") + 1].count("\n") + 1
    assert [report.line for report in stream.skipped.reports] == [line]
    with pytest.raises(StreamError, match="JSON"):
        gather(inferred(cut, format="jsonl", on_error="raise").blocks())


@pytest.mark.parametrize("more", ["x", '\n\n[{"age": 1}]', '{"age": 1}', "]"])
def test_what_follows_an_array_is_told(monkeypatch, more):
    text = json.dumps(ROWS, indent=1) + "\n" * 200
    monkeypatch.setattr("pocketkernel.stream.files.CHUNK", 100)
    assert len(gather(inferred(text, format="jsonl", on_error="raise").blocks())) == 40
    stream = inferred(text + more, format="jsonl")
    assert len(gather(stream.blocks())) == 40
    line = (text + more[: len(more) - len(more.lstrip())]).count("\n") + 1
    assert [report.line for report in stream.skipped.reports] == [line]
    with pytest.raises(StreamError, match=f"line {line}: expected the end of the file after ]"):
        gather(inferred(text + more, format="jsonl", on_error="raise").blocks())


def test_parquet_types(tmp_path):
    times = np.array(["2024-01-31T06:00", "1970-01-02T00:00"] * 20, "datetime64[ms]")
    table = pa.table(
        {
            "when": pa.array(times).cast(pa.timestamp("us", "UTC")), "day": pa.array(times.astype("datetime64[D]")),
            "ok": [True, False] * 20, "kind": pa.array(["a", "b"] * 20).dictionary_encode(),
            "list": [[1], [2]] * 20, "x": [1.5, None] * 20, "y": [0, 1] * 20,
        }
    )  # fmt: skip
    parquet.write_table(table, tmp_path / "a.parquet")
    stream = open_stream(tmp_path / "a.parquet", strict=False)
    assert roles(stream) == {
        "when": "date", "day": "date", "ok": "boolean", "kind": "category", "list": "left out", "x": "number",
        "y": "label",
    }  # fmt: skip
    X = gather(stream.blocks()).X
    assert X[:, 0].tolist()[:2] == [19753.25, 1] and X[:2, 7].tolist() == [19753, 1]
    with pa.ipc.new_stream(tmp_path / "a.arrows", table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    with open(tmp_path / "a.arrows", "rb") as file:
        np.testing.assert_array_equal(gather(open_stream(file, strict=False).blocks()).X, X)


# ---- labels ---------------------------------------------------------------------------------------------------------


def test_a_label_that_is_not_given_is_asked_for():
    text = tables.titanic(rows=40)
    with pytest.raises(ValueError, match=r"It could be 'Survived' \(values: [01], [01]\): give label=Survived, or"):
        inferred(text, label=None)
    with pytest.raises(ValueError, match="It could be 'species'"):
        inferred(tables.penguins(rows=60), label=None)


def test_classes_are_the_labels_of_the_first_rows():
    stream = inferred("a,y\n" + "".join(f"{k % 5},{k % 40}\n" for k in range(400)))
    stream.adopt_classes()
    assert stream.classes == list(range(40))
    stream = inferred("a,y\n" + "".join(f"{k % 5},{k / 7:.3f}\n" for k in range(400)))
    with pytest.raises(ValueError, match=r"the label 'y' has 400 different values .* task=regression"):
        stream.adopt_classes()


def test_late_rows_that_cannot_be_used_are_left_out_and_told():
    lines = [f"{k % 9},c{k % 3},{k % 2}" for k in range(12_000)]
    lines[11_000:11_005] = ["word,c1,0", "1,c1", "1,c1,maybe", '1,"c1,0', "1,c1,7"]
    stream = inferred("a,b,y\n" + "\n".join(lines) + "\n")
    stream.adopt_classes()
    assert len(gather(stream.blocks())) == 11_995
    assert [report.line for report in stream.skipped.reports] == [11_002, 11_003, 11_004, 11_005, 11_006]
    words = [str(report) for report in stream.skipped.reports]
    assert "column 'a': expected a finite number, found 'word' (if the column has categories" in words[0]
    assert "expected 3 fields, found 2" in words[1] and "column 'y': expected one of the classes 0, 1" in words[4]
    with pytest.raises(StreamError, match="line 11002"):
        gather(inferred("a,b,y\n" + "\n".join(lines) + "\n", on_error="raise").blocks())


# ---- the same again -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "label"), [
    (tables.titanic, "Survived"), (tables.penguins, "species"), (tables.diamonds, "cut"), (tables.loans, "Status"),
])  # fmt: skip
def test_an_encoding_gives_the_same_rows_again(make, label):
    text = make(300)
    stream = inferred(text, label=label)
    whole = gather(stream.blocks())
    kept = json.loads(json.dumps(stream.encoding.to_dict()))
    again = open_stream(io.BytesIO(text), format="csv", encoding=kept)
    np.testing.assert_array_equal(gather(again.blocks()).X, whole.X)
    assert again.encoding.to_dict() == kept
    assert Encoding.from_dict(kept).feature_names == stream.feature_names
    for block in (1, 7):
        np.testing.assert_array_equal(gather(inferred(text, label=label, block=block).blocks()).X, whole.X)


def test_what_the_four_tables_become():
    assert roles(inferred(tables.titanic(), label="Survived")) == {
        "PassengerId": "left out", "Survived": "label", "Pclass": "number", "Name": "left out", "Sex": "category",
        "Age": "number", "SibSp": "number", "Ticket": "left out", "Fare": "number", "Cabin": "category",
        "Embarked": "category",
    }  # fmt: skip
    assert roles(inferred(tables.penguins(), label="species")) == {
        "column1": "left out", "species": "label", "island": "category", "bill_length_mm": "number",
        "bill_depth_mm": "number", "flipper_length_mm": "number", "body_mass_g": "number", "sex": "category",
        "year": "number",
    }  # fmt: skip
    stream = inferred(tables.diamonds(), label="cut")
    assert roles(stream)["column1"] == "left out"
    assert stream.n_features == 7 + 7 + 8
    assert roles(inferred(tables.loans(), label="Status")) == {
        "Vertrag": "left out", "Datum": "date", "Betrag": "number", "Zinssatz": "number", "Einkommen": "number",
        "Verwendungszweck": "category", "Eigentümer": "boolean", "Währung": "left out", "Status": "label",
    }  # fmt: skip


def test_what_does_not_look_like_a_date_is_not_parsed(monkeypatch):
    tried = []
    monkeypatch.setattr(dates, "_parsed", lambda text, format: tried.append(text))
    for text in ("a1", "12-ab", "3 of 4", "x" * 30 + "1", "1,5", "2020-", "12:3x"):
        assert dates.format_of([text]) is None
    assert not tried


@pytest.mark.parametrize("format", dates.FORMATS)
def test_every_format_is_recognised(format):
    zone = UTC if "%z" in format else None
    moments = [datetime(2019, 12, 31, 23, 58, 59, 250_000, zone), datetime(2003, 5, 4, 3, 2, 1, 0, zone)]
    texts = [moment.isoformat() if format == dates.ISO else moment.strftime(format) for moment in moments]
    found = dates.format_of(texts)
    assert found is not None
    assert dates.to_columns(texts, found[0], ["days"])[1] == []


WORDS = [
    "1.5",
    "2.25",
    "-3",
    "7",
    "0",
    "10",
    "007",
    "012",
    "20240131",
    "20240229",
    "nan",
    "",
    "NA",
    "none",
    "1e3",
    "inf",
]


@pytest.mark.parametrize("name", ["x", "user_id", "column1", "index"])
def test_plain_numbers_found_at_once_are_those_found_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    texts: dict[str, list[str | None]] = {f"counted{k} {name}": list(map(str, range(k, k + 25))) for k in range(3)}
    for k in range(400):
        words = random.choice(WORDS, int(random.integers(1, 5)))
        texts[f"{k} {name}"] = [str(word) or None for word in random.choice(words, 25)]
    rows = {**texts, name: list(map(str, range(1, 26)))}
    for count in (6, 25):
        cut = {key: column[:count] for key, column in rows.items()}
        numbers = {key: values.to_numbers(column, ".")[0] for key, column in cut.items() if "inf" not in column}
        for whole in (True, False):
            sample = infer.Sample(count, whole, cut, numbers)
            at_once = infer.infer(sample)
            assert 20 < len(infer._plain_numbers(sample)) < len(rows)
            with monkeypatch.context() as patch:
                patch.setattr(infer, "_plain_numbers", lambda sample: set())
                one_by_one = infer.infer(sample)
            for found, expected in zip(at_once, one_by_one, strict=True):
                assert replace(found, counted=found.levels) == expected
