"""The progress of a trigger by partition, computed from Spark's report of a query.

Spark supports no metrics of Python sources, and names them by their class. The offsets in its
report give everything but bytes: only the tasks see these, and Spark passes nothing from a reading
task to the driver. So bytes are estimated from samples of the records, which are read again.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
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

from streamlog.errors import StreamlogError
from streamlog.spark.clients import check_setting
from streamlog.spark.options import Connection
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.sizes import sampled_bytes
from streamlog.spark.streaming.mark import Mark

__all__ = ["PartitionProgress", "ProgressListener", "partition_progress"]

_log = logging.getLogger("streamlog.spark")
_POINTS = 4
"""The number of positions in a trigger's records of a partition at which sizes are sampled."""
_PATIENCE = 5.0
"""Seconds to wait for unreachable brokers: only a report depends on them, and no trigger."""


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
    bytes: int | None = None
    """The approximate size of the keys, values and headers read; None if it is unknown."""

    @property
    def records(self) -> int:
        """The number of offsets read: that of the records, or more in a compacted topic."""
        return self.end - self.start

    @property
    def lag(self) -> int:
        """The number of offsets still to be read."""
        return max(0, self.latest - self.end)

    def __str__(self) -> str:
        """A summary for logs."""
        place = f"{self.topic}-{self.partition}"
        size = "" if self.bytes is None else f" of about {self.bytes:,} bytes"
        read = f"{self.records:,} records{size} up to offset {self.end:,}"
        return f"{place}: {read}, lag {self.lag:,}"


class ProgressListener(StreamingQueryListener):
    """Reports the progress of every trigger that read topics, partition by partition.

    Add it with ``spark.streams.addListener(ProgressListener())``. Spark calls it on a separate
    thread, also for other sources, which it ignores.
    """

    def __init__(
        self,
        tell: Callable[[StreamingQueryProgress, list[PartitionProgress]], None] | None = None,
        *,
        bootstrap: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Reports to a function, or to the logger ``streamlog.spark`` at level INFO.

        Args:
            tell: Called with Spark's progress and the progress of the partitions.
            bootstrap: As for ``partition_progress``.
            config: As for ``partition_progress``.

        Raises:
            ConfigError: A setting in ``config`` is unknown or invalid.
        """
        self._tell = _write if tell is None else tell
        self._connection = _connection(bootstrap, config)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Does nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Reports the progress of a trigger, if it read topics."""
        parts = _progress(event.progress, self._connection)
        if parts:
            self._tell(event.progress, parts)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Does nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Does nothing."""


def partition_progress(
    progress: StreamingQueryProgress,
    *,
    bootstrap: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> list[PartitionProgress]:
    """Returns the progress of a trigger in each partition of the topics that it read.

    Args:
        progress: From ``query.lastProgress``, ``query.recentProgress`` or a listener's event.
        bootstrap: The brokers from which a few of the records are read again, to estimate bytes.
            Without them bytes are None.
        config: Further settings of the client, as for ``streamlog.connect``.

    Raises:
        ConfigError: A setting in ``config`` is unknown or invalid.
    """
    return _progress(progress, _connection(bootstrap, config))


def _connection(bootstrap: str | None, config: Mapping[str, Any] | None) -> Connection | None:
    if bootstrap is None:
        return None
    connection = Connection.of(bootstrap, config or {}, _PATIENCE)
    for name, text in connection.settings:
        check_setting(f"kafka.{name}", text)
    return connection


def _progress(
    progress: StreamingQueryProgress, connection: Connection | None
) -> list[PartitionProgress]:
    parts = [part for source in progress.sources for part in _parts(source)]
    if connection is None:
        return parts
    try:
        return [replace(part, bytes=_bytes(connection, part)) for part in parts]
    except StreamlogError as error:
        _log.warning("the bytes of a trigger's records are unknown: %s", error)
        return parts


def _bytes(connection: Connection, part: PartitionProgress) -> int | None:
    """Returns the estimated size of the records read; None if none of the samples is left."""
    if not part.records:
        return 0
    read = OffsetRange(part.topic, part.partition, part.start, part.end)
    each = sampled_bytes(connection, read, _POINTS)
    return None if each is None else round(each * part.records)


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
