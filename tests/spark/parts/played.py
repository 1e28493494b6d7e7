"""A simulation of Spark's calls to the reader of a stream: triggers, and restarts."""

import json
from collections.abc import Iterable, Sequence

import pyarrow
from pyspark.sql.datasource import InputPartition

from streamlog.spark.reading.settings import Reading, default_schema
from streamlog.spark.streaming.mark import Kept
from streamlog.spark.streaming.stream import StreamReader

__all__ = ["Played", "values"]


class Played:
    """A query that keeps its checkpoint, as text, between triggers and between processes."""

    def __init__(self, address: str, **options: str) -> None:
        """Begins at the earliest offsets by default."""
        self._given = {"bootstrap": address, "startingOffsets": "earliest", **options}
        self.reader = self._new()
        self.begin()

    def begin(self) -> None:
        """Asks for the initial offset, as Spark does without a mark before its first trigger.

        Spark does not store it: a repeated first trigger asks again.
        """
        self.checkpoint = json.dumps(self.reader.initialOffset())

    def restart(self, **options: str) -> None:
        """Simulates another process that continues from the checkpoint."""
        self.reader.stop()
        self._given |= options
        self.reader = self._new()

    def plan(self) -> str:
        """Returns the end of the next trigger."""
        start: Kept = json.loads(self.checkpoint)
        return json.dumps(self.reader.latestOffset(start, self.reader.getDefaultReadLimit()))

    def parts(self, end: str) -> Sequence[InputPartition]:
        """Returns the tasks of a trigger that ends there."""
        return self.reader.partitions(json.loads(self.checkpoint), json.loads(end))

    def trigger(self) -> list[bytes]:
        """Runs a trigger, and returns its values."""
        return self.do(self.plan())

    def do(self, end: str) -> list[bytes]:
        """Runs the trigger that ends there, and returns its values."""
        found = [value for part in self.parts(end) for value in values(self.reader.read(part))]
        self.checkpoint = end
        return found

    def drain(self) -> list[bytes]:
        """Runs triggers until there are no new records, and returns all values."""
        found: list[bytes] = []
        for _ in range(100):
            before = self.checkpoint
            found += self.trigger()
            if self.checkpoint == before:
                return found
        raise AssertionError("it goes on and on")

    def _new(self) -> StreamReader:
        return StreamReader(Reading.of_stream(self._given, default_schema(self._given)))


def values(batches: Iterable[pyarrow.RecordBatch]) -> list[bytes]:
    """Returns the values of the batches, in order."""
    return [value for batch in batches for value in batch.column("value").to_pylist()]
