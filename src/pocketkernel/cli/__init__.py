"""The command line: one file per verb, with a function or a cyclopts App of the same name."""

import os
import signal
import sys
import threading
import tomllib
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TextIO, cast

import cyclopts

from pocketkernel import __doc__ as summary
from pocketkernel.cli import certify, device, fleet, inspect, learn, plan, predict, run
from pocketkernel.cli.errors import FIRST_SIGNAL, WRONG_DATA, UsageError, describe, finish_output, quietly
from pocketkernel.cli.options import HARMLESS, INPUT
from pocketkernel.cli.show import Output, err, prose
from pocketkernel.evaluate.ahead import READER
from pocketkernel.evaluate.interrupt import SIGNALS, terminate
from pocketkernel.stream.files import STDIN

VERBS: tuple[ModuleType, ...] = (run, learn, predict, inspect, certify, plan, device, fleet)
CONFIG = "pocketkernel.toml"
EPILOGUE = f"""Defaults for the options are read from --config FILE, or from {CONFIG} in the current folder, if any.
The file has one table per verb, such as `[run]` with `memory = "64KiB"`. A file that was not passed with --config may
set how rows are read and learned, but no option that names an output, such as out, or discards results, such as force.

Exit codes: 0 success, 1 error in a file, 2 error in the command, 130 interrupted by Ctrl-C (143 by SIGTERM, 129 by
SIGHUP)."""


class Branch(NamedTuple):
    """A group of further verbs, which are imported when they are used."""

    name: str
    app: str  # a function or a cyclopts App of that name, as "module:attribute"
    help: str  # a one-line description


def main(argv: Sequence[str] | None = None, branches: Sequence[Branch] = ()) -> int:
    """Run the command line `argv`, or that of the process if it is None, and return the exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    for number in SIGNALS:
        if argv is None and signal.getsignal(number) is signal.SIG_DFL:  # not where they are to be ignored, as by nohup
            signal.signal(number, terminate)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (for the rest of the process)
    if sys.stdout is None:
        print("pocketkernel: standard output is closed.", file=sys.stderr)
        return WRONG_DATA
    with quietly() as end, redirect_stdout(cast(TextIO, Output(sys.stdout))):
        path, is_given, tokens = _config_of(tokens)
        app = make_app(branches)
        tokens = [INPUT if token == STDIN else token for token in tokens]  # cyclopts would treat - as an option
        if path is not None:
            app.config = (cyclopts.config.Dict(_read(path, is_given, branches), source=str(path)),)
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    finish_output(end)
    interrupted = end.code >= FIRST_SIGNAL
    message = "interrupted." if interrupted else describe(end.error) if end.error is not None else ""
    if message:
        with suppress(OSError):
            prose(err(), f"pocketkernel: {message}")
    if argv is None and (interrupted or any(one.name == READER for one in threading.enumerate())):
        _leave(end.code)
    return end.code


def _leave(code: int) -> NoReturn:
    """End the process at once: a thread may still wait for a pipe, and a normal exit would wait for it or fail.

    Also after Ctrl-C, as Python takes a while to take itself down.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def make_app(branches: Sequence[Branch] = ()) -> cyclopts.App:
    """The command with all its verbs and branches."""
    app = cyclopts.App(
        name="pocketkernel",
        help=summary,
        help_epilogue=EPILOGUE,
        help_format="markdown",
        version=version("pocketkernel"),
        suppress_keyboard_interrupt=False,
        default_parameter=cyclopts.Parameter(negative_iterable=(), negative_none=()),
        help_on_error=False,
    )
    for module in VERBS:
        name = module.__name__.rpartition(".")[2]
        verb: Any = getattr(module, name)
        app.command(verb, name=name)
    for branch in branches:
        app.command(branch.app, name=branch.name, help=branch.help)
    return app


def _config_of(tokens: list[str]) -> tuple[Path | None, bool, list[str]]:
    """The configuration file, if any; whether it was passed or found; and the other arguments."""
    for at, token in enumerate(tokens):
        if token == "--":
            break
        if token == "--config":
            if at + 1 == len(tokens):
                raise UsageError("--config needs a file name.")
            return Path(tokens[at + 1]), True, tokens[:at] + tokens[at + 2 :]
        if token.startswith("--config="):
            return Path(token.partition("=")[2]), True, tokens[:at] + tokens[at + 1 :]
    return (Path(CONFIG) if Path(CONFIG).is_file() else None), False, tokens


def _read(path: Path, is_given: bool, branches: Sequence[Branch]) -> dict[str, Any]:
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:  # also text that is not UTF-8, and integers of thousands of digits
        raise UsageError(f"{path} is not valid TOML: {error}.") from None
    except RecursionError:
        raise UsageError(f"{path} is not valid TOML: too many brackets within brackets.") from None
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist.") from None
    verbs = [module.__name__.rpartition(".")[2] for module in VERBS] + [branch.name for branch in branches]
    for name, table in config.items():
        if name not in verbs or not isinstance(table, dict):
            raise UsageError(f"{path}: {name} is unknown: use a table for a verb, one of {', '.join(verbs)}.")
        if not is_given:
            _refuse_unsafe(path, name, table)
    return config


def _refuse_unsafe(path: Path, verb: str, table: dict[str, Any]) -> None:
    """A file found in the current folder may come from anyone: it may choose how to learn, not where to write."""
    for name, value in table.items():
        if isinstance(value, dict):
            _refuse_unsafe(path, f"{verb}.{name}", value)
        elif name.replace("-", "_") not in HARMLESS:
            raise UsageError(
                f"{path}: [{verb}] {name} cannot be set by a file that was found in the current folder: "
                f"use --{name.replace('_', '-')} on the command line, or pass the file with --config {path}."
            )
