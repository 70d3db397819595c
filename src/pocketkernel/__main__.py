"""`python -m pocketkernel`."""

from pocketkernel.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
