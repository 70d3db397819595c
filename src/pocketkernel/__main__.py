"""`python -m pocketkernel`: where product and laboratory are put together, and the only place that names both."""

import os
import signal
import sys

TYPE_CHECKING = False  # as in typing, which takes time to import
if TYPE_CHECKING:
    from collections.abc import Sequence

LAB = (
    (
        "demo",
        "pocketkernel.lab.demo:demo",
        "Watch PocketClassifier learn a stream in a fixed number of bytes, and recover when the labels flip.",
    ),
    ("lab", "pocketkernel.lab.cli:app", "The paper's tables, theory and data sets, and comparisons with peers."),
)

INTERRUPTED = b"pocketkernel: interrupted.\n"


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line; Ctrl-C is handled from the start, before everything is imported."""
    ours = argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:  # an exception during an import may get lost
        signal.signal(signal.SIGINT, _leave)
    try:
        code = _run(argv, ours)
    except KeyboardInterrupt:
        os.write(2, INTERRUPTED)
        code = 130
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    return code


def _run(argv: "Sequence[str] | None", ours: bool) -> int:
    if (sys.argv[1:] if argv is None else list(argv)) == ["--version"]:  # which needs nothing else
        from importlib.metadata import version  # noqa: PLC0415

        return _say(version("pocketkernel"))
    # No verb but those of the laboratory multiplies matrices: NumPy needs no memory for threads that do.
    if ours and "lab" not in sys.argv:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from pocketkernel.cli import Branch  # noqa: PLC0415
        from pocketkernel.cli import main as run  # noqa: PLC0415
    except (MemoryError, ImportError) as error:
        if isinstance(error, ModuleNotFoundError):
            raise
        why = f" ({error})" if str(error) else ""
        os.write(2, f"pocketkernel: there is not enough memory to start{why}: allow more, see ulimit -v.\n".encode())
        return 1
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run(argv, branches=[Branch(*branch) for branch in LAB])


def _say(text: str) -> int:
    """Print a line without a buffer, which could fail again when the process ends."""
    try:
        os.write(1, f"{text}\n".encode())
    except OSError as error:
        os.write(2, f"pocketkernel: standard output: {error.strerror}.\n".encode())
        return 1
    return 0


def _leave(*_: object) -> None:
    """End at once: there is nothing to save yet."""
    os.write(2, INTERRUPTED)
    os._exit(130)


if __name__ == "__main__":
    raise SystemExit(main())
