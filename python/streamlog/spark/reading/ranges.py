"""Ranges of offsets, one for each task, and how they are parted.

Where batches begin inside a log, the protocol does not tell. A range that begins within a batch
costs its reader that batch once more, and no record is read twice or left out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from pyspark.sql.datasource import InputPartition

from streamlog.spark.reading.settings import Split

__all__ = ["OffsetRange", "cut"]


@dataclass
class OffsetRange(InputPartition):
    """Offsets of one partition, from `start` to before `stop`."""

    topic: str
    partition: int
    start: int
    stop: int
    topic_id: str | None = None
    """The id of the topic that is meant, if it is known."""

    @property
    def size(self) -> int:
        """How many offsets it has."""
        return self.stop - self.start


def cut(
    ranges: Sequence[OffsetRange], split: Split, record_bytes: Callable[[OffsetRange], float]
) -> list[OffsetRange]:
    """Ranges of the same offsets, none larger than the split allows, and enough of them.

    Args:
        ranges: Those to part; empty ones are left out.
        split: The limits.
        record_bytes: Tells how large the records of a range are on average; asked only when there
            is a limit in bytes.

    Example:
        >>> from streamlog.spark.reading.ranges import OffsetRange, cut
        >>> from streamlog.spark.reading.settings import Split
        >>> parts = cut([OffsetRange("orders", 0, 0, 10)], Split(max_records=4), lambda part: 1.0)
        >>> [(part.start, part.stop) for part in parts]
        [(0, 3), (3, 6), (6, 10)]
    """
    found = [part for part in ranges if part.size > 0]
    if split.max_records is not None:
        most = split.max_records
        found = _each(found, lambda part: -(-part.size // most))
    if split.max_bytes is not None:
        size = split.max_bytes
        found = _each(found, lambda part: ceil(part.size * record_bytes(part) / size))
    least = split.min_partitions
    if least is not None and len(found) < least:
        total = sum(part.size for part in found)
        found = _each(found, lambda part: ceil(part.size / total * least))
    return found


def _each(ranges: Iterable[OffsetRange], pieces: Callable[[OffsetRange], int]) -> list[OffsetRange]:
    return [piece for part in ranges for piece in _pieces(part, pieces(part))]


def _pieces(part: OffsetRange, count: int) -> Iterable[OffsetRange]:
    count = max(1, min(count, part.size))
    for number in range(count):
        start = part.start + part.size * number // count
        stop = part.start + part.size * (number + 1) // count
        yield OffsetRange(part.topic, part.partition, start, stop, part.topic_id)
