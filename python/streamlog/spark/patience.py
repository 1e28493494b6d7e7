"""Retries while brokers cannot be reached, and while an existing topic is absent from metadata."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from streamlog.errors import (
    BrokerError,
    ConnectError,
    RequestTimeout,
    StreamlogError,
    TopicNotFound,
)
from streamlog.spark.options import Connection

__all__ = ["Patience", "briefly", "patiently"]

_T = TypeVar("_T")
_log = logging.getLogger("streamlog.spark")
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_UNSEEN_SECONDS = 5.0
_SHORTEST_LOOK = 1.0
"""The shortest useful timeout: a healthy broker may need this long."""


class Patience:
    """The time left to wait for unreachable brokers, counted from the last success."""

    def __init__(self, connection: Connection) -> None:
        """Starts counting the time that the connection allows."""
        self._seconds = connection.patience
        self._name = connection.patience_name
        self.renew()

    def renew(self) -> None:
        """Restarts the count after a success."""
        self._deadline = time.monotonic() + self._seconds
        self._pause = _FIRST_PAUSE

    def look(self, shortest: float) -> float:
        """Returns the seconds to wait for a slow operation before it is retried.

        The timeout grows with the time since the last success, so that a slow operation succeeds
        at last.

        Args:
            shortest: The timeout of the first attempts, in seconds.
        """
        left = self._deadline - time.monotonic()
        return max(_SHORTEST_LOOK, min(max(shortest, self._seconds - left), left))

    def wait(self, error: StreamlogError, what: str = "brokers were away") -> None:
        """Waits briefly before a failed operation is retried.

        Args:
            error: The error of the last attempt.
            what: The condition since the last success, for readers of the error.

        Raises:
            StreamlogError: The error itself, when the time is over, with a note that names the
                setting; at once, if a retry cannot help.
        """
        if not _may_pass(error):
            raise error
        if self._is_over():
            # A lower level may have waited already, and added its note.
            if not hasattr(error, "__notes__"):
                error.add_note(f"{what} for {self._seconds:g} s, which {self._name} sets")
            raise error
        _log.warning("%s, trying again in %.1f s: %s", what, self._pause, error)
        self._sleep()

    def outlasts(self, absence: str) -> bool:
        """Waits briefly for a topic that is absent; returns false when the time is over.

        Metadata can lack an existing topic for a moment, for example while a broker starts.

        Args:
            absence: A statement of what is absent, for the log.
        """
        if self._is_over():
            return False
        _log.warning("%s, looking again in %.1f s", absence, self._pause)
        self._sleep()
        return True

    def through(self, work: Callable[[], _T]) -> _T:
        """Does the work, and retries it while brokers cannot be reached.

        Raises:
            StreamlogError: As ``wait``.
        """
        while True:
            try:
                return work()
            except StreamlogError as error:
                self.wait(error)

    def until_there(self, work: Callable[[], _T]) -> _T:
        """Does the work, and retries it also while its topic is absent.

        Raises:
            StreamlogError: As ``wait``.
            TopicNotFound: The topic stays absent.
        """
        while True:
            try:
                return self.through(work)
            except TopicNotFound as error:
                if not self.outlasts(str(error)):
                    raise

    def _is_over(self) -> bool:
        return time.monotonic() + self._pause > self._deadline

    def _sleep(self) -> None:
        time.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)


def briefly(connection: Connection) -> Patience:
    """Returns the patience for a topic that may never have existed: its name may be misspelled."""
    return Patience(replace(connection, patience=min(connection.patience, _UNSEEN_SECONDS)))


def patiently(connection: Connection, work: Callable[[], _T]) -> _T:
    """Does the work, and retries it while brokers cannot be reached, as the connection allows.

    Raises:
        StreamlogError: The error of the last attempt, when the time is over; at once, if a retry
            cannot help.
    """
    return Patience(connection).through(work)


def _may_pass(error: StreamlogError) -> bool:
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, ConnectError | RequestTimeout)
