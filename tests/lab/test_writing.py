"""Tables as text: right numbers, and nothing that is read as mark-up."""

import csv
import re

import numpy as np

from hostile import CELLS, TABLE
from pocketkernel.lab.experiments.writing import comma_separated, latex, markdown, plain
from pocketkernel.lab.report import Column, Spread, Table


def test_csv_keeps_every_bit():
    header, *rows = csv.reader(comma_separated(TABLE).splitlines())
    assert header == ["name", "x", "mean", "mean sd", "d", "n"]
    for row, cells in zip(rows, TABLE.rows, strict=True):
        assert row[0] == cells[0]
        if cells[1] is None:
            assert row[1:] == [""] * 5
        else:
            np.testing.assert_array_equal([float(row[1]), float(row[2]), float(row[3])], [cells[1], *cells[2]])
            assert int(row[5]) == cells[4]


def test_markdown_reads_back():
    lines = markdown(TABLE).splitlines()
    assert lines[1] == "|---|---:|---:|---:|---:|"
    for line, row in zip(lines[2:], TABLE.rows, strict=True):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert len(cells) == 5
        name = re.sub(r"\\(.)", r"\1", cells[0]).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        assert name == row[0]
    assert "| 0.30 | 0.3 ± 0.3 | +0.3 | 0 |" in lines[2]
    assert "| **-0.00** |" in lines[2 + CELLS.index(-1e-17)], "the smallest finite number"


def test_latex_is_balanced():
    text = latex(TABLE, label="tab:x")
    bare = re.sub(r"\\[{}$&#%_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert text.count(r"\begin{tabular}{lrrrr}") == text.count(r"\end{tabular}") == 1
    assert all(line.count(" & ") == 4 for line in bare.splitlines() if line.endswith(r"\\"))
    assert r"\textbackslash{}end\{tabular\} \%" in text
    assert r"$\pm$" in text and r"$\infty$" in text and r"\label{tab:x}" in text
    assert text.isascii()


def test_each_block_has_its_best():
    columns = ["data", Column("x", digits=0, best="min")]
    rows = [["a", 3.0], ["a", 2.0], ["b", 7.0], ["b", 9.0], ["c", 1.0]]
    assert re.findall(r"\*\*(\d)\*\*", markdown(Table("t", columns, rows, block=0))) == ["2", "7"]
    assert re.findall(r"\*\*(\d)\*\*", markdown(Table("t", columns, rows))) == ["1"]
    assert latex(Table("t", columns, rows, block=0)).count(r"\midrule") == 3


def test_a_table_in_plain_text():
    rows = [["M-OMD-S", Spread(8.2, 0.14), 400], ["Raker", Spread(10.3), None]]
    table = Table("Digits", ["learner", Column("mistakes %", digits=2, best="min"), "B"], rows, "Not shown.")
    assert plain(table) == ("Digits\nlearner    mistakes %    B\nM-OMD-S  8.20 ± 0.14*  400\nRaker           10.30")


def test_an_empty_table():
    table = Table("", ["a", "b"], [])
    assert comma_separated(table) == "a,b\n"
    assert markdown(table).count("\n") == 1
