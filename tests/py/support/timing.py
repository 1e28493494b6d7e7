"""Durations measured independently of other load on the machine."""

from collections.abc import Callable


def quickest(measure: Callable[[], float], limit: float, tries: int = 8) -> float:
    """Returns the shortest of several measurements, in seconds; stops at one below `limit`.

    An operation that only waits for others now and then is fast in between; an operation slow by
    itself is slow each time.
    """
    least = float("inf")
    for _ in range(tries):
        least = min(least, measure())
        if least < limit:
            break
    return least
