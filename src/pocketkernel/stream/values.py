"""Text of a field as a number: missing values, Booleans, and numbers with decimal commas, thousands or currencies."""

import re
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Texts = Sequence[str | None]

MISSING_WORDS = frozenset(
    {"", "na", "n/a", "nan", "null", "(null)", "\\n", "?", "-", "--", "#n/a", "<na>"}
    | {"#ref!", "#div/0!", "#value!", "#num!", "#name?", "#null!"}  # of spreadsheets
)
"""Text that stands for a missing value where types are inferred (case-insensitive); the binding has the same list."""


def _spelled(words: Iterable[str]) -> frozenset[str | None]:
    """The words in all small and capital letters, and no text at all."""
    spelled = (product(*zip(word.lower(), word.upper(), strict=True)) for word in words)
    return frozenset({None, *map("".join, (letters for each in spelled for letters in each))})


NO_VALUE = _spelled(MISSING_WORDS)
"""All that stands for a missing value."""

NO_NUMBER = _spelled({*MISSING_WORDS, "none"})
"""The same in a column of numbers; in a category, "none" is a level."""

TRUE = frozenset({"true", "t", "yes", "y"})
FALSE = frozenset({"false", "f", "no", "n"})
BOOLEANS = TRUE | FALSE

POINT, COMMA = ".", ","
DECIMALS = (POINT, COMMA)

MINUS = "\u2212"
"""The typographic minus."""

_UNITS = r"(?:[$€£¥₹%]|usd|eur|gbp|chf|kr)"
_CURRENCY = re.compile(_UNITS, re.IGNORECASE)
_SPACES = "\u00a0\u202f\u2009\u2019 '"


def _form(decimal: str, other: str) -> re.Pattern[str]:
    """A number with this decimal sign; (5) and 5- are negative ones."""
    digits = (
        rf"(?=\d|{re.escape(decimal)}\d)(?:\d{{1,3}}(?:[{re.escape(other)}{_SPACES}]\d{{3}})+|\d*)"
        rf"(?:{re.escape(decimal)}\d*)?"
    )
    # Repetitions of white space have something between them: adjacent ones take quadratic time on text that fits none.
    unit, after = rf"(?:{_UNITS}\s*)?", rf"\s*{_UNITS}?"
    signed = rf"\s*{unit}(?:[-+{MINUS}]\s*)?{unit}{digits}(?:e[-+{MINUS}]?\d+)?{after}"
    return re.compile(
        rf"{signed}|\s*{unit}{digits}{after}[-{MINUS}]|\(\s*{unit}{digits}{after}\){after}", re.IGNORECASE
    )


_FORMS = {POINT: _form(POINT, COMMA), COMMA: _form(COMMA, POINT)}
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_REMOVED = re.compile(rf"{_UNITS}|[\s{_SPACES}()]", re.IGNORECASE)


_UNIT = re.compile(r"(?<=[\d.,])\s*((?:[^\W\d_]|[°µ/²³]){1,8})\Z")


def is_like_number(text: str) -> bool:
    """Whether text is a number with either decimal sign, with or without a unit."""
    return any(form.fullmatch(part) for form in _FORMS.values() for part in (text, _bare(text, _unit_in(text))))


def _unit_in(text: str) -> str:
    found = _UNIT.search(text)
    return found[1] if found else ""


def _bare(text: str, unit: str) -> str:
    return text.removesuffix(unit).rstrip() if unit else text


def unit_of(texts: Sequence[str]) -> str:
    """The unit that all of these texts end with; empty if there is none, or a currency.

    Examples
    --------
    >>> unit_of(["57.9 kg", "8 kg"]), unit_of(["8 kg", "9 lb"]), unit_of(["8", "9 m"])
    ('kg', '', '')
    """
    units = {_unit_in(text) for text in texts}
    unit = units.pop() if len(units) == 1 else ""
    return "" if _CURRENCY.fullmatch(unit) else unit


def is_style(style: str) -> bool:
    """Whether it says how numbers are written: the decimal sign, then the unit if they have one."""
    return style[:1] in DECIMALS and (len(style) == 1 or _unit_in(f"0{style[1:]}") == style[1:])


def decimal_of(texts: Sequence[str], usual: str = POINT, unit: str = "") -> str | None:
    """The decimal sign of numbers in these texts, "." or ","; None if they are not numbers with this unit.

    `usual` decides if both are possible, as in "1,234".

    Examples
    --------
    >>> decimal_of(["1,5", "1.234,50 €"]), decimal_of(["$1,200", "80"]), decimal_of(["12,34,56"])
    (',', '.', None)
    """
    texts = [_bare(text, unit) for text in texts]
    fits = [decimal for decimal in DECIMALS if all(_FORMS[decimal].fullmatch(text) for text in texts)]
    if len(fits) < 2:
        return fits[0] if fits else None
    with_comma = [text for text in texts if COMMA in text]
    if with_comma and not all(_THOUSANDS.search(text) for text in with_comma):
        return COMMA
    return usual if with_comma else POINT


def to_numbers(texts: Texts, style: str) -> tuple[Floats, list[int]]:
    """Numbers of texts, NaN where they are missing, and the rows that are neither; `style` as in `is_style`.

    Examples
    --------
    >>> to_numbers(["1.234,5 €", "-", "12 %", "x"], ",")
    (array([1234.5,    nan,   12. ,    nan]), [3])
    """
    decimal, unit = style[0], style[1:]
    form, other = _FORMS[decimal], COMMA if decimal == POINT else POINT
    numbers, wrong = np.full(len(texts), np.nan), []
    known: dict[str, float] = {}
    for row, text in enumerate(texts):
        if text is None:
            continue
        number = known.get(text)
        if number is None:
            if text in NO_NUMBER:
                number = np.nan
            elif form.fullmatch(bare := _bare(text, unit)):
                number = _number(bare, decimal, other)
            else:
                wrong.append(row)
                continue
            known[text] = number
        numbers[row] = number
    return numbers, wrong


def _number(text: str, decimal: str, other: str) -> float:
    plain = _REMOVED.sub("", text).replace(MINUS, "-").replace(other, "").replace(decimal, ".")
    return -float(plain.removesuffix("-")) if plain.endswith("-") or "(" in text else float(plain)


def negatives_agree(texts: Sequence[str]) -> bool:
    """Whether negative numbers in these texts are written in one way; (5) and 5- need others that are positive.

    Examples
    --------
    >>> negatives_agree(["(5)", "3"]), negatives_agree(["(5)", "(3)"]), negatives_agree(["5-", "-3"])
    (True, False, False)
    """
    odd = {"(" if "(" in text else "-" for text in texts if "(" in text or text.endswith(("-", MINUS))}
    if not odd:
        return True
    positive = [text for text in texts if "(" not in text and "-" not in text and MINUS not in text]
    signed = any(text.lstrip().startswith(("-", MINUS)) for text in texts)
    return len(odd) == 1 and not signed and len(positive) > 0


def are_booleans(levels: Sequence[str]) -> bool:
    """Whether these different texts are words for true and false."""
    words = {level.lower() for level in levels}
    return 0 < len(words) <= 2 and words <= BOOLEANS and len(words & TRUE) <= 1 and len(words & FALSE) <= 1


def to_booleans(texts: Texts) -> tuple[Floats, list[int]]:
    """1 for true, 0 for false, NaN where they are missing, and the rows that are none of these."""
    numbers, wrong = np.full(len(texts), np.nan), []
    for row, text in enumerate(texts):
        word = "" if text is None else text.lower()
        if word in BOOLEANS:
            numbers[row] = float(word in TRUE)
        elif text not in NO_NUMBER:
            wrong.append(row)
    return numbers, wrong
