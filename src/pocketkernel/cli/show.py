"""Output: text for people, one JSON document for programs."""

import io
import json
import math
import shutil
import sys
import textwrap
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape as _escape_markup

from pocketkernel._files import named
from pocketkernel._text import json_plain, plain


class Output:
    """Standard output; its errors name it as the file. What its encoding lacks is written as an escape."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        if isinstance(file, io.TextIOWrapper):
            file.reconfigure(errors="backslashreplace")

    def use_utf8(self) -> None:
        """Write UTF-8 from here on, unless it is a terminal."""
        if isinstance(self._file, io.TextIOWrapper) and not self._file.isatty():
            self._file.reconfigure(encoding="utf-8")

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return self._file.write(text)
        except OSError as error:
            raise named(error, "standard output") from error

    def flush(self) -> None:
        """Flush the buffer."""
        try:
            self._file.flush()
        except OSError as error:
            raise named(error, "standard output") from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def out() -> Console:
    """Standard output; lines are not wrapped in a file or a pipe."""
    console = Console(highlight=False, soft_wrap=True)
    return console if console.is_terminal else Console(highlight=False, soft_wrap=True, width=200)


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def prose(console: Console, text: str, style: str | None = None) -> None:
    """Print a sentence: on a terminal it is broken between words, in a file or a pipe it is one line."""
    console.print(plain(text), markup=False, soft_wrap=not console.is_terminal, style=style)


def data_out() -> TextIO:
    """Standard output for data, which is in UTF-8 as in a file: it must not be altered."""
    if isinstance(sys.stdout, Output):
        sys.stdout.use_utf8()
    return sys.stdout


def print_json(document: Any) -> None:
    """Write one JSON document to standard output."""
    text = json.dumps(finite(document), ensure_ascii=False, indent=2, allow_nan=False)
    data_out().write(json_plain(text) + "\n")


def say(text: object, end: str = "\n", *, copied: bool = False) -> None:
    """Print text for people, without control characters that come from a file.

    On a terminal, sentences are broken between words; not lines of a table, nor what is to be copied.
    """
    lines = plain(str(text)).split("\n")
    if sys.stdout.isatty() and not copied:
        width = shutil.get_terminal_size().columns
        fits = (len(line) <= width or "  " in line.strip() for line in lines)
        lines = [line if fit else textwrap.fill(line, width) for line, fit in zip(lines, fits, strict=True)]
    print("\n".join(lines), end=end)


def escape(text: str) -> str:
    """Text from a file for rich, without markup and control characters."""
    return _escape_markup(plain(text, kept=""))


def finite(value: Any) -> Any:
    """The same without NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
