"""An end to what takes too long: a file can be made so that its reader never comes to an end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mail.parser.rows import Unreadable


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises Unreadable in the block when the time is over; only the main thread may use it."""

    def over(_number: int, _frame: FrameType | None) -> None:
        raise Unreadable(f"time: it took longer than {seconds:g} s")

    handler = signal.signal(signal.SIGALRM, over)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, handler)
