"""`python -m pocketkernel`: where product and laboratory are put together, and the only place that names both."""

import os
import signal
import sys

TYPE_CHECKING = False  # as in typing, which takes time to import
if TYPE_CHECKING:
    from collections.abc import Sequence

LAB = ("lab", "pocketkernel.lab.cli:app", "The paper's tables, theory and data sets, and comparisons with peers.")


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line; Ctrl-C is answered from the first moment on, before all is imported."""
    ours = argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(
            signal.SIGINT, _leave
        )  # an exception in the middle of an import may get lost, or leave a traceback
    if (sys.argv[1:] if argv is None else list(argv)) == ["--version"]:
        from importlib.metadata import version  # noqa: PLC0415

        print(version("pocketkernel"))
        return 0
    from pocketkernel.cli import Branch  # noqa: PLC0415
    from pocketkernel.cli import main as run  # noqa: PLC0415

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(argv, branches=[Branch(*LAB)])
    except KeyboardInterrupt:
        _leave()
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    return code


def _leave(*_: object) -> None:
    """End at once: there is nothing to save yet, or nothing more."""
    os.write(2, b"pocketkernel: interrupted.\n")
    os._exit(130)


if __name__ == "__main__":
    raise SystemExit(main())
