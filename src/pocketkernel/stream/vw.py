"""The text format of Vowpal Wabbit: `label weight 'tag |namespace feature:value feature ...`. What is absent is 0.

A feature `x` of a namespace `n` is the column `n^x`, and `x` if the namespace has no name. A namespace that never has
more than one feature, without a value, is a category.
"""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from pocketkernel.stream.dicts import RARE, DictRows, Row
from pocketkernel.stream.errors import StreamError, shown
from pocketkernel.stream.files import Text
from pocketkernel.stream.table import Table

LABEL, TAG = "label", "tag"
DEFAULT = "default"
"""Names of columns; the last is that of a namespace without a name."""

_HEAD = re.compile(r"(?P<numbers>(?:[-+.\deE]+(?:[ \t]+|$)){0,3})(?P<tag>\S*)")


class VowpalWabbit(DictRows):
    """The rows of one file."""

    common = RARE

    def _objects(self, text: Text) -> Iterator[Row | None]:
        self.all_keys = False  # a row names more than its columns: a category by its level, too
        self._weighted = False
        self._single: set[str] = set()  # namespaces that have had one feature, without a value
        self._several: set[str] = set()  # those that have had others
        self._texts: set[str] = {LABEL, TAG}  # columns that are not 0 where they are absent
        for batch in text.batches():
            for number, line in batch:
                if line.strip():
                    yield number, self._row(number, line.decode("utf-8", "replace").rstrip("\r"))
            yield None

    def _names(self, keys: list[str]) -> list[str]:
        if self._weighted:
            self.remarks.append("Weights of rows are not read: every row counts once.")
        categories = self._single - self._several
        self._texts |= categories
        return [key for key in keys if key in self._texts or not (key in self._single or _space(key) in categories)]

    def _default(self, name: str) -> Any:
        return None if name in self._texts else 0.0

    def tables(self, kinds: dict[str, str], label: str | None = None) -> Iterator[Table]:
        """As for every format; what is read as text is missing where it is absent, and not 0."""
        self._texts |= {name for name, kind in kinds.items() if kind == "t"}
        return super().tables(kinds, label)

    def _row(self, number: int, line: str) -> dict[str, Any] | StreamError:
        head, *namespaces = line.split("|")
        try:
            return self._of_head(head) | self._of_namespaces(namespaces)
        except StreamError as error:
            error.file, error.line = self.name, number
            return error

    def _of_head(self, head: str) -> dict[str, Any]:
        found = _HEAD.fullmatch(head.strip())
        numbers = found["numbers"].split() if found else []
        tag = found["tag"] if found else ""
        if found is None or (tag and not tag.startswith("'") and head.endswith(" ")):
            raise StreamError("a label that is a number, its weight, and a tag", shown(head.strip()))
        row: dict[str, Any] = {LABEL: _number(numbers[0]) if numbers else None}
        if len(numbers) > 1 and _number(numbers[1]) != 1.0:
            self._weighted = True
        return row | ({TAG: tag.removeprefix("'")} if tag else {})

    def _of_namespaces(self, namespaces: list[str]) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for text in namespaces:
            words = text.split()
            has_name = bool(words) and not text[:1].isspace()
            name, _, weight = words.pop(0).partition(":") if has_name else ("", "", "")
            name, factor = name or DEFAULT, _number(weight) if weight else 1.0
            if len(words) == 1 and ":" not in words[0] and factor == 1.0 and name not in row:
                row[name] = words[0]
                self._single.add(name)
            elif words:
                self._several.add(name)
            for word in words:
                feature, _, value = word.rpartition(":") if ":" in word else (word, "", "")
                column = feature if name == DEFAULT else f"{name}^{feature}"
                if column in self._single:  # of another namespace, which can then be no column
                    self._several.add(column)
                number = _number(value) if value else 1.0
                before = row.get(column)
                row[column] = factor * number + (before if isinstance(before, float) else 0.0)
        return row


def _space(column: str) -> str:
    """The namespace of a feature."""
    space, separator, _ = column.partition("^")
    return space if separator else DEFAULT


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise StreamError("a finite number", shown(text))
    return number
