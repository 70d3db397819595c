"""The command line: one file per verb, each with `add_to(verbs)`."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from pocketkernel import __doc__ as summary
from pocketkernel import __version__
from pocketkernel.cli import demo
from pocketkernel.cli._errors import UsageError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`, or that of the process if it is None, and return the exit code."""
    parser = _Parser(prog="pocketkernel", description=summary)
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(metavar="verb")
    demo.add_to(verbs)
    options = parser.parse_args(argv)
    if "run" not in options:
        parser.print_help()
        return 0
    try:
        options.run(options)
    except UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
