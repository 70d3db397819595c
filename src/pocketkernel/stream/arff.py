"""ARFF, the format of Weka and MOA: attributes with their types, then rows, which may be sparse."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pocketkernel.stream.dicts import DictRows, Row
from pocketkernel.stream.errors import StreamError, shown
from pocketkernel.stream.files import Text

NUMERIC = frozenset({"numeric", "real", "integer"})
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"(?P<name>{_QUOTED}|[^\s{{]+)\s*(?P<type>\S.*)?")
_TOKEN = re.compile(rf"{_QUOTED}|[^,\s]+")
_ENTRY = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,]*)\s*(?:,|$)")
_FIELD = re.compile(rf"({_QUOTED})\s*(?=,|$)|[^,]*")
_ESCAPED = re.compile(r"\\(.)")
_MARKS = frozenset("'\"\\")  # without them, a line is cut at its commas
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Attribute(NamedTuple):
    """A column as the header declares it."""

    name: str
    numeric: bool
    levels: tuple[str, ...]  # of a nominal one

    @property
    def zero(self) -> Any:
        """What a sparse row leaves out."""
        if self.numeric:
            return 0.0
        return self.levels[0] if self.levels else ""


class Arff(DictRows):
    """The rows of one file."""

    def _levels(self) -> dict[str, list[str]]:
        return {one.name: list(one.levels) for one in self._attributes if one.levels}

    def _objects(self, text: Text) -> Iterator[Row | None]:
        self._attributes: list[Attribute] = []
        self._weighted = in_data = False
        for batch in text.batches():
            for number, raw in batch:
                line = raw.strip()
                if not line or line.startswith(b"%"):
                    continue
                words = line.decode("utf-8", "replace") if _is_utf8(line) else line.decode("cp1252", "replace")
                if in_data:
                    yield number, self._row(number, words)
                else:
                    in_data = self._declared(number, words)
            yield None
        if not in_data:
            raise self._error("a line @data", "none", 1)

    def _declared(self, number: int, line: str) -> bool:
        """Take a line of the header; whether rows follow it."""
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            if not self._attributes:
                raise self._error("a line @attribute before @data", "none", number)
            return True
        if word == "@attribute":
            one = self._attribute(number, line[len(word) :].strip())
            if any(one.name == other.name for other in self._attributes):
                raise self._error("a different name for each attribute", f"{one.name!r} twice", number)
            self._attributes.append(one)
        elif word != "@relation":
            raise self._error("@relation, @attribute or @data", shown(line), number)
        return False

    def _attribute(self, number: int, text: str) -> Attribute:
        found = _ATTRIBUTE.fullmatch(text)
        kind = (found["type"] or "").strip() if found else ""
        if found is None or not kind:
            raise self._error("@attribute NAME TYPE", shown(text), number)
        name = _plain(found["name"])
        if kind.startswith("{"):
            levels = tuple(dict.fromkeys(_plain(token) for token in _TOKEN.findall(kind.strip("{} \t"))))
            return Attribute(name, False, tuple(level for level in levels if level != "?"))
        word = kind.split(None, 1)[0].lower()
        if word not in NUMERIC | {"string", "date"}:
            raise self._error("an attribute that is numeric, {a, b}, string or date", shown(kind), number, field=name)
        return Attribute(name, word in NUMERIC, ())

    def _row(self, number: int, line: str) -> dict[str, Any] | StreamError:
        is_sparse = line.startswith("{")
        if not is_sparse and line.endswith("}"):  # the weight of the row
            line = line.rpartition("{")[0].rstrip().removesuffix(",")
        elif is_sparse:
            line = line[1:].partition("}")[0]
        try:
            return self._of_sparse(line) if is_sparse else self._of_dense(line)
        except StreamError as error:
            error.file, error.line = self.name, number
            return error

    def _of_dense(self, line: str) -> dict[str, Any]:
        attributes = self._attributes
        fields = _fields(line)
        if len(fields) != len(attributes):
            fields = [_plain(token) for token in _TOKEN.findall(line)]  # divided by spaces
            if len(fields) != len(attributes):
                raise StreamError(f"{len(attributes)} fields", str(len(_fields(line))))
        return {one.name: _value(one, field) for one, field in zip(attributes, fields, strict=True)}

    def _of_sparse(self, line: str) -> dict[str, Any]:
        row = {one.name: one.zero for one in self._attributes}
        at, line = 0, line.strip()
        while at < len(line):
            entry = _ENTRY.match(line, at)
            if entry is None or len(entry[1]) > 9 or int(entry[1]) >= len(self._attributes):
                expected = f"the number of an attribute, from 0 to {len(self._attributes) - 1}, and its value"
                raise StreamError(expected, shown(line[at:].strip()))
            one, at = self._attributes[int(entry[1])], entry.end()
            row[one.name] = _value(one, _plain(entry[2].strip()))
        return row


def _value(attribute: Attribute, field: str) -> Any:
    """A number, text, or None where it is missing."""
    if field == "?" or not field:
        return None
    if not attribute.numeric:
        return field
    try:
        return float(field)
    except ValueError:
        raise StreamError("a number", shown(field), field=attribute.name) from None


def _fields(line: str) -> list[str]:
    r"""Fields between commas, without quotes.

    Examples
    --------
    >>> _fields("1, 'it\\'s, a', \"b\",?")
    ['1', "it's, a", 'b', '?']
    """
    if _MARKS.isdisjoint(line):
        return [field.strip() for field in line.split(",")]
    fields, at = [], 0
    while True:
        while at < len(line) and line[at].isspace():
            at += 1
        found = _FIELD.match(line, at)
        assert found is not None  # the last of its forms takes any text
        fields.append(_plain(found[0].strip()))
        at = found.end()
        if at >= len(line):
            return fields
        at += 1


def _plain(word: str) -> str:
    """Text without the quotes around it, and without escapes."""
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        return _ESCAPED.sub(lambda sign: _ESCAPES.get(sign[1], sign[1]), word[1:-1])
    return word


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
