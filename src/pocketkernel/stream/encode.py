"""From named columns to rows of numbers: labels, dropped columns, categories, dates, missing values.

The width of a row is known before the first row. What is learned from the rows (the column of each category, the mean
of a column so far) depends only on earlier rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pocketkernel._fields import Fields, is_count, is_flag, is_number, is_text, list_of, optional
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream.block import Piece
from pocketkernel.stream.errors import Skipped, StreamError, shown
from pocketkernel.stream.feature import Feature
from pocketkernel.stream.garbage import no_search
from pocketkernel.stream.labels import (
    Label,
    admitted,
    all_named,
    as_labels,
    expected_label,
    label_of,
    plain_classes,
    rows_until,
)
from pocketkernel.stream.places import MAX_CATEGORIES
from pocketkernel.stream.table import Schema, Table
from pocketkernel.stream.values import NO_VALUE, Floats, Texts, is_style, to_numbers

Missing = Literal["error", "mean", "keep"]
MISSING = "a value (or missing='mean')"
WIDEST = 1_000_000  # as the core has it
VERSION = 2  # of an encoding that is written down
_NOT_WRITTEN = ("features", "frozen", "room")
Bad = dict[int, tuple[int, str, str]]  # by row: place of the first column that is wrong, -1 for the label; what is


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
    label_decimal : str
        The decimal sign of labels that are written with commas, thousands or currencies; otherwise empty.
    classes : list or None
        All labels, if they were given.
    missing : {"error", "mean", "keep"}
        What becomes of a missing number: an error, the mean of those before, or NaN.
    words : bool
        Whether words such as NA stand for missing values in categories and labels, too.
    id : str or None
        Name of the column that says which row it is.
    frozen : bool
        Whether new rows no longer change the encoding.
    room : int
        How many labels there may be: while `classes` are fewer, others are added to them as they arrive.
    """

    features: list[Feature]
    label: str | None = None
    label_is_number: bool = True
    label_decimal: str = ""
    classes: list[Any] | None = None
    missing: Missing = "error"
    words: bool = False
    id: str | None = None
    frozen: bool = False
    room: int = 0

    @classmethod
    @no_search()
    def plan(
        cls,
        schema: Schema,
        *,
        label: Label,
        classes: Sequence[Any] | None,
        drop: Iterable[str | int],
        categorical: Iterable[str | int] | Literal["auto"],
        missing: Missing,
        max_categories: int | None,
        hash_width: int | None,
    ) -> "Encoding":
        """Decide what becomes of each column, as the options say."""
        names = schema.names
        dropped = all_named(drop, names, "drop")
        by_name = set() if categorical == "auto" else all_named(categorical, names, "categorical")
        target = label_of(label, names)
        numeric = dict(zip(names, schema.numeric, strict=True))
        kept = [name for name in names if name not in dropped and name != target]
        flag = missing == "mean"
        features = [
            Feature(name, "category", places=max_categories or MAX_CATEGORIES, spare=hash_width or 0, flag=flag)
            if name in by_name or (categorical == "auto" and not numeric[name])
            else Feature(name, flag=flag)
            for name in kept
        ]
        known, is_number = labels_of(classes, target is None or numeric[target])
        return cls(features, target, is_number, "", known, missing).checked()

    def checked(self) -> "Encoding":
        """The same, or an error if its rows are too narrow or too wide."""
        if not self.features:
            raise ValueError("all columns were dropped: drop fewer columns.")
        if self.n_features > WIDEST:
            raise ValueError(
                f"the encoded rows would have {self.n_features:,} columns, more than {WIDEST:,}: use fewer categories "
                "(max_categories, hash_width), or drop columns."
            )
        return self

    # ---- the shape of a row -----------------------------------------------------------------------------------------

    def kinds(self) -> dict[str, str]:
        """What to read of each column: a number (n) or text (t)."""
        kinds = {feature.name: "n" if feature.kind == "number" else "t" for feature in self.features}
        if self.id is not None:
            kinds[self.id] = "t"
        if self.label is not None:
            kinds[self.label] = "n" if self.label_is_number and not self.label_decimal else "t"
        return kinds

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of a row."""
        return [name for feature in self.features for name in feature.column_names]

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self._widths.sum())

    @cached_property
    def _widths(self) -> npt.NDArray[np.int64]:
        """Number of columns of each feature."""
        return np.array([feature.width + feature.flag for feature in self.features], np.int64)

    @property
    def hashed(self) -> dict[str, int]:
        """For each categorical column, how many rows had a category without a place of its own."""
        return {feature.name: feature.hashed for feature in self.features if feature.kind == "category"}

    # ---- rows -------------------------------------------------------------------------------------------------------

    @no_search()
    def encode(
        self, table: Table, skipped: Skipped, dtype: npt.DTypeLike = np.float64, most: int | None = None
    ) -> Piece:
        """Rows and labels of a table; what cannot be used is reported, and left out. No more than `most` rows."""
        plain = [feature for feature in self.features if feature.kind == "number"]
        numbers = table.columns([feature.name for feature in plain])
        bad: Bad = {}
        if self.words:
            table = self._without_words(table)
        written = self._written(table, bad)
        self._note_missing(table, numbers, bad)
        labels = self._labels(table, bad)
        good = self._good(table, bad, skipped, most)
        if not good.all():
            table, numbers = table.take(good, []), numbers[good]
            labels = None if labels is None else labels[good]
            written = {place: found[good] for place, found in written.items()}
        ids = None if self.id is None or self.id not in table else [text or "" for text in table.texts[self.id]]
        if len(plain) == len(self.features) and not any(feature.flag for feature in plain):
            X = self._filled(plain, numbers).astype(dtype)
        else:
            X = self._rows(table, plain, numbers, written, dtype)
        y = None if labels is None else self._typed(labels)
        return Piece(X, y, table.file, ids=ids, lines=table.lines)

    def _rows(
        self, table: Table, plain: list[Feature], numbers: Floats, written: dict[int, Floats], dtype: npt.DTypeLike
    ) -> npt.NDArray[Any]:
        """The columns of the features, side by side."""
        X = np.zeros((len(table), self.n_features), dtype)
        starts = np.cumsum(self._widths) - self._widths
        places = starts[[feature.kind == "number" for feature in self.features]]
        X[:, places] = self._filled(plain, numbers)
        if flagged := [k for k, feature in enumerate(plain) if feature.flag]:
            X[:, places[flagged] + 1] = np.isnan(numbers[:, flagged])
        # All categories in one assignment: a few array operations for each would take most of the time of a table of
        # many columns and few rows.
        levels = [(at, one) for at, one in zip(starts.tolist(), self.features, strict=True) if one.kind == "category"]
        found = [one.places_of(table.texts[one.name], frozen=self.frozen) for _, one in levels]
        at_row = np.array(found, np.int64).reshape(len(levels), len(table))
        rows = np.broadcast_to(np.arange(len(table)), at_row.shape)[at_row >= 0]
        X[rows, (np.array([at for at, _ in levels], np.int64)[:, None] + at_row)[at_row >= 0]] = 1
        for place, numbers_of_text in written.items():
            feature, at = self.features[place], int(starts[place])
            rest = numbers_of_text[:, 1:]
            X[:, at : at + 1] = self._filled([feature], numbers_of_text[:, :1])
            X[:, at + 1 : at + feature.width] = rest if self.missing == "keep" else np.nan_to_num(rest)
            if feature.flag:
                X[:, at + feature.width] = np.isnan(numbers_of_text[:, 0])
        return X

    def _filled(self, features: list[Feature], numbers: Floats) -> Floats:
        """Numbers with the mean of those before in place of the missing ones, by column; 0 if there are none."""
        if self.missing != "mean":
            return numbers
        absent = np.isnan(numbers)
        total = np.array([feature.total for feature in features])
        count = np.array([feature.count for feature in features], np.int64)
        if self.frozen:
            return np.where(absent, total / np.maximum(count, 1), numbers)
        # Sums are carried on one by one, so that the size of the blocks changes no bit.
        totals = np.cumsum(np.concatenate([total[None], np.where(absent, 0.0, numbers)]), axis=0)
        counts = np.cumsum(np.concatenate([count[None], ~absent]), axis=0)
        filled = np.where(absent, totals[:-1] / np.maximum(counts[:-1], 1), numbers)
        for feature, last, seen in zip(features, totals[-1].tolist(), counts[-1].tolist(), strict=True):
            feature.total, feature.count = last, seen
        return filled

    # ---- what cannot be used ----------------------------------------------------------------------------------------

    def _without_words(self, table: Table) -> Table:
        """The same without words that stand for missing values."""
        texts = dict(table.texts)
        names = [feature.name for feature in self.features if feature.kind == "category"] + [str(self.label)]
        columns = {name: texts[name] for name in names if name in texts}
        words = set(chain.from_iterable(columns.values())) & NO_VALUE - {None}
        for name, column in columns.items() if words else ():
            none = words.difference(self.classes or ()) if name == self.label else words  # a class may be called "-"
            if not none.isdisjoint(column):
                texts[name] = [None if text in none else text for text in column]
        return replace(table, texts=texts)

    def _written(self, table: Table, bad: Bad) -> dict[int, Floats]:
        """Columns of the numbers that text stands for, by the place of their feature."""
        written = {}
        for place, feature in enumerate(self.features):
            if feature.kind not in ("number", "category"):
                texts = table.texts[feature.name]
                written[place], wrong = feature.numbers(texts)
                for row in wrong:
                    _note(bad, row, place, feature.expected, shown(texts[row] or ""))
        return written

    def _labels(self, table: Table, bad: Bad) -> npt.NDArray[Any] | None:
        """Labels of all rows; those that are missing, or none of the classes, are noted."""
        if self.label is None or self.label not in table:
            return None
        values = table.column(self.label)
        if self.label_decimal:
            texts: Any = values
            values, wrong = to_numbers(texts, self.label_decimal)
            for row in wrong:
                _note(bad, row, -1, "a number", shown(texts[row]))
        if self.classes is not None and len(self.classes) < self.room and not self.frozen:
            self.classes = admitted(self.classes, _without_rows(values, bad), self.room)
        for row, label in self._wrong_labels(values).items():
            expected, found = ("a label", "none") if label is None else (expected_label(self.classes), shown(label))
            _note(bad, row, -1, expected, found)
        return values if isinstance(values, np.ndarray) else np.array(values, dtype=object)

    def _typed(self, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return labels.astype(str) if labels.dtype == object else as_labels(labels, self.classes)

    def _wrong_labels(self, values: Floats | Texts) -> dict[int, str | None]:
        """Labels by row that are missing, or none of the classes."""
        known = set(self.classes or [])
        if isinstance(values, np.ndarray):
            wrong = np.flatnonzero(~np.isin(values, list(known)) if known else ~np.isfinite(values)).tolist()
            return {k: None if np.isnan(values[k]) else f"{values[k]:g}" for k in wrong}
        return {k: value for k, value in enumerate(values) if value is None or (known and value not in known)}

    def _note_missing(self, table: Table, numbers: Floats, bad: Bad) -> None:
        """Note numbers that are infinite, or missing if that is an error."""
        places = [place for place, feature in enumerate(self.features) if feature.kind == "number"]
        wrong = ~np.isfinite(numbers) if self.missing == "error" else np.isinf(numbers)
        for row in np.flatnonzero(wrong.any(axis=1)).tolist():
            first = int(np.argmax(wrong[row]))
            if np.isnan(numbers[row, first]):
                _note(bad, row, places[first], MISSING, "none")
            else:
                _note(bad, row, places[first], "a finite number", "infinity")
        if self.missing != "error":
            return
        for place, feature in enumerate(self.features):
            if feature.kind != "number" and None in table.texts[feature.name]:
                for row, value in enumerate(table.texts[feature.name]):
                    if value is None:
                        _note(bad, row, place, MISSING, "none")

    def _good(self, table: Table, bad: Bad, skipped: Skipped, most: int | None) -> npt.NDArray[np.bool_]:
        """The first `most` rows that can be used. Others before their last are reported in order, each once."""
        good = np.ones(len(table), bool)
        good[list(bad)] = False
        stop = rows_until(good, most)
        full = most is not None and good.sum() >= most
        good[stop:] = False
        faults = [fault for fault in table.faults if not full or (fault.line or 0) < table.lines[stop - 1]]
        for row, (place, expected, found) in bad.items():
            if row < stop:
                name, line = str(self.label) if place < 0 else self.features[place].name, int(table.lines[row])
                fault = StreamError(expected, found, file=table.file, line=line, field=name, unit=table.unit)
                if self.id in table.texts:
                    fault.texts = {str(self.id): table.texts[str(self.id)][row]}
                faults.append(fault)
        for fault in sorted(faults, key=lambda fault: fault.line or 0):
            skipped.report(fault)
        return good

    # ---- as JSON ----------------------------------------------------------------------------------------------------

    @no_search()
    def to_dict(self) -> dict[str, Any]:
        """Everything, in a form that `json.dumps` takes. What a feature does not use is left out."""
        written = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _NOT_WRITTEN}
        return {"version": VERSION, **written, "features": [feature.to_dict() for feature in self.features]}

    @no_search()
    def copy(self) -> "Encoding":
        """An encoding of its own that has learned the same."""
        return replace(self, features=[feature.copy() for feature in self.features])  # classes are never changed

    @classmethod
    @no_search()
    def from_dict(cls, state: dict[str, Any], *, frozen: bool = True) -> "Encoding":
        """The encoding that `to_dict` wrote, or ModelFileError. If it is frozen, rows change nothing any more."""
        given = Fields(state, "encoding")
        if (version := given.take("version", is_count)) != VERSION:
            raise ModelFileError(f"encoding.version is {version}, and this version of pocketkernel reads {VERSION}.")
        written = given.take("features", lambda value: isinstance(value, list) and len(value) > 0)
        self = cls(
            [Feature.from_dict(one, f"encoding.features[{k}]") for k, one in enumerate(written)],
            given.take("label", optional(is_text)),
            given.take("label_is_number", is_flag),
            given.take("label_decimal", lambda value: is_text(value) and (not value or is_style(value))),
            given.take("classes", optional(_are_classes)),
            given.take("missing", lambda value: value in get_args(Missing)),
            given.take("words", is_flag),
            given.take("id", optional(is_text)),
            frozen=frozen,
        )
        given.end()
        if self.n_features > WIDEST:
            raise ModelFileError(f"encoding makes rows of {self.n_features:,} columns, more than {WIDEST:,}.")
        names = [feature.name for feature in self.features]
        if len({*names, self.label}) <= len(names):
            raise ModelFileError("encoding.features names a column twice, or the label.")
        return self


def labels_of(classes: Sequence[Any] | None, is_number: bool) -> tuple[list[Any] | None, bool]:
    """The classes, if they were given, and whether labels are numbers, given what they look like."""
    if classes is None:
        return None, is_number
    known = plain_classes(classes)
    if not is_number:
        known = [str(name) for name in classes]
    return known, not isinstance(known[0], str)


def _without_rows(values: Floats | Texts, bad: Bad) -> Iterable[Any]:
    """Labels of the rows that can be used."""
    every = values.tolist() if isinstance(values, np.ndarray) else values
    return every if not bad else (value for row, value in enumerate(every) if row not in bad)


def _note(bad: Bad, row: int, place: int, expected: str, found: str) -> None:
    """Note what is wrong with a row, unless an earlier column of it is wrong already."""
    if row not in bad or place < bad[row][0]:
        bad[row] = (place, expected, found)


def _are_classes(value: Any) -> bool:
    return (list_of(is_text)(value) or list_of(is_number)(value)) and len(set(value)) == len(value) >= 2
