"""One column of a table on its way to numbers: what kind it is, and what has been learned of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, get_args

from pocketkernel._fields import Check, all_fields, is_count, is_flag, is_number, is_text, list_of
from pocketkernel._hash import hash_of
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import dates, values
from pocketkernel.stream.values import Floats, Texts

Kind = Literal["number", "decimal", "boolean", "date", "category"]
KINDS = get_args(Kind)
MOST_CATEGORIES = 1 << 16


@dataclass(slots=True)
class Feature:
    """One column of the table, and what has been learned of it.

    Attributes
    ----------
    name : str
    kind : {"number", "decimal", "boolean", "date", "category"}
        A decimal is a number that is written with a comma, thousands or a currency.
    style : str
        The decimal sign, followed by the unit if there is one, or the format of the dates.
    parts : sequence of str
        What is told of a date.
    places, spare : int
        Columns for levels of a category that have one of their own, and columns that further levels share.
    apart : bool
        Whether further levels have no column if there is none to share; otherwise they share those of the first levels.
    flag : bool
        Whether a further column says that the value is missing.
    categories : dict
        Place of each level that has its own.
    hashed : int
        How many rows had a level without a place of its own.
    total, count : number
        Sum and number of the values so far, for their mean.
    """

    name: str
    kind: Kind = "number"
    style: str = ""
    parts: Sequence[str] = ()
    places: int = 0
    spare: int = 0
    apart: bool = False
    flag: bool = False
    categories: dict[str, int] = field(default_factory=dict)
    hashed: int = 0
    total: float = 0.0
    count: int = 0

    @property
    def width(self) -> int:
        """Columns of a row, without the flag."""
        if self.kind == "category":
            return self.places + self.spare
        return len(dates.columns_of(self.parts)) if self.kind == "date" else 1

    @property
    def column_names(self) -> list[str]:
        """Names of its columns of a row."""
        names = [self.name]
        if self.kind == "category":
            names = [f"{self.name}#{k}" for k in range(1, self.width + 1)]
        elif self.kind == "date":
            names = [f"{self.name} {part}" for part in dates.columns_of(self.parts)]
        return names + ([f"{self.name} is missing"] if self.flag else [])

    @property
    def expected(self) -> str:
        """What its text should be."""
        if self.kind == "decimal":
            unit = f" in {self.style[1:]}" if self.style[1:] else ""
            return "a number" + (" with a decimal comma" if self.style[0] == values.COMMA else "") + unit
        return "true or false" if self.kind == "boolean" else f"a date as {self.style}"

    def numbers(self, texts: Texts) -> tuple[Floats, list[int]]:
        """Columns of the numbers that text stands for, NaN where they are missing, and the rows that have none."""
        if self.kind == "date":
            return dates.to_columns(texts, self.style, self.parts)
        found, wrong = values.to_booleans(texts) if self.kind == "boolean" else values.to_numbers(texts, self.style)
        return found[:, None], wrong

    def places_of(self, texts: Texts, *, frozen: bool) -> list[int]:
        """Place of each level: its own if it has one, or else one that its text decides; -1 if it has none.

        The place of a missing value is that of the flag, after those of the levels; -1 without a flag.
        """
        known: dict[str | None, int] = self.categories  # type: ignore[assignment]  # None is never among them
        if len(known) < self.places and not frozen:
            for text in dict.fromkeys(texts):
                if text not in known and text is not None and len(known) < self.places:
                    known[text] = len(known)
        places = [known.get(text, -1) for text in texts]
        if -1 not in places:
            return places
        absent = self.width if self.flag else -1
        for row, text in enumerate(texts):
            if text is None:
                places[row] = absent
            elif places[row] < 0:
                self.hashed += not frozen
                if self.spare:
                    places[row] = self.places + hash_of(text) % self.spare
                elif not self.apart:
                    places[row] = hash_of(text) % self.places
        return places

    def copy(self) -> "Feature":
        """A feature of its own that has learned the same."""
        made = Feature(*_fields_of(self))  # `replace` takes four times as long
        made.categories = dict(made.categories)
        return made

    def to_dict(self) -> dict[str, Any]:
        """What differs from a fresh column of numbers; categories in the order of their places."""
        used = {name: value for name, value in zip(_NAMES, _fields_of(self), strict=True) if value}
        if self.kind == "number":
            del used["kind"]
        return used | {name: list(used[name]) for name in ("parts", "categories") if name in used}

    @classmethod
    def from_dict(cls, written: Any, where: str) -> "Feature":
        """The feature that `to_dict` wrote."""
        self = cls(**{"name": "", **all_fields(written, where, _CHECKS)})
        self.categories = {text: place for place, text in enumerate(self.categories)}
        self._check(where)
        return self

    def _check(self, where: str) -> None:
        """Refuse fields that do not fit the kind."""
        is_category = self.kind == "category"
        if len(self.categories) > self.places:
            raise ModelFileError(f"{where}.categories are {len(self.categories)}, and {self.places} have a place.")
        if is_category != (self.places + self.spare > 0):
            raise ModelFileError(f"{where}.places cannot be {self.places} for a {self.kind}.")
        if self.apart and (self.spare or not is_category):
            raise ModelFileError(f"{where}.apart cannot be true for a {self.kind} with {self.spare} shared columns.")
        if self.kind == "decimal":
            good_style = values.is_style(self.style)
        else:
            good_style = dates.is_format(self.style) if self.kind == "date" else not self.style
        if not good_style:
            raise ModelFileError(f"{where}.style cannot be {self.style!r} for a {self.kind}.")
        if bool(self.parts) != (self.kind == "date") or len(set(self.parts)) < len(self.parts):
            raise ModelFileError(f"{where}.parts cannot be {self.parts} for a {self.kind}.")


_NAMES = [one.name for one in fields(Feature)]
_fields_of = attrgetter(*_NAMES)


def _is_kind(value: Any) -> bool:
    return value in KINDS


def _is_part(value: Any) -> bool:
    return value in dates.PARTS


def _are_places(value: Any) -> bool:
    return is_count(value) and value <= MOST_CATEGORIES


_are_texts = list_of(is_text)


def _are_categories(value: Any) -> bool:
    return _are_texts(value) and len(set(value)) == len(value)


_CHECKS: dict[str, Check] = {
    "name": is_text,
    "kind": _is_kind,
    "style": is_text,
    "parts": list_of(_is_part),
    "places": _are_places,
    "spare": _are_places,
    "apart": is_flag,
    "flag": is_flag,
    "categories": _are_categories,
    "hashed": is_count,
    "total": is_number,
    "count": is_count,
}
