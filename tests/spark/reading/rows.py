"""The records of a topic and the rows read by Spark, in a comparable form."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamlog

COLUMNS = ("topic", "partition", "offset", "key", "value")
PATIENCE = 90
"""The timeout of a query in seconds."""

Found: TypeAlias = Counter[tuple[str, int, int, str]]
"""The number of reads by topic, partition, offset and a hash of key and value."""


def published(client: streamlog.Client, *topics: str) -> Found:
    """Returns all records of the topics, read by the client alone."""
    return Counter(
        (message.topic, message.partition, message.offset, _hash(message.key, message.value))
        for topic in topics
        for message in client.topic(topic).read()
    )


def read(rows: Iterable[Row]) -> Found:
    """Returns the rows of a table or a batch with `COLUMNS`."""
    return Counter(
        (row.topic, row.partition, row.offset, _hash(row.key, row.value)) for row in rows
    )


def _hash(key: bytes | None, value: bytes | None) -> str:
    parts = [b"none" if part is None else b"some" + bytes(part) for part in (key, value)]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]


def fill(client: streamlog.Client, topic: str, count: int, partitions: int = 2) -> None:
    """Publishes records to the partitions in turn; some keys and values are null."""
    client.admin.create_topic(topic, partitions=partitions, exist_ok=True)
    with client.producer() as producer:
        for number in range(count):
            key = None if number % 3 == 0 else b"key %d" % number
            value = None if number % 7 == 6 else b"value %d " % number * (1 + number % 5)
            producer.send(topic, value, key=key, partition=number % partitions)


def table(spark: SparkSession, address: str, **options: object) -> DataFrame:
    """Returns a topic as a table."""
    reader = spark.read.format("streamlog").option("bootstrap", address)
    return reader.options(**{name: str(value) for name, value in options.items()}).load()


def stream(spark: SparkSession, address: str, **options: object) -> DataFrame:
    """Returns a topic as a stream, by default from the earliest offsets."""
    given = {"startingOffsets": "earliest"} | {name: str(value) for name, value in options.items()}
    reader = spark.readStream.format("streamlog").option("bootstrap", address)
    return reader.options(**given).load()


class Collected:
    """The rows of a stream's triggers, by the number of the trigger.

    A query's thread adds to them while the test reads: each read returns a copy.
    """

    def __init__(self) -> None:
        """Starts without rows."""
        self.triggers: dict[int, list[Row]] = {}
        self.again: dict[int, list[Row]] = {}
        """The triggers that were repeated."""
        self.before: Callable[[int], None] = lambda trigger: None

    def take(self, frame: DataFrame, trigger: int) -> None:
        """Takes a batch, as the function of ``foreachBatch``."""
        rows = frame.select(*COLUMNS).collect()
        if trigger in self.triggers:
            self.again = {**self.again, trigger: rows}
        else:
            self.triggers = {**self.triggers, trigger: rows}
        self.before(trigger)

    @property
    def rows(self) -> list[Row]:
        """Returns all rows; those of repeated triggers count once."""
        return [row for rows in self.triggers.values() for row in rows]

    def sizes(self) -> list[int]:
        """Returns the number of rows of each trigger with rows."""
        return [len(rows) for _, rows in sorted(self.triggers.items()) if rows]

    def start(self, frame: DataFrame, checkpoint: Path, available_now: bool) -> StreamingQuery:
        """Starts a query with this object as its sink."""
        writer = frame.writeStream.foreachBatch(self.take)
        writer = writer.option("checkpointLocation", str(checkpoint))
        return (writer.trigger(availableNow=True) if available_now else writer).start()

    def drain(self, frame: DataFrame, checkpoint: Path) -> None:
        """Runs a query over the existing records."""
        query = self.start(frame, checkpoint, available_now=True)
        try:
            assert query.awaitTermination(PATIENCE), "the query does not end"
        finally:
            query.stop()


@dataclass(frozen=True)
class Streamed:
    """A topic that a query reads as a stream, with its checkpoint in `folder`."""

    spark: SparkSession
    address: str
    client: streamlog.Client
    topic: str
    folder: Path

    def fill(self, count: int, partitions: int = 2) -> None:
        """Publishes records."""
        fill(self.client, self.topic, count, partitions)

    def published(self) -> Found:
        """Returns all of its records."""
        return published(self.client, self.topic)

    def drain(self, got: Collected, **options: object) -> Collected:
        """Reads the existing records."""
        got.drain(self._stream(options), self.folder)
        return got

    @contextmanager
    def running(self, got: Collected, **options: object) -> Iterator[StreamingQuery]:
        """Runs a query during the block."""
        query = got.start(self._stream(options), self.folder, available_now=False)
        try:
            yield query
        finally:
            query.stop()

    def _stream(self, options: dict[str, object]) -> DataFrame:
        if "subscribePattern" not in options:
            options = {"subscribe": self.topic, **options}
        return stream(self.spark, self.address, **options)
