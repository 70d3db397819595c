"""How many columns of a row each category gets: one for each level that is not rare, while there is room.

Without room for all, those get columns of their own that most of the first rows have, whatever category they belong to.
The other levels of a category share a few columns. Labels are not looked at.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pocketkernel.stream.infer import Guess

LAYOUT = 2  # of rows whose types are inferred: another number if the same file becomes other columns
MAX_CATEGORIES = 32  # levels of a category with columns of their own, where types are not inferred
EACH, ALL = 48, 1024  # columns of a category on average, and of all, where nobody says how many there may be
LEAST = 2  # columns of a category with several levels: one would tell nothing
FEWEST_PLACES = 8  # for a category whose levels are not yet known
SPARE = 16  # columns that further levels share, if they occur more than once; so few levels have their own if possible
SEVERAL, CROWD = 2, 4  # rows that these need to have on average for that, and most levels for each of the columns
FEW_ROWS = 5  # a level of fewer gets no column of its own, as nothing could be learned of it,
MANY_ROWS = 200  # unless others are still to come: then for each further row that it has, so many were looked at

Fits = Callable[[int, float], bool]
"""Whether there is room for so many columns, of which the rarest is not zero in this share of the rows."""


@dataclass(frozen=True)
class Places:
    """What a category gets.

    Attributes
    ----------
    levels : sequence of str
        Levels that have their columns already.
    own : int
        Columns for one level each; if there are more than `levels`, the next ones to arrive get them.
    shared : int
        Columns that the other levels share.
    """

    levels: Sequence[str]
    own: int
    shared: int

    @property
    def width(self) -> int:
        """Columns in all."""
        return self.own + self.shared


def each_alone(guess: Guess, whole: bool, most: int, hash_width: int | None) -> Places:
    """Places of a category on its own: at most `most` levels have theirs."""
    levels = len(guess.levels)
    if levels <= most and guess.saturated(whole):
        return Places(list(guess.levels), max(1, levels), hash_width or 0)
    own = min(max(FEWEST_PLACES, 2 * levels), most)
    spare = (SPARE if own == most >= SPARE else 0) if hash_width is None else hash_width
    return Places(_most_frequent(guess, own), own, spare)


def in_room(guesses: Sequence[Guess], rows: int, whole: bool, fits: Fits, hash_width: int | None) -> list[Places]:
    """Places of all categories, which get columns as long as these fit; more only if each needs its least.

    `rows` is how many were looked at, and `whole` whether they are all.
    """
    done = [guess.saturated(whole) for guess in guesses]
    few = [is_done and len(guess.levels) <= SPARE for guess, is_done in zip(guesses, done, strict=True)]
    wide = next((width for width in (SPARE, SPARE // 2, 4) if fits(2 * few.count(False) * width, 1 / width)), LEAST)
    shared = [1 if is_few else wide for is_few in few] if hash_width is None else [hash_width] * len(guesses)
    common = _common(guesses, few, FEW_ROWS if whole else min(FEW_ROWS, 1 + rows // MANY_ROWS))
    firsts = sum(level.is_first for level in common)

    def taken_after(taken: Sequence[Level]) -> list[Level]:
        """Levels that fit, if categories without other levels than those that are taken share no columns."""
        number = Counter(level.category for level in taken)
        complete = [is_done and number[k] == len(guesses[k].levels) for k, is_done in enumerate(done)]
        sharing = sum(more for more, is_it in zip(shared, complete, strict=True) if hash_width or not is_it)
        counts = range(firsts + 1, len(common) + 1)
        most = bisect_left(counts, True, key=lambda n: not fits(n + sharing, common[n - 1].rows / max(1, rows)))
        return common[: firsts + most]

    taken = taken_after(common)
    if len(taken) < len(common):
        taken = []
        while len(more := taken_after(taken)) > len(taken):
            taken = more
    places: list[list[int]] = [[] for _ in guesses]
    for level in taken:
        places[level.category].append(level.place)
    found = []
    for k, guess in enumerate(guesses):
        levels = list(guess.levels)
        alone = [levels[place] for place in sorted(places[k])]
        mine = _shared(guess, alone, done[k], shared[k]) if hash_width is None else hash_width
        if hash_width is None and done[k] and len(levels) <= len(alone) + mine:
            alone, mine = levels, 0
        found.append(Places(alone, len(alone), mine))
    for k, guess in enumerate(guesses):
        late, columns = _late(guess, rows), sum(one.own + one.shared for one in found)
        if not done[k] and fits(columns + late, 1 / rows):
            found[k] = replace(found[k], own=len(found[k].levels) + late)
    return found


class Level(NamedTuple):
    """A level that may have a column of its own."""

    is_first: bool  # of a category with few levels: it has one in any case, as the others' alone would tell nothing
    rows: int
    place: int  # among the levels of its category
    category: int


def _common(guesses: Sequence[Guess], few: Sequence[bool], rare: float) -> list[Level]:
    """Levels that may have a column of their own, the most frequent first."""
    found = []
    for k, guess in enumerate(guesses):
        first = guess.levels.most_common(1)[0][0] if few[k] and len(guess.levels) > 1 else None
        found += [
            Level(level == first, count, place, k)
            for place, (level, count) in enumerate(guess.levels.items())
            if few[k] or count >= rare
        ]
    return sorted(found, key=lambda level: (not level.is_first, -level.rows, level.place, level.category))


def _shared(guess: Guess, alone: Sequence[str], is_done: bool, most: int) -> int:
    """Columns for the levels that have none of their own: none if too many would share each to tell anything."""
    others = len(guess.levels) - len(alone)
    if others > CROWD * SPARE or (is_done and not others):
        return 0
    rows = guess.present - sum(guess.levels[level] for level in alone)
    return min(most, max(LEAST, others)) if rows >= SEVERAL * others else 0


def _late(guess: Guess, rows: int) -> int:
    """Levels to expect that the first rows do not have, if these are few: as many again."""
    return max(FEWEST_PLACES - len(guess.levels), len(guess.levels) if rows < FEW_ROWS * MANY_ROWS else 0, 0)


def _most_frequent(guess: Guess, most: int) -> list[str]:
    """Levels that get the places; none yet if all have room, so that those to come get theirs as well."""
    if len(guess.levels) <= most:
        return list(guess.levels)
    return [level for level, _ in guess.levels.most_common(most)]
