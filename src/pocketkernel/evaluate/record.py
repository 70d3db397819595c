"""What a run leaves behind: its settings and its curve.

A record is a folder of two files. `record.json` holds the settings, the names of the kernels and the checksum of the
other file, `curve.parquet` or `curve.csv`, which has one line per point and both kinds of number to the last bit.
"""

import csv
import hashlib
import io
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pocketkernel._files import write_atomically
from pocketkernel._level import level
from pocketkernel._optional import optional
from pocketkernel._text import json_plain
from pocketkernel.evaluate.progressive import Progress
from pocketkernel.memory import parse_bytes

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KIND = "pocketkernel record"
VERSION = 1
FORMATS = ("parquet", "csv")
COLUMNS: Mapping[str, type[np.int64] | type[np.float64]] = {
    "rows": np.int64,
    "mistakes": np.int64,
    "loss": np.float64,
    "seconds": np.float64,
    "nbytes": np.int64,
    "stored": np.float64,
    "additions": np.int64,
    "proxies": np.int64,
    "removals": np.int64,
}
"""The columns of a curve that hold one number per point, and their types."""

_JSON = "record.json"
_WEIGHT = "weight: "  # before a kernel's name, in the curve's header


class RecordError(ValueError):
    """A folder that holds no record, or a damaged one."""


@dataclass(frozen=True, eq=False)
class Curve:
    """How a run went: columns of equal length, one entry per point. Everything counts from the start.

    Attributes
    ----------
    rows, mistakes : arrays of int64
        `rows` increases.
    loss : array of float64
        Cumulative; NaN where the model does not tell.
    seconds : array of float64
        Time spent in the model.
    nbytes : array of int64
        Bytes that the model takes; 0 where it does not tell.
    stored : array of float64
        Rows in the buffer; the mean over the kernels if each has its own.
    additions, proxies, removals : arrays of int64
        Over all buffers.
    weights : array of float64, of shape (points, kernels)
        Weight of each kernel.
    kernels : tuple of str
        Their names.
    """

    rows: Integers
    mistakes: Integers
    loss: Floats
    seconds: Floats
    nbytes: Integers
    stored: Floats
    additions: Integers
    proxies: Integers
    removals: Integers
    weights: Floats
    kernels: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, kind in COLUMNS.items():
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=kind))
        object.__setattr__(self, "kernels", tuple(self.kernels))
        weights = np.ascontiguousarray(self.weights, dtype=np.float64).reshape(len(self.rows), len(self.kernels))
        object.__setattr__(self, "weights", weights)
        lengths = {name: len(getattr(self, name)) for name in COLUMNS}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a curve differ in length: {lengths}.")
        if np.any(np.diff(self.rows) <= 0):
            raise ValueError("the rows of a curve must increase from point to point.")

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same, to the last bit."""
        if not isinstance(other, Curve):
            return NotImplemented
        mine, theirs = ([getattr(one, f.name) for f in fields(Curve)[:-1]] for one in (self, other))
        return self.kernels == other.kernels and all(
            a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(mine, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def mistake_rate(self) -> Floats:
        """Share of mistakes since the start, from 0 to 1, at each point."""
        return self.mistakes / self.rows

    def window_mistake_rate(self, window: int) -> Floats:
        """Share of mistakes in the latest `window` rows, or a few more where points are sparse, at each point."""
        rows = np.concatenate(([0], self.rows))
        mistakes = np.concatenate(([0], self.mistakes))
        before = np.searchsorted(rows, self.rows - window, side="right") - 1
        before = np.maximum(before, 0)
        return (self.mistakes - mistakes[before]) / (self.rows - rows[before])


@dataclass(frozen=True)
class Record:
    """A run: how it was set up and how it went.

    Parameters
    ----------
    settings : dict
        What JSON can hold, such as `settings_of` makes.
    curve : Curve
        Such as a `Recorder` makes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pocketkernel import MOMDS
    >>> from pocketkernel.evaluate import progressive
    >>> from pocketkernel.stream import digits
    >>> model, recorder = MOMDS(memory="64KiB", random_state=0), Recorder()
    >>> for progress in progressive(model, *digits(), block=300):
    ...     recorder.add(model, progress)
    >>> record = Record(settings_of(model, source="digits"), recorder.curve())
    >>> with TemporaryDirectory() as folder:
    ...     record.write(folder, format="csv")
    ...     Record.read(folder) == record
    True
    >>> record.curve.rows.tolist()
    [300, 600, 900, 1200, 1500, 1797]
    >>> bool(record.curve.mistake_rate[-1] < 0.1)
    True
    """

    settings: dict[str, Any]
    curve: Curve

    def __post_init__(self) -> None:
        try:
            same = json.loads(json.dumps(self.settings, allow_nan=False)) == self.settings
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"settings cannot be written as JSON ({error}): use settings_of, or plain values."
            ) from None
        if not same:
            raise ValueError("settings change when written as JSON: use lists for tuples and strings for keys.")

    def write(self, folder: str | os.PathLike[str], format: str = "parquet") -> None:
        """Write the record into a folder, which is made if need be; a record there is replaced.

        Parameters
        ----------
        folder : path
            Where to.
        format : {"parquet", "csv"}, default="parquet"
            Of the curve. Parquet needs pyarrow.
        """
        if format not in FORMATS:
            raise ValueError(f"format={format!r} is unknown: use one of {', '.join(map(repr, FORMATS))}.")
        data = _parquet_of(self.curve) if format == "parquet" else _csv_of(self.curve)
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
        }
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # The checksum ties the two: whoever reads between the writes is told, and never given half of each.
        write_atomically(folder / name, data)
        text = json_plain(json.dumps(about, indent=2, ensure_ascii=False))  # a file's name may have no UTF-8
        write_atomically(folder / _JSON, text.encode("utf-8") + b"\n")
        for other in FORMATS:
            if other != format:
                (folder / f"curve.{other}").unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """Read the record in a folder."""
        folder = Path(folder)
        try:
            about = json.loads((folder / _JSON).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise RecordError(f"{folder} holds no record: there is no {_JSON} in it.") from None
        except ValueError as error:
            raise RecordError(f"{folder / _JSON} is damaged: it is no JSON ({error}).") from None
        if not isinstance(about, dict) or about.get("kind") != KIND:
            raise RecordError(f"{folder / _JSON} is no record of a run: it does not say kind={KIND!r}.")
        if about.get("version") != VERSION:
            raise RecordError(
                f"{folder / _JSON} has version {about.get('version')!r}, and this program reads version {VERSION}: "
                "use the version of pocketkernel that wrote it."
            )
        try:
            name, points, sha256 = (about["curve"][key] for key in ("file", "points", "sha256"))
            kernels, settings = tuple(about["curve"]["kernels"]), about["settings"]
            format = {f"curve.{format}": format for format in FORMATS}[name]
        except (KeyError, TypeError) as error:
            raise RecordError(f"{folder / _JSON} is damaged: {error} is missing or unknown.") from None
        try:
            data = (folder / name).read_bytes()
        except OSError as error:
            raise RecordError(f"{folder / name} cannot be read: {error.strerror}.") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise RecordError(f"{folder / name} is damaged or of another run: its checksum is not that in {_JSON}.")
        try:
            curve = _curve_of_parquet(data, kernels) if format == "parquet" else _curve_of_csv(data, kernels)
            if len(curve) != points:
                raise ValueError(f"it has {len(curve)} points, not {points}")
            return cls(settings, curve)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise RecordError(f"{folder / name} is damaged: {error}.") from None


# ---- the two formats ------------------------------------------------------------------------------------------------


def _header(kernels: Iterable[str]) -> list[str]:
    return [*COLUMNS, *(_WEIGHT + name for name in kernels)]


def _columns(curve: Curve) -> list[Integers | Floats]:
    return [*(getattr(curve, name) for name in COLUMNS), *curve.weights.T]


def _curve(columns: list[Any], kernels: tuple[str, ...]) -> Curve:
    plain, weights = columns[: len(COLUMNS)], columns[len(COLUMNS) :]
    stacked = np.column_stack(weights) if weights else np.empty((len(plain[0]), 0))
    return Curve(**dict(zip(COLUMNS, plain, strict=True)), weights=stacked, kernels=kernels)


def _csv_of(curve: Curve) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_header(curve.kernels))
    # repr of a Python float is the shortest text that reads back as the same bits.
    writer.writerows(zip(*(map(repr, column.tolist()) for column in _columns(curve)), strict=True))
    return file.getvalue().encode("utf-8")


def _curve_of_csv(data: bytes, kernels: tuple[str, ...]) -> Curve:
    header, *lines = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
    if header != _header(kernels):
        raise ValueError(f"its columns are {', '.join(header)}")
    kinds = [*COLUMNS.values(), *(np.float64 for _ in kernels)]
    texts = zip(*lines, strict=True) if lines else ([] for _ in kinds)
    columns = [
        np.array([int(text) if kind is np.int64 else float(text) for text in column], dtype=kind)
        for kind, column in zip(kinds, texts, strict=True)
    ]
    return _curve(columns, kernels)


def _parquet_of(curve: Curve) -> bytes:
    pyarrow = optional("pyarrow", "Parquet", "files")
    parquet = optional("pyarrow.parquet", "Parquet", "files")
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(_columns(curve), names=_header(curve.kernels)), file)
    return file.getvalue()


def _curve_of_parquet(data: bytes, kernels: tuple[str, ...]) -> Curve:
    parquet = optional("pyarrow.parquet", "Parquet", "files")
    table = parquet.read_table(io.BytesIO(data))
    if table.column_names != _header(kernels):
        raise ValueError(f"its columns are {', '.join(table.column_names)}")
    return _curve([column.to_numpy() for column in table.columns], kernels)


# ---- settings -------------------------------------------------------------------------------------------------------


def settings_of(
    model: Any, *, name: str | None = None, source: str = "", seed: int | None = None, command: str = "", **more: Any
) -> dict[str, Any]:
    """Settings of a run, as JSON can hold them.

    Parameters
    ----------
    model : object
        What ran; its parameters, classes, feature count and budget are asked for as scikit-learn names them.
    name : str, default=None
        What to call it; runs of the same name are repetitions. None stands for its class.
    source : str, default=""
        Where the rows came from.
    seed : int, default=None
        Of the permutation or the stream.
    command : str, default=""
        A command line that does it again.
    **more
        Anything else worth keeping. What JSON cannot hold is kept as its `repr`.

    Examples
    --------
    >>> from pocketkernel import MOMDS
    >>> settings = settings_of(MOMDS(memory="64KiB"), source="digits", seed=3)
    >>> settings["learner"], settings["parameters"]["loss"], settings["promised_bytes"]
    ('MOMDS', 'logistic', 65536)
    """
    parameters = _parameters(model)
    memory = parameters.get("memory")
    return {
        "learner": type(model).__name__ if name is None else name,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "parameters": _plain(parameters),
        "source": source,
        "seed": seed,
        "classes": _plain(np.asarray(getattr(model, "classes_", [])).tolist()),
        "features": _plain(getattr(model, "n_features_in_", None)),
        "budget": _plain(getattr(model, "budget_", None)),
        "promised_bytes": None if memory is None else parse_bytes(memory),
        **{key: _plain(value) for key, value in more.items()},
        "command": command,
        "versions": {
            "pocketkernel": version("pocketkernel"),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "level": level(),
        "platform": platform.platform(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _parameters(model: Any) -> dict[str, Any]:
    if hasattr(model, "get_params"):
        return dict(model.get_params(deep=False))
    return {name: value for name, value in vars(model).items() if name.strip("_") == name}


def _plain(value: Any) -> Any:
    """Turn a value into what JSON can hold."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return repr(value)


# ---- the recorder ---------------------------------------------------------------------------------------------------


class Recorder:
    """Follows a run and keeps its curve, in bounded memory however long the run is.

    When there are more than `limit` points, every second one is dropped and from then on only every second report is
    kept, and so on: the points stay evenly spread. The latest report is always the last point.

    Parameters
    ----------
    limit : int, default=2000
        Most points that are kept besides the last, an even number from 2 up.

    Examples
    --------
    >>> from pocketkernel.evaluate import Majority, progressive
    >>> model, recorder = Majority(), Recorder(limit=4)
    >>> for progress in progressive(model, np.zeros((90, 1)), np.resize([1, -1], 90), block=10):
    ...     recorder.add(model, progress)
    >>> recorder.curve().rows.tolist()
    [20, 40, 60, 80, 90]
    """

    def __init__(self, *, limit: int = 2000) -> None:
        if limit < 2 or limit % 2:
            raise ValueError(f"limit={limit} does not halve: use an even number from 2 up.")
        self._limit = limit
        self._interval = 1
        self._reports = 0
        self._kernels: tuple[str, ...] | None = None
        self._points: list[tuple[Any, ...]] = []
        self._last: tuple[Any, ...] | None = None  # the latest report, if it is not among the points

    def add(self, model: Any, progress: Progress) -> None:
        """Note how the model is doing.

        Parameters
        ----------
        model : object
            Asked for `diagnostics_`, `kernel_weights_` and `nbytes`; those it lacks are left open.
        progress : Progress
            After the model's latest block.
        """
        newest = self._last or (self._points[-1] if self._points else (0,))
        if progress.rows <= newest[0]:
            raise ValueError(
                f"progress is at row {progress.rows} but the curve is at row {newest[0]}: a recorder follows one run; "
                "restore its state, too, when a run goes on."
            )
        weights = np.asarray(getattr(model, "kernel_weights_", ()), dtype=np.float64)
        if self._kernels is None:
            self._kernels = kernel_names(model)
        if len(weights) != len(self._kernels):
            raise ValueError(f"the model has {len(weights)} kernel weights, but had {len(self._kernels)} before.")
        done = getattr(model, "diagnostics_", None) or {}
        point = (
            progress.rows,
            progress.mistakes,
            float(done.get("cumulative_loss", math.nan)),
            progress.seconds,
            int(getattr(model, "nbytes", 0)),
            float(np.mean(done["stored"])) if "stored" in done else 0.0,
            int(done.get("additions", 0)),
            int(done.get("proxies", 0)),
            int(done.get("removals", 0)),
            *weights.tolist(),
        )
        self._reports += 1
        if self._reports % self._interval:
            self._last = point
            return
        self._last = None
        self._points.append(point)
        if len(self._points) > self._limit:
            # An even limit was passed by one: the newest is the odd one out, and becomes the last.
            self._last = self._points[-1]
            self._points = self._points[1::2]
            self._interval *= 2

    def curve(self) -> Curve:
        """The curve so far."""
        kernels = self._kernels or ()
        points = self._points + ([self._last] if self._last else [])
        width = len(COLUMNS) + len(kernels)
        columns = [list(column) for column in zip(*points, strict=True)] if points else [[] for _ in range(width)]
        kinds = [*COLUMNS.values(), *(np.float64 for _ in kernels)]
        return _curve([np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)], kernels)

    def state(self) -> dict[str, Any]:
        """Everything, as arrays, whole numbers and the kernels' names: `Recorder.restore` goes on from it exactly."""
        curve = self.curve()
        return {
            "limit": self._limit,
            "interval": self._interval,
            "reports": self._reports,
            "kernels": None if self._kernels is None else list(self._kernels),
            "weights": curve.weights,
            **{name: getattr(curve, name) for name in COLUMNS},
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make a recorder that goes on where the one with this state was."""
        self = cls(limit=int(state["limit"]))
        self._interval, self._reports = int(state["interval"]), int(state["reports"])
        self._kernels = None if state["kernels"] is None else tuple(state["kernels"])
        curve = Curve(**{name: state[name] for name in COLUMNS}, weights=state["weights"], kernels=self._kernels or ())
        self._points = list(zip(*(column.tolist() for column in _columns(curve)), strict=True))
        if len(self._points) > self._reports // self._interval:
            self._last = self._points.pop()
        return self


def kernel_names(model: Any) -> tuple[str, ...]:
    """Name of each kernel that a model weighs; no two are the same.

    Examples
    --------
    >>> from pocketkernel import MOMDS, Gaussian, Linear
    >>> model = MOMDS(kernels=[Gaussian(0.5), Linear(), Linear()], budget=10).fit([[0], [1]], [0, 1])
    >>> kernel_names(model)
    ('gaussian 0.5', 'linear', 'linear (2)')
    """
    count = len(getattr(model, "kernel_weights_", ()))
    recipe = getattr(model, "_recipe", None)
    if recipe is None:
        return tuple(f"kernel {number}" for number in range(1, count + 1))
    names: list[str] = []
    for kernel in recipe.kernels:
        name = f"{kernel.family} {kernel.parameter:g}" if vars(kernel) else kernel.family
        again = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({again + 1})" if again else name)
    return tuple(names)
