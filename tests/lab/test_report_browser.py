"""The page in a real browser: no errors, nothing fetched, curves drawn, nothing cut off, no label upon another."""

import numpy as np
import pytest

import chromium
from pocketkernel import MOMDH, MOMDS, Raker, gaussians
from pocketkernel.evaluate import Record, Recorder, progressive, settings_of
from pocketkernel.lab.report import Column, Spread, Table, write_report
from pocketkernel.report import Chart, Series
from pocketkernel.stream import known_kernel

if chromium.find() is None:
    pytest.skip("no Chromium on this machine: apt-get install chromium, or set $CHROMIUM", allow_module_level=True)

ROWS, RUNS = 3000, 3
LOOKS = {
    "light": {},
    "dark": {"dark": True},
    "phone": {"width": 390, "height": 844, "phone": True},
    "print": {"width": 794, "media": "print"},
}


def records():
    kernels = gaussians([0.25, 1, 4, 16, 64])
    common = {"kernels": kernels, "memory": "16KiB"}
    X, y = known_kernel(ROWS)
    for seed in range(RUNS):
        order = np.random.default_rng(seed).permutation(ROWS)
        for name, model in {
            "M-OMD-S": MOMDS(**common, random_state=seed),
            "M-OMD-H": MOMDH(**common, horizon=ROWS, random_state=seed),
            "Raker with <b>a rather long name</b> " + "x" * 60: Raker(**common, random_state=seed),
        }.items():
            recorder = Recorder()
            for progress in progressive(model, X[order], y[order], block=60):
                recorder.add(model, progress)
            yield Record(settings_of(model, name=name, seed=seed, command="pocketkernel compare"), recorder.curve())


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    budgets = [25, 50, 100, 200, 400, 800, 1600]
    lines = [Series(name, budgets, [0.4 / b**power for b in budgets]) for name, power in (("half", 0.2), ("all", 0.1))]
    charts = [
        Chart(series=lines, title="Ablation", x_label="budget", y_label="mistakes", y_unit="percent", log_x=True),
        Chart(series=[], title="Nothing"),
    ]
    table = Table("Published", ["data", Column("%", 2), Column("sd", 1, signed=True)], [["a9a", Spread(15, 0.2), -0.5]])
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, list(records()), title="A page", tables=[table], charts=charts)
    return path


@pytest.fixture(scope="module")
def browser():
    with chromium.Browser(chromium.find()) as browser:
        yield browser


DRAWN = """[...document.querySelectorAll('figure')].map(figure => [
    figure.querySelector('.name').textContent,
    [...figure.querySelectorAll('path')].filter(path => path.getTotalLength() > 10).length])"""

# Pairs of texts of the same picture whose boxes overlap, and texts that leave their card.
COLLISIONS = """[...document.querySelectorAll('figure')].flatMap(figure => {
    const card = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll('svg text, .legend li')].filter(text => text.textContent.trim());
    const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]);
    const found = boxes.filter(([, box]) => box.left < card.left || box.right > card.right + 0.5).map(([text]) => text);
    boxes.forEach(([text, a], n) => boxes.slice(n + 1).forEach(([other, b]) => {
        if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
            found.push(text + ' / ' + other);
    }));
    return found;
})"""


@pytest.mark.parametrize("look", LOOKS)
def test_the_page_is_whole(browser, page, look, tmp_path):
    browser.console.clear()
    browser.requests.clear()
    browser.open(page, **LOOKS[look])
    drawn = browser.evaluate(DRAWN)
    # lines and bands of three learners; five kernels; two learners with a buffer, two charts
    assert [count >= least for (_, count), least in zip(drawn, [6, 6, 5, 5, 5, 4, 2, 6, 4, 2, 0], strict=True)] == [
        True
    ] * len(drawn), drawn
    assert browser.evaluate(COLLISIONS) == []
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
        "the page itself never scrolls sideways"
    )
    assert browser.evaluate(
        "[...document.querySelectorAll('h1, h2, td')].every(e => e.getBoundingClientRect().height > 0)"
    )
    browser.screenshot(tmp_path / f"{look}.png")
    assert (tmp_path / f"{look}.png").stat().st_size > 20_000
    assert browser.console == []
    assert browser.requests == [page.as_uri()]


def test_light_dark_and_print_have_their_colours(browser, page):
    shade = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    brightness = {}
    for look, options in LOOKS.items():
        browser.open(page, **options)
        brightness[look] = sum(browser.evaluate(shade))
    browser.open(page, dark=True, media="print")
    assert sum(browser.evaluate(shade)) == brightness["print"] == 3 * 255, "paper is white, also from a dark screen"
    assert brightness["dark"] < 120
    assert brightness["light"] > 700


def test_type_can_be_read_on_a_phone(browser, page):
    browser.open(page, **LOOKS["phone"])
    sizes = browser.evaluate("[...document.querySelectorAll('text.tick')].map(e => e.getBoundingClientRect().height)")
    assert min(sizes) > 9


def test_it_prints(browser, page, tmp_path):
    browser.open(page)
    browser.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
