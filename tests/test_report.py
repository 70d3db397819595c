"""Tables, charts, pages and figures: right numbers, whole pages, nothing that is read as mark-up."""

import math
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile import HOSTILE, TABLE
from pocketkernel.evaluate import Curve, Record
from pocketkernel.evaluate.curve import COLUMNS
from pocketkernel.report import (
    Series,
    Spread,
    Table,
    charts_of,
    line_chart,
    result_table,
    write_picture,
    write_report,
)
from pocketkernel.report.axes import UNITS, Axis, precisely, written
from pocketkernel.report.charts import grouped
from pocketkernel.report.html import settings_tables
from pocketkernel.report.style import ramp
from pocketkernel.report.svg import TOLERANCE, _thinned, figure

LONG = "a learner whose name goes on " * 10 + "x" * 300


def make(learner="M-OMD-S", seed=0, points=40, kernels=("gaussian 1", "linear"), **settings):
    rng = np.random.default_rng(seed)
    rows = np.arange(1, points + 1) * 50
    columns = {name: np.cumsum(rng.integers(0, 3, points)) for name in COLUMNS}
    columns |= {"rows": rows, "mistakes": np.cumsum(rng.integers(5, 20, points)), "nbytes": np.full(points, 65_000)}
    weights = rng.dirichlet(np.ones(len(kernels)), points) if kernels else np.empty((points, 0))
    about = {"learner": learner, "seed": seed, "budget": 100, "promised_bytes": 65_536, "command": "pocketkernel run x"}
    return Record(about | settings, Curve(**columns, weights=weights, kernels=kernels))


RUNS = [make(name, seed) for name in ("M-OMD-S", "Raker") for seed in range(3)]


# ---- axes -----------------------------------------------------------------------------------------------------------

numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(numbers, max_size=8), st.sampled_from(UNITS), st.booleans(), st.booleans(), st.booleans())
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


# ---- charts ---------------------------------------------------------------------------------------------------------


def test_lines_are_means_and_bands_deviations():
    chart = charts_of(RUNS)["mistakes"][0]
    assert [one.name for one in chart.series] == ["M-OMD-S", "Raker"]
    rates = np.array([record.curve.mistake_rate for record in RUNS[:3]])
    np.testing.assert_allclose(chart.series[0].y, rates.mean(axis=0))
    np.testing.assert_allclose(chart.series[0].high - chart.series[0].y, rates.std(axis=0, ddof=1))
    single = charts_of(RUNS[:1])["mistakes"][0].series[0]
    assert single.low is None
    np.testing.assert_array_equal(single.y, RUNS[0].curve.mistake_rate)


def test_repetitions_may_differ_in_points():
    one, other = make(seed=0, points=10), make(seed=1, points=33)
    chart = charts_of([one, other])["mistakes"][0]
    assert chart.series[0].x[-1] == 500


def test_sources_are_kept_apart():
    groups = grouped([make(source="a"), make(source="b"), make(source="a", seed=1)])
    assert [(group.name, len(group.records)) for group in groups] == [("M-OMD-S, a", 2), ("M-OMD-S, b", 1)]


def test_memory_shows_the_promise():
    (chart,) = charts_of(RUNS)["memory"]
    assert [one.name for one in chart.series] == ["M-OMD-S", "Raker", "promised: 65,536 bytes"]
    assert chart.series[-1].reference


def test_weights_sum_to_one():
    for chart in charts_of(RUNS)["kernels"]:
        np.testing.assert_allclose(sum(one.y for one in chart.series), 1)


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


# ---- pages ----------------------------------------------------------------------------------------------------------

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks that tags are balanced, and gathers what is in them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], Counter(), [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def values(self, name):
        return [found[name] for _, found in self.attributes if name in found]


@pytest.fixture
def page(tmp_path):
    pytest.importorskip("jinja2")

    def write(*arguments, **options):
        path = tmp_path / "report.html"
        write_report(path, *arguments, **options)
        text = path.read_text(encoding="utf-8")
        found = Page(text)
        # Everything in one file: no scripts, no addresses, nothing that is fetched.
        assert found.tags["script"] == found.tags["img"] == found.tags["iframe"] == 0
        assert found.values("href") == ["data:,"]
        assert found.values("src") == []
        assert not re.search(
            r"https?://|//[a-z]+\.|@import|url\(", "".join(re.findall(r"<[^>]*>|<style>.*?</style>", text, re.S))
        )
        assert not any(name.startswith("on") for _, attributes in found.attributes for name in attributes)
        ids = found.values("id")
        assert len(set(ids)) == len(ids)
        for both in found.values("aria-labelledby"):
            assert set(both.split()) <= set(ids)
        assert not re.search(r"\bnan\b|\binf\b", " ".join(found.values("d") + found.values("cx") + found.values("y1")))
        assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
        return text, found

    return write


def test_a_page_has_all_its_parts(page):
    text, found = page(RUNS, title="Two learners")
    assert found.tags["title"] > 1
    assert [data for tag, data in found.texts if tag == "h2"] == [
        "Results", "Mistakes", "Kernel weights", "Buffer", "Loss and memory", "Settings", "How to reproduce",
    ]  # fmt: skip
    assert found.tags["figure"] == 2 + 2 + 2 + 2
    assert found.values("role").count("img") == found.tags["figure"] == found.tags["desc"]
    for words in ("prefers-color-scheme: dark", "@media print", 'name="viewport"', "viewBox", "default-src 'none'"):
        assert words in text
    assert ("pre", "pocketkernel run x\n") in found.texts
    assert len(text) < 100_000


@pytest.mark.parametrize("where", ["learner", "kernels", "source", "command", "title", "note"])
def test_names_are_never_mark_up(page, where):
    settings = {where: HOSTILE} if where in ("learner", "source", "command") else {}
    kernels = (HOSTILE, "b") if where == "kernels" else ("a", "b")
    table = Table(HOSTILE, [HOSTILE, "n"], [[HOSTILE, 1.0]], note=HOSTILE)
    chart = line_chart([Series(HOSTILE, [1, 2], [3, 4])], title=HOSTILE, x_label=HOSTILE, y_label=HOSTILE, note=HOSTILE)
    more = {"title": HOSTILE, "lead": HOSTILE} if where == "title" else {}
    more |= {"tables": [table], "charts": [chart], "commands": [HOSTILE]} if where == "note" else {}
    text, found = page([make(kernels=kernels, seed=seed, **settings) for seed in range(2)], **more)
    assert "<script" not in text
    assert any(HOSTILE in data for _, data in found.texts), "shown as it is"
    assert "49" not in re.sub(r"<[^>]*>", "", text).replace("{{ 7*7 }}", "").split("Settings")[-1]


def odd_curve(what):
    points = {"empty": 0, "one point": 1}.get(what, 12)
    columns = {name: np.arange(1, points + 1) for name in COLUMNS}
    weights = np.full((points, 2), 0.5)
    if what == "nan":
        columns["loss"] = np.full(points, np.nan)
        columns["stored"] = np.where(np.arange(points) % 3 == 1, np.nan, 1.0)
        weights[3:5] = np.nan
    elif what == "inf":
        columns["loss"] = np.where(np.arange(points) > 5, np.inf, 1.0)
        columns["seconds"] = np.full(points, np.inf)
    elif what == "zero":
        columns |= {name: np.zeros(points) for name in COLUMNS if name != "rows"}
    elif what == "huge":
        columns["loss"] = np.geomspace(1, 1e308, points)
        columns["rows"] = np.arange(1, points + 1) * 2**58
    elif what == "constant":
        columns["loss"] = np.full(points, 5.0)
    return Curve(**columns, weights=weights, kernels=("a", "b"))


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("what", ["empty", "one point", "nan", "inf", "zero", "huge", "constant"])
def test_odd_curves(page, what, runs):
    text, found = page([Record({"learner": "odd", "seed": seed}, odd_curve(what)) for seed in range(runs)])
    assert "odd" in text
    assert found.tags["table"] >= 1
    if what != "empty":
        assert found.tags["figure"] >= 4


def test_records_without_settings(page):
    page([Record({}, odd_curve("constant"))])
    _, found = page([])
    assert found.tags["figure"] == found.tags["table"] == 0


@pytest.mark.parametrize("learners", [1, 12])
@pytest.mark.parametrize("name", ["L", LONG], ids=["short", "long"])
def test_few_and_many_learners(page, learners, name):
    text, found = page([make(f"{name} {n}", seed) for n in range(learners) for seed in range(2)])
    line_styles = {
        (attributes["style"], attributes.get("stroke-dasharray"))
        for tag, attributes in found.attributes
        if tag == "g" and "style" in attributes
    }
    assert len(line_styles - {("--c:var(--muted)", "5 4")}) >= learners
    assert len(text) < 150_000 + 60_000 * learners


def test_many_kernels_have_colours(page):
    text, _ = page([make(kernels=tuple(f"k{n}" for n in range(30)))])
    assert "--k29: #" in text


def test_a_page_of_tables_and_charts_alone(page):
    table = Table("Published", ["data", "x"], [["a9a", Spread(1.0, 0.1)]])
    chart = line_chart([Series("half", [25, 100], [0.3, 0.2])], title="Ablation", log_x=True)
    _, found = page(tables=[table], charts=[chart], commands=["pocketkernel paper tables"], title="Paper")
    assert found.tags["figure"] == found.tags["table"] == 1
    assert ("pre", "pocketkernel paper tables\n") in found.texts


def test_settings_are_sorted_by_what_differs():
    runs = [make("A", 0, source="s", parameters={"step": 1.0}), make("A", 1, source="s", parameters={"step": 1.0})]
    same, differ = settings_tables(grouped([*runs, make("B", 0, source="s", parameters={"rate": 0.5})]))
    assert ["source", "s"] in same.rows
    assert differ.columns == ["setting", "A", "B"]
    assert ["seed", "0; 1", "0"] in differ.rows
    assert ["step", "1.0", ""] in differ.rows


def test_gaps_leave_gaps():
    series = Series("a", range(6), [1, 2, math.nan, 3, math.nan, 4], low=[0] * 6, high=[5, 5, 5, math.inf, 5, 5])
    text = figure(line_chart([series], title="t", markers=False), "t")
    assert text.count('class="line" d=') == 1
    assert text.count('class="dot"') == 2
    assert text.count('class="band"') == 2


def test_ramp_has_as_many_colours():
    for count in (0, 1, 2, 5, 40):
        colours = ramp(count, "dark")
        assert len(set(colours)) == count
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def test_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"a report needs jinja2: pip install 'pocketkernel\[report\]'"):
        write_report(tmp_path / "a.html", RUNS)


# ---- tables ---------------------------------------------------------------------------------------------------------


def test_html_table_is_whole():
    found = Page(TABLE.to_html())
    assert found.tags["tr"] == 1 + len(TABLE.rows)
    assert found.tags["td"] == 4 * len(TABLE.rows)
    assert found.tags["th"] == 5 + len(TABLE.rows)
    assert ("th", HOSTILE) in found.texts


def test_an_empty_table():
    table = Table("", ["a", "b"], [])
    Page(table.to_html())
    with pytest.raises(ValueError, match="has 1 cells, not 2"):
        Table("t", ["a", "b"], [["x"]])


def test_spread():
    assert Spread.of([1, 3]) == (2.0, math.sqrt(2))
    assert Spread.of([4.0]) == (4.0, None)
    assert math.isnan(Spread.of([]).mean)


def test_results_are_those_of_the_last_points():
    table = result_table(RUNS)
    names = [column.name for column in table.columns]
    first = dict(zip(names, table.rows[0], strict=True))
    ends = [100 * record.curve.mistakes[-1] / record.curve.rows[-1] for record in RUNS[:3]]
    assert first["mistakes %"] == pytest.approx(Spread.of(ends))
    assert (first["learner"], first["runs"], first["rows"], first["budget"]) == ("M-OMD-S", 3, 2000, 100)
    assert "loss per row" not in [column.name for column in result_table([Record({}, odd_curve("nan"))]).columns]


# ---- pictures --------------------------------------------------------------------------------------------------------


def test_a_picture_shows_what_the_page_does(tmp_path):
    for charts in charts_of(RUNS[:4]).values():
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
    for n, chart in enumerate((line_chart(series, title=HOSTILE, log_y=True), line_chart([], title=""))):
        write_picture(chart, tmp_path / f"{n}.svg")
        assert not list(ElementTree.parse(tmp_path / f"{n}.svg").getroot().iter("script"))
    with pytest.raises(ValueError, match=r"does not end in \.svg"):
        write_picture(line_chart([], title=""), tmp_path / "a.png")
