"""Going on when brokers come back."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from streamlog.errors import BrokerError, ConnectError, RequestTimeout, StreamlogError

__all__ = ["patiently"]

_T = TypeVar("_T")
_log = logging.getLogger("streamlog.spark")
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


def patiently(patience: float, work: Callable[[], _T]) -> _T:
    """Does the work, again if brokers are away, for so many seconds.

    Raises:
        StreamlogError: What the last attempt ended with, when the time is over; at once, what
            another attempt would not change.
    """
    deadline = time.monotonic() + patience
    pause = _FIRST_PAUSE
    while True:
        try:
            return work()
        except StreamlogError as error:
            if not _may_pass(error) or time.monotonic() + pause > deadline:
                raise
            _log.warning("brokers are away, trying again in %.1f s: %s", pause, error)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _may_pass(error: StreamlogError) -> bool:
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, ConnectError | RequestTimeout)
