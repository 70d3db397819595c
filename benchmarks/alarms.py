"""PocketClassifier on tables of a shop that stay as they are, and on others that change: does it tell them apart?

    python benchmarks/alarms.py [--streams 100] [--first 0] [--rows 20000] [--wide]

A table has dates that move on, with and without a time, counters, numbers, amounts, Booleans and categories, encoded as
`pocketkernel run` does. Stable tables must raise at most one false event in 100. In the others a column of amounts
changes its unit or its level half-way; the event has to name it. `--wide` adds a category of 80 levels, so that rows
are sparse. Table n depends on n alone.
"""

import argparse
import io
import math
import sys
from datetime import datetime, timedelta

import numpy as np

from pocketkernel import PocketClassifier
from pocketkernel.learners import Event
from pocketkernel.stream import gather, open_stream

CHANGES = {
    "x 100": (100.0, 0.0), "x 10": (10.0, 0.0), "x 0.1": (0.1, 0.0), "x 0.01": (0.01, 0.0), "+ 10 sd": (1.0, 10.0),
    "+ 100 sd": (1.0, 100.0),
}  # fmt: skip
AMOUNT = "amount"
"""The column that changes."""
FALSE_EVENTS = 1
"""That 100 stable tables may raise."""


def moments(rng: np.random.Generator, rows: int) -> list[datetime]:
    """Times of the rows, in order: from one in a day to 5,000, evenly, at random, or by night less than by day."""
    a_day = math.exp(rng.uniform(0.0, math.log(5000.0)))
    kind = rng.integers(3)
    gaps = np.ones(rows) if kind == 0 else rng.exponential(size=rows)
    days = rng.uniform(0, 365) + np.cumsum(gaps) / a_day
    if kind == 2:
        days += 0.12 * np.sin(2 * math.pi * days)  # its slope stays positive
    return [datetime(2020, 1, 1) + timedelta(days=float(day)) for day in days]


def table(number: int, rows: int, wide: bool = False) -> dict[str, np.ndarray]:
    """Columns of a stable table by name, and a label that two of them say something about."""
    rng = np.random.default_rng(number)
    when = moments(rng, rows)
    levels = rng.integers(2, 12)
    weekday = np.array([moment.weekday() for moment in when])
    columns = {
        "day": np.array([f"{moment:%Y-%m-%d}" for moment in when]),
        "time": np.array([f"{moment:%Y-%m-%d %H:%M:%S}" for moment in when]),
        "order": 100_000 + np.arange(rows),
        "counter": np.cumsum(rng.random(rows) < rng.uniform(0.05, 0.95)),
        "member": np.where(rng.random(rows) < 0.5, "yes", "no"),
        "gift": (rng.random(rows) < rng.uniform(0.02, 0.98)).astype(int),
        "turn": np.cos(2 * math.pi * (weekday / 7)),
        "shop": rng.choice([f"shop {k}" for k in range(levels)], rows, p=rng.dirichlet(np.ones(levels))),
        "pieces": rng.poisson(rng.uniform(0.3, 5.0), rows),
        "price": rng.choice([0.99, 4.99, 9.99, 19.99, 99.0], rows, p=rng.dirichlet(np.ones(5))),
        AMOUNT: np.round(np.exp(rng.normal(3.0, rng.uniform(0.3, 1.2), rows)), 2),
        "stars": rng.integers(1, 6, rows),
    }
    if wide:
        columns["town"] = rng.choice([f"town {k}" for k in range(80)], rows, p=rng.dirichlet(np.full(80, 0.5)))
    score = np.log(columns[AMOUNT]) - 3.0 + 0.8 * (columns["member"] == "yes") - 0.4
    columns["label"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * score)), "back", "gone")
    return columns


def events(columns: dict[str, np.ndarray], wide: bool = False) -> tuple[list[Event], list[str]]:
    """What a learner notices of a table, and the names of its columns once they are encoded."""
    values = [column.astype(str).tolist() for column in columns.values()]
    lines = [",".join(columns), *(",".join(row) for row in zip(*values, strict=True))]
    options = {"label": "label", "strict": False, "max_categories": 128 if wide else 32}
    stream = open_stream(io.BytesIO("\n".join(lines).encode()), format="csv", date=["day", "time"], **options)
    names, block = stream.feature_names, gather(stream.blocks())
    model = PocketClassifier(memory="16KiB", random_state=0)
    model.partial_fit(block.X, block.y)
    assert names is not None
    return model.events_, names


def false_events(numbers: range, rows: int, wide: bool) -> list[tuple[int, str]]:
    """Tables and what was said of them though nothing has changed."""
    found = []
    for number in numbers:
        said, names = events(table(number, rows, wide), wide)
        for event in said:
            what = event.kind if event.column is None else f"{names[event.column]}: {event.change}"
            found.append((number, f"{what}, row {event.row:,}"))
    return found


def found_after(number: int, rows: int, wide: bool, factor: float, shift: float) -> int | None:
    """Rows after which the change of a column is noticed by name; None if it is not."""
    columns = table(number, rows, wide)
    amount = columns[AMOUNT]
    half = rows // 2
    changed = np.where(np.arange(rows) < half, amount, factor * amount + shift * amount.std())
    said, names = events(columns | {AMOUNT: np.round(changed, 6)}, wide)
    rows_of = [event.row - half for event in said if event.column is not None and names[event.column] == AMOUNT]
    return min((row for row in rows_of if row > 0), default=None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--wide", action="store_true")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.streams)
    found = false_events(numbers, given.rows, given.wide)
    print(f"{given.streams} stable tables of {given.rows:,} rows: {len(found)} false events.")
    for number, what in found:
        print(f"  table {number}: {what}")
    good = len(found) * 100 <= FALSE_EVENTS * given.streams
    print("\n| change of one column | found in | rows until then, median | at most |\n|---|--:|--:|--:|")
    some = numbers[:20]
    for title, (factor, shift) in CHANGES.items():
        after = [found_after(number, min(given.rows, 6000), given.wide, factor, shift) for number in some]
        known = sorted(rows for rows in after if rows is not None)
        middle = f"{known[len(known) // 2]} | {known[-1]}" if known else "- | -"
        print(f"| {title} | {len(known)} of {len(some)} | {middle} |")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
