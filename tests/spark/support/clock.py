"""Time that passes when a test says so."""

import time

__all__ = ["Clock"]


class Clock:
    """Stands in for ``time`` where a module waits."""

    def __init__(self) -> None:
        """It is as late as it is."""
        self._ahead = 0.0

    def pass_on(self, seconds: float) -> None:
        """So many seconds pass at once."""
        self._ahead += seconds

    def monotonic(self) -> float:
        """The time, with what has been passed on."""
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        """Sleeps."""
        time.sleep(seconds)
