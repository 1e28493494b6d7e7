"""A time limit: a malicious file can make its reader run forever."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mail.parser.rows import Unreadable

AGAIN_SECONDS = 1.0
"""The interval of repeated interruptions, because a reader may ignore one."""


class TimeIsOver(BaseException):
    """Not an Exception: readers of files catch those, and continue."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises Unreadable in the block after a timeout; usable in the main thread only."""
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
            # If the timer fires just before this line, a second remains to restore the handler.
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeIsOver:
        pass
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, left, every)
    if is_over:
        raise Unreadable(f"time: it took longer than {seconds:g} s")
