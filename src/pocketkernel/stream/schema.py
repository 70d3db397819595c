"""What is made of each column of a table whose types are inferred, for people to read and to correct."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

from pocketkernel.stream import dates
from pocketkernel.stream.encode import Encoding, Missing, labels_of
from pocketkernel.stream.errors import listed
from pocketkernel.stream.feature import Feature, Kind
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.infer import FLAGGED, LEFT_OUT, Guess, Sample, as_kind, infer
from pocketkernel.stream.labels import Label, all_named, label_of, named
from pocketkernel.stream.leaks import leaks
from pocketkernel.stream.places import ALL, EACH, LEAST, Fits, Places, each_alone, in_room

FEW = 20  # values of a column that may be the label
SHORT = 24
Room = Callable[[int, int, Guess | None], Fits]
TRUTH = {"true", "false"}  # Booleans of JSON and Parquet

WHY = {"many": "levels", "id": "id", "text": "text", "constant": "constant", "empty": "empty", "list": "nested"}


@dataclass(frozen=True, slots=True)
class Column:
    """What is made of a column.

    Attributes
    ----------
    name : str
    role : str
        "label", "left out", or what kind of feature it is.
    encoded : str
        How it becomes numbers, or why it is left out.
    examples : str
        Some of its values.
    columns : int
        Columns that it takes of a row.
    """

    name: str
    role: str
    encoded: str
    examples: str
    columns: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Inferred:
    """What was inferred of a table.

    Attributes
    ----------
    columns : list of Column
    rows : int
        Number of rows that were looked at.
    whole : bool
        Whether they are all rows.
    labels : list of str
        Their labels.
    remarks : list of str
        What else was found in the file, such as comments before the table.
    leaks : list of str
        Columns from which the label can be read off.
    """

    columns: list[Column]
    rows: int
    whole: bool
    labels: list[str]
    remarks: list[str]
    leaks: list[str]


@no_search()
def plan(
    sample: Sample,
    *,
    label: Label,
    classes: Sequence[Any] | None,
    drop: Iterable[str | int],
    categorical: Iterable[str | int],
    numeric: Iterable[str | int],
    date: Iterable[str | int],
    id: str | int | None,
    missing: Missing,
    max_categories: int | None,
    hash_width: int | None,
    room: Room | None = None,
) -> tuple[Encoding, Inferred]:
    """Decide what becomes of each column: as the options say, otherwise as it looks.

    `room` tells how many columns of categories fit into a row, if that is limited, given how many it has without them
    and if each category has two, and what the column of the labels seems to be.
    """
    names = list(sample.texts)
    guesses = {guess.name: guess for guess in infer(sample)}
    target = named_label(label, names, guesses)
    key = None if id is None else named(id, names, "id")
    if key is not None and key == target:
        raise ValueError(f"id={key!r} is the column of the labels: choose another column.")
    for option, kind, given in (("categorical", "category", categorical), ("numeric", "number", numeric)):
        for name in all_named(given, names, option):
            guesses[name] = as_kind(guesses[name], kind)  # type: ignore[arg-type]
    for text in date:
        column, _, style = str(text).partition("=")
        name = named(text if isinstance(text, int) else column, names, "date")
        guesses[name] = as_kind(guesses[name], "date", style)
    dropped = all_named(drop, names, "drop") | ({key} if key else set())
    kept = [guesses[name] for name in names if name not in dropped and name != target]
    used = [guess for guess in kept if guess.role not in LEFT_OUT]
    if not used:
        if sample.rows < 2:
            how_many = "only one row" if sample.rows else "no rows"
            raise ValueError(f"the table has column names, but {how_many}.")
        why = "; ".join(f"{guess.name}: {WHY[guess.role]}, {guess.note}" for guess in kept[:10])
        why = f" ({why})" if why else ""
        raise ValueError(f"no column is left to learn from{why}: use categorical=NAME or numeric=NAME.")
    looks = None if target is None else guesses[target]
    if looks is not None and sample.rows and not looks.present:
        rows = f"{'all' if sample.whole else 'the first'} {sample.rows:,} rows"
        raise ValueError(f"the label column {target!r} is empty in {rows}: choose another column with label=.")
    is_number = looks is None or looks.role in ("number", "decimal") or (looks.name in sample.numbers)
    if looks is not None and looks.levels and looks.levels.keys() <= TRUTH:
        is_number = False  # of JSON and Parquet: answers are true and false as in the file, not 1 and 0
    decimal = looks.style if looks is not None and looks.role == "decimal" and is_number else ""
    if looks is not None and looks.closed:
        classes, is_number = classes or list(looks.levels), False
    known, is_number = labels_of(classes, is_number)
    features = {guess.name: _feature(guess, missing != "error") for guess in used}
    categories = [guess for guess in used if guess.role == "category"]
    if max_categories is not None:
        places = [each_alone(guess, sample.whole, max_categories, hash_width) for guess in categories]
    else:
        others = sum(feature.width + feature.flag for feature in features.values())
        fits = (
            partial(_usual, len(categories)) if room is None else room(others, others + LEAST * len(categories), looks)
        )
        places = in_room(categories, sample.rows, sample.whole, fits, hash_width)
    _place(features, categories, places, all_named(categorical, names, "categorical"))
    made = Encoding(
        list(features.values()), target, is_number, decimal if is_number else "", known, missing, words=True, id=key
    ).checked()
    columns = [
        _described(guesses[name], features.get(name), name == target, name == key, name in dropped) for name in names
    ]
    labels = [] if looks is None else list(looks.levels.elements())
    found = [] if looks is None else leaks(looks, [guesses[name] for name in features], sample)
    return made, Inferred(columns, sample.rows, sample.whole, labels, [*sample.remarks], found)


def named_label(label: Label, names: list[str], guesses: dict[str, Guess]) -> str | None:
    """The column of the labels; if it is not given, an error that says which it could be."""
    if label is not None:
        return label_of(label, names)
    try:
        return label_of(label, names)
    except ValueError:
        likely = _likely_label(names, guesses)
        values = guesses[likely].levels
        shown = ", ".join(short(value) for value in list(values)[:4]) + (", ..." if len(values) > 4 else "")
        raise ValueError(
            f"which column has the labels? It could be {likely!r} (values: {shown}): give label={likely}, or another "
            f"of the columns {listed(names)}."
        ) from None


_LIKELY = re.compile(
    r"target|label|class|outcome|survived|species|churn|default|fraud|status|result|response|diagnosis|type|price",
    re.IGNORECASE,
)


def _likely_label(names: list[str], guesses: dict[str, Guess]) -> str:
    """The column that most people would take for the label."""
    few = [name for name in names if 2 <= len(guesses[name].levels) <= FEW]
    called = [name for name in few if _LIKELY.search(name)]
    if called:
        return called[0]
    return names[-1] if names[-1] in few or not few else few[-1]


def _feature(guess: Guess, flags: bool) -> Feature:
    """A feature that has no places yet if it is a category."""
    kind: Kind = guess.role  # type: ignore[assignment]
    parts = dates.parts_of(guess.style, list(guess.levels)) if kind == "date" else []
    style = guess.style if kind in ("decimal", "date") else ""
    return Feature(guess.name, kind, style=style, parts=parts, flag=flags and guess.missing >= FLAGGED)


def _usual(categories: int, columns: int, _: float) -> bool:
    """What fits where nobody says how much room there is."""
    return columns <= min(EACH * categories, ALL)


def _place(features: dict[str, Feature], guesses: Sequence[Guess], places: Sequence[Places], asked: set[str]) -> None:
    """Give categories their places; without any they are left out, unless they were asked for or are all there is."""
    needed = len(guesses) == len(features) and not any(found.width for found in places)
    for guess, found in zip(guesses, places, strict=True):
        if not found.width and not needed and guess.name not in asked:
            del features[guess.name]
            guess.role, guess.note = "many", f"{len(guess.levels):,} different, none in enough rows for a column"
            continue
        feature = features[guess.name]
        feature.places, feature.spare = found.own, found.shared if found.width else LEAST
        feature.apart = not feature.spare
        feature.categories = {level: place for place, level in enumerate(found.levels)}


def _described(guess: Guess, feature: Feature | None, is_label: bool, is_id: bool, is_dropped: bool) -> Column:
    examples = ", ".join(map(short, guess.examples))
    if is_label:
        return Column(guess.name, "label", _plural(len(guess.levels), "different value"), examples)
    if is_id:
        return Column(guess.name, "id", "kept beside the answers", examples)
    if feature is None:
        why = "as asked" if is_dropped else f"{WHY[guess.role]}: {guess.note}"
        return Column(guess.name, "left out", why, examples)
    encoded = _encoded(feature, guess)
    if feature.flag:
        encoded += f", and whether it is missing ({guess.missing:.0%})"
    elif guess.missing:
        encoded += f", {max(guess.missing, 0.001):.1%} missing"
    encoded += f" ({guess.note})" if guess.note else ""
    role = "number" if feature.kind == "decimal" else feature.kind
    if feature.kind == "number" and guess.examples and TRUTH.issuperset(guess.examples):
        role, encoded = "boolean", encoded.replace("as it is", "0 or 1", 1)
    return Column(guess.name, role, encoded, examples, feature.width + feature.flag)


def _encoded(feature: Feature, guess: Guess) -> str:
    if feature.kind == "category":
        return _of_levels(len(guess.levels), feature)
    if feature.kind == "date":
        return f"{', '.join(feature.parts)} ({feature.style})"
    if feature.kind == "decimal":
        sign, unit = feature.style[0], feature.style[1:]
        if unit:
            return f"as it is{', decimal comma' if sign == ',' else ''}, in {unit}"
        return "as it is" + (", decimal comma" if sign == "," else ", without currency or thousands signs")
    return "as it is" if feature.kind == "number" else "0 or 1"


def _of_levels(levels: int, feature: Feature) -> str:
    """How the levels of a category share its columns."""
    own = min(levels, feature.places)
    if own == levels:
        later = f", later ones share {feature.spare}" if feature.spare else ""
        return f"{_plural(levels, 'level')} in {_plural(feature.places, 'column')}{later}"
    rest = f"{levels - own:,} share {feature.spare}" if feature.spare else f"{levels - own:,} in none"
    return f"{_plural(levels, 'level')}: " + (f"{own:,} in a column each, " if own else "") + rest


@cache
def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def short(text: str) -> str:
    """A value that fits into a table.

    Examples
    --------
    >>> short("Braund, Mr. Owen Harris (of Devon)")
    'Braund, Mr. Owen Harr...'
    """
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."
