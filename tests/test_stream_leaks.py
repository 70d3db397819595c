"""Columns that tell the label by themselves are named; those that merely help are not."""

import io

import numpy as np
import pytest

from pocketkernel.stream import open_stream

ROWS = 1500


def told(**columns):
    """What is remarked of these columns, of which y is the label."""
    names, rows = list(columns), zip(*columns.values(), strict=True)
    text = "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n"
    return open_stream(io.BytesIO(text.encode()), label="y", strict=False).inferred.leaks


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def noise(rng):
    return rng.normal(size=ROWS).round(3)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_a_number_with_a_threshold(rng, share):
    delay = rng.normal(size=ROWS).round(3)
    late = delay > np.quantile(delay, 1 - share)
    found = told(a=noise(rng), delay=delay, y=late)
    assert len(found) == 1 and "'delay' decides the label alone" in found[0] and "--drop 'delay'" in found[0]
    noisy = np.where(rng.random(ROWS) < 0.1 * share, ~late, late)
    assert told(a=noise(rng), delay=delay, y=noisy) == []


def test_a_category_of_which_each_level_has_one_label(rng):
    team = rng.integers(60, size=ROWS)
    league = np.array(["north", "south", "east"])[team % 3]
    found = told(a=noise(rng), team=[f"t{k}" for k in team], y=league)
    assert len(found) == 1 and "'team'" in found[0]
    mixed = np.where(rng.random(ROWS) < 0.1, "north", league)
    assert told(a=noise(rng), team=[f"t{k}" for k in team], y=mixed) == []


def test_a_value_that_is_missing_for_one_class(rng):
    survived = rng.random(ROWS) < 0.4
    boat = np.where(survived, rng.integers(1, 20, size=ROWS).astype(str), "")
    assert "'boat'" in told(a=noise(rng), boat=boat, y=survived)[0]


def test_a_quantity_in_another_unit(rng):
    minutes = rng.gamma(3, 60, size=ROWS).round(2)
    found = told(a=noise(rng), minutes=minutes, y=(0.17 * minutes).round(4))
    assert len(found) == 1 and "'minutes'" in found[0]
    assert told(a=noise(rng), minutes=minutes, y=(0.17 * minutes + rng.normal(size=ROWS)).round(4)) == []


def test_sorted_files_and_few_values_are_no_leaks(rng):
    """The next row has the same label in a sorted file, and equal values are next to each other."""
    y = np.sort(rng.integers(2, size=ROWS))
    assert (
        told(a=noise(rng), b=rng.integers(3, size=ROWS), c=np.array(["x", "z"])[rng.integers(2, size=ROWS)], y=y) == []
    )


def test_levels_that_occur_once_decide_nothing(rng):
    names = [f"n{k % 1000}" for k in range(ROWS)]
    assert told(a=noise(rng), name=rng.permutation(names), y=rng.integers(2, size=ROWS)) == []


def test_many_columns_are_named_in_short(rng):
    y = rng.integers(2, size=ROWS)
    columns = {f"c{k}": (2 * y - 1) * rng.uniform(0.1, 1, size=ROWS).round(4) for k in range(5)}
    found = told(**columns, a=noise(rng), y=y)
    assert len(found) == 1 and "'c0', 'c1', 'c2' and 2 more" in found[0]


def test_nothing_is_said_of_a_few_rows(rng):
    y = [0, 1] * 8
    assert told(a=[k + 0.5 for k in y], y=y) == []
