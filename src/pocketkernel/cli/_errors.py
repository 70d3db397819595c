"""What the user can get wrong."""


class UsageError(Exception):
    """Something was asked for that cannot be done: shown as one line, exit code 2."""
