"""A stream that stays as it is raises no alarm, whatever moves on in it; one that changes is told with its column."""

import io
from datetime import datetime, timedelta

import numpy as np
import pytest

from pocketkernel import PocketClassifier
from pocketkernel.learners import Event
from pocketkernel.stream import gather, open_stream

ROWS = 6000


def shop(rng, rows_a_day, rows=ROWS):
    """A table of orders, and their labels: nothing about them changes but the time."""
    days = 300 * rng.random() + np.arange(rows) / rows_a_day
    when = [datetime(2020, 1, 1) + timedelta(days=float(day)) for day in days]
    columns = {
        "day": [f"{moment:%Y-%m-%d}" for moment in when],
        "time": [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in when],
        "order": 1000 + np.arange(rows),
        "member": rng.random(rows) < 0.5,
        "turn": np.cos([2 * np.pi * moment.weekday() / 7 for moment in when]),
        "shop": rng.choice(["north", "south", "east"], rows),
        "price": np.exp(rng.normal(3, 1, rows)).round(2),
    }
    return columns, np.where((columns["price"] > 20) ^ (rng.random(rows) < 0.2), "back", "gone")


def noticed(columns, labels):
    """What is noticed of a table, with names of columns."""
    lines = zip(*([str(value) for value in column] for column in [*columns.values(), labels]), strict=True)
    text = "\n".join([",".join([*columns, "label"]), *map(",".join, lines)])
    stream = open_stream(io.BytesIO(text.encode()), format="csv", label="label", date=["day", "time"], strict=False)
    names, block = stream.feature_names, gather(stream.blocks())
    model = PocketClassifier(memory="16KiB", random_state=0).partial_fit(block.X, block.y)
    return [event if event.column is None else event._replace(column=names[event.column]) for event in model.events_]


@pytest.mark.parametrize("rows_a_day", [1, 20, 100, 1000, 1440])
def test_time_that_passes_is_no_alarm(rows_a_day):
    assert noticed(*shop(np.random.default_rng(rows_a_day), rows_a_day)) == []


@pytest.mark.parametrize(
    ("factor", "shift", "change"),
    [
        (100.0, 0.0, {"larger unit or spread", "another level"}),
        (0.01, 0.0, {"smaller unit or spread"}),
        (1.0, 1000.0, {"another level"}),
    ],
)
def test_a_change_is_told_with_its_column_and_what_it_is(factor, shift, change):
    columns, labels = shop(np.random.default_rng(0), 100)
    late = np.arange(ROWS) >= ROWS // 2
    columns["price"] = np.where(late, factor * columns["price"] + shift, columns["price"]).round(4)
    [event] = [event for event in noticed(columns, labels) if event.kind == "column changed"]
    assert event.column == "price" and event.change in change
    assert ROWS // 2 < event.row < ROWS // 2 + 120


def test_columns_of_a_frame_are_named_and_others_numbered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = X[:, 0] > 0
    X[2000:, 2] += 1e3
    pandas = pytest.importorskip("pandas")
    for rows, name in ((X, 2), (pandas.DataFrame(X, columns=["a", "b", "c"]), "c")):
        [event] = PocketClassifier(random_state=0).partial_fit(rows, y).events_
        assert event == Event(event.row, "column changed", name, "another level") and 2000 < event.row < 2100
