"""Text tables with single quotes, and tables whose columns are aligned by spaces."""

import io

import numpy as np
import pytest

from pocketkernel.stream import gather, open_stream


def inferred(text, **options):
    source = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return open_stream(source, **{"strict": False, "label": "y"} | options)


def roles(stream):
    return {column.name: column.role for column in stream.inferred.columns}


def texts(stream, name):
    """The examples of a column as they were read."""
    return {column.name: column.examples for column in stream.inferred.columns}[name]


PLACES = ["New York", "Rome", "Den Haag"]


def test_single_quotes():
    rows = "".join(f"'{PLACES[k % 3]}','{k * 1.5}','O''Brien, {'ab'[k % 2]}',{k % 2}\n" for k in range(30))
    stream = inferred("'city','n','who','y'\n" + rows, format="csv")
    assert roles(stream) == {"city": "category", "n": "number", "who": "category", "y": "label"}
    assert texts(stream, "city") == "New York, Rome, Den Haag" and texts(stream, "who") == "O'Brien, a, O'Brien, b"
    found = gather(stream.blocks())
    assert found.X[:, stream.feature_names.index("n")].tolist() == [k * 1.5 for k in range(30)]
    assert stream.skipped.count == 0
    again = inferred("'who','n','city'\n'O''Brien, a',3,'Rome'\n", label=None, encoding=stream.encoding.to_dict())
    assert gather(again.blocks()).X[0].tolist() == [*found.X[4].tolist()[:3], 3, *found.X[4].tolist()[4:]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_single_quotes_around_every_delimiter(delimiter):
    line = delimiter.join(["'{}'", "'{}" + delimiter + "b'", "'{}'"]) + "\n"
    rows = "".join(line.format(k * 0.5, "pqr"[k % 3], k % 2) for k in range(30))
    text = delimiter.join(["'n'", "'c'", "'y'"]) + "\n" + rows
    stream = inferred(text, format="csv")
    assert stream.dialect["delimiter"] == delimiter and stream.skipped.count == 0
    assert roles(stream)["y"] == "label" and len(gather(stream.blocks())) == 30


@pytest.mark.parametrize("word", ["'tis", "dogs'", "don't", "rock 'n' roll", '"it\'s"', "5' 3"])
def test_apostrophes_are_no_quotes(word):
    rows = "".join(f"{word if k % 2 else 'cats'},{k * 0.5},{k % 2}\n" for k in range(30))
    stream = inferred("a,b,y\n" + rows, format="csv")
    assert len(gather(stream.blocks())) == 30 and stream.skipped.count == 0
    assert word.strip('"') in texts(stream, "a")


def aligned(rows, names=("n", "c", "y")):
    """Columns as wide as their widest cell, numbers to the right and text to the left."""
    every = [list(names), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[k]) for row in every) for k in range(len(names))]
    return "".join(
        "  ".join([row[0].rjust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2])]) + "\n" for row in every
    )


@pytest.mark.parametrize("format", ["csv", "tsv", None])
@pytest.mark.parametrize("cell", ["red", "dark red"])
def test_columns_aligned_by_spaces(cell, format):
    rows = [(k * 13.5, cell if k % 3 else "blue", k % 2) for k in range(60)]
    stream = inferred(aligned(rows), format=format)
    assert roles(stream) == {"n": "number", "c": "category", "y": "label"}
    assert texts(stream, "c") == f"blue, {cell}"
    block = gather(stream.blocks())
    assert block.X[:, 0].tolist() == [k * 13.5 for k in range(60)] and stream.skipped.count == 0
    again = inferred(aligned(rows[7:8]), label=None, format=format, encoding=stream.encoding.to_dict())
    assert gather(again.blocks()).X.tolist() == block.X[7:8].tolist()


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_aligned_rows_may_end_anywhere(size, monkeypatch):
    from pocketkernel.stream import files

    rows = [(k * 13.5, "dark red" if k % 3 else "blue", k % 2) for k in range(60)]
    text = "\n  \n".join(aligned(rows).rstrip("\n").split("\n")) + "   "
    monkeypatch.setattr(files, "CHUNK", size)
    block = gather(inferred(text, format="csv", delimiter="  ").blocks())  # so few bytes do not tell it
    assert block.X[:, 0].tolist() == [k * 13.5 for k in range(60)]
    assert block.y.tolist() == [k % 2 for k in range(60)]


def test_quoted_fields_in_an_aligned_table():
    """As R writes: row names without a name, quotes around text, which may have spaces."""
    rows = "".join(f'"{k}" {k * 0.5}   "{PLACES[k % 3]}" {k % 2}\n' for k in range(1, 31))
    stream = inferred('"n"  "city"   "y"\n' + rows, format="csv")
    assert roles(stream) == {"column1": "left out", "n": "number", "city": "category", "y": "label"}
    assert texts(stream, "city") == "Rome, Den Haag, New York" and len(gather(stream.blocks())) == 30


def test_a_tab_before_the_last_column_of_an_aligned_table():
    """As in the car data of UCI: numbers aligned by spaces, then a tab and a name in quotes."""
    rows = "".join(f'{k % 9}.0   8   {k * 3.5:.1f}      130.0 {k % 2}\t"ford {"ab"[k % 2]}"\n' for k in range(40))
    stream = inferred(rows, format=None, label=4)
    assert len(stream.inferred.columns) == 6 and len(gather(stream.blocks())) == 40 and stream.skipped.count == 0
    tab = "".join(f"{PLACES[k % 2]}  east\tx {k % 3}\t{k % 2}\n" for k in range(40))
    assert inferred("a\tb\ty\n" + tab, format=None).dialect["delimiter"] == "\t"


@pytest.mark.parametrize("line", ["Smith {},{}\n", "{} b c, {} d\n", "{};two words here {}\n"])
def test_words_are_no_columns_where_there_is_a_sign(line):
    text = "".join(line.format("pqr"[k % 3], k % 2) for k in range(30))
    stream = inferred(text, format="csv", label=1, header=False)
    assert stream.dialect["delimiter"] in ",;" and len(stream.inferred.columns) == 2


def test_strict_readers_are_told_that_a_table_is_aligned():
    text = "  a   b  y\n 1.5  2  0\n10.5 12  1\n"
    for delimiter in (" ", "  "):
        if delimiter == "  ":
            text = text.replace("5 1", "5  1")
        stream = open_stream(io.BytesIO(text.encode()), format="csv", label="y", delimiter=delimiter)
        np.testing.assert_array_equal(gather(stream.blocks()).X, [[1.5, 2], [10.5, 12]])
    with pytest.raises(ValueError, match="use one ASCII character, such as ',' or ';', or two spaces"):
        open_stream(io.BytesIO(text.encode()), format="csv", label="y", delimiter="   ")
