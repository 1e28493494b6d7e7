"""How long something takes, told apart from how busy the machine is."""

from collections.abc import Callable


def quickest(measure: Callable[[], float], limit: float, tries: int = 8) -> float:
    """The least of several measurements, in seconds; none is made after one below `limit`.

    What waits for others now and then is as quick as ever in between; what is slow by itself is
    slow each time.
    """
    least = float("inf")
    for _ in range(tries):
        least = min(least, measure())
        if least < limit:
            break
    return least
