"""Handling of requested records that the log no longer has.

With ``failOnDataLoss`` the query ends with an error that names topic, partition, requested and
earliest offset. Without it the query continues, and each loss is logged as a warning with a count.
"""

import logging
import os
from typing import Protocol

from streamlog.errors import OffsetOutOfRange, TopicNotFound

__all__ = ["LossHandler", "Losses"]

_log = logging.getLogger("streamlog.spark")


class LossHandler(Protocol):
    """The decision about records that no longer exist: to raise, or to note the loss.

    A place is a topic and the number of a partition.
    """

    def outside(self, place: tuple[str, int], wanted: int, bounds: tuple[int, int]) -> None:
        """Handles an offset before the first or from the end of the log, which has `bounds`."""

    def gone(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a topic or a partition that was deleted, of which `wanted` is the next offset."""

    def replaced(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a topic that was deleted and recreated.

        Records that were given out from `wanted` on may be those of the new topic.
        """


class Losses:
    """The losses of a reader, each reported once."""

    count: int
    """The number of losses."""
    offsets: int
    """The number of lost offsets, as far as known."""

    def __init__(self, is_fatal: bool) -> None:
        """With `is_fatal`, the first loss is an error."""
        self._is_fatal = is_fatal
        self.count = 0
        self.offsets = 0

    def outside(
        self, place: tuple[str, int], wanted: int, bounds: tuple[int, int], what: str = ""
    ) -> None:
        """Handles a requested offset outside the log, which has `bounds`.

        Raises:
            OffsetOutOfRange: Losses are fatal.
        """
        topic, partition = place
        earliest, latest = bounds
        words = (
            f"data loss in topic '{topic}', partition {partition}: offset {wanted} is wanted, "
            f"the earliest is {earliest} and the log ends at {latest}"
            f"{what or ' (records were deleted, or the topic was made anew)'}"
        )
        if self._is_fatal:
            raise OffsetOutOfRange(f"{words}; {_REMEDY}", wanted, earliest, latest)
        self._tell(words, max(earliest - wanted, 0))

    def gone(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a topic or a partition that was deleted, or recreated.

        Raises:
            TopicNotFound: Losses are fatal.
        """
        topic, partition = place
        words = (
            f"data loss in topic '{topic}', partition {partition}: offset {wanted} is wanted, and "
            "there is no earliest one: the topic was deleted, or made anew"
        )
        if self._is_fatal:
            raise TopicNotFound(f"{words}; {_REMEDY}")
        self._tell(words, 0)

    def replaced(self, place: tuple[str, int], wanted: int) -> None:
        """Handles another topic under the same name as one that is gone.

        Raises:
            TopicNotFound: Losses are fatal.
        """
        self.gone(place, wanted)

    def _tell(self, words: str, offsets: int) -> None:
        self.count += 1
        self.offsets += offsets
        sums = f"{offsets} offsets passed over; loss {self.count}, {self.offsets} offsets in all"
        _audible().warning("%s; going on, %s", words, sums)


_REMEDY = "failOnDataLoss=false goes on with what there is, and warns"


def _audible() -> logging.Logger:
    """Returns the logger; in a Spark worker, where logging is not configured, it logs to stderr."""
    in_worker = any(name.startswith("PYTHON_WORKER_FACTORY") for name in os.environ)
    if in_worker and not _log.handlers and not logging.getLogger().handlers:
        _log.addHandler(logging.StreamHandler())
    return _log
