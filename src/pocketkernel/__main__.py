"""`python -m pocketkernel`: where product and laboratory are put together, and the only place that names both."""

from collections.abc import Sequence

LAB = ("lab", "pocketkernel.lab.cli:app", "The paper's tables, theory and data sets, and comparisons with peers.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; Ctrl-C is heard from the first moment on, before all is imported."""
    try:
        from pocketkernel.cli import Branch  # noqa: PLC0415
        from pocketkernel.cli import main as run  # noqa: PLC0415

        return run(argv, branches=[Branch(*LAB)])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
