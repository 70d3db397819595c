"""JSON lines: an object on every line, whose keys are the columns; or one array of such objects; or GeoJSON.

Keys may be in any order; an absent key is a missing value. Keys of an object within an object become `user.age`. Of a
feature of GeoJSON, the columns are its id, its properties, and longitude and latitude of the middle of its geometry.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from pocketkernel.stream.dicts import DictRows, Row
from pocketkernel.stream.errors import StreamError, shown
from pocketkernel.stream.files import LONGEST_LINE, Text

DEEPEST = 200  # lists and objects within each other
_SHALLOW = f"JSON with at most {DEEPEST} brackets within brackets"


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


_decoder = json.JSONDecoder(parse_constant=_no_constant)
_decode = _decoder.decode


After = Callable[[Text, str, int], Iterator[Row | None]]
"""What comes after the ] of an array: the text, what has been read of it, and the number of the line."""

_COLLECTION = re.compile(rb'"type"\s*:\s*"FeatureCollection"')
_BETWEEN = " \t\r\n,"
_BEGINNING = 1 << 16  # bytes in which a collection of GeoJSON says that it is one


class JsonLines(DictRows):
    """The rows of one file."""

    one = "object, {...}"

    def _check_only(self, row: dict[str, Any]) -> None:
        if _holds_rows(row):
            raise StreamError(
                "an object for each row",
                "one object with all rows in it: write JSON lines, as DataFrame.to_json(orient='records', lines=True)",
                file=self.name,
            )

    def _objects(self, text: Text) -> Iterator[Row | None]:
        if self._is_collection(text):
            yield from self._features(text)
            return
        if text.buffer[text.at :].lstrip()[:1] == b"[":
            yield from self._array(text)
            return
        for batch in text.batches():
            for number, line in batch:
                if line.strip():
                    yield number, self._object(number, line)
            yield None

    def _object(self, number: int, line: bytes) -> dict[str, Any] | StreamError:
        try:
            row = _decode(line.decode("utf-8"))
        except json.JSONDecodeError as error:
            found = shown(line[error.pos :]) if error.pos < len(line.rstrip()) else "the end of the line"
            return self._error(f"JSON ({error.msg.lower()})", found, number, column=error.colno)
        except UnicodeDecodeError as error:
            return self._error(
                "JSON in UTF-8", shown(line[error.start : error.start + 20]), number, column=error.start + 1
            )
        except ValueError as error:  # a constant such as NaN
            return self._error("JSON", str(error), number)
        except RecursionError:
            return self._error(_SHALLOW, shown(line), number)
        return self._checked(number, row, line)

    def _checked(self, number: int, row: Any, line: bytes) -> dict[str, Any] | StreamError:
        if not isinstance(row, dict):
            return self._error("an object, {...}", shown(line), number)
        if line.count(b"[") + line.count(b"{") > DEEPEST and _is_deep(row):
            return self._error(_SHALLOW, shown(line), number)
        if b"\\u" in line and (half := _half_character(row)):
            return self._error("text of whole characters", f"{half!r}, half a pair", number)
        return flattened(_of_feature(row) if row.get("type") == "Feature" and "geometry" in row else row)

    def _is_collection(self, text: Text) -> bool:
        """Whether it is a collection of GeoJSON; no more is awaited if the first line is a whole object."""
        while not text.final and b"\n" not in text.buffer[text.at :].lstrip() and len(text.buffer) < _BEGINNING:
            text.more()
        start = text.buffer[text.at :].lstrip()
        first = start.partition(b"\n")[0].rstrip()
        if not first.startswith(b"{"):
            return False
        if not first.endswith(b"}"):
            text.fill()
            first = text.buffer[text.at : text.at + _BEGINNING]
        return _COLLECTION.search(first[:_BEGINNING]) is not None

    def _features(self, text: Text) -> Iterator[Row | None]:
        """The features of a collection."""
        text.fill()
        buffer, key = text.take(), None
        at = buffer.index("{") + 1
        try:
            while True:
                key, at = _decoder.raw_decode(buffer, _skip(buffer, at, _BETWEEN))
                at = _skip(buffer, at, _BETWEEN + ":")
                if key == "features" and buffer[at : at + 1] == "[":
                    break
                _, at = _decoder.raw_decode(buffer, at)
        except (ValueError, RecursionError):
            yield 1, self._error("a list of features in the collection", "none", 1)
            return
        yield from self._elements(text, buffer, at + 1, self._after_features)

    def _after_features(self, text: Text, rest: str, line: int) -> Iterator[Row | None]:
        """Other members of the collection may follow, and then nothing."""
        while not text.final and len(rest) <= LONGEST_LINE:
            yield None
            text.more()
            rest += text.take()
        try:
            _decode('{"features": []' + rest)
        except (ValueError, RecursionError):
            yield line, self._error("the end of the collection, }", shown(rest.strip()[:40]) or "the end", line)

    def _array(self, text: Text) -> Iterator[Row | None]:
        text.fill()
        buffer = text.take()
        yield from self._elements(text, buffer, buffer.index("[") + 1, self._after)

    def _elements(self, text: Text, buffer: str, at: int, after: After) -> Iterator[Row | None]:
        """Objects of an array from there on, in constant memory; what is wrong with its syntax ends it."""
        line, counted = 1, 0
        while True:
            at = _skip(buffer, at, _BETWEEN)
            line, counted = line + buffer.count("\n", counted, at), at
            if at < len(buffer) and buffer[at] == "]":
                yield from after(text, buffer[at + 1 :], line)
                return
            try:
                row, end = _decoder.raw_decode(buffer, at)
                whole = end < len(buffer) or text.final
            except (ValueError, RecursionError) as error:
                whole, end, row = False, at, error
            if not whole and not text.final and len(buffer) - at <= LONGEST_LINE:
                yield None
                text.more()
                buffer, at, counted = buffer[at:] + text.take(), 0, 0
                continue
            if isinstance(row, RecursionError):
                yield line, self._error(_SHALLOW, shown(buffer[at : at + 40]), line)
                return
            if end == at:
                yield line, self._error(f"JSON ({row})", shown(buffer[at : at + 40]) or "the end", line)
                return
            yield line, self._checked(line, row, buffer[at:end].encode("utf-8", "surrogatepass"))
            at = end

    def _after(self, text: Text, rest: str, line: int) -> Iterator[Row | None]:
        """Nothing may follow an array: a second one would be rows that are never learned."""
        while not rest.strip() and not text.final:
            yield None
            line += rest.count("\n")
            text.more()
            rest = text.take()
        if rest.strip():
            line += rest[: len(rest) - len(rest.lstrip())].count("\n")
            yield line, self._error("the end of the file after ]", shown(rest.strip()[:40]), line)


def _holds_rows(row: dict[str, Any]) -> bool:
    """Whether an object is a whole table: a list of objects, or the values of each column by number of row."""
    lists = any(isinstance(value, list) and value and isinstance(value[0], dict | list) for value in row.values())
    return lists or sum(key.rpartition(".")[2].isdecimal() for key in row) > len(row) / 2


def _is_deep(row: dict[str, Any]) -> bool:
    """Whether lists and objects are nested more deeply than is read; found without recursion."""
    level: list[Any] = [row]
    for _ in range(DEEPEST):
        inner = chain.from_iterable(one.values() if isinstance(one, dict) else one for one in level)
        level = [one for one in inner if isinstance(one, dict | list)]
    return bool(level)


def _half_character(row: dict[str, Any]) -> str:
    """A surrogate without its partner, which no file of text can hold; "" if there is none."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return str(error.object[error.start])
    return ""


def flattened(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    """The same with keys of objects within it as `user.age`."""
    if not before and dict not in map(type, row.values()):
        return row
    flat: dict[str, Any] = {}
    for key, value in row.items():
        flat |= flattened(value, f"{before}{key}.") if isinstance(value, dict) else {before + key: value}
    return flat


def _skip(text: str, at: int, signs: str) -> int:
    while at < len(text) and text[at] in signs:
        at += 1
    return at


def _of_feature(feature: dict[str, Any]) -> dict[str, Any]:
    """The row of a feature of GeoJSON: properties, and the place of its geometry.

    Examples
    --------
    >>> _of_feature({"geometry": {"type": "Point", "coordinates": [9.5, 53.1]}, "properties": {"a": 1}})
    {'longitude': 9.5, 'latitude': 53.1, 'a': 1}
    """
    place: dict[str, Any] = {"id": feature["id"]} if "id" in feature else {}
    if points := _points(feature["geometry"]):
        for name, axis in (("longitude", 0), ("latitude", 1)):
            along = [point[axis] for point in points]
            place[name] = (min(along) + max(along)) / 2 if len(points) > 1 else along[0]
    properties = feature.get("properties")
    return place | (properties if isinstance(properties, dict) else {})


def _points(geometry: Any) -> list[list[float]]:
    """All points of a geometry, longitude first."""
    found, level = [], [geometry]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += [one.get("coordinates"), *(one.get("geometries") or ())]
            elif isinstance(one, list) and len(one) > 1 and all(isinstance(part, int | float) for part in one[:2]):
                found.append(one)
            elif isinstance(one, list):
                inner += one
        level = inner
    return found
