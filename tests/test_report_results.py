"""The page of a run with results: the numbers of the record, all parts, nothing cut off in a real browser."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import chromium
import cli_files
from hostile import HOSTILE
from pages import Page, checked, make
from pocketkernel.cli import main
from pocketkernel.evaluate import Record
from pocketkernel.evaluate.metrics import ClassificationMetrics, RegressionMetrics
from pocketkernel.report import Chart, Series, Step, write_picture, write_report
from pocketkernel.report.charts import Mark
from pocketkernel.report.results import MOST_CLASSES, parts_of
from pocketkernel.report.svg import figure

ROWS = 3000


def results(classes, seed=0, labels=None):
    """Results of a made-up pass: over classes, or over numbers if there are none."""
    rng = np.random.default_rng(seed)
    if not classes:
        found = RegressionMetrics()
        y = np.cumsum(rng.normal(size=ROWS))
        answers = y + rng.normal(0, 0.5, ROWS)
        found.update(y, answers, answers - 1, answers + 1, answers + rng.normal(0, 1, ROWS))
        return found.results() | {"influence": [{"column": "a", "share": 0.75}, {"column": "b", "share": 0.25}]}
    found = ClassificationMetrics(labels or [f"c{k}" for k in range(classes)], probabilities=True, linear=True)
    y = rng.integers(0, classes, ROWS)
    scores = rng.normal(size=(ROWS, classes)) + 2 * (np.arange(classes) == y[:, None])
    worse = rng.normal(size=(ROWS, classes)) + (np.arange(classes) == y[:, None])
    both = (scores[:, 1] - scores[:, 0], worse[:, 1] - worse[:, 0]) if classes == 2 else (scores, worse)
    found.update(y, *both)
    return found.results() | {"influence": [{"column": "a", "share": 1.0}]}


def record(classes, **more):
    return Record(make("Pocket").settings, make("Pocket").curve, results(classes) | more)


@pytest.fixture
def page(tmp_path):
    def write(given, **options):
        write_report(tmp_path / "report.html", given, **options)
        return checked(tmp_path / "report.html")

    return write


@pytest.mark.parametrize(
    ("classes", "headings"),
    [
        (2, ["Results", "Mistakes", "Classes", "Probabilities", "Influence of columns", "Kernel weights", "Buffer"]),
        (5, ["Results", "Mistakes", "Classes", "Probabilities", "Influence of columns", "Kernel weights", "Buffer"]),
        (0, ["Results", "Errors", "Influence of columns", "Kernel weights", "Buffer"]),
    ],
)
def test_a_page_has_all_its_parts(page, classes, headings):
    run = record(classes)
    text, found = page(run, next_steps=[Step("Try:", "pocketkernel predict x")])
    assert [data for tag, data in found.texts if tag == "h2"] == [
        *headings, "What next", "Settings", "How to reproduce",
    ]  # fmt: skip
    cells = [data for tag, data in found.texts if tag in ("td", "dd")]
    if classes:
        assert f"{100 * run.results['baselines']['linear']['mistake_rate']:.2f}" in cells
        assert f"{100 * run.results['mistake_rate']:.2f}" in cells
        assert "the last label again" in text and "Confusion matrix" in text and "Reliability" in text
    else:
        assert f"{run.results['rmse']:.4g}" in cells and "the last value again" in text
    assert "of 65,536 promised" in cells and "Total bytes of the learner" not in text  # one number, no flat chart
    assert "pocketkernel predict x" in text


def test_curves_are_those_of_the_pass():
    found = results(2)
    rate, recent = parts_of(found, "me")["mistakes"]
    assert [one.name for one in rate.series] == [
        "me", "the linear part alone", "always the most frequent class", "the last label again",
    ]  # fmt: skip
    for one, key in zip(rate.series, ("learner", "linear", "majority", "last_label"), strict=True):
        np.testing.assert_allclose(one.y, np.array(found["curve"][key]) / np.array(found["curve"]["rows"]))
    assert 128 <= len(rate.series[0].x) <= 257
    sums = np.concatenate([[0], found["curve"]["learner"]])
    rows = np.concatenate([[0], found["curve"]["rows"]])
    before = rows[np.searchsorted(rows, rows[-1] - 150, side="right") - 1]
    assert recent.series[0].y[-1] == (sums[-1] - sums[rows == before][0]) / (rows[-1] - before)


def test_many_classes_are_folded(page):
    found = results(30)
    matrix = parts_of(found, "me")["classes"][1]
    assert len(matrix.labels) == len(matrix.counts) == MOST_CLASSES
    assert matrix.labels[-1] == "other classes"
    assert np.sum(matrix.counts) == ROWS
    assert sum(matrix.counts[k][k] for k in range(MOST_CLASSES - 1)) < ROWS - found["mistakes"]
    text, _ = page(record(30))
    assert "18 rarer classes are not shown" in text


def test_warnings_stand_out(page):
    _, found = page(record(2, warnings=["Look at the <order>."]))
    assert found.values("role").count("alert") == 1 and ("p", "Look at the <order>.") in found.texts
    assert "alert" not in page(record(2))[1].values("role")


def test_marks_of_drift(page, tmp_path):
    events = [{"row": 1000, "kind": "classes exchanged"}, {"row": 2000, "kind": "classes exchanged"}]
    text, _ = page(record(2, events=events))
    assert text.count('<g class="mark">') == 2 * len(events)
    assert "classes exchanged: rows 1,000, 2,000" in text
    chart = Chart("t", [Series("a", [0, 3000], [0, 1])], "rows", marks=[Mark(k, HOSTILE) for k in range(0, 3000, 300)])
    text = figure(chart, "t")
    assert "<script" not in text and "and 6 more" in text
    write_picture(chart, tmp_path / "a.svg")
    assert len(re.findall('class="mark"', (tmp_path / "a.svg").read_text())) == 10
    ElementTree.parse(tmp_path / "a.svg")


@pytest.mark.parametrize("classes", [2, 3])
def test_names_are_never_mark_up(page, classes):
    labels = [HOSTILE, *("ab"[: classes - 1])]
    found = results(classes, labels=labels) | {"influence": [{"column": HOSTILE, "share": 1.0}], "warnings": [HOSTILE]}
    text, parsed = page(Record(make().settings, make().curve, found), next_steps=[Step(HOSTILE, HOSTILE)])
    assert "<script" not in text
    assert sum(HOSTILE in data for _, data in parsed.texts) >= 6


def test_a_short_run_shows_the_last_weights(page):
    short = make("Pocket", points=3)
    text, _ = page(Record(short.settings, short.curve, results(2)))
    assert "Kernel weights at the end" in text


def test_what_to_do_next(tmp_path, capsys):
    cli_files.table(tmp_path / "rows.csv", rows=400)
    options = ["--label", "kind", "--categorical", "colour", "--out", str(tmp_path / "a run")]
    assert main(["run", str(tmp_path / "rows.csv"), *options]) == 0
    found = Page((tmp_path / "a run" / "report.html").read_text(encoding="utf-8"))
    commands = [data for tag, data in found.texts if tag == "pre"]
    assert commands[0] == f"pocketkernel predict '{tmp_path / 'a run'}' NEW-FILE > predictions.csv"
    assert len(commands) == 3
    columns = Record.read(tmp_path / "a run").results["influence"]
    assert {one["column"] for one in columns} == {"size", "colour"}
    capsys.readouterr()


# ---- in a browser ---------------------------------------------------------------------------------------------------

LOOKS = {
    "light": {},
    "dark": {"dark": True},
    "phone": {"width": 390, "height": 844, "phone": True},
    "small phone": {"width": 320, "height": 640, "phone": True},
}

# What is beyond the right edge, and not in a part that can be scrolled.
BEYOND = """[...document.querySelectorAll('main *')].filter(one => !one.closest('svg') &&
    !(one.closest('.scroll') && one.closest('.scroll') !== one) &&
    one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map(one => one.outerHTML)"""


@pytest.fixture(scope="module")
def browser():
    if chromium.find() is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium, or set $CHROMIUM")
    with chromium.Browser(chromium.find()) as browser:
        yield browser


@pytest.mark.parametrize("classes", [2, 30, 0])
def test_nothing_is_cut_off(browser, tmp_path, classes):
    run = record(classes, events=[{"row": 700, "kind": "confidence lost"}], warnings=["Look at the order. " * 9])
    run.results["influence"] = [{"column": "a_rather_long_name_of_a_column" * 3, "share": 1.0}]
    write_report(tmp_path / "report.html", run, title="A page", next_steps=[Step("Try:", "pocketkernel " + "x" * 90)])
    for look, options in LOOKS.items():
        browser.open(tmp_path / "report.html", **options)
        assert browser.evaluate(BEYOND) == [], look
        assert browser.evaluate("document.documentElement.scrollWidth") <= options.get("width", 1280), look
    assert browser.console == []
