"""Ctrl-C as a wish to stop soon."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self


class Interrupt:
    """Catches the first Ctrl-C once it is armed; the second one interrupts as usual.

    Parameters
    ----------
    told : function, default=None
        Called at once, as the rows that are being learned and what is saved after them may take a while.

    Examples
    --------
    >>> with Interrupt() as interrupt:
    ...     interrupt.arm()
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupt.pressed()
    True
    """

    def __init__(self, told: Callable[[], None] | None = None) -> None:
        self._pressed = threading.Event()
        self._told = told
        self._before: Any = None

    def arm(self) -> None:
        """Catch Ctrl-C from now on; only the main thread can."""
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)

    def pressed(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._pressed.is_set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._disarm()

    def _press(self, _: int, __: FrameType | None) -> None:
        self._pressed.set()
        self._disarm()
        if self._told is not None:
            self._told()

    def _disarm(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None
