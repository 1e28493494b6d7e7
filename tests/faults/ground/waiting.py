"""Waits with a bound."""

import time
from collections.abc import Callable

SETTLE_SECONDS = 60.0
"""The longest time from the end of a fault until every replica is in sync."""


def until(what: str, is_so: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> float:
    """Waits until something is so; returns how long that took, or fails with its name."""
    begin = time.monotonic()
    while not is_so():
        assert time.monotonic() < begin + seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - begin
