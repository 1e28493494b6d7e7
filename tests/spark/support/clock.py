"""A clock that a test can move forward."""

import time
from collections.abc import Callable

__all__ = ["Clock", "HastyClock"]


class Clock:
    """A replacement for ``time`` in a module that waits."""

    def __init__(self) -> None:
        """Starts at the current time."""
        self._ahead = 0.0

    def pass_on(self, seconds: float) -> None:
        """Moves the clock forward."""
        self._ahead += seconds

    def monotonic(self) -> float:
        """Returns the time, including forward moves."""
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        """Sleeps in real time."""
        time.sleep(seconds)


class HastyClock(Clock):
    """A clock on which sleeping moves the time forward without waiting."""

    def __init__(self, after_sleep: Callable[[], None] = lambda: None) -> None:
        """Starts at the current time; calls a function after each sleep."""
        super().__init__()
        self._after_sleep = after_sleep
        self.slept = 0.0
        """The sum of all sleeps in seconds."""

    def sleep(self, seconds: float) -> None:
        """Moves the clock forward."""
        self.slept += seconds
        self.pass_on(seconds)
        self._after_sleep()
