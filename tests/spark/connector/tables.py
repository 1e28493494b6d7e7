"""Topics through Kafka's connector, and what proves that nothing was lost or doubled."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import streamlog
from py.support.broker import BrokerProcess


def digest(values: Iterable[bytes]) -> tuple[int, str]:
    """How many there are, and a hash of them that their order does not change."""
    ordered = sorted(values)
    hashed = hashlib.sha256()
    for value in ordered:
        hashed.update(len(value).to_bytes(8, "big") + value)
    return len(ordered), hashed.hexdigest()


def values_in(client: streamlog.Client, topic: str) -> list[bytes]:
    """The values of a topic, read by streamlog's own client."""
    return [message.value or b"" for message in client.topic(topic).read()]


def values_of(table: DataFrame) -> list[bytes]:
    """The values of a table."""
    return [bytes(row.value) for row in table.select("value").collect()]


class Topic:
    """A topic, as the connector reads and writes it."""

    def __init__(self, session: SparkSession, broker: BrokerProcess, name: str) -> None:
        """Of this broker."""
        self._session = session
        self._address = {"kafka.bootstrap.servers": broker.address}
        self.name = name

    def table(self, **options: str) -> DataFrame:
        """Its records, once."""
        reader = self._session.read.format("kafka").options(**self._address)
        return reader.option("subscribe", self.name).options(**options).load()

    def stream(self, **options: str) -> DataFrame:
        """Its records from the earliest on."""
        reader = self._session.readStream.format("kafka").options(**self._address)
        wanted = {"subscribe": self.name, "startingOffsets": "earliest", **options}
        return reader.options(**wanted).load()

    def append(self, table: DataFrame, **options: str) -> None:
        """Writes a table to it."""
        writer = table.write.format("kafka").options(**self._address)
        writer.option("topic", self.name).options(**options).mode("append").save()

    def run(self, stream: DataFrame, checkpoint: Path) -> None:
        """Writes to it what a stream has now, and stops."""
        writer = stream.writeStream.format("kafka").options(**self._address)
        writer = writer.option("topic", self.name).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(90), query.status


@dataclass(frozen=True)
class Copy:
    """A topic, and the one that a stream copies it to, with its checkpoint in `folder`."""

    client: streamlog.Client
    source: Topic
    target: Topic
    folder: Path

    def make(self, source: int, target: int) -> None:
        """Makes both topics, with so many partitions."""
        self.client.admin.create_topic(self.source.name, partitions=source)
        self.client.admin.create_topic(self.target.name, partitions=target)

    def publish(self, values: list[bytes]) -> None:
        """Publishes them all to the one."""
        with self.client.producer() as producer:
            producer.send_all(self.source.name, values)

    def run(self, **options: str) -> None:
        """Copies what there is now."""
        stream = self.source.stream(**options).select("key", "value")
        self.target.run(stream, self.folder)

    def values(self) -> list[bytes]:
        """The values that were copied."""
        return values_in(self.client, self.target.name)
