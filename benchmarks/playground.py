"""Frame times of the playground in Chromium, and screenshots.

    make web && python benchmarks/playground.py [--pictures FOLDER]

For each size of the model: the time between frames and the computation in a frame, medians and 95 % quantiles of 180
frames, while 300 rows a second are learned.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import chromium  # noqa: E402

FRAMES = """new Promise((done) => {
    const times = [], own = [];
    const look = (now) => {
        times.push(now);
        own.push(playground.state.frames.at(-1));
        times.length <= 180 ? requestAnimationFrame(look) : done(JSON.stringify([times, own]));
    };
    requestAnimationFrame(look);
})"""


def choose(browser: chromium.Browser, control: str, setting: object, event: str = "input") -> None:
    it = f"document.getElementById('{control}')"
    browser.evaluate(f"{it}.value = '{setting}'; {it}.dispatchEvent(new Event('{event}'))")


def frame_times(browser: chromium.Browser, page: Path) -> None:
    print("| model | between frames, ms | 95 % | computation, ms | 95 % |\n|---|--:|--:|--:|--:|")
    for step in (1, 4, 6, 8, 10):
        browser.open(page)
        choose(browser, "memory", step)
        time.sleep(2)
        times, own = json.loads(browser.evaluate(FRAMES))
        numbers = [np.quantile(found, share) for found in (np.diff(times), own) for share in (0.5, 0.95)]
        print(f"| {2**step} KiB | {' | '.join(f'{number:.1f}' for number in numbers)} |", flush=True)


def pictures(browser: chromium.Browser, page: Path, folder: Path) -> None:
    """The page at several moments, as PNG."""
    folder.mkdir(parents=True, exist_ok=True)

    def moment(name: str, seconds: float) -> None:
        time.sleep(seconds)
        browser.screenshot(folder / f"{name}.png")

    browser.open(page)
    choose(browser, "speed", 4)
    moment("begin", 0.3)
    moment("learned", 4)
    browser.evaluate("document.getElementById('flip').click()")
    moment("flipped", 0.4)
    moment("recovered", 4)
    choose(browser, "stream", "spiral", "change")
    browser.evaluate("document.getElementById('compare').click()")
    moment("spiral", 8)
    choose(browser, "stream", "multi", "change")
    moment("classes", 4)
    for dark in (False, True):
        browser.open(page, width=390, height=844, phone=True, dark=dark)
        moment(f"phone{'-dark' if dark else ''}", 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--page", type=Path, default=ROOT / "web" / "dist" / "playground.html")
    given = parser.parse_args()
    path = chromium.find()
    if path is None or not given.page.exists():
        raise SystemExit("needs Chromium, and `make web` first")
    with chromium.Browser(path) as browser:
        frame_times(browser, given.page)
        if given.pictures:
            pictures(browser, given.page, given.pictures)


if __name__ == "__main__":
    main()
