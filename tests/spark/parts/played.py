"""What Spark does with the reader of a stream, trigger by trigger, restarts and all."""

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
        """Begins at the earliest offsets unless told otherwise."""
        self._given = {"bootstrap": address, "startingOffsets": "earliest", **options}
        self.reader = self._new()
        self.begin()

    def begin(self) -> None:
        """Goes to the beginning, as Spark does that has no mark before its first trigger.

        It keeps none of it: a first trigger that is done again begins where it is told anew.
        """
        self.checkpoint = json.dumps(self.reader.initialOffset())

    def restart(self, **options: str) -> None:
        """Another process goes on by the checkpoint."""
        self.reader.stop()
        self._given |= options
        self.reader = self._new()

    def plan(self) -> str:
        """Where the next trigger ends."""
        start: Kept = json.loads(self.checkpoint)
        return json.dumps(self.reader.latestOffset(start, self.reader.getDefaultReadLimit()))

    def parts(self, end: str) -> Sequence[InputPartition]:
        """The tasks of a trigger that ends there."""
        return self.reader.partitions(json.loads(self.checkpoint), json.loads(end))

    def trigger(self) -> list[bytes]:
        """Does one trigger: the values that it read."""
        return self.do(self.plan())

    def do(self, end: str) -> list[bytes]:
        """Does the trigger that ends there: the values that it read."""
        found = [value for part in self.parts(end) for value in values(self.reader.read(part))]
        self.checkpoint = end
        return found

    def drain(self) -> list[bytes]:
        """Triggers until there is nothing new: the values of all of them."""
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
    """The values of the batches, in their order."""
    return [value for batch in batches for value in batch.column("value").to_pylist()]
