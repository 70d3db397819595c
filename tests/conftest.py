"""For all tests: Ctrl-C works, also where a shell has started them in the background, which ignores it."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
