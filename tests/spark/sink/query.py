"""A simulated query: its tasks stage values, and its driver can crash at any step.

It makes the calls that Spark guarantees a sink: an uncommitted batch is run again under its number,
with new attempts of its tasks.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from pyspark.sql.types import StructType

import streamlog
from streamlog.spark.sink.exactly.commit import Commit
from streamlog.spark.sink.exactly.delivery import COPIERS, ExactlyOnce
from streamlog.spark.sink.exactly.publication import CopyElsewhere, Step
from streamlog.spark.sink.exactly.stage import StagedRows, stage
from streamlog.spark.sink.settings import Settings

_SCHEMA = StructType().add("key", "binary").add("value", "binary")


class Crash(Exception):
    """The driver has crashed."""


class Query:
    """A query that writes values to a topic."""

    checkpoint: Path | None
    """The folder of its checkpoint; None if its driver cannot read it."""

    def __init__(
        self, address: str, name: str, topic: str, copy_elsewhere: CopyElsewhere | None = None
    ) -> None:
        """Uses this id and this topic; without `copy_elsewhere` its driver copies."""
        given = {"bootstrap": address, "topic": topic, "exactlyonce": "true"}
        given["checkpointlocation"] = "none: the test is it"
        self.checkpoint = None
        self.name = name
        self.topic = topic
        self._copy_elsewhere = copy_elsewhere
        self._settings = Settings.of(given, _SCHEMA, overwrite=False)
        self._clients = [streamlog.connect(address) for _ in range(COPIERS)]

    def staged(self, values: list[bytes], tasks: int = 2) -> list[StagedRows]:
        """Returns the messages of a batch's tasks, each with a share of the values."""
        shares = [values[task::tasks] for task in range(tasks)]
        return [stage(self._settings, self.name, _batches(share)) for share in shares]

    def commit(self, batch: int, staged: list[StagedRows], crash_at: int | None = None) -> int:
        """Commits a batch, and returns the number of steps.

        Raises:
            Crash: The step of this number was reached; the first is 0.
        """
        steps = 0

        def on_step(step: Step) -> None:
            nonlocal steps
            if steps == crash_at:
                raise Crash(step)
            steps += 1

        copy = self._copy_elsewhere
        commit = Commit(self._clients, self.name, on_step, copy_elsewhere=copy)
        commit.batch(batch, staged, None if self.checkpoint is None else str(self.checkpoint))
        return steps

    def run(self, batch: int, values: list[bytes], random: Random | None = None) -> int:
        """Runs a batch until it is done, with random crashes; returns their number."""
        crashes = 0
        while True:
            chance = random is not None and random.random() < 0.7
            crash_at = random.randrange(12) if random is not None and chance else None
            if random is not None and random.random() < 0.3:
                # An attempt that stages records and is then lost.
                self.staged(values[: random.randrange(len(values) + 1)])
            try:
                self.commit(batch, self.staged(values), crash_at)
            except Crash:
                crashes += 1
            else:
                return crashes

    def commit_as_spark_does(self, batch: int, staged: list[StagedRows]) -> None:
        """Commits a batch through the writer, which waits for brokers."""
        ExactlyOnce(self._settings).commit(staged, batch)

    def close(self) -> None:
        """Closes its clients."""
        for client in self._clients:
            client.close()


def _batches(values: list[bytes]) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(values), 50):
        column = pa.array(values[begin : begin + 50], pa.binary())
        yield pa.record_batch([column, column], names=["key", "value"])


def values_of(batch: int, count: int) -> list[bytes]:
    """Returns the values of a batch, all different."""
    return [b"%d-%d" % (batch, number) for number in range(count)]


def counted(client: streamlog.Client, topic: str) -> Counter[bytes]:
    """Returns the number of occurrences of each value, as read by streamlog's client."""
    parts = client.topic(topic).partitions()
    log = client.topic(topic)
    found = (message for part in range(parts) for message in log.partition(part).read())
    return Counter(message.value or b"" for message in found)


def counted_by_confluent(address: str, topic: str) -> Counter[bytes]:
    """Returns the number of occurrences of each value, as read by confluent-kafka."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "none"})
    found: Counter[bytes] = Counter()
    try:
        known = consumer.list_topics(topic, timeout=60).topics[topic].partitions
        for number in known:
            end = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=60)[1]
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING)])
            position = 0
            while position < end:
                message = consumer.poll(60)
                assert message is not None, f"{topic}-{number} gave nothing at {position} of {end}"
                assert message.error() is None, message.error()
                offset = message.offset()
                assert offset is not None
                position = offset + 1
                found[message.value() or b""] += 1
    finally:
        consumer.close()
    return found
