"""Options that verbs share, and how their values are parsed."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import signature
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from pocketkernel import gaussians
from pocketkernel._json import parse
from pocketkernel.cli.errors import UsageError
from pocketkernel.evaluate.job import learner_class
from pocketkernel.learners import budget_name
from pocketkernel.stream.errors import shown
from pocketkernel.stream.files import STDIN, find

READING = Group("Reading", sort_key=3)
LEARNING = Group("Learner", sort_key=2)
RESULTS = Group("Results", sort_key=4)

INPUT = "\0standard input"
"""Replaces - until a verb receives it."""

Format = Literal["libsvm", "csv", "tsv", "parquet", "arrow", "jsonl", "arff", "vw"]
Scale = Literal["none", "standard", "minmax", "maxabs"]


def file_name(_: type, tokens: Sequence[Token]) -> str:
    """A file name, or - for standard input."""
    return STDIN if tokens[0].value == INPUT else tokens[0].value


File = Annotated[str, Parameter(converter=file_name)]


def at_least(least: int) -> Callable[[type, Any], None]:
    """A validator of an integer, or of all integers in a list."""

    def check(_: type, value: Any) -> None:
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one < least:
                raise ValueError(f"{one} is too small: use {least} or more.")

    return check


Count = Annotated[int | None, Parameter(validator=at_least(1))]
Seed = Annotated[int, Parameter(validator=at_least(0))]


@Parameter(name="*", group=READING)
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read.

    Parameters
    ----------
    format
        File format. By default it is detected from the file names, or from the start of the first file.
    label
        Label column, by name or by index from 0; -1 is the last. By default the column named label, y, target or class.
    classes
        All labels, such as -1,1. By default those of the first rows. Rows with others are skipped, unless there is room
        for them: --set n_classes=N.
    drop
        Columns to ignore.
    categorical
        Categorical columns. With --strict, "auto" means all columns that are not numeric.
    numeric
        Columns to read as numbers.
    date
        Columns that are dates, as NAME or NAME=FORMAT, such as born=%d/%m/%Y.
    id
        Column that identifies a row: it is not learned from, and `predict` writes it beside the answer.
    columns
        Column names of a table without a header, or the keys to read from JSON lines (by default those of most of the
        first lines).
    max_categories
        Maximum number of categories per column that are one-hot encoded; at most 65,536. By default as many as are not
        rare among the first rows, while enough memory is left for kernels. With --strict, each column has this number,
        by default 32.
    hash_width
        Number of columns that further categories share by hashing, at most 65,536; with 0 they have none (with
        --strict, they share those of the first ones). By default up to 16, unless more than 64 would share them.
    missing
        Missing values: stop with an error, use the mean so far, or keep them for learners that can handle them. By
        default pocket keeps them and other learners get the mean; either way a column where they are not rare gets an
        additional one that marks them.
    on_error
        Lines that cannot be read: stop with an error, or skip and count them, which is the default.
    features
        Number of columns of LIBSVM text. By default a pipe has the columns of its first block.
    delimiter
        Field delimiter of a table; " " is any run of blanks, "  " are two blanks or more.
    header
        Whether the first line of a table has the column names.
    strict
        Infer nothing: every column is a number unless it is named, missing values, lines that cannot be read and new
        classes are errors.
    """

    format: Format | None = None
    label: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    classes: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True, consume_multiple=False)] = None
    drop: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    categorical: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    numeric: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    date: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    id: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    columns: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    max_categories: Annotated[int | None, Parameter(validator=at_least(1))] = None
    hash_width: Annotated[int | None, Parameter(validator=at_least(0))] = None
    missing: Literal["error", "mean", "keep"] | None = None
    on_error: Literal["raise", "skip"] | None = None
    features: Count = None
    delimiter: str | None = None
    header: bool | None = None
    strict: Annotated[bool, Parameter(negative=())] = False

    def options(self, *, takes_missing: bool = False) -> dict[str, Any]:
        """The same for `open_stream`, without options that were not given.

        `takes_missing` says whether NaN can be handled by what comes next.
        """
        categorical: Any = columns(self.categorical)
        given = {
            "format": self.format,
            "label": None if self.label is None else columns([self.label])[0],
            "classes": parts(self.classes) or None,
            "drop": columns(self.drop) or None,
            "categorical": "auto" if categorical == ["auto"] else categorical or None,
            "max_categories": self.max_categories,
            "hash_width": self.hash_width,
            "columns": parts(self.columns) or None,
            "missing": self.missing or (None if self.strict or takes_missing else "mean"),
            "on_error": self.on_error,
            "numeric": columns(self.numeric) or None,
            "date": columns(self.date) or None,
            "id": None if self.id is None else columns([self.id])[0],
            "strict": None if self.strict else False,
            "n_features": self.features,
            "delimiter": None if self.delimiter is None else self.delimiter.replace("\\t", "\t"),
            "header": self.header,
        }
        return {name: value for name, value in given.items() if value is not None}


@Parameter(name="*", group=LEARNING)
@dataclass(frozen=True, kw_only=True)
class Learning:
    """The learner and its parameters.

    Parameters
    ----------
    memory
        Bytes that the learner may use, such as 64KiB.
    budget
        Number of rows to store (Raker: frequencies), instead of --memory.
    kernels
        Widths of the Gaussian kernels, such as 0.25,1,4.
    dtype
        Precision of stored rows and of arithmetic.
    storage
        Store rows in 16 bits.
    set
        Any other parameter of the learner, as name=value; can be repeated.
    seed
        Random seed of the learner.
    """

    memory: str | None = None
    budget: Count = None
    kernels: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    dtype: Literal["float32", "float64"] | None = None
    storage: Literal["float16", "bfloat16"] | None = None
    set: list[str] | None = None
    seed: Seed = 0

    def parameters(self, learner: str) -> dict[str, Any]:
        """Parameters of the learner's constructor."""
        class_ = learner_class(learner)
        if self.memory is not None and self.budget is not None:
            raise UsageError("--memory and --budget cannot be used together: choose one.")
        given: dict[str, Any] = {
            "memory": self.memory,
            budget_name(class_): self.budget,
            "kernels": None if self.kernels is None else gaussians(widths(self.kernels)),
            "dtype": self.dtype,
            "storage": self.storage,
            "random_state": self.seed,
        }
        given = {name: value for name, value in given.items() if value is not None}
        for text in self.set or []:
            name, equals, value = text.partition("=")
            if not equals or not name:
                raise UsageError(f"--set {shown(text)} does not have the form name=value.")
            if name in given or name in ("kernels", "random_state"):
                option = {"random_state": "seed", budget_name(class_): "budget"}.get(name, name)
                raise UsageError(f"--set {name} has its own option: use --{option}.")
            given[name] = literal(value)
        return given


@Parameter(name="*", group=RESULTS)
@dataclass(frozen=True, kw_only=True)
class Outputs:
    """What a run writes and prints.

    Parameters
    ----------
    checkpoint
        Save the complete state each time this number of rows has been learned, so that even a killed run can be resumed
        by the same command. Ctrl-C saves it anyway.
    record_format
        Format of the curve. By default Parquet if pyarrow is installed, otherwise CSV.
    report
        Write report.html, a page about the run.
    json
        Print the results as one JSON document.
    """

    checkpoint: Count = None
    record_format: Literal["parquet", "csv"] | None = None
    report: bool = True
    json: Annotated[bool, Parameter(negative=())] = False


HARMLESS = frozenset(
    {field.name for class_ in (Reading, Learning) for field in fields(class_)}
    | {"learner", "task", "learners", "peers", "peer_rows", "scale", "permute", "permutations", "rows", "block"}
    | {"checkpoint", "record_format", "json", "proba", "interval", "escape_formulas", "delta", "sample", "length"}
    | {"kernel", "window", "norm_bound", "landmarks", "data_sets", "budgets", "repetitions", "quick"}
)
"""Options that neither name a file to write or to load, nor discard anything."""


def parts(given: Iterable[str] | None) -> list[str]:
    """Comma-separated values of one option or of several."""
    return [part.strip() for text in given or () for part in text.split(",") if part.strip()]


def columns(given: Iterable[str] | None) -> list[str | int]:
    """Columns by name, or by index if they are integers."""
    return [int(part) if len(part) < 10 and part.removeprefix("-").isdecimal() else part for part in parts(given)]


def literal(text: str) -> Any:
    """Parse a value as JSON; "none" becomes None, and text that is not JSON stays text, as does what is too large.

    Examples
    --------
    >>> literal("0.5"), literal("1e6"), literal("true"), literal("none"), literal("hinge")
    (0.5, 1000000.0, True, None, 'hinge')
    """
    if text.lower() in ("none", "null"):
        return None
    try:
        return parse(text.lower() if text.lower() in ("true", "false") else text)
    except ValueError:
        return text


def defaults(verb: Callable[..., Any]) -> dict[str, Any]:
    """Defaults of the options of a verb."""
    return {name: option.default for name, option in signature(verb).parameters.items()}


def command_line(words: Sequence[str], chosen: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """A command line that repeats the command: these words, and all options that differ from their defaults.

    Examples
    --------
    >>> command_line(["pocketkernel", "run", "a b.csv"], {"rows": 5, "header": False}, {"rows": None, "header": None})
    "pocketkernel run 'a b.csv' --rows=5 --no-header"
    """
    whole = list(words)
    for name, value in chosen.items():
        option = "--" + name.replace("_", "-")
        if value == usual[name]:
            continue
        if isinstance(value, bool):
            whole.append(option if value else option.replace("--", "--no-", 1))
        elif name == "set":
            whole += [f"--set={text}" for text in value]
        else:
            whole.append(f"{option}={','.join(value) if isinstance(value, list) else value}")
    return shlex.join(whole)


def source_of(files: tuple[str, ...]) -> Any:
    """The source for `open_stream`: one path, glob or "-", or several paths."""
    if not files:
        raise UsageError("give a FILE, or - for standard input.")
    if len(files) == 1:
        return files[0]
    if STDIN in files:
        raise UsageError("standard input cannot be read together with files: use - alone.")
    return [str(path) for file in files for path in find(file).paths]


def widths(given: Iterable[str]) -> list[float]:
    """Widths of kernels."""
    return [_width(part) for part in parts(given)]


def _width(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--kernels {text} is not a list of widths: use numbers such as 0.25,1,4.") from None
