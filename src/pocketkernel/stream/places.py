"""How many columns of a row each category gets: one for each level that is not rare, while there is room.

Without room for all, those get columns of their own that most of the first rows have, whatever category they belong to.
The other levels of a category share a few columns. Labels are not looked at.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pocketkernel.stream.infer import Guess

MAX_CATEGORIES = 32  # levels of a category with columns of their own, where types are not inferred
EACH, ALL = 48, 1024  # columns of a category on average, and of all, where nobody says how many there may be
LEAST = 2  # columns of a category with several levels: one would tell nothing
FEWEST_PLACES = 8  # for a category whose levels are not yet known
SPARE = 16  # columns that further levels share, if they occur more than once; so few levels have their own if possible
SEVERAL = 2  # rows that they need to have on average for that; otherwise they share the least
RARE = 0.002  # share of the first rows below which a level gets no column of its own if its category has many levels
FEW_ROWS = 5  # of a whole file: a level of fewer rows gets none either, as nothing could be learned of it


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


def each_alone(guess: Guess, whole: bool, most: int, hash_width: int | None) -> Places:
    """Places of a category on its own: at most `most` levels have theirs."""
    levels = len(guess.levels)
    if levels <= most and guess.saturated(whole):
        return Places(list(guess.levels), max(1, levels), hash_width or 0)
    own = min(max(FEWEST_PLACES, 2 * levels), most)
    spare = (SPARE if own == most >= SPARE else 0) if hash_width is None else hash_width
    return Places(_most_frequent(guess, own), own, spare)


def in_room(guesses: Sequence[Guess], rows: int, whole: bool, room: int, hash_width: int | None) -> list[Places]:
    """Places of all categories, which together get `room` columns; more only if each needs its least.

    `rows` is how many were looked at, and `whole` whether they are all.
    """
    done = [guess.saturated(whole) for guess in guesses]
    few = [is_done and len(guess.levels) <= SPARE for guess, is_done in zip(guesses, done, strict=True)]
    wide = max(LEAST, min(SPARE, room // (2 * max(1, few.count(False)))))
    shared = [1 if is_few else wide for is_few in few] if hash_width is None else [hash_width] * len(guesses)
    common = _common(guesses, few, max(RARE * rows, FEW_ROWS if whole else 1))

    def left(taken: Sequence[Level]) -> int:
        """Columns for levels of their own, if categories without other levels than these share none."""
        number = Counter(level.category for level in taken)
        complete = [is_done and number[k] == len(guesses[k].levels) for k, is_done in enumerate(done)]
        sharing = [more for more, is_it in zip(shared, complete, strict=True) if hash_width or not is_it]
        return max(0, room - sum(sharing), sum(level.is_first for level in common))

    taken = common
    if left(common) < len(common):
        taken = []
        while len(more := common[: left(taken)]) > len(taken):
            taken = more
    places: list[list[int]] = [[] for _ in guesses]
    for level in taken:
        places[level.category].append(level.place)
    free, found = left(taken) - len(taken), []
    for k, guess in enumerate(guesses):
        levels = list(guess.levels)
        alone = [levels[place] for place in sorted(places[k])]
        late = 0 if done[k] else min(_late(guess, rows), free)
        free -= late
        mine = _shared(guess, alone, done[k], shared[k]) if hash_width is None else hash_width
        found.append(Places(alone, len(alone) + late or (0 if mine else LEAST), mine))
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


def _shared(guess: Guess, chosen: Sequence[str], is_done: bool, most: int) -> int:
    """Columns for the levels that have none of their own: few if these hardly occur twice."""
    others = len(guess.levels) - len(chosen)
    if is_done and not others:
        return 0
    rows = guess.present - sum(guess.levels[level] for level in chosen)
    return min(most, LEAST if rows < SEVERAL * others else max(LEAST, others))


def _late(guess: Guess, rows: int) -> int:
    """Levels to expect that the first rows do not have, and that are not rare: each has about as many as a single."""
    return max(FEWEST_PLACES - len(guess.levels), len(guess.levels) if RARE * rows <= 1 else 0, 0)


def _most_frequent(guess: Guess, most: int) -> list[str]:
    """Levels that get the places; none yet if all have room, so that those to come get theirs as well."""
    if len(guess.levels) <= most:
        return list(guess.levels)
    return [level for level, _ in guess.levels.most_common(most)]
