"""A long pipe through `pocketkernel run -`: resident memory over time, and rows per second compared with the bare core.

    python benchmarks/pipe.py --gigabytes 5

One process writes LIBSVM text, repeating the same rows of a generated stream; the command reads it from its standard
input. The bare core is timed twice: inside the command, which records the seconds spent in the learner, and afterwards
on the same blocks, already parsed, with nothing else running.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from pocketkernel import MOMDS
from pocketkernel.stream import known_kernel, open_stream

ROWS = 100_000
BLOCK = 4096
WRITER = """
import sys
text, left = open(sys.argv[1], "rb").read(), int(sys.argv[2])
while left > 0:
    sys.stdout.buffer.write(text)
    left -= len(text)
"""


def lines(features: int, seed: int) -> bytes:
    X, y = known_kernel(ROWS, features=features, seed=seed)
    words = "%d " + " ".join(f"{column}:%.6f" for column in range(1, features + 1)) + "\n"
    return "".join(words % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True)).encode()


def resident(pid: int) -> tuple[float, float]:
    """Current and peak resident memory in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = dict(line.split(":", 1) for line in status.splitlines())
    return tuple(int(found[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))


def command(text: bytes, size: int, memory: str, folder: Path) -> dict:
    source = folder / "rows.svm"
    source.write_bytes(text)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(source), str(size)], stdout=subprocess.PIPE)
    words = ["run", "-", "--learner", "momds", "--memory", memory, "--json", "--block", str(BLOCK)]
    reader = subprocess.Popen(
        [sys.executable, "-m", "pocketkernel", *words, "--out", str(folder / "run")],
        stdin=writer.stdout,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writer.stdout.close()
    seen, began = [], time.perf_counter()

    def watch() -> None:
        while reader.poll() is None:
            try:
                seen.append((time.perf_counter() - began, *resident(reader.pid)))
            except (OSError, KeyError):
                return
            time.sleep(0.25)

    thread = threading.Thread(target=watch)
    thread.start()
    answer, said = reader.communicate()
    thread.join()
    writer.wait()
    if reader.returncode:
        raise SystemExit(said)
    return {**json.loads(answer), "memory": seen}


def bare(text: bytes, rows: int, memory: str) -> float:
    """Rows per second of the learner alone."""
    blocks = [(block.X, block.y) for block in open_stream(io.BytesIO(text), block=BLOCK).blocks()]
    model, done, seconds = MOMDS(memory=memory, random_state=0), 0, 0.0
    while done < min(rows, 3_000_000):
        for X, y in blocks:
            began = time.perf_counter()
            model.predict_then_learn(X, y, classes=[-1, 1] if done == 0 else None)
            seconds += time.perf_counter() - began
            done += len(y)
    return done / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--features", type=int, default=18)
    parser.add_argument("--memory", default="64KiB")
    options = parser.parse_args()
    text = lines(options.features, seed=0)
    size = int(options.gigabytes * 1e9)
    with tempfile.TemporaryDirectory() as folder:
        done = command(text, size, options.memory, Path(folder))
    times, now, most = np.array(done["memory"]).T
    print(f"{size / 1e9:g} GB, {done['rows']:,} rows of {options.features} columns, learner in {done['bytes']:,} bytes")
    print("resident MiB after")
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        at = int(np.searchsorted(times, share * times[-1]))
        print(f"  {times[at]:8.1f} s  {now[at]:6.1f}")
    print(f"  at most     {most.max():6.1f}")
    run, within = done["rows_per_second"], done["rows"] / done["seconds"]
    alone = bare(text, done["rows"], options.memory)
    print("rows per second")
    print(f"  the command                  {run:12,.0f}")
    print(f"  its learner, in the same run {within:12,.0f}  the command reaches {run / within:.2f} of it")
    print(f"  the bare learner, afterwards {alone:12,.0f}  the command reaches {run / alone:.2f} of it")


if __name__ == "__main__":
    main()
