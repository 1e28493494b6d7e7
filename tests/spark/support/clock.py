"""A clock that a test can move forward."""

import time

__all__ = ["Clock"]


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
