"""Axes, charts, the page of a run and pictures: right numbers, whole pages, nothing that is read as mark-up."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostile import HOSTILE
from pages import LONG, Page, checked, make, odd_curve
from pocketkernel.evaluate import Record
from pocketkernel.report import Chart, Column, Series, Table, charts_of, write_picture, write_report
from pocketkernel.report.axes import UNITS, Axis, precisely, written
from pocketkernel.report.style import ramp
from pocketkernel.report.svg import TOLERANCE, _thinned, figure

RUN = make("M-OMD-S")


# ---- axes ----------------------------------------------------------------------------------------------------------

numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(numbers, max_size=8), st.sampled_from(UNITS), st.booleans(), st.booleans(), st.booleans())
@example([0.0, 5e-324], "number", False, False, False)  # a fifth of it is 0
def test_every_axis_has_ticks_and_shows_all(values, unit, log, zero, tight):
    axis = Axis.around(values, unit=unit, log=log, zero=zero, tight=tight)
    assert math.isfinite(axis.low) and math.isfinite(axis.high) and axis.low < axis.high
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(-1e-6 <= place <= 1 + 1e-6 for place in axis.place(ticks))
    for value, place in zip(values, axis.place(values), strict=True):
        shown = math.isfinite(value) and (value > 0 or not log)
        assert -1e-6 <= place <= 1 + 1e-6 if shown else math.isnan(place)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e9), st.sampled_from(UNITS))
def test_no_two_ticks_read_the_same(low, span, unit):
    axis = Axis.around([abs(low), abs(low) + span], unit=unit, zero=False)
    texts = [axis.label(tick) for tick in axis.ticks()]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("values", "options", "texts"),
    [
        ([0, 1], {"unit": "percent"}, ["0%", "20%", "40%", "60%", "80%", "100%"]),
        ([0.1, 0.31], {"unit": "percent"}, ["0%", "10%", "20%", "30%", "40%"]),
        ([0.112, 0.118], {"unit": "percent", "zero": False}, ["11.2%", "11.4%", "11.6%", "11.8%"]),
        ([0, 65_536], {"unit": "bytes"}, ["0 KiB", "20 KiB", "40 KiB", "60 KiB", "80 KiB"]),
        ([0, 1_200_000], {}, ["0", "0.5M", "1.0M", "1.5M"]),
        ([1, 1e6], {"log": True}, ["1", "10", "100", "1k", "10k", "100k", "1M"]),
        ([25, 1600], {"log": True, "tight": True}, ["50", "100", "200", "500", "1000"]),
        ([0, 1e-7], {}, ["0", "2e-08", "4e-08", "6e-08", "8e-08", "1e-07"]),
        ([], {}, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([5, 5], {"zero": False}, ["4.7", "4.8", "4.9", "5.0", "5.1", "5.2", "5.3"]),
    ],
)
def test_ticks(values, options, texts):
    axis = Axis.around(values, **options)
    assert [axis.label(tick) for tick in axis.ticks()] == texts


def test_numbers_that_are_none():
    assert written(math.nan) == "\u2013"
    assert precisely(math.inf, "bytes") == "∞"
    assert written(-math.inf, "percent") == "-∞"


# ---- charts ----------------------------------------------------------------------------------------------------------


def test_charts_show_the_curve():
    sections = charts_of(RUN)
    rate, recent = (chart.series[0] for chart in sections["mistakes"])
    assert rate.name == "M-OMD-S" and rate.low is None
    np.testing.assert_array_equal(rate.x, RUN.curve.rows)
    np.testing.assert_array_equal(rate.y, RUN.curve.mistake_rate)
    np.testing.assert_array_equal(recent.y, RUN.curve.window_mistake_rate(100))
    fill, removals = (chart.series[0] for chart in sections["buffer"])
    np.testing.assert_array_equal(fill.y, RUN.curve.stored / 100)
    np.testing.assert_array_equal(removals.y, RUN.curve.removals)
    assert sum(one.y[-1] for one in sections["kernels"][0].series) == pytest.approx(1)
    taken, promised = sections["loss"][1].series
    assert promised.name == "promised: 65,536 bytes" and promised.reference and not taken.reference


def test_a_long_run_has_few_points():
    chart, _ = charts_of(make(points=5000))["mistakes"]
    assert len(chart.series[0].x) == 600 and chart.series[0].x[-1] == 250_000


def test_series_are_checked():
    with pytest.raises(ValueError, match="arrays of equal length"):
        Series("a", [1, 2], [1])
    with pytest.raises(ValueError, match="only one end of a band"):
        Series("a", [1], [1], low=[0])


@given(st.lists(st.tuples(st.floats(0, 500), st.floats(0, 300)), min_size=2, max_size=60))
def test_a_thinned_line_stays_where_it_was(points):
    x, y = np.array(sorted(points)).T
    kept = np.array(_thinned(x, y))
    starts, ends = kept[:-1], kept[1:]
    for point in zip(x, y, strict=True):
        along = ends - starts
        length = np.maximum((along**2).sum(axis=1), 1e-12)
        t = np.clip(((np.array(point) - starts) * along).sum(axis=1) / length, 0, 1)
        assert np.min(np.hypot(*(starts + t[:, None] * along - point).T)) <= TOLERANCE + 1e-6


def test_a_smooth_curve_takes_few_points():
    x = np.linspace(0, 460, 2000)
    assert len(_thinned(x, 200 / (1 + x / 50))) < 60


def test_gaps_leave_gaps():
    series = Series("a", range(6), [1, 2, math.nan, 3, math.nan, 4], low=[0] * 6, high=[5, 5, 5, math.inf, 5, 5])
    text = figure(Chart(series=[series], title="t", markers=False), "t")
    assert text.count('class="line" d=') == 1
    assert text.count('class="dot"') == 2
    assert text.count('class="band"') == 2


def test_ramp_has_as_many_colours():
    for count in (0, 1, 2, 5, 40):
        colours = ramp(count, "dark")
        assert len(set(colours)) == count
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


# ---- the page of a run -----------------------------------------------------------------------------------------------


@pytest.fixture
def page(tmp_path):
    def write(record, **options):
        write_report(tmp_path / "report.html", record, **options)
        return checked(tmp_path / "report.html")

    return write


def test_a_page_has_all_its_parts(page):
    text, found = page(RUN, title="One run")
    assert [data for tag, data in found.texts if tag == "h2"] == [
        "Results", "Mistakes", "Kernel weights", "Buffer", "Loss and memory", "Settings", "How to reproduce",
    ]  # fmt: skip
    assert found.tags["figure"] == 2 + 1 + 2 + 2
    assert found.values("role").count("img") == found.tags["figure"] == found.tags["desc"]
    cells = [data for tag, data in found.texts if tag in ("td", "dd")]
    assert cells.count(f"{100 * RUN.curve.mistake_rate[-1]:.2f}") == 2  # results, and their intervals
    assert "65,000" in cells and "of 65,536 promised" in cells
    assert ("pre", "pocketkernel run x\n") in found.texts
    assert len(text) < 60_000


@pytest.mark.parametrize("where", ["learner", "kernels", "source", "command", "title"])
def test_names_are_never_mark_up(page, where):
    settings = {where: HOSTILE} if where in ("learner", "source", "command") else {}
    kernels = (HOSTILE, "b") if where == "kernels" else ("a", "b")
    text, found = page(make(kernels=kernels, **settings), title=HOSTILE if where == "title" else "t")
    assert "<script" not in text
    assert any(HOSTILE in data for _, data in found.texts), "shown as it is"


@pytest.mark.parametrize("what", ["empty", "one point", "nan", "inf", "zero", "huge", "constant"])
def test_odd_curves(page, what):
    text, found = page(Record({"learner": "odd"}, odd_curve(what)))
    assert "odd" in text
    assert found.tags["table"] == (1 if what == "empty" else 2)
    assert found.tags["figure"] >= (0 if what == "empty" else 4)


def test_a_record_without_settings(page):
    text, found = page(Record({}, odd_curve("constant")))
    assert found.tags["figure"] >= 4 and found.tags["table"] >= 1, "what is known is shown"
    assert "None" not in text and "nan" not in text


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_cells():
    table = Table("", ["a", Column("b", digits=1), "c"], [["x", 1234.56, 1000], ["<y>", math.nan, None]])
    assert table.numeric() == [False, True, True]
    assert table.formatted() == [
        [("x", False), ("1,234.6", False), ("1,000", False)],
        [("<y>", False), ("\u2013", False), ("", False)],
    ]
    assert ("th", "<y>") in Page(table.to_html()).texts


def test_an_empty_table():
    table = Table("", ["a", "b"], [])
    Page(table.to_html())
    with pytest.raises(ValueError, match="has 1 cells, not 2"):
        Table("t", ["a", "b"], [["x"]])


# ---- pictures -------------------------------------------------------------------------------------------------------


def test_a_picture_shows_what_the_page_does(tmp_path):
    for charts in charts_of(RUN).values():
        for chart in charts:
            write_picture(chart, tmp_path / "a.svg")
            drawn = ElementTree.parse(tmp_path / "a.svg").getroot()
            text = "".join(drawn.itertext())
            assert all(text.count(one.name) for one in chart.series) and chart.title in text
            paths = re.findall('<path[^>]* d="([^"]*)"', figure(chart, "a"))
            assert [path.get("d") for path in drawn.iter("{http://www.w3.org/2000/svg}path")] == paths
            width, height = map(float, drawn.get("viewBox").split()[2:])
            places = re.findall(r"translate\((\d+),(\d+)\)", (tmp_path / "a.svg").read_text())
            assert len(places) == len(chart.series)
            assert all(float(x) < width and float(y) + 10 < height for x, y in places)


def test_pictures_of_odd_charts(tmp_path):
    series = [Series("_hidden $x^2", [1, 2, 3], [1, math.nan, math.inf]), Series(HOSTILE, [1], [0])]
    series += [Series(LONG, [1, 3], [2, 4], low=[1, 3], high=[3, 5]), Series("bound", [1, 3], [4, 4], reference=True)]
    for n, chart in enumerate((Chart(HOSTILE, series, log_y=True), Chart("", []))):
        write_picture(chart, tmp_path / f"{n}.svg")
        assert not list(ElementTree.parse(tmp_path / f"{n}.svg").getroot().iter("script"))
    with pytest.raises(ValueError, match=r"does not end in \.svg"):
        write_picture(Chart("", []), tmp_path / "a.png")
