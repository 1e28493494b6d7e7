"""Progress lines of a streaming query, one for each of its triggers."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.streaming.listener import SourceProgress, StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["ROWS", "Progress", "lag"]

ROWS = "streamlog_rows"
"""The name of the observation that counts written rows."""


class Progress:
    """The progress of a query."""

    def __init__(self, name: str, query: "StreamingQuery") -> None:
        """Starts with no trigger reported."""
        self.query = query
        self.rows_in = 0
        self.rows_out = 0
        self._name = name
        self._reported = -1

    def news(self) -> Iterator[str]:
        """Returns a line for each batch finished since the last call."""
        for progress in self.query.recentProgress:
            if progress.batchId > self._reported and not _is_idle(progress):
                self._reported = progress.batchId
                yield self._line(progress)

    def _line(self, progress: "StreamingQueryProgress") -> str:
        went = _counted(progress.observedMetrics.get(ROWS))
        self.rows_in += progress.numInputRows
        self.rows_out += went
        seconds = progress.batchDuration / 1000
        line = f"{self._name}: batch {progress.batchId}, {progress.numInputRows:,} rows in, "
        late = sum(each.numRowsDroppedByWatermark for each in progress.stateOperators)
        line += f"{went:,} out, " + (f"{late:,} late, " if late else "") + f"{seconds:.1f} s"
        behind: dict[str, int] = {}
        for source in progress.sources:
            behind |= lag_of(source)
        listed = ", ".join(f"{topic} {count:,}" for topic, count in sorted(behind.items()))
        return line + (f"; lag {listed}" if listed else "")


def lag_of(source: "SourceProgress") -> dict[str, int]:
    """Returns the number of records to read in each topic of a source; empty for files."""
    return lag(_offsets(source.endOffset), _offsets(source.latestOffset))


def lag(
    read: Mapping[str, Mapping[str, int]], latest: Mapping[str, Mapping[str, int]]
) -> dict[str, int]:
    """Returns the number of records between the offsets read and the end, for each topic."""
    return {
        topic: sum(max(0, end - read.get(topic, {}).get(number, 0)) for number, end in ends.items())
        for topic, ends in latest.items()
    }


def _counted(observed: "Row | None") -> int:
    """Returns the count of an observation; with Spark Connect, its values are a list in the row."""
    if observed is None:
        return 0
    count = observed[0]
    return int(count[0] if isinstance(count, list) else count)


def _offsets(text: str | None) -> dict[str, Any]:
    """Parses offsets of topics, by name and partition; empty for the forms of other sources."""
    try:
        found = json.loads(text or "")
    except ValueError:
        return {}
    is_of_topics = isinstance(found, dict) and all(
        isinstance(each, dict) for each in found.values()
    )
    return found if is_of_topics else {}


def _is_idle(progress: "StreamingQueryProgress") -> bool:
    """Returns true if Spark only reports that it still waits."""
    return "addBatch" not in progress.durationMs
