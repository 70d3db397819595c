"""Ctrl-C, and the signals with which a system ends a program, as a wish to stop soon."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

SIGNALS = [signal.SIGINT, *(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))]


class Terminated(KeyboardInterrupt):
    """A signal other than Ctrl-C that ends the program, such as that of `docker stop` or of a closed terminal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def terminate(number: int, _: FrameType | None) -> None:
    """Handle a signal as Ctrl-C is handled."""
    raise Terminated(number)


class Interrupt:
    """Catches the first Ctrl-C, or signal that `terminate` handles, once it is armed; the second interrupts as usual.

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
        self._number = signal.SIGINT
        self._before: dict[int, Any] = {}

    def arm(self) -> None:
        """Catch the signals from now on; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.default_int_handler, terminate):
                self._before[number] = signal.signal(number, self._press)

    def pressed(self) -> bool:
        """Whether one of them came."""
        return self._pressed.is_set()

    def error(self) -> KeyboardInterrupt:
        """What the signal would have raised."""
        return KeyboardInterrupt() if self._number == signal.SIGINT else Terminated(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._disarm()

    def _press(self, number: int, _: FrameType | None) -> None:
        self._number = signal.Signals(number)
        self._pressed.set()
        self._disarm()
        if self._told is not None:
            self._told()

    def _disarm(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())
