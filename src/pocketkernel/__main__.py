"""`python -m pocketkernel`: where product and laboratory are put together, and the only place that names both."""

import os
import signal

TYPE_CHECKING = False  # as in typing, which takes time to import
if TYPE_CHECKING:
    from collections.abc import Sequence

LAB = (
    (
        "demo",
        "pocketkernel.lab.demo:demo",
        "Watch PocketClassifier learn within a byte budget, then compare it with others.",
    ),
    ("lab", "pocketkernel.lab.cli:app", "The paper's tables, theory and data sets, and comparisons with peers."),
)

INTERRUPTED = b"pocketkernel: interrupted.\n"


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line; Ctrl-C is answered from the first moment on, before all is imported."""
    ours = argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(
            signal.SIGINT, _leave
        )  # an exception during an import may get lost
    try:
        from pocketkernel.cli import Branch  # noqa: PLC0415
        from pocketkernel.cli import main as run  # noqa: PLC0415

        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(argv, branches=[Branch(*branch) for branch in LAB])
    except KeyboardInterrupt:
        os.write(2, INTERRUPTED)
        code = 130
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    return code


def _leave(*_: object) -> None:
    """End at once: there is nothing to save yet."""
    os.write(2, INTERRUPTED)
    os._exit(130)


if __name__ == "__main__":
    raise SystemExit(main())
