"""The progress of a query, committed to a group for tools that monitor lag.

The query itself relies on its checkpoint only and never reads the committed offsets.
"""

import logging
import time

from streamlog.errors import StreamlogError
from streamlog.spark.reading.logs import Logs
from streamlog.spark.reading.offsets import Offsets

__all__ = ["Progress"]

_log = logging.getLogger("streamlog.spark")
_WARN_SECONDS = 60.0


class Progress:
    """Commits offsets for a group when they have changed."""

    def __init__(self, logs: Logs, group: str | None) -> None:
        """Does nothing without a group."""
        self._logs = logs
        self._group = group
        self._stored: Offsets | None = None
        self._warned = -_WARN_SECONDS

    def store(self, offsets: Offsets) -> None:
        """Commits the offsets of finished triggers. A failure is only logged as a warning."""
        if self._group is None or offsets == self._stored or not offsets:
            return
        try:
            self._logs.commit(self._group, offsets)
            self._stored = dict(offsets)
        except StreamlogError as error:
            if time.monotonic() - self._warned >= _WARN_SECONDS:
                self._warned = time.monotonic()
                _log.warning("the progress of group '%s' is not stored: %s", self._group, error)
