"""How many columns categories get: one for each level while there is room, then for those that most rows have."""

import numpy as np
import pytest

from pocketkernel.stream.infer import Guess
from pocketkernel.stream.places import FEW_ROWS, MANY_ROWS, SPARE, in_room


def category(name, counts):
    return Guess(name, "category", texts=[f"{name}{k}" for k, count in enumerate(counts) for _ in range(count)])


def up_to(room):
    """What fits if columns do not compete with anything."""
    return lambda columns, share: columns <= room


def widths(places):
    return [one.own + one.shared for one in places]


def test_every_level_has_its_column_while_there_is_room():
    guesses = [category("a", [10] * 40), category("b", [200, 100, 100])]
    found = in_room(guesses, 400, whole=True, fits=up_to(43), hash_width=None)
    assert [(one.own, one.shared) for one in found] == [(40, 0), (3, 0)]
    assert list(found[0].levels) == [f"a{k}" for k in range(40)]


def test_the_most_frequent_levels_of_all_categories_come_first():
    rng = np.random.default_rng(1)
    counts = [rng.permutation(np.arange(100, 400)), rng.permutation(np.arange(1, 200))]
    guesses = [category(name, map(int, some)) for name, some in zip("ab", counts, strict=True)]
    rows = int(counts[0].sum())
    found = in_room(guesses, rows, whole=True, fits=up_to(120), hash_width=None)
    assert sum(widths(found)) <= 120
    chosen = [guess.levels[level] for guess, one in zip(guesses, found, strict=True) for level in one.levels]
    others = [
        count
        for guess, one in zip(guesses, found, strict=True)
        for level, count in guess.levels.items()
        if level not in one.levels
    ]
    assert min(chosen) >= max(others)


def test_a_level_is_worth_a_column_if_it_is_frequent_enough():
    """The more columns there are, the less remains for others to take, and the more rows a level needs."""
    guesses = [category("a", [int(3000 / k) for k in range(1, 200)])]
    rows = guesses[0].present
    found = in_room(
        guesses, rows, whole=False, fits=lambda columns, share: 1000 / (columns + 10) >= 1 / share, hash_width=None
    )[0]
    least = min(guesses[0].levels[level] for level in found.levels)
    assert 1000 / (len(found.levels) + found.shared + 10) >= rows / least
    more = [*found.levels, next(level for level in guesses[0].levels if level not in found.levels)]
    assert 1000 / (len(more) + SPARE + 10) < rows / guesses[0].levels[more[-1]]


def test_thousands_of_rare_levels_get_no_columns_at_all():
    """A column that hundreds of levels share would tell nothing, and take memory from others."""
    guesses = [category("zip", [2] * 5000), category("state", [1000] * 10)]
    zips, states = in_room(guesses, 20_000, whole=False, fits=up_to(2000), hash_width=None)
    assert zips.width == 0 and (states.own, states.shared) == (10, 0)


def test_a_small_category_is_exact_beside_large_ones():
    guesses = [category("size", [50, 30, 2]), category("shop", [20] * 300)]
    size, shop = in_room(guesses, 6000, whole=True, fits=up_to(60), hash_width=None)
    assert size.own + size.shared == 3 and shop.own + shop.shared <= 57


@pytest.mark.parametrize("room", [0, 3, 20])
def test_little_room_is_not_exceeded(room):
    guesses = [category(f"c{k}", [30] * 50) for k in range(10)]
    found = in_room(guesses, 1500, whole=True, fits=up_to(room), hash_width=None)
    assert sum(widths(found)) <= max(room, 20)


def test_levels_that_are_still_to_come():
    """Where the first rows have single levels, later ones have columns to share; where they are few, their own."""
    many = category("a", [6] * 30 + [1] * 10)
    assert many.present < MANY_ROWS
    found = in_room([many], many.present, whole=False, fits=up_to(1000), hash_width=None)[0]
    assert len(found.levels) == 40 and found.own > 40 and found.shared > 0
    whole = in_room([many], many.present, whole=True, fits=up_to(1000), hash_width=None)[0]
    assert (whole.own, whole.shared) == (30, 0)  # nothing can be learned of the others


def test_how_many_columns_are_shared_can_be_chosen():
    guesses = [category("a", [30] * 50)]
    for width in (0, 5, 40):
        found = in_room(guesses, 1500, whole=True, fits=up_to(45), hash_width=width)[0]
        assert found.shared == width and found.own + width == 45


def test_a_level_of_a_short_file_needs_some_rows():
    guesses = [category("a", [FEW_ROWS - 1] * 60 + [FEW_ROWS] * 10)]
    found = in_room(guesses, guesses[0].present, whole=True, fits=up_to(60), hash_width=None)[0]
    assert {guesses[0].levels[level] for level in found.levels} == {FEW_ROWS}
