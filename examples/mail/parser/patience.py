"""An end to what takes too long: a file can be made so that its reader never comes to an end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mail.parser.rows import Unreadable

AGAIN_SECONDS = 1.0
"""What is interrupted may pass over it."""


class TimeIsOver(BaseException):
    """No Exception: what reads strangers' files catches those, and goes on."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises Unreadable in the block when the time is over; only the main thread may use it."""
    is_over = False

    def over(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_over
        is_over = True
        raise TimeIsOver

    handler = signal.signal(signal.SIGALRM, over)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
    try:
        try:
            yield
        finally:
            # Should it ring just before this, there is a second left to put all back.
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeIsOver:
        pass
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, left, every)
    if is_over:
        raise Unreadable(f"time: it took longer than {seconds:g} s")
