"""What a person would say that a column is, after a look at its first rows."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pocketkernel.stream import dates, values
from pocketkernel.stream.values import COMMA, NO_VALUE, POINT, Floats, Texts

Role = Literal["number", "decimal", "boolean", "date", "category", "id", "text", "many", "constant", "empty", "list"]
LEFT_OUT = ("id", "text", "many", "constant", "empty", "list")
EXAMPLES = 3
FEWEST_ROWS = 5
TYPOS = 0.01  # share of values that may be wrong in a column of numbers or dates
FLAGGED = 0.01  # share of missing values above which their absence is a column, too
UNSEEN = 0.01  # estimated share of rows with new levels below which a category needs no further places
MANY = 20  # levels
FEW_WORDS = 3  # different ones among numbers that may stand for something special
FEWEST_IDS = 10  # texts that are all different, and no categories for that
LONG = 40  # characters of a text, on average
FIRST_DAY, LAST_DAY = 19_000_101, 21_001_231  # that a whole number may stand for
ONCE = 0.9  # share of texts that occur once, above which they are no categories
DENSE, EVEN = (
    0.3,
    0.4,
)  # of whole numbers that may be ids: the share of the range that occurs, of rows in its upper half
MANY_NUMBERS = 366  # different ones, more than days of a year
_ID = re.compile(
    r"(?:^|[_\W])(?i:id|uuid|guid|key|index|nr|no|num|number|rowid|rownum)$|[a-z](?:Id|ID|Key|Nr|No|Num|Number)$"
)
_CODES = re.compile(
    r"(?:^|[_\W])(?i:id|uuid|guid|key|codes?|fips|sku|zip|zip_?codes?|post_?codes?|plz)$|[a-z](?:Id|ID|Key|Code|Zip)$"
    r"|^(?i:user|customer|client|product|item|store|shop|seller|patient|subject|student|school|device|station)$",
)
_NAMELESS = re.compile(r"column\d+|unnamed: \d+|index|rownames?", re.IGNORECASE)
_CODE = re.compile(r"0\d+")
_CODE_AMONG = re.compile(r"(?:^| )0\d")
_DIGIT = re.compile(r"\d")
_PLAIN = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+")


class Sample(NamedTuple):
    """The first rows of a table."""

    rows: int
    whole: bool  # whether there are no others
    texts: dict[str, Texts]  # all columns
    numbers: dict[str, Floats]  # those that have nothing but numbers
    lists: frozenset[str] = frozenset()  # columns that have lists or objects
    decimal: str = POINT  # the usual decimal sign of such files
    remarks: Sequence[str] = ()  # what else was found in the file
    levels: Mapping[str, Sequence[str]] = MappingProxyType({})  # of columns of which the file tells all that there are


@dataclass(slots=True)
class Guess:
    """What a column seems to be.

    Attributes
    ----------
    name : str
    role : str
        Its kind as a `Feature`, or why it is left out.
    style : str
        The decimal sign, or the format of the dates.
    texts : sequence of str
        Its values, of which some may be missing.
    missing : float
        Share of rows without a value.
    note : str
        What else to know.
    """

    name: str
    role: Role
    style: str = ""
    texts: Texts = field(default=(), repr=False)
    missing: float = 0.0
    note: str = ""
    examples: tuple[str, ...] = ()
    counted: Counter[str] | None = field(default=None, repr=False)
    closed: bool = False  # whether there are no other levels

    @property
    def levels(self) -> Counter[str]:
        """How often each different text occurs; counted when first asked for, as of most numbers nobody asks."""
        if self.counted is None:
            levels: Counter[str] = Counter(self.texts)  # type: ignore[arg-type]  # None goes with the missing ones
            if not NO_VALUE.isdisjoint(levels):
                levels = Counter({text: count for text, count in levels.items() if text not in NO_VALUE})
            self.counted = levels
        return self.counted

    @property
    def present(self) -> int:
        """Number of values."""
        return self.levels.total()

    def values(self) -> npt.NDArray[Any]:
        """Its values as labels: numbers if it has nothing else, else text."""
        texts = list(self.levels.elements())
        if self.role not in ("number", "decimal", "id", "date"):
            return np.array(texts)
        numbers, wrong = values.to_numbers(texts, self.style if self.role == "decimal" else POINT)
        return np.array(texts) if wrong else numbers

    def saturated(self, whole: bool) -> bool:
        """Whether few rows will have levels that are not among these (by Good and Turing's estimate)."""
        if whole or self.closed:
            return True
        singles = sum(count == 1 for count in self.levels.values())
        return len(self.levels) > 1 and singles <= UNSEEN * self.present


def infer(sample: Sample) -> list[Guess]:
    """What each column of a sample seems to be."""
    hasty = sample.rows < FEWEST_ROWS and not sample.whole  # so few rows of a very wide table tell nothing else
    if hasty:
        return [_hasty(name, texts, name in sample.numbers) for name, texts in sample.texts.items()]
    plain, telling = _plain_numbers(sample), _telling(sample)
    guesses = [
        _of_plain_numbers(name, texts) if name in plain else _guess(name, sample, telling)
        for name, texts in sample.texts.items()
    ]
    if sample.decimal == COMMA and any(guess.role == "decimal" and guess.style[0] == COMMA for guess in guesses):
        guesses = [_regrouped(guess) for guess in guesses]
    return guesses


def _hasty(name: str, texts: Texts, is_number: bool) -> Guess:
    levels = Counter(text for text in texts if text)
    return Guess(name, "number" if is_number else "category", counted=levels, examples=tuple(levels))


def _plain_numbers(sample: Sample) -> set[str]:
    """Columns that `_of_numbers` would call numbers, found all at once as wide tables have many; others may be, too."""
    if not sample.numbers or not sample.rows:
        return set()
    numbers = np.array(list(sample.numbers.values()))
    absent = np.isnan(numbers)
    low, high = np.where(absent, np.inf, numbers).min(axis=1), np.where(absent, -np.inf, numbers).max(axis=1)
    broken = (~absent & (numbers != np.floor(numbers))).any(axis=1)
    with np.errstate(invalid="ignore"):  # infinity less infinity
        counting = high - low + 1 == np.sum(~absent, axis=1)
    likely_ids = (low >= 0) & (low <= high / 100) & (high > MANY_NUMBERS) & (sample.rows > 2 * MANY_NUMBERS)
    plain = (low < high) & (broken | ~(counting | likely_ids | ((low >= FIRST_DAY) & (high <= LAST_DAY))))
    return {
        name
        for name, is_plain, is_broken in zip(sample.numbers, plain.tolist(), broken.tolist(), strict=True)
        if is_plain and (is_broken or not _may_be_codes(name, sample.texts[name]))
    }


def _may_be_codes(name: str, texts: Texts) -> bool:
    """Whether whole numbers may be ids by their name, or have leading zeros."""
    by_name = len(texts) >= MANY and bool(_ID.search(name) or _CODES.search(name) or _NAMELESS.fullmatch(name))
    return by_name or _CODE_AMONG.search(" ".join(filter(None, texts))) is not None


def _of_plain_numbers(name: str, texts: Texts) -> Guess:
    present = [text for text in texts if text is not None and text not in NO_VALUE]
    examples = dict.fromkeys(present[:EXAMPLES])
    if len(examples) < EXAMPLES:
        examples = dict.fromkeys(present)
    missing = 1 - len(present) / len(texts)
    return Guess(name, "number", texts=texts, missing=missing, examples=tuple(islice(examples, EXAMPLES)))


def _telling(sample: Sample) -> frozenset[str | None]:
    """Texts that may be Booleans, numbers or dates, found all at once: columns with none of them are soon done."""
    columns = (texts for name, texts in sample.texts.items() if name not in sample.numbers)
    words = frozenset(chain.from_iterable(columns)) - NO_VALUE
    return frozenset(
        text
        for text in words
        if text.lower() in values.BOOLEANS  # type: ignore[union-attr]
        or (_DIGIT.search(text) and (values.is_like_number(text) or dates.is_like_date(text)))  # type: ignore[arg-type]
    )


def as_kind(guess: Guess, kind: Role, style: str = "") -> Guess:
    """The same column as what the user says it is."""
    if kind == "number" and guess.role == "decimal":
        return guess
    present = list(guess.levels)
    if kind == "number":
        plain = all(_is_plain(text) for text in present)
        style = "" if plain else (values.decimal_of(present) or POINT)
        return replace(guess, role="number" if plain else "decimal", style=style, note="")
    if kind == "date" and not style:
        found = dates.format_of(present[:1000]) if present else None
        if found is None:
            shown = ", ".join(map(repr, guess.examples))
            raise ValueError(
                f"date={guess.name!r}: the format of its dates is not known ({shown}): give date={guess.name}=FORMAT, "
                "such as %d/%m/%Y."
            )
        style = found[0]
    elif kind == "date" and not dates.is_format(style):
        raise ValueError(f"date={guess.name}={style} has no format of dates: use for example %d/%m/%Y, or {dates.ISO}.")
    return replace(guess, role=kind, style=style if kind == "date" else "", note="")


def _guess(name: str, sample: Sample, telling: frozenset[str | None]) -> Guess:
    guess = Guess(name, "category", texts=sample.texts[name])
    levels = guess.levels
    guess.missing = 1 - levels.total() / max(1, len(guess.texts))
    guess.examples = tuple(islice(levels, EXAMPLES))
    if name in sample.lists or not levels:
        return _as(guess, *(("list", "a list or an object") if name in sample.lists else ("empty", "no values")))
    if len(sample.levels.get(name, ())) > 1:
        return _of_levels(guess, sample.levels[name])
    if name in sample.numbers:
        return _of_numbers(guess, sample)
    if not telling.isdisjoint(levels) and (found := _of_telling_text(guess, sample)):
        return found
    if len(levels) == 1 and sample.whole and not guess.missing:
        return _as(guess, "constant", "always the same")
    return _of_many(guess)


def _of_levels(guess: Guess, levels: Sequence[str]) -> Guess:
    """A category whose levels are all known, also those that no row has yet; or a Boolean."""
    if values.are_booleans(levels):
        guess.role = "boolean"
    guess.counted = Counter({level: guess.levels[level] for level in levels})
    guess.closed = True
    return guess


def _as(guess: Guess, role: Role, note: str = "") -> Guess:
    """The guess, with another role; not a copy, since of wide tables there are many."""
    guess.role, guess.note = role, note
    return guess


def _of_numbers(guess: Guess, sample: Sample) -> Guess:
    numbers = sample.numbers[guess.name]
    numbers = numbers[~np.isnan(numbers)]
    if len(guess.levels) == 1 and sample.whole and not guess.missing:
        return _as(guess, "constant", "always the same")
    if (numbers != np.floor(numbers)).any():
        return _as(guess, "number")
    if any(_CODE.fullmatch(level) for level in guess.levels):
        coded = _of_many(guess)
        return replace(coded, note=coded.note or "codes with leading zeros")
    if why := _why_id(guess, numbers):
        return _as(guess, "id", why)
    return _of_whole_numbers(guess, numbers)


def _of_whole_numbers(guess: Guess, numbers: Floats) -> Guess:
    """Dates, codes or quantities."""
    if _are_compact_dates(guess, numbers):
        return replace(guess, role="date", style=dates.COMPACT)
    if guess.present >= MANY and _CODES.search(guess.name):
        return _of_many(guess)
    return _as(guess, "number", f"ids? --categorical {guess.name}" if _may_be_ids(guess, numbers) else "")


def _may_be_ids(guess: Guess, numbers: Floats) -> bool:
    """Whether whole numbers look as if they counted users or shops: many from 0 or 1 on, each in several rows.

    Neither counts, of which large ones are rare, nor numbers that ascend.
    """
    distinct = len(guess.levels)
    high = float(numbers.max(initial=0))
    return (
        distinct > MANY_NUMBERS
        and guess.present >= 2 * distinct
        and 0 <= float(numbers.min()) <= high / 100
        and distinct >= DENSE * high
        and float((numbers > high / 2).mean()) >= EVEN
        and bool((np.diff(numbers) < 0).any())
    )


def _are_compact_dates(guess: Guess, numbers: Floats) -> bool:
    """Whether whole numbers are dates such as 20240131."""
    likely = guess.present >= 5 and len(guess.levels) > 1 and min(numbers) >= FIRST_DAY and max(numbers) <= LAST_DAY
    return likely and not dates.to_columns(list(guess.levels), dates.COMPACT, ["days"])[1]


def _why_id(guess: Guess, numbers: Floats) -> str:
    """Why whole numbers are ids; empty if they are not."""
    present = guess.present
    if len(guess.levels) < present:
        return ""
    counts_rows = present > 1 and bool((np.diff(numbers) == 1).all())
    shuffled = present > 1 and numbers.max() - numbers.min() + 1 == present  # all different, and none left out
    if (shuffled and present >= MANY) or (counts_rows and _is_nameless(guess.name) and numbers[0] in (0, 1)):
        return "numbers of the rows"
    if _NAMELESS.fullmatch(guess.name) and (np.diff(numbers) > 0).all() and present >= MANY:
        return "numbers of rows"
    return "different in every row" if present >= MANY and _ID.search(guess.name) else ""


def _of_telling_text(guess: Guess, sample: Sample) -> Guess | None:
    """Booleans, numbers or dates, if that is what the text stands for."""
    levels = guess.levels
    if len(levels) <= 6 and values.are_booleans(list(levels)):
        return _as(guess, "boolean")
    numbers = [level for level in levels if level.lower() != "none"]
    has_digits = _DIGIT.search(" ".join(numbers)) is not None
    if has_digits and not any(_CODE.fullmatch(level) for level in numbers):
        unit = values.unit_of(numbers)
        wrong_by = {sign: values.to_numbers(numbers, sign + unit)[1] for sign in values.DECIMALS}
        best = min(wrong_by, key=lambda sign: _wrong(guess, wrong_by[sign], numbers))
        wrong = wrong_by[best]
        odd = set(wrong)
        right = [level for k, level in enumerate(numbers) if k not in odd]
        if _wrong(guess, wrong, numbers) <= TYPOS * guess.present and values.negatives_agree(right):
            style = (values.decimal_of(right, sample.decimal, unit) or best) + unit
            role: Role = "number" if style == POINT and all(map(_is_plain, right)) else "decimal"
            style = style if role == "decimal" else ""
            if role == "number" and wrong and _CODES.search(guess.name):
                return _of_many(guess)  # such as a zip code with four further digits
            return replace(guess, role=role, style=style, note=_typos(guess, wrong, numbers))
        if len(wrong) <= FEW_WORDS and 2 * _wrong(guess, wrong, numbers) <= guess.present:
            words = ", ".join(repr(numbers[k]) for k in wrong)
            guess.note = f"numbers but for {words}: --numeric {guess.name} takes only numbers"
    if has_digits and (found := dates.format_of(list(levels)[:50])):
        style, ambiguous = found
        every = list(levels)
        wrong = dates.to_columns(every, style, ["days"])[1]
        if wrong and ambiguous:
            style, ambiguous = dates.other_order(style), False
            wrong = dates.to_columns(every, style, ["days"])[1]
        if _wrong(guess, wrong, every) <= TYPOS * guess.present:
            note = f"day/month, or month/day? --date {guess.name}={dates.other_order(style)}" if ambiguous else ""
            return replace(guess, role="date", style=style, note=note or _typos(guess, wrong, every))
    return None


def _of_many(guess: Guess) -> Guess:
    """A category, unless it is text, or nearly all of its levels occur once."""
    present, distinct = guess.present, len(guess.levels)
    if not ((distinct >= FEWEST_IDS and distinct == present) or (distinct > MANY and 2 * distinct > present)):
        return _as(guess, "category", guess.note)
    words = sum(len(level.split()) for level in guess.levels) / distinct
    long = sum(map(len, guess.levels)) / distinct > LONG
    role: Role = "text" if words >= 2 or long else "id"
    if role == "id" and sum(count == 1 for count in guess.levels.values()) <= ONCE * present:
        return _as(guess, "category", guess.note)
    return replace(guess, role=role, note=guess.note or f"{distinct:,} different in {present:,} rows")


def _regrouped(guess: Guess) -> Guess:
    """In a file with decimal commas, 1.234 is a number with thousands."""
    pointed = [level for level in guess.levels if "." in level]
    if guess.role != "number" or not pointed or not all(_GROUPED.fullmatch(level) for level in pointed):
        return guess
    return replace(guess, role="decimal", style=COMMA)


def _wrong(guess: Guess, wrong: Sequence[int], levels: Sequence[str]) -> int:
    """Rows that have one of these wrong levels."""
    return sum(guess.levels[levels[k]] for k in wrong)


def _typos(guess: Guess, wrong: Sequence[int], levels: Sequence[str]) -> str:
    count = _wrong(guess, wrong, levels)
    if count > 1:
        return f"{count:,} odd values, such as {levels[wrong[0]]!r}"
    return f"1 odd value: {levels[wrong[0]]!r}" if wrong else ""


def _is_nameless(name: str) -> bool:
    return not name or bool(_NAMELESS.fullmatch(name) or _ID.search(name))


def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None
