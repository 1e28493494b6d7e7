"""Topics through Kafka's connector, and digests that reveal lost or duplicated records."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import streamlog
from py.support.broker import BrokerProcess


def digest(values: Iterable[bytes]) -> tuple[int, str]:
    """Returns the number of values, and a hash of them that is independent of their order."""
    ordered = sorted(values)
    hashed = hashlib.sha256()
    for value in ordered:
        hashed.update(len(value).to_bytes(8, "big") + value)
    return len(ordered), hashed.hexdigest()


def values_in(client: streamlog.Client, topic: str) -> list[bytes]:
    """Returns the values of a topic, read by streamlog's own client."""
    return [message.value or b"" for message in client.topic(topic).read()]


def values_of(table: DataFrame) -> list[bytes]:
    """Returns the values of a table."""
    return [bytes(row.value) for row in table.select("value").collect()]


class Topic:
    """A topic that the connector reads and writes."""

    def __init__(self, session: SparkSession, broker: BrokerProcess, name: str) -> None:
        """Names the topic at this broker."""
        self._session = session
        self._address = {"kafka.bootstrap.servers": broker.address}
        self.name = name

    def table(self, **options: str) -> DataFrame:
        """Returns its records as a table."""
        reader = self._session.read.format("kafka").options(**self._address)
        return reader.option("subscribe", self.name).options(**options).load()

    def stream(self, **options: str) -> DataFrame:
        """Returns its records from the earliest on as a stream."""
        reader = self._session.readStream.format("kafka").options(**self._address)
        wanted = {"subscribe": self.name, "startingOffsets": "earliest", **options}
        return reader.options(**wanted).load()

    def append(self, table: DataFrame, **options: str) -> None:
        """Writes a table to it."""
        writer = table.write.format("kafka").options(**self._address)
        writer.option("topic", self.name).options(**options).mode("append").save()

    def run(self, stream: DataFrame, checkpoint: Path) -> None:
        """Writes the existing rows of a stream to it, and stops."""
        writer = stream.writeStream.format("kafka").options(**self._address)
        writer = writer.option("topic", self.name).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(90), query.status


@dataclass(frozen=True)
class Copy:
    """A topic, and a stream that copies it to another, with its checkpoint in `folder`."""

    client: streamlog.Client
    source: Topic
    target: Topic
    folder: Path

    def make(self, source: int, target: int) -> None:
        """Creates both topics."""
        self.client.admin.create_topic(self.source.name, partitions=source)
        self.client.admin.create_topic(self.target.name, partitions=target)

    def publish(self, values: list[bytes]) -> None:
        """Publishes values to the source."""
        with self.client.producer() as producer:
            producer.send_all(self.source.name, values)

    def run(self, **options: str) -> None:
        """Copies the existing records."""
        stream = self.source.stream(**options).select("key", "value")
        self.target.run(stream, self.folder)

    def values(self) -> list[bytes]:
        """Returns the copied values."""
        return values_in(self.client, self.target.name)
