"""Handling of requested records that the log no longer has.

With ``failOnDataLoss`` the query ends with an error that names topic, partition, requested and
earliest offset. Without it the query continues, and each loss is logged as a warning with a count.
"""

import logging
import os
from collections.abc import Mapping
from typing import Protocol

from streamlog.errors import OffsetOutOfRange, TopicNotFound

__all__ = ["LossHandler", "Losses"]

_log = logging.getLogger("streamlog.spark")


class LossHandler(Protocol):
    """The decision about records that no longer exist: to raise, or to note the loss.

    A place is a topic and the number of a partition.
    """

    def outside(self, place: tuple[str, int], wanted: int, bounds: tuple[int, int]) -> None:
        """Handles an offset before the start or not below the end of a log with these `bounds`."""

    def gone(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a deleted topic or partition, of which `wanted` was the next offset to read."""

    def replaced(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a topic that was deleted and recreated.

        Records returned from `wanted` on may belong to the new topic.
        """


class Losses:
    """The losses of a reader, each reported once."""

    count: int
    """The number of losses."""
    offsets: int
    """The number of lost offsets, as far as known."""

    def __init__(self, is_fatal: bool, ends: Mapping[tuple[str, int], int] | None = None) -> None:
        """Takes the known ends of the logs; with `is_fatal`, the first loss is an error."""
        self._is_fatal = is_fatal
        self._ends = dict(ends or {})
        self.count = 0
        self.offsets = 0

    def see(self, ends: Mapping[tuple[str, int], int]) -> None:
        """Takes newer ends of the logs, to tell what a deleted topic has lost."""
        self._ends.update(ends)

    def outside(
        self, place: tuple[str, int], wanted: int, bounds: tuple[int, int], what: str = ""
    ) -> None:
        """Handles a requested offset outside the log, which has `bounds`.

        Raises:
            OffsetOutOfRange: Losses are fatal.
        """
        topic, partition = place
        earliest, latest = bounds
        loss = (
            f"data loss in topic '{topic}', partition {partition}: offset {wanted} was requested, "
            f"the log begins at {earliest} and ends at {latest}"
            f"{what or ' (records were deleted, or the topic was recreated)'}"
        )
        if self._is_fatal:
            raise OffsetOutOfRange(f"{loss}; {_REMEDY}", wanted, earliest, latest)
        offsets = max(earliest - wanted, 0)
        self._warn(loss, _offsets(offsets), offsets)

    def gone(
        self,
        place: tuple[str, int],
        wanted: int,
        what: str = "the topic was deleted or recreated",
    ) -> None:
        """Handles a topic or a partition that was deleted, or recreated.

        Raises:
            TopicNotFound: Losses are fatal.
        """
        topic, partition = place
        loss = (
            f"data loss in topic '{topic}', partition {partition}: offset {wanted} was requested, "
            f"and {what}"
        )
        if self._is_fatal:
            raise TopicNotFound(f"{loss}; {_REMEDY}")
        end = self._ends.pop(place, None)
        known = "unknown" if end is None else f"last seen at {end}"
        offsets = 0 if end is None else max(end - wanted, 0)
        self._warn(loss, f"all offsets from {wanted} to the end of the log ({known})", offsets)

    def replaced(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a topic that was deleted and recreated under the same name.

        Raises:
            TopicNotFound: Losses are fatal.
        """
        self.gone(place, wanted)

    def _warn(self, loss: str, skipped: str, offsets: int) -> None:
        self.count += 1
        self.offsets += offsets
        sums = f"loss {self.count}, {_offsets(self.offsets)} in total"
        _audible().warning("%s; continuing, %s skipped; %s", loss, skipped, sums)


_REMEDY = "failOnDataLoss=false continues with the existing records and logs a warning"


def _offsets(count: int) -> str:
    return f"{count} offset{'' if count == 1 else 's'}"


def _audible() -> logging.Logger:
    """Returns the logger; in a Spark worker, where logging is not configured, it logs to stderr."""
    in_worker = any(name.startswith("PYTHON_WORKER_FACTORY") for name in os.environ)
    if in_worker and not _log.handlers and not logging.getLogger().handlers:
        _log.addHandler(logging.StreamHandler())
    return _log
