"""What a topic has and what Spark read of it, in a form that can be held against each other."""

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
"""Seconds for which a query may go on."""

Found: TypeAlias = Counter[tuple[str, int, int, str]]
"""Topic, partition, offset and a hash of key and value, and how often it was read."""


def published(client: streamlog.Client, *topics: str) -> Found:
    """All that the topics have, read by the client alone."""
    return Counter(
        (message.topic, message.partition, message.offset, _hash(message.key, message.value))
        for topic in topics
        for message in client.topic(topic).read()
    )


def read(rows: Iterable[Row]) -> Found:
    """The rows, of a table or a stream with `COLUMNS`."""
    return Counter(
        (row.topic, row.partition, row.offset, _hash(row.key, row.value)) for row in rows
    )


def _hash(key: bytes | None, value: bytes | None) -> str:
    parts = [b"none" if part is None else b"some" + bytes(part) for part in (key, value)]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]


def fill(client: streamlog.Client, topic: str, count: int, partitions: int = 2) -> None:
    """Publishes so many records, to the partitions in turn; keys and values are sometimes none."""
    client.admin.create_topic(topic, partitions=partitions, exist_ok=True)
    with client.producer() as producer:
        for number in range(count):
            key = None if number % 3 == 0 else b"key %d" % number
            value = None if number % 7 == 6 else b"value %d " % number * (1 + number % 5)
            producer.send(topic, value, key=key, partition=number % partitions)


def table(spark: SparkSession, address: str, **options: object) -> DataFrame:
    """A topic as a table."""
    reader = spark.read.format("streamlog").option("bootstrap", address)
    return reader.options(**{name: str(value) for name, value in options.items()}).load()


def stream(spark: SparkSession, address: str, **options: object) -> DataFrame:
    """A topic as a stream, from the earliest offsets unless told otherwise."""
    given = {"startingOffsets": "earliest"} | {name: str(value) for name, value in options.items()}
    reader = spark.readStream.format("streamlog").option("bootstrap", address)
    return reader.options(**given).load()


class Collected:
    """The rows of a stream's triggers, by the number of the trigger.

    A query's thread adds to them while the test looks: each look sees them as they were.
    """

    def __init__(self) -> None:
        """Nothing has come yet."""
        self.triggers: dict[int, list[Row]] = {}
        self.again: dict[int, list[Row]] = {}
        """Triggers that were done once more."""
        self.before: Callable[[int], None] = lambda trigger: None

    def take(self, frame: DataFrame, trigger: int) -> None:
        """What ``foreachBatch`` calls."""
        rows = frame.select(*COLUMNS).collect()
        if trigger in self.triggers:
            self.again = {**self.again, trigger: rows}
        else:
            self.triggers = {**self.triggers, trigger: rows}
        self.before(trigger)

    @property
    def rows(self) -> list[Row]:
        """All of them, those that came twice once."""
        return [row for rows in self.triggers.values() for row in rows]

    def sizes(self) -> list[int]:
        """How many rows each trigger with rows had."""
        return [len(rows) for _, rows in sorted(self.triggers.items()) if rows]

    def start(self, frame: DataFrame, checkpoint: Path, available_now: bool) -> StreamingQuery:
        """Starts a query that brings the rows here."""
        writer = frame.writeStream.foreachBatch(self.take)
        writer = writer.option("checkpointLocation", str(checkpoint))
        return (writer.trigger(availableNow=True) if available_now else writer).start()

    def drain(self, frame: DataFrame, checkpoint: Path) -> None:
        """Brings all that there is now."""
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
        """Publishes so many records."""
        fill(self.client, self.topic, count, partitions)

    def published(self) -> Found:
        """All that it has."""
        return published(self.client, self.topic)

    def drain(self, got: Collected, **options: object) -> Collected:
        """Brings all that there is now."""
        got.drain(self._stream(options), self.folder)
        return got

    @contextmanager
    def running(self, got: Collected, **options: object) -> Iterator[StreamingQuery]:
        """A query that brings on and on what comes."""
        query = got.start(self._stream(options), self.folder, available_now=False)
        try:
            yield query
        finally:
            query.stop()

    def _stream(self, options: dict[str, object]) -> DataFrame:
        if "subscribePattern" not in options:
            options = {"subscribe": self.topic, **options}
        return stream(self.spark, self.address, **options)
