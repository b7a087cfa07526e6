"""Stopping on request: the first Ctrl-C asks for a stop after the step, a second one means now."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from widealign.errors import WidealignError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(WidealignError):  # noqa: N818
    """The user stopped the run; it can go on. The exit code is the one of a program stopped by Ctrl-C."""

    exit_code = 130


class Stop:
    """Whether someone has asked for a stop. Calling it tells."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        """True after the first request."""
        return self.asked

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Take a request; the second one interrupts Python at once."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """A `Stop` that Ctrl-C and `kill` reach while inside. Only a main thread can hear them; elsewhere nobody asks."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.ask) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
