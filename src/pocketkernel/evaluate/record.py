"""The record of a run: its settings, its results and its curve.

A record is a folder of two files. `record.json` has the settings, the results (measures of the pass, with a curve of
about 200 points), the names of the kernels and the checksum of the other file, `curve.parquet` or `curve.csv`, which
has one line per point, without rounding.
"""

import hashlib
import json
import os
import reprlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pocketkernel._fields import Fields, is_count, is_text, list_of
from pocketkernel._files import read_file, write_atomically
from pocketkernel._json import parse
from pocketkernel._text import json_plain
from pocketkernel.evaluate.curve import FORMATS, Curve, from_bytes, to_bytes
from pocketkernel.model_file import ModelFileError

KIND = "pocketkernel record"
VERSION = 2
READABLE = (1, 2)
"""Versions that can be read: the first has no results."""

RECORD = "record.json"
MOST_POINTS = 10**6
MOST_BYTES = 2**28
"""Of either file of a record."""


class RecordError(ValueError):
    """A folder without a record, or with a damaged one."""


@dataclass(frozen=True)
class Record:
    """A run: its settings and its curve.

    Parameters
    ----------
    settings : dict
        Values that JSON can represent, for example from `settings_of`.
    curve : Curve
        For example from a `Recorder`.
    results : dict, default={}
        Measures of the pass, as `ClassificationMetrics` and `RegressionMetrics` give them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pocketkernel import MOMDS
    >>> from pocketkernel.evaluate import Recorder, progressive, settings_of
    >>> from pocketkernel.stream import known_kernel
    >>> model, recorder = MOMDS(memory="64KiB", random_state=0), Recorder()
    >>> for progress in progressive(model, *known_kernel(1000), block=300):
    ...     recorder.add(model, progress)
    >>> record = Record(settings_of(model, source="made up"), recorder.curve())
    >>> with TemporaryDirectory() as folder:
    ...     record.write(folder, format="csv")
    ...     Record.read(folder) == record
    True
    >>> record.curve.rows.tolist()
    [300, 600, 900, 1000]
    """

    settings: dict[str, Any]
    curve: Curve
    results: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given in (("settings", self.settings), ("results", self.results)):
            try:
                same = json.loads(json.dumps(given, allow_nan=False)) == given
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{name} cannot be written as JSON ({error}): use settings_of, or plain values."
                ) from None
            if not same:
                raise ValueError(f"{name} change when written as JSON: use lists for tuples and strings for keys.")

    def write(self, folder: str | os.PathLike[str], format: str = "parquet") -> None:
        """Write the record into a folder, which is created if necessary; an existing record is replaced.

        Parameters
        ----------
        folder : path
            The folder.
        format : {"parquet", "csv"}, default="parquet"
            Format of the curve. Parquet needs pyarrow.
        """
        if format not in FORMATS:
            raise ValueError(f"format={format!r} is unknown: use one of {', '.join(map(repr, FORMATS))}.")
        data = to_bytes(self.curve, format)
        name = f"curve.{format}"
        about = {
            "kind": KIND,
            "version": VERSION,
            "curve": {
                "file": name,
                "points": len(self.curve),
                "kernels": list(self.curve.kernels),
                "sha256": hashlib.sha256(data).hexdigest(),
            },
            "settings": self.settings,
            "results": self.results,
        }
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # The checksum ties the two: whoever reads between the writes is told, and never given half of each.
        write_atomically(folder / name, data, follow=False)
        text = json_plain(json.dumps(about, indent=2, ensure_ascii=False))  # a file's name may have no UTF-8
        write_atomically(folder / RECORD, text.encode("utf-8") + b"\n", follow=False)
        for other in FORMATS:
            if other != format:
                (folder / f"curve.{other}").unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """Read the record in a folder. RecordError if there is none, or a damaged one."""
        folder = Path(folder)
        about = _read(folder)
        curve = Fields(about["curve"], "curve")
        try:
            name = curve.take("file", lambda value: value in [f"curve.{format}" for format in FORMATS])
            points = curve.take("points", lambda value: is_count(value) and value <= MOST_POINTS)
            kernels = curve.take("kernels", list_of(is_text))
            sha256 = curve.take("sha256", is_text)
        except ModelFileError as error:
            raise RecordError(f"{folder / RECORD} is damaged: {error}") from None
        try:
            data = read_file(folder / name, MOST_BYTES)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RecordError(f"{folder / name} cannot be read: {reason}.") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise RecordError(f"{folder / name} is damaged or of another run: its checksum is not that in {RECORD}.")
        try:
            found = from_bytes(data, name.removeprefix("curve."), points, tuple(kernels))
            return cls(about["settings"], found, about["results"])
        except ValueError as error:
            raise RecordError(f"{folder / name} is damaged: {error}.") from None


def read_settings(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of the record in a folder, without its curve."""
    settings: dict[str, Any] = _read(Path(folder))["settings"]
    return settings


def _read(folder: Path) -> dict[str, Any]:
    """What `record.json` says, with settings and curve."""
    path = folder / RECORD
    try:
        about = parse(read_file(path, MOST_BYTES).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise RecordError(f"{folder} does not contain a record: there is no {RECORD} in it.") from None
    except ValueError as error:
        raise RecordError(f"{path} is damaged: it is not valid JSON ({error}).") from None
    if not isinstance(about, dict) or about.get("kind") != KIND:
        raise RecordError(f"{path} is not the record of a run: it does not have kind={KIND!r}.")
    if about.get("version") not in READABLE:
        raise RecordError(
            f"{path} has version {reprlib.repr(about.get('version'))}, but this program reads versions 1 and 2: use "
            "the version of pocketkernel that wrote it."
        )
    if about["version"] == 1:
        about["results"] = {}
    for name in ("curve", "settings", "results"):
        if not isinstance(about.get(name), dict):
            raise RecordError(f"{path} is damaged: {name} is missing or unknown.")
    return about
