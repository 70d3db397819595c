"""What many runs show together: tables, charts, pages."""

import math
import re

import numpy as np
import pytest

from hostile import HOSTILE, TABLE
from pages import LONG, Page, checked, make, odd_curve
from pocketkernel.evaluate import Record
from pocketkernel.lab.report import Spread, Table, charts_of, grouped, result_table, settings_tables, write_report
from pocketkernel.report import Chart, Series

RUNS = [make(name, seed) for name in ("M-OMD-S", "Raker") for seed in range(3)]


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
    chart = charts_of(RUNS)["loss"][1]
    assert [one.name for one in chart.series] == ["M-OMD-S", "Raker", "promised: 65,536 bytes"]
    assert chart.series[-1].reference


def test_weights_sum_to_one():
    for chart in charts_of(RUNS)["kernels"]:
        np.testing.assert_allclose(sum(one.y for one in chart.series), 1)


# ---- pages ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def page(tmp_path):

    def write(*arguments, **options):
        write_report(tmp_path / "report.html", *arguments, **options)
        return checked(tmp_path / "report.html")

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
    chart = Chart(
        series=[Series(HOSTILE, [1, 2], [3, 4])], title=HOSTILE, x_label=HOSTILE, y_label=HOSTILE, note=HOSTILE
    )
    more = {"title": HOSTILE, "lead": HOSTILE} if where == "title" else {}
    more |= {"tables": [table], "charts": [chart], "commands": [HOSTILE]} if where == "note" else {}
    text, found = page([make(kernels=kernels, seed=seed, **settings) for seed in range(2)], **more)
    assert "<script" not in text
    assert any(HOSTILE in data for _, data in found.texts), "shown as it is"
    assert "49" not in re.sub(r"<[^>]*>", "", text).replace("{{ 7*7 }}", "").split("Settings")[-1]


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
    chart = Chart(series=[Series("half", [25, 100], [0.3, 0.2])], title="Ablation", log_x=True)
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


# ---- tables ---------------------------------------------------------------------------------------------------------


def test_html_table_is_whole():
    found = Page(TABLE.to_html())
    assert found.tags["tr"] == 1 + len(TABLE.rows)
    assert found.tags["td"] == 4 * len(TABLE.rows)
    assert found.tags["th"] == 5 + len(TABLE.rows)
    assert ("th", HOSTILE) in found.texts


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
