"""From named columns to rows of numbers: labels, dropped columns, categories, missing values.

The width of a row is known before the first row. What is learned from the rows (the column of each category, the mean
of a column so far) depends only on earlier rows.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pocketkernel._fields import Fields, is_count, is_flag, is_number, is_text, list_of, optional
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream.block import Piece
from pocketkernel.stream.errors import Skipped, StreamError, shown
from pocketkernel.stream.labels import (
    Label,
    all_named,
    as_labels,
    expected_label,
    label_of,
    plain_classes,
    rows_until,
)
from pocketkernel.stream.table import Floats, Schema, Table, Texts

Missing = Literal["error", "mean"]
MISSING = "a value (or missing='mean')"
MOST_CATEGORIES = 1 << 16
WIDEST = 1_000_000  # as the core has it


@dataclass
class Feature:
    """One column of the table, and what has been learned of it."""

    name: str
    categorical: bool
    categories: dict[str, int] = field(default_factory=dict)
    hashed: int = 0
    total: float = 0.0
    count: int = 0

    def to_dict(self) -> dict[str, Any]:
        """What differs from a fresh column of numbers; categories in the order of their places."""
        used = {one.name: getattr(self, one.name) for one in fields(self)}
        used["categories"] = list(self.categories)
        return {name: value for name, value in used.items() if value}

    @classmethod
    def from_dict(cls, written: Any, where: str) -> "Feature":
        """The feature that `to_dict` wrote."""
        given = Fields(written, where)
        self = cls(
            given.take("name", is_text, ""),
            given.take("categorical", is_flag, False),
            {text: place for place, text in enumerate(given.take("categories", _are_categories, []))},
            given.take("hashed", is_count, 0),
            given.take("total", is_number, 0.0),
            given.take("count", is_count, 0),
        )
        given.end()
        if self.categories and not self.categorical:
            raise ModelFileError(f"{where} has categories, and is a column of numbers.")
        return self


@dataclass
class Encoding:
    """How the columns of a table become a row of numbers. Can be written to JSON and read back.

    Attributes
    ----------
    features : list of Feature
        In the order of the row.
    label : str or None
        Name of the column with the labels.
    label_is_number : bool
    classes : list or None
        All labels, if they were given.
    missing : {"error", "mean"}
    max_categories, hash_width : int
        Number of columns for the first categories, and of further columns for the others.
    frozen : bool
        Whether new rows no longer change the encoding.
    """

    features: list[Feature]
    label: str | None = None
    label_is_number: bool = True
    classes: list[Any] | None = None
    missing: Missing = "error"
    max_categories: int = 32
    hash_width: int = 0
    frozen: bool = False

    @classmethod
    def plan(
        cls,
        schema: Schema,
        *,
        label: Label,
        classes: Sequence[Any] | None,
        drop: Iterable[str | int],
        categorical: Iterable[str | int] | Literal["auto"],
        missing: Missing,
        max_categories: int,
        hash_width: int,
    ) -> "Encoding":
        """Decide what becomes of each column."""
        names = schema.names
        dropped = all_named(drop, names, "drop")
        by_name = set() if categorical == "auto" else all_named(categorical, names, "categorical")
        target = label_of(label, names)
        numeric = dict(zip(names, schema.numeric, strict=True))
        kept = [name for name in names if name not in dropped and name != target]
        if not kept:
            raise ValueError("all columns were dropped: drop fewer columns.")
        features = [Feature(name, name in by_name or (categorical == "auto" and not numeric[name])) for name in kept]
        known = None if classes is None else plain_classes(classes)
        if known is not None and target is not None and not numeric[target]:
            known = [str(name) for name in classes or []]
        is_number = target is None or (numeric[target] if known is None else not isinstance(known[0], str))
        made = cls(features, target, is_number, known, missing, max_categories, hash_width)
        if made.n_features > WIDEST:
            raise ValueError(
                f"the encoded rows would have {made.n_features:,} columns, more than {WIDEST:,}: use fewer categories "
                "(max_categories, hash_width), or drop columns."
            )
        return made

    # ---- the shape of a row -----------------------------------------------------------------------------------------

    def kinds(self) -> dict[str, str]:
        """What to read of each column: a number (n) or text (t)."""
        kinds = {feature.name: "t" if feature.categorical else "n" for feature in self.features}
        if self.label is not None:
            kinds[self.label] = "n" if self.label_is_number else "t"
        return kinds

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of a row."""
        names: list[str] = []
        for feature in self.features:
            if feature.categorical:
                names += [f"{feature.name}#{k}" for k in range(1, self._places + 1)]
            else:
                names.append(feature.name)
            if self.missing == "mean":
                names.append(f"{feature.name} is missing")
        return names

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self._widths().sum())

    def _widths(self) -> npt.NDArray[np.int64]:
        """Number of columns of a row for each feature."""
        places, indicator = self._places, int(self.missing == "mean")
        return np.array([(places if feature.categorical else 1) + indicator for feature in self.features])

    @property
    def _places(self) -> int:
        return self.max_categories + self.hash_width

    @property
    def hashed(self) -> dict[str, int]:
        """For each categorical column, how many rows had a category without a place of its own."""
        return {feature.name: feature.hashed for feature in self.features if feature.categorical}

    # ---- rows -------------------------------------------------------------------------------------------------------

    def encode(
        self, table: Table, skipped: Skipped, dtype: npt.DTypeLike = np.float64, most: int | None = None
    ) -> Piece:
        """Rows and labels of a table; what cannot be used is reported, and left out. No more than `most` rows."""
        numeric = [feature for feature in self.features if not feature.categorical]
        numbers = table.columns([feature.name for feature in numeric])
        good = self._good(table, numbers, skipped, most)
        if not good.all():
            table, numbers = table.take(good, []), numbers[good]
        y = self._labels(table.column(self.label)) if self.label is not None and self.label in table else None
        if len(numeric) == len(self.features) and self.missing == "error":
            return Piece(numbers.astype(dtype), y, table.file, lines=table.lines)
        X = np.zeros((len(table), self.n_features), dtype)
        widths = self._widths()
        starts = np.cumsum(widths) - widths
        is_text = np.array([feature.categorical for feature in self.features])
        # All columns of text in one assignment: a few array operations for each would take most of the time of a table
        # of many columns and few rows.
        texts = [self._categories(one, table.texts[one.name]) for one in self.features if one.categorical]
        X[np.arange(len(table)), starts[is_text, None] + np.array(texts, np.int64).reshape(-1, len(table))] = 1
        places = starts[~is_text]
        if self.missing == "mean":
            absent = np.isnan(numbers)
            X[:, places], X[:, places + 1] = self._mean_so_far(numeric, numbers, absent), absent
        else:
            X[:, places] = numbers
        return Piece(X, y, table.file, lines=table.lines)

    def _categories(self, feature: Feature, values: Texts) -> list[int]:
        """Place of each category: its own if it was among the first, or else one that its text decides.

        The place of a missing value is the indicator, which follows those of the categories.
        """
        known: dict[str | None, int] = feature.categories  # type: ignore[assignment]
        places = [known.get(value, -1) for value in values]
        if -1 not in places:
            return places
        for row, value in enumerate(values):
            if value is None:
                places[row] = self._places
            elif value in known:
                places[row] = known[value]
            elif len(known) < self.max_categories and not self.frozen:
                places[row] = known[value] = len(known)
            else:
                feature.hashed += 1
                place = zlib.crc32(value.encode("utf-8", "surrogatepass"))
                width = self.hash_width
                places[row] = self.max_categories + place % width if width else place % self._places
        return places

    def _mean_so_far(self, features: list[Feature], values: Floats, absent: npt.NDArray[np.bool_]) -> Floats:
        """Values with the mean of those before in place of the missing ones, by column; 0 if there are none."""
        total = np.array([feature.total for feature in features])
        count = np.array([feature.count for feature in features], np.int64)
        if self.frozen:
            return np.where(absent, total / np.maximum(count, 1), values)
        # Sums are carried on one by one, so that the size of the blocks changes no bit.
        totals = np.cumsum(np.concatenate([total[None], np.where(absent, 0.0, values)]), axis=0)
        counts = np.cumsum(np.concatenate([count[None], ~absent]), axis=0)
        filled = np.where(absent, totals[:-1] / np.maximum(counts[:-1], 1), values)
        for feature, last, seen in zip(features, totals[-1].tolist(), counts[-1].tolist(), strict=True):
            feature.total, feature.count = last, seen
        return filled

    def _labels(self, values: Floats | Texts) -> npt.NDArray[Any]:
        return np.array(values, dtype=str) if isinstance(values, list) else as_labels(values, self.classes)

    # ---- what cannot be used ----------------------------------------------------------------------------------------

    def _good(self, table: Table, numbers: Floats, skipped: Skipped, most: int | None) -> npt.NDArray[np.bool_]:
        """The first `most` rows that can be used. Others before their last are reported in order, each once."""
        bad = self._bad(table, numbers)
        good = np.ones(len(table), bool)
        good[list(bad)] = False
        stop = rows_until(good, most)
        full = most is not None and good.sum() >= most
        good[stop:] = False
        faults = [fault for fault in table.faults if not full or (fault.line or 0) < table.lines[stop - 1]]
        for row, (place, expected, found) in bad.items():
            if row < stop:
                name, line = str(self.label) if place < 0 else self.features[place].name, int(table.lines[row])
                faults.append(StreamError(expected, found, file=table.file, line=line, field=name, unit=table.unit))
        for fault in sorted(faults, key=lambda fault: fault.line or 0):
            skipped.report(fault)
        return good

    def _bad(self, table: Table, numbers: Floats) -> dict[int, tuple[int, str, str]]:
        """Of each row that cannot be used: place of the first such column, -1 for the label; what is wrong there."""
        bad: dict[int, tuple[int, str, str]] = {}

        def note(row: int, place: int, expected: str, found: str) -> None:
            if row not in bad or place < bad[row][0]:
                bad[row] = (place, expected, found)

        if self.label is not None and self.label in table:
            for row, label in self._wrong_labels(table.column(self.label)).items():
                if label is None:
                    note(row, -1, "a label", "none")
                else:
                    note(row, -1, expected_label(self.classes), shown(label))
        places = [place for place, feature in enumerate(self.features) if not feature.categorical]
        wrong = ~np.isfinite(numbers) if self.missing == "error" else np.isinf(numbers)
        for row in np.flatnonzero(wrong.any(axis=1)).tolist():
            first = int(np.argmax(wrong[row]))
            if np.isnan(numbers[row, first]):
                note(row, places[first], MISSING, "none")
            else:
                note(row, places[first], "a finite number", "infinity")
        if self.missing == "error":
            for place, feature in enumerate(self.features):
                if feature.categorical and None in table.texts[feature.name]:
                    for row, value in enumerate(table.texts[feature.name]):
                        if value is None:
                            note(row, place, MISSING, "none")
        return bad

    def _wrong_labels(self, values: Floats | Texts) -> dict[int, str | None]:
        """Labels by row that are missing, or none of the classes."""
        known = set(self.classes or [])
        if isinstance(values, list):
            return {k: value for k, value in enumerate(values) if value is None or (known and value not in known)}
        wrong = np.flatnonzero(~np.isin(values, list(known)) if known else ~np.isfinite(values)).tolist()
        return {k: None if np.isnan(values[k]) else f"{values[k]:g}" for k in wrong}

    # ---- as JSON ----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, in a form that `json.dumps` takes. What a feature does not use is left out."""
        written = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("features", "frozen")}
        return written | {"features": [feature.to_dict() for feature in self.features]}

    def copy(self) -> "Encoding":
        """An encoding of its own that has learned the same."""
        features = [Feature(**{**vars(one), "categories": dict(one.categories)}) for one in self.features]
        return replace(self, features=features)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Encoding":
        """The encoding that `to_dict` wrote, frozen: rows change nothing any more. ModelFileError if it is not one."""
        given = Fields(state, "encoding")
        self = cls(
            [
                Feature.from_dict(one, f"encoding.features[{k}]")
                for k, one in enumerate(given.take("features", _is_some))
            ],
            given.take("label", optional(is_text)),
            given.take("label_is_number", is_flag),
            given.take("classes", optional(_are_classes)),
            given.take("missing", lambda value: value in get_args(Missing)),
            given.take("max_categories", lambda value: is_count(value) and 0 < value <= MOST_CATEGORIES),
            given.take("hash_width", lambda value: is_count(value) and value <= MOST_CATEGORIES),
            frozen=True,
        )
        given.end()
        if self.n_features > WIDEST:
            raise ModelFileError(f"encoding makes rows of {self.n_features:,} columns, more than {WIDEST:,}.")
        names = [feature.name for feature in self.features]
        if len({*names, self.label}) <= len(names):
            raise ModelFileError("encoding.features names a column twice, or the label.")
        for k, feature in enumerate(self.features):
            if len(feature.categories) > self.max_categories:
                raise ModelFileError(
                    f"encoding.features[{k}].categories are {len(feature.categories)}, and {self.max_categories} have "
                    "a place."
                )
        return self


def _is_some(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def _are_categories(value: Any) -> bool:
    return list_of(is_text)(value) and len(set(value)) == len(value)


def _are_classes(value: Any) -> bool:
    return (list_of(is_text)(value) or list_of(is_number)(value)) and len(set(value)) == len(value) >= 2
