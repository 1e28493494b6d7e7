"""Ranges of offsets, one for each task, and their division.

The protocol does not tell where batches begin. The reader of a range that begins within a batch
reads that batch as a whole, and returns each record of its range once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from pyspark.sql.datasource import InputPartition

from streamlog.spark.reading.settings import Split

__all__ = ["OffsetRange", "cut"]


@dataclass
class OffsetRange(InputPartition):
    """Offsets of a partition, from `start` to `stop`, excluded."""

    topic: str
    partition: int
    start: int
    stop: int
    topic_id: str | None = None
    """The id of the requested topic, if it is known."""

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.stop - self.start


def cut(
    ranges: Sequence[OffsetRange], split: Split, record_bytes: Callable[[OffsetRange], float]
) -> list[OffsetRange]:
    """Divides ranges by the limits of `split`.

    Args:
        ranges: The ranges to divide; empty ranges are dropped.
        split: The limits.
        record_bytes: Returns the mean size of the records of a range; called only if there is a
            limit in bytes.

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
