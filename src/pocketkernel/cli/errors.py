"""Errors of the command line and their exit codes."""

import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

import cyclopts

from pocketkernel._files import named
from pocketkernel._text import plain
from pocketkernel.evaluate import RecordError, RunError
from pocketkernel.evaluate.interrupt import Terminated
from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import StreamError
from pocketkernel.stream.labels import A_CLASS

OK, WRONG_DATA, WRONG_COMMAND, FIRST_SIGNAL = 0, 1, 2, 128

_DATA = (StreamError, ModelFileError, RecordError, RunError, OSError, ModuleNotFoundError)
_COMMAND = (cyclopts.CycloptsError, ValueError)
_OPTIONS = {"n_features": "features", "on_error": "on-error", "max_categories": "max-categories"}
_ADVICE = re.compile(
    r"\b(give|give all by|by|or|set|use|with|in|for wider rows, give) "
    r"(n_features|label|classes|format|learner|drop|categorical|numeric|date|task|delimiter|id)="
)
_OPTION_BEFORE = re.compile(r"(?<![a-z-])(--[a-z-]+) ([,;.:)])")


_SHORTAGE = ("can't start new thread", "Failed to launch worker thread", "failed to map segment", "Unable to allocate")


class UsageError(Exception):
    """The command cannot be carried out: shown as one line, exit code 2."""


@dataclass
class End:
    """How a command ended."""

    code: int = OK
    error: BaseException | None = None


@contextmanager
def quietly() -> Iterator[End]:
    """Turn user errors into an exit code; any other error is a bug and keeps its traceback."""
    end = End()
    try:
        yield end
    except KeyboardInterrupt as error:
        end.code = FIRST_SIGNAL + (error.number if isinstance(error, Terminated) else signal.SIGINT)
    except BrokenPipeError:  # the reader of our output has closed the pipe
        end.code = WRONG_DATA
    except UsageError as error:
        end.code, end.error = WRONG_COMMAND, error
    except _DATA as error:
        end.code, end.error = WRONG_DATA, error
    except _COMMAND as error:
        end.code, end.error = WRONG_COMMAND, error
    except Exception as error:
        if not _is_shortage(error):
            raise
        end.code, end.error = WRONG_DATA, MemoryError(str(error))


def _is_shortage(error: Exception) -> bool:
    """Whether the system has refused memory or a thread, which libraries report in their own ways."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in _SHORTAGE)


def finish_output(end: End) -> None:
    """Flush standard output and record a failure: at exit it would be too late to report it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more can be written
        end.code = end.code or WRONG_DATA
        if not isinstance(error, BrokenPipeError) and end.error is None:
            end.error = named(error, "standard output")


def describe(error: BaseException) -> str:
    """One line about an error, with the names of command-line options."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}."
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}."
    elif isinstance(error, MemoryError):
        why = f" ({text})" if text else ""
        text = f"there is not enough memory{why}: use a smaller --memory or --block, or allow more."
    text = " ".join(text.split())
    text = _ADVICE.sub(lambda found: f"{found[1]} --{_OPTIONS.get(found[2], found[2])} ", text)
    text = _OPTION_BEFORE.sub(r"\1\2", text)
    for asked, option in (
        ("missing='mean'", "--missing mean"),
        ("use memory=", "use --memory "),
        ("permute=SEED", "--permute SEED"),
        ("on_error='skip'", "--on-error skip"),
        ("with force", "with --force"),
        ("another folder", "another folder with --out"),
        ("horizon=N, or rows=N", "--set horizon=N, or --rows N"),
    ):
        text = text.replace(asked, option)
    return plain(text, kept="")


def faults(reports: Sequence[StreamError]) -> list[str]:
    """Lines about rows that were skipped; neighbours with the same fault share one."""
    told = []
    for _, same in groupby(reports, lambda one: (one.file, one.field, one.expected, one.found)):
        first, *others = same
        also = f"; likewise {first.unit}s {', '.join(str(one.line) for one in others)}" if others else ""
        told.append(describe(first) + also)
    if any(one.expected.startswith(A_CLASS) for one in reports):
        told.append(
            "Classes that the first rows do not have are not learned: list all classes in --classes, or leave room for "
            "them with --set n_classes=N (pocket and multiclassmomds)."
        )
    return told
