"""The core in a browser: microseconds per row beside Python, and frame times of the playground.

    make web && python benchmarks/web.py [--pictures FOLDER]

Learning, time of the processor, ten columns and two classes, least of ten times: in node with and without SIMD, and
in Python. Frames, in Chromium: the time between them and the computation in each, medians and 95 % quantiles of 180
frames, while 300 rows a second are learned. --pictures takes screenshots of the playground at several moments.
"""

import argparse
import gzip
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from pocketkernel import PocketClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import chromium  # noqa: E402

ROWS, COLUMNS, SIZES = 20_000, 10, ("8KiB", "32KiB")
LEARN = """
    import { readFileSync } from "node:fs";
    const [module, wasm, file, memory] = process.argv.slice(1);
    const { init, PocketClassifier } = await import(module);
    await init(readFileSync(wasm));
    const { rows, labels } = JSON.parse(readFileSync(file));
    const times = Array.from({ length: 10 }, () => { // the first ones until the engine has compiled the code for good
        const model = new PocketClassifier({ features: rows.length / labels.length, memory });
        const begin = process.cpuUsage().user;
        model.learnMany(Float64Array.from(rows), labels);
        return (process.cpuUsage().user - begin) / labels.length;
    });
    console.log(Math.min(...times));
"""
FRAMES = """new Promise((done) => {
    const times = [], own = [];
    const look = (now) => {
        times.push(now);
        own.push(playground.state.frames.at(-1));
        times.length <= 180 ? requestAnimationFrame(look) : done(JSON.stringify([times, own]));
    };
    requestAnimationFrame(look);
})"""


def learning(dist: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    file = dist / "rows.json"
    file.write_text(json.dumps({"rows": X.ravel().tolist(), "labels": y.tolist()}))
    print(f"| build | bytes | gzipped | {' | '.join(SIZES)} |\n|---|" + "--:|" * (2 + len(SIZES)))
    for name, build in (("SIMD128", "pocketkernel.wasm"), ("scalar", "pocketkernel-scalar.wasm")):
        wasm = dist / "pocketkernel" / build
        size = f"{wasm.stat().st_size:,} | {len(gzip.compress(wasm.read_bytes(), 9)):,}"
        module = (dist / "pocketkernel" / "pocketkernel.js").as_uri()
        command = ["node", "--input-type=module", "-e", LEARN, module, str(wasm), str(file)]
        times = [float(subprocess.run([*command, memory], check=True, capture_output=True).stdout) for memory in SIZES]
        print(f"| {name} | {size} | {' | '.join(f'{took:.1f} us' for took in times)} |", flush=True)
    file.unlink()
    times = []
    for memory in SIZES:
        taken = []
        for _ in range(10):
            model = PocketClassifier(memory=memory, random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1])
            begin = time.process_time()
            model.partial_fit(X, y)
            taken.append(1e6 * (time.process_time() - begin) / ROWS)
        times.append(min(taken))
    print(f"| Python | | | {' | '.join(f'{took:.1f} us' for took in times)} |\n", flush=True)


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
    learning(given.page.parent)
    with chromium.Browser(path) as browser:
        frame_times(browser, given.page)
        if given.pictures:
            pictures(browser, given.page, given.pictures)


if __name__ == "__main__":
    main()
