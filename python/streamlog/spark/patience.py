"""Going on when brokers come back."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from streamlog.errors import BrokerError, ConnectError, RequestTimeout, StreamlogError
from streamlog.spark.options import Connection

__all__ = ["Patience", "patiently"]

_T = TypeVar("_T")
_log = logging.getLogger("streamlog.spark")
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_SHORTEST_LOOK = 1.0
"""However impatient: less would not do for a broker that is there."""


class Patience:
    """For how long brokers may be away, counted from when something last went well."""

    def __init__(self, connection: Connection) -> None:
        """Begins to count what the connection allows."""
        self._seconds = connection.patience
        self._name = connection.patience_name
        self.renew()

    def renew(self) -> None:
        """Something went well: counts from now."""
        self._deadline = time.monotonic() + self._seconds
        self._pause = _FIRST_PAUSE

    def look(self, shortest: float) -> float:
        """For how many seconds to wait for what may just be slow, before it is begun anew.

        That is as long again as nothing went well, so that what takes its time comes at last.

        Args:
            shortest: The seconds of the first looks.
        """
        left = self._deadline - time.monotonic()
        return max(_SHORTEST_LOOK, min(max(shortest, self._seconds - left), left))

    def wait(self, error: StreamlogError, what: str = "brokers were away") -> None:
        """Waits a little before what ended with the error is tried again.

        Args:
            error: What the last attempt ended with.
            what: What has been so since it last went well, for whoever reads the error.

        Raises:
            StreamlogError: The error itself, when the time is over, with a note that says which
                setting is meant; at once, where another attempt would change nothing.
        """
        if not _may_pass(error):
            raise error
        if time.monotonic() + self._pause > self._deadline:
            # It may have been waited for at a lower level already.
            if not hasattr(error, "__notes__"):
                error.add_note(f"{what} for {self._seconds:g} s, which {self._name} sets")
            raise error
        _log.warning("%s, trying again in %.1f s: %s", what, self._pause, error)
        time.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def through(self, work: Callable[[], _T]) -> _T:
        """Does the work, again if brokers are away.

        Raises:
            StreamlogError: As ``wait``.
        """
        while True:
            try:
                return work()
            except StreamlogError as error:
                self.wait(error)


def patiently(connection: Connection, work: Callable[[], _T]) -> _T:
    """Does the work, again if brokers are away, for as long as the connection allows.

    Raises:
        StreamlogError: What the last attempt ended with, when the time is over; at once, what
            another attempt would not change.
    """
    return Patience(connection).through(work)


def _may_pass(error: StreamlogError) -> bool:
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, ConnectError | RequestTimeout)
