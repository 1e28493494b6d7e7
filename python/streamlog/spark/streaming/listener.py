"""The progress of a trigger by partition, computed from Spark's report of a query.

Spark supports no metrics of Python sources, and names them by their class. The offsets in its
report have the other information.
"""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    SourceProgress,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from streamlog.spark.streaming.mark import Mark

__all__ = ["PartitionProgress", "ProgressListener", "partition_progress"]

_log = logging.getLogger("streamlog.spark")


@dataclass(frozen=True)
class PartitionProgress:
    """The progress of one trigger in one partition."""

    topic: str
    partition: int
    start: int
    """The offset at which the trigger began."""
    end: int
    """The offset after the last record read."""
    latest: int
    """The end of the log, as last known to the source."""

    @property
    def records(self) -> int:
        """The number of offsets read; equal to the records, except after compaction."""
        return self.end - self.start

    @property
    def lag(self) -> int:
        """The number of offsets still to be read."""
        return max(0, self.latest - self.end)

    def __str__(self) -> str:
        """A summary for logs."""
        place = f"{self.topic}-{self.partition}"
        return f"{place}: {self.records:,} records up to offset {self.end:,}, lag {self.lag:,}"


class ProgressListener(StreamingQueryListener):
    """Reports the progress of every trigger that read topics, partition by partition.

    Add it with ``spark.streams.addListener(ProgressListener())``. Spark calls it on a separate
    thread, also for other sources, which it ignores.
    """

    def __init__(
        self, tell: Callable[[StreamingQueryProgress, list[PartitionProgress]], None] | None = None
    ) -> None:
        """Reports to a function, or to the logger ``streamlog.spark`` at level INFO.

        Args:
            tell: Called with Spark's progress and the progress of the partitions.
        """
        self._tell = _write if tell is None else tell

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Does nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Reports the progress of a trigger, if it read topics."""
        parts = partition_progress(event.progress)
        if parts:
            self._tell(event.progress, parts)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Does nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Does nothing."""


def partition_progress(progress: StreamingQueryProgress) -> list[PartitionProgress]:
    """Returns the progress of a trigger in each partition of the topics that it read.

    Args:
        progress: From ``query.lastProgress``, ``query.recentProgress`` or a listener's event.
    """
    return [part for source in progress.sources for part in _parts(source)]


def _parts(source: SourceProgress) -> Iterator[PartitionProgress]:
    end, latest = _mark(source.endOffset), _mark(source.latestOffset)
    if end is None or latest is None:
        return
    # Spark reports no start of a query's first trigger; the mark at its end has it.
    start = _mark(source.startOffset) or Mark(end.began or end.offsets)
    for (topic, partition), offset in sorted(end.offsets.items()):
        place = (topic, partition)
        begun, last = start.offsets.get(place, offset), latest.offsets.get(place, offset)
        yield PartitionProgress(topic, partition, min(begun, offset), offset, last)


def _mark(text: str | None) -> Mark | None:
    """Returns the mark of a stream of topics; None for other sources, which use other forms."""
    try:
        found: Any = json.loads(text or "")
        return Mark.of(found)
    except (ValueError, AttributeError, TypeError):
        return None


def _write(progress: StreamingQueryProgress, parts: list[PartitionProgress]) -> None:
    name = progress.name or progress.id
    told = "; ".join(map(str, parts))
    _log.info("query %s, batch %d: %s", name, progress.batchId, told)
