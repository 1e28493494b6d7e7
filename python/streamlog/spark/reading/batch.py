"""The reader of a batch query: reads up to the ends of the logs at planning."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from streamlog.errors import ConfigError
from streamlog.spark.reading.logs import Logs, State
from streamlog.spark.reading.loss import Losses
from streamlog.spark.reading.offsets import Offsets, TopicPartition
from streamlog.spark.reading.positions import AtEnd, AtOffsets, resolve
from streamlog.spark.reading.ranges import OffsetRange, cut
from streamlog.spark.reading.records import RangeReader
from streamlog.spark.reading.settings import Reading
from streamlog.spark.reading.sizes import bytes_per_offset

if TYPE_CHECKING:
    from pyarrow import RecordBatch as _RecordBatch

__all__ = ["BatchReader"]

_POINTS = 4
"""The number of positions in a range at which record sizes are sampled."""


class BatchReader(DataSourceReader):
    """Reads a fixed range. Start and end are determined at planning, so that all tasks agree.

    It accepts no filters from Spark: Spark 4.3 would reuse the ranges planned for a filtered read
    for every other query of the same ``load()``, and those queries would lack rows.
    """

    def __init__(self, reading: Reading) -> None:
        """Does not contact a broker yet."""
        self.reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        """Returns the ranges of offsets to read, one for each task.

        Raises:
            StreamlogError: A topic or records are missing, or brokers cannot be reached.
        """
        connection = self.reading.connection
        logs = Logs(connection, self.reading.subscription)
        state = logs.ends()
        begins = logs.begins(state.ids)
        starts, stops = self._bounds(logs, state, begins)
        ranges = [
            OffsetRange(topic, partition, starts[topic, partition], stop, state.ids[topic])
            for (topic, partition), stop in sorted(stops.items())
        ]

        def record_bytes(part: OffsetRange) -> float:
            return bytes_per_offset(connection, part, _POINTS)

        return cut(ranges, self.reading.split, record_bytes)

    def read(self, partition: InputPartition) -> Iterator["_RecordBatch"]:
        """Reads the records of a range."""
        if not isinstance(partition, OffsetRange):
            # Spark calls with None to read an empty table.
            return iter(())
        return RangeReader.of(self.reading, partition).batches()

    def _bounds(self, logs: Logs, state: State, begins: Offsets) -> tuple[Offsets, Offsets]:
        reading, ends = self.reading, state.ends
        starts = resolve(reading.start, logs, ends)
        stops = resolve(reading.end or AtEnd("latest"), logs, ends)
        losses = Losses(reading.fails_on_loss)
        for place in ends:
            self._check_order(place, starts[place], stops[place])
            bounds = (begins.get(place, 0), ends[place])
            starts[place] = _within(place, starts[place], bounds, losses)
            stops[place] = _within(place, stops[place], bounds, losses)
        return starts, stops

    def _check_order(self, place: TopicPartition, start: int, stop: int) -> None:
        reading = self.reading
        are_given = isinstance(reading.start, AtOffsets) or isinstance(reading.end, AtOffsets)
        if start > stop and are_given:
            topic, partition = place
            words = f"topic '{topic}', partition {partition}: the read would begin at {start}"
            raise ConfigError(f"{words} (startingOffsets) and end at {stop} (endingOffsets)")


def _within(place: TopicPartition, offset: int, bounds: tuple[int, int], losses: Losses) -> int:
    earliest, latest = bounds
    if not earliest <= offset <= latest:
        losses.outside(place, offset, bounds)
    return min(max(offset, earliest), latest)
