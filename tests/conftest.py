"""For all tests: Ctrl-C works, also where a shell has started them in the background, which ignores it."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = ("test_spark.py", "test_web.py", "test_fuzz.py")


def pytest_collection_modifyitems(items):
    """The longest tests come first, so that none of them is alone at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)
