"""`python -m pocketkernel`."""


def main() -> int:
    """Run the command line; Ctrl-C is heard from the first moment on, before all is imported."""
    try:
        from pocketkernel.cli import main as run  # noqa: PLC0415

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
