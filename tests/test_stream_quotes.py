"""Stray quotes in text tables: each costs its own line and no other, wherever it is, and is counted."""

import io
import time
import tracemalloc
from unittest import mock

import numpy as np
import pytest

from pocketkernel.stream import StreamError, files, gather, open_stream

CLOSED = ("1.5,red,0", '2.5,"blue",1', '"3.5","two\nlines",0', '4.5,"a ""b"", c",1', '5.5,5"x,0')
PLAIN = ("1.5,red,0", "2.5,blue,1")
STRAY = {
    "text after a quote": '9.5,"red"x,0',
    "never closed": '9.5,"red,0',
    "never closed, at the end": '9.5,red,"0',
    "at the start": '"9.5,red,0',
}


def opened(text, *, strict, **options):
    if strict:
        options = {"categorical": ["c"], "on_error": "skip"} | options
    return open_stream(io.BytesIO(text.encode()), format="csv", label="y", strict=strict, **options)


def table(rows):
    return "a,c,y\n" + "\n".join(rows) + "\n"


def lines_of(rows, wanted):
    """Numbers of the lines where these rows are."""
    starts = np.cumsum([2, *(row.count("\n") + 1 for row in rows)])
    return [int(starts[k]) for k, row in enumerate(rows) if row == wanted]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kind", STRAY)
@pytest.mark.parametrize("place", [0, 1, 50, 51, 119, 120])
@pytest.mark.parametrize("others", [CLOSED, PLAIN], ids=["quoted", "plain"])
def test_a_stray_quote_costs_one_line(strict, kind, place, others):
    rows = [others[k % len(others)] for k in range(120)]
    rows.insert(place, STRAY[kind])
    stream = opened(table(rows), strict=strict)
    found = gather(stream.blocks())
    assert len(found) == 120
    assert 9.5 not in found.X[:, 0]
    assert stream.skipped.count == 1
    assert [report.line for report in stream.skipped.reports] == lines_of(rows, STRAY[kind])
    with pytest.raises(StreamError, match=f"line {stream.skipped.reports[0].line}, byte "):
        gather(opened(table(rows), strict=strict, on_error="raise").blocks())


@pytest.mark.parametrize("chunk", [64, 300, 1 << 20])
@pytest.mark.parametrize("seed", range(8))
def test_many_stray_quotes_are_counted_exactly(seed, chunk):
    """Every line that is lost is counted, and all rows between them are read, however the file comes in pieces."""
    rng = np.random.default_rng(seed)
    rows = [str(rng.choice(CLOSED)) for _ in range(400)]
    stray = list(STRAY.values())
    for place in rng.choice(399, rng.integers(1, 30), replace=False).tolist():
        rows[place] = stray[rng.integers(len(stray))]
    with mock.patch.object(files, "CHUNK", chunk):
        stream = opened(table(rows), strict=True)
        found = gather(stream.blocks())
    bad = sum(row in stray for row in rows)
    assert (len(found), stream.skipped.count) == (400 - bad, bad)
    every = [line for one in stray for line in lines_of(rows, one)]
    assert [report.line for report in stream.skipped.reports] == sorted(every)[:10]


def test_two_stray_quotes_that_look_like_a_pair():
    """A field of several lines is possible only where the number of fields is right, and a number has one line."""
    rows = ["1.5,red,0"] * 5 + ['9.5,"red,0'] + ["2.5,blue,1"] * 50 + ['9.5,red",0,7'] + ["3.5,red,0"] * 5
    stream = opened(table(rows), strict=False)
    assert len(gather(stream.blocks())) == 60
    assert [report.line for report in stream.skipped.reports] == [7, 58]
    rows = ["1.5,red,0"] * 5 + ['"9.5,red,0'] + ["2.5,blue,1"] * 50 + ['9.5",red,0'] + ["3.5,red,0"] * 5
    stream = opened(table(rows), strict=True)
    assert len(gather(stream.blocks())) == 60
    assert [report.line for report in stream.skipped.reports] == [7, 58]


def test_a_row_of_several_lines_with_a_wrong_number_counts_once():
    rows = ["1.5,red,0"] * 500 + ['x,"two\nlines",0'] + ["2.5,blue,1"] * 5
    stream = opened(table(rows), strict=False)
    assert (len(gather(stream.blocks())), stream.skipped.count) == (505, 1)


def test_without_names_the_first_line_is_like_the_others():
    rows = ['9.5,"red,0', *CLOSED * 20]
    stream = open_stream(
        io.BytesIO("\n".join(rows).encode()), format="csv", header=False, label=-1, strict=False, missing="mean"
    )
    assert len(gather(stream.blocks())) == 100
    assert [report.line for report in stream.skipped.reports] == [1]
    assert len(gather(open_stream(io.BytesIO("\n".join(rows).encode()), format="csv", columns=["a", "c", "y"],
                                  on_error="skip", categorical=["c"]).blocks())) == 100  # fmt: skip


@pytest.mark.parametrize("first", ['a,"c"x,y', 'a,"c,y'])
@pytest.mark.parametrize("strict", [True, False])
def test_names_that_cannot_be_read_are_refused(first, strict):
    with pytest.raises(StreamError, match=r"line 1, byte .*the first line may have the names of the columns"):
        opened("\n".join([first, *CLOSED]), strict=strict)


def test_titles_above_a_table_with_a_stray_quote():
    stream = opened("Sales of 2023\n\n" + table(["1.5,red,0", "2.5,blue,1"] * 10 + ['9.5,"red,0']), strict=False)
    assert len(gather(stream.blocks())) == 20
    assert [report.line for report in stream.skipped.reports] == [24]


def test_an_open_quote_is_followed_no_further_than_a_row_may_be_long():
    """Then all lines after it are read, of a pipe as well; and the rows before it are not all that is looked at."""
    line = "2.5,blue,1" + " " * 990
    rows = ["1.5,red,0", '9.5,"red,0', *[line] * 17_500]
    stream = opened(table(rows), strict=False)
    assert sum(len(block) for block in stream.blocks()) == 17_501
    assert [report.line for report in stream.skipped.reports] == [3]
    assert stream.inferred.rows > 1000


def test_stray_quotes_need_no_memory_each():
    text = table([*PLAIN * 5, *['9.5,"red"x,0'] * 5_000, *PLAIN * 5]).encode()
    tracemalloc.start()
    stream = open_stream(io.BytesIO(text), format="csv", label="y", strict=False)
    assert sum(len(block) for block in stream.blocks()) == 20
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stream.skipped.count == 5_000
    assert peak < 30e6


@pytest.mark.parametrize("line", ['x","y', '1,"x,0', '1,"x"",0', '"""1,x,0', '1,\u2212"x,0'])
def test_time_is_linear_in_lines_with_stray_quotes(line):
    """Ratios of CPU time: 8 if it is linear, 64 if it is quadratic. The first line closes and opens a quote."""

    def seconds(count):
        text = table([*CLOSED * 2, '1,"s', *[line] * count, 'z"q', *CLOSED * 2])
        began = time.process_time()
        stream = opened(text, strict=False)
        sum(len(block) for block in stream.blocks())
        return time.process_time() - began

    seconds(100)
    assert min(seconds(16_000) for _ in range(2)) < 28 * max(seconds(2_000), 0.01)


def test_typographic_minus_signs_take_linear_time():
    def seconds(count):
        text = "a,y\n1,0\n" + "\u2212" * count + ",1\n\u22122,1\n"
        began = time.process_time()
        assert gather(opened(text, strict=True, categorical=()).blocks()).X.ravel().tolist() == [1, -2]
        return time.process_time() - began

    seconds(100)
    assert min(seconds(1_600_000) for _ in range(2)) < 28 * max(seconds(200_000), 0.01)
