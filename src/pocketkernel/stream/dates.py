"""Dates and times as a few numbers: the days since 1970, and places on the circles of the year, week and day."""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import product

import numpy as np

from pocketkernel.stream.values import NO_NUMBER, Floats, Texts

ISO = "ISO"
_DATES = (
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%y", "%m/%d/%y",
    "%d.%m.%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d. %b %Y", "%d de %b de %Y", "%b %d, %Y", "%b %d %Y", "%b-%d-%Y",
    "%d %b %y", "%b %d %y",
)  # fmt: skip
_MONTHS = ("%b-%Y", "%b %Y", "%m/%Y", "%Y-%m", "%b-%y")
_HOURS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")
_HALF_DAYS = ("%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
_TIMES = _HOURS + _HALF_DAYS
_LOGS = (
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %H:%M:%S %z %Y",
    "%d/%b/%Y:%H:%M:%S %z",
)
COMPACT = "%Y%m%d"
FORMATS = (
    ISO, *_DATES, *(f"{date} {time}" for date, time in product(_DATES, _HOURS)),
    # Where the clock has twelve hours, months come before days.
    *(f"{date} {time}" for date, time in product(sorted(("%Y-%m-%d", *_DATES), key=lambda d: d[1] == "d"), _HALF_DAYS)),
    *_LOGS, *_MONTHS, *_TIMES,
)  # fmt: skip
"""How dates are written, for `datetime.strptime`; the first that fits a column is taken."""

PARTS = ("days", "year", "week", "day")
"""What can be told of a date: a number, and places on circles."""

_SIGNS = {
    "%d": r"\d{1,2}", "%m": r"\d{1,2}", "%Y": r"\d{4}", "%y": r"\d{2}", "%b": r"[^\W\d_]+\.?", "%B": r"[^\W\d_]+\.?",
    "%H": r"\d{1,2}", "%I": r"\d{1,2}", "%M": r"\d{1,2}", "%S": r"\d{1,2}", "%f": r"\d{1,6}", "%p": r"[aApP][mM]",
    "%a": r"[^\W\d_]+", "%z": r"[-+]\d{2}:?\d{2}", " ": r"\s+",
}  # fmt: skip
_SHAPES = {
    form: re.compile("\\d{4}-.+" if form == ISO else re.sub(r"%\w| |\.", lambda sign: _SIGNS.get(sign[0], r"\."), form))
    for form in FORMATS
}
"""What text in a format looks like: `strptime` takes up to a millisecond to say no."""
_ANY_SHAPE = re.compile("|".join(f"(?:{shape.pattern})" for shape in _SHAPES.values()))
_SEPARATED = re.compile(r"[-/.:\s]")  # as all of them are, which is soon seen
LONGEST = 40

_LANGUAGES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
jänner feber marts april maj juni juli augusti september oktober november desember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
"""
"""Names of the months: in English, German, Austrian and Scandinavian, French, Spanish, Italian, Portuguese, Dutch."""

_WORD = re.compile(r"([^\W\d_]+)(?:\.(?=\s|$))?")
_MONTH = re.compile(r"%[bB](?:\.(?=\s|$))?")

_ORIGIN = datetime(1970, 1, 1)
_DAY = 86_400.0
_YEAR = 365.2425


def format_of(texts: Sequence[str]) -> tuple[str, bool] | None:
    """The format of dates in these texts, and whether another order of day and month fits as well.

    Examples
    --------
    >>> format_of(["2020-01-31", "2021-05-01T10:00"]), format_of(["31/12/2019"]), format_of(["Dec-2015"])
    (('ISO', False), ('%d/%m/%Y', False), ('%b-%Y', False))
    >>> format_of(["12. Juni 1998"]), format_of(["6/12/98 3:07 PM"])
    (('%d. %b %Y', False), ('%m/%d/%y %I:%M %p', True))
    >>> format_of(["01/02/2020"]), format_of(["red"])
    (('%d/%m/%Y', True), None)
    """
    if not texts or not all(map(is_like_date, texts)):
        return None
    fits = [format for format, shape in _SHAPES.items() if shape.fullmatch(texts[0]) and _fits(texts[0], format)]
    fits = [format for format in fits if all(_fits(text, format) for text in texts)]
    return (fits[0], fits[0] != other_order(fits[0]) in fits) if fits else None


def other_order(format: str) -> str:
    """The format with month and day exchanged.

    Examples
    --------
    >>> other_order("%d/%m/%Y %H:%M"), other_order("%m-%d-%Y")
    ('%m/%d/%Y %H:%M', '%d-%m-%Y')
    """
    return re.sub(r"%([dm])([-/])%([dm])", r"%\3\2%\1", format)


def is_like_date(text: str) -> bool:
    """Whether text looks as in one of the formats."""
    return len(text) <= LONGEST and _SEPARATED.search(text) is not None and _ANY_SHAPE.fullmatch(text) is not None


def is_format(format: str) -> bool:
    """Whether dates can be written and read in this format.

    Examples
    --------
    >>> is_format("%d/%m/%Y"), is_format("ISO"), is_format("%Y%Y"), is_format("day")
    (True, True, False, False)
    """
    if format == ISO:
        return True
    try:
        datetime.strptime(_ORIGIN.strftime(format), format)
    except (ValueError, re.error):  # a directive that is unknown or occurs twice
        return False
    return "%" in format


def parts_of(format: str, texts: Sequence[str]) -> list[str]:
    """What is told of dates in this format: days, and circles of year, week and day, as far as the texts have them."""
    if format in _TIMES:
        return ["day"]
    has_day, has_time = format not in _MONTHS, "%H" in format or "%I" in format
    if format == ISO:
        has_time = any(len(text) > 10 and not text.endswith(("T00:00:00", " 00:00:00")) for text in texts)
    return ["days", "year", *(["week"] if has_day else []), *(["day"] if has_time else [])]


def columns_of(parts: Sequence[str]) -> list[str]:
    """Names of the numbers of a date.

    Examples
    --------
    >>> columns_of(["days", "week"])
    ['days', 'week sin', 'week cos']
    """
    return [name for part in parts for name in ([part] if part == "days" else [f"{part} sin", f"{part} cos"])]


def to_columns(texts: Texts, format: str, parts: Sequence[str]) -> tuple[Floats, list[int]]:
    """The numbers of each date, NaN where it is missing, and the rows that are not dates."""
    columns, wrong = np.full((len(texts), len(columns_of(parts))), np.nan), []
    for row, text in enumerate(texts):
        if text is None:
            continue
        numbers = _numbers(text, format, tuple(parts)) if len(text) <= LONGEST + len(format) else None
        if numbers is not None:
            columns[row] = numbers
        elif text not in NO_NUMBER:
            wrong.append(row)
    return columns, wrong


@lru_cache(maxsize=1 << 14)
def _numbers(text: str, format: str, parts: tuple[str, ...]) -> tuple[float, ...] | None:
    moment = _parsed(text, format)
    if moment is None:
        return None
    days = (moment - _ORIGIN).total_seconds() / _DAY
    turns = {"year": days / _YEAR, "week": days / 7, "day": days % 1}
    numbers: list[float] = []
    for part in parts:
        if part == "days":
            numbers.append(days)
        else:
            angle = 2 * math.pi * (turns[part] % 1)
            numbers += [math.sin(angle), math.cos(angle)]
    return tuple(numbers)


def _bare(word: str) -> str:
    """A word in small letters, without accents."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(sign))


def _month_names() -> tuple[dict[str, str], dict[str, str]]:
    """Number of each month by its name or the beginning of it; and by its name or first three letters in English.

    The number is between spaces, as the format has it then, so that it is apart from those of day and year.
    """
    names: dict[str, int] = {}
    english: dict[str, str] = {}
    languages = [line.split() for line in _LANGUAGES.split("\n") if line]
    for number, same in enumerate(zip(*languages, strict=True), 1):
        english |= dict.fromkeys((same[0], same[0][:3]), f" {number:02} ")
        for name in map(_bare, same):
            for short in (name[:end] for end in range(3, len(name) + 1)):
                other = names.setdefault(short, number)
                names[short] = number if other == number else 0
    return {name: f" {number:02} " for name, number in names.items() if number}, english


_MONTH_NAMES, _ENGLISH = _month_names()


def _parsed(text: str, format: str) -> datetime | None:
    try:
        if format == ISO:
            if "-" not in text[:5] or not text[:4].isdecimal() or "W" in text:
                return None  # what else `fromisoformat` reads are numbers
            moment = datetime.fromisoformat(text.removesuffix(" UTC"))
        elif "%b" in format or "%B" in format:
            months = _MONTH_NAMES if "%d" in format and "%Y" in format else _ENGLISH  # "5 set 12" may be anything
            text = _WORD.sub(lambda word: months.get(_bare(word[1]), word[0]), text)
            moment = datetime.strptime(text, _MONTH.sub(" %m ", format))
        else:
            moment = datetime.strptime(text, format)
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None


def _fits(text: str, format: str) -> bool:
    return _parsed(text, format) is not None
