"""A topic with many equal partitions, each for one flipped bit, and its readers."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import KafkaError as KafkaPythonError

import streamlog

__all__ = ["CLIENTS", "HEADER_BITS", "TOPIC", "Layout", "Read", "batches", "fill", "is_durable"]

TOPIC = "rotten"
HEADER_BITS = 61 * 8

BATCHES = 9
RECORDS_PER_BATCH = 4
RECORDS = BATCHES * RECORDS_PER_BATCH

QUIET_SECONDS = 3.0
"""The time without a record after which a client counts as stuck at damage."""


@dataclass(frozen=True)
class Layout:
    """The topic's partitions, and the sizes of a value and of a segment, in bytes."""

    partitions: int
    value_bytes: int
    segment_bytes: int

    def value(self, partition: int, offset: int) -> bytes:
        """Returns the expected value; all have one length, so that all partitions are alike."""
        return (b"%05d:%05d:" % (partition, offset)).ljust(self.value_bytes, b"v")


def fill(address: str, layout: Layout) -> None:
    """Fills the topic: batches of a few records, in segments of which the last is active."""
    with streamlog.connect(address) as client:
        config = {"segment.bytes": layout.segment_bytes}
        client.admin.create_topic(TOPIC, partitions=layout.partitions, config=config)
    producer = Producer({"bootstrap.servers": address, "linger.ms": 2000})
    for batch in range(BATCHES):
        for partition in range(layout.partitions):
            for number in range(RECORDS_PER_BATCH):
                value = layout.value(partition, batch * RECORDS_PER_BATCH + number)
                producer.produce(TOPIC, value, partition=partition, timestamp=1_700_000_000_000)
        assert producer.flush(60) == 0


def is_durable(data_dir: Path, partitions: int) -> bool:
    """Returns true if the durable point covers the log: only beyond it may a tail be cut."""
    checkpoint = data_dir / "durable-point-checkpoint"
    rows = checkpoint.read_text().splitlines() if checkpoint.exists() else []
    return all(f"{TOPIC} {partition} {RECORDS}" in rows for partition in range(partitions))


def batches(data_dir: Path, partition: int) -> Iterator[tuple[Path, int, int]]:
    """Returns file, position and size of each batch of a partition."""
    for path in sorted((data_dir / f"{TOPIC}-{partition}").glob("*.log")):
        log, position = path.read_bytes(), 0
        while position < len(log):
            size = 12 + int.from_bytes(log[position + 8 : position + 12])
            yield path, position, size
            position += size


@dataclass
class Read:
    """The records that a client read by partition, and the partitions that ended in errors."""

    layout: Layout
    rows: dict[int, list[tuple[int, bytes]]] = field(default_factory=lambda: defaultdict(list))
    errors: dict[int, str] = field(default_factory=dict)

    def wrong(self) -> list[tuple[int, int, bytes]]:
        """Records with a wrong value for their offset, or after skipped offsets."""
        found = []
        for partition, rows in self.rows.items():
            for expected, (offset, value) in enumerate(rows):
                if offset != expected or value != self.layout.value(partition, offset):
                    found.append((partition, offset, value))
        return found

    def complete(self) -> int:
        """The number of partitions that were read to their end."""
        return sum(len(rows) == RECORDS for rows in self.rows.values())


def by_librdkafka(address: str, layout: Layout) -> Read:
    """Reads with librdkafka and its default options, which verify no checksums."""
    read, left = Read(layout), set(range(layout.partitions))
    options = {"bootstrap.servers": address, "group.id": "rot", "enable.partition.eof": True}
    consumer = Consumer({**options, "enable.auto.commit": False, "log_level": 0})
    try:
        consumer.assign([TopicPartition(TOPIC, number, 0) for number in left])
        deadline = time.monotonic() + QUIET_SECONDS
        while left and time.monotonic() < deadline:
            for message in consumer.consume(10_000, timeout=0.1):
                partition, error = message.partition(), message.error()
                if partition is None:
                    continue
                if error is None:
                    offset, value = message.offset(), message.value()
                    assert offset is not None
                    assert value is not None
                    read.rows[partition].append((offset, value))
                    deadline = time.monotonic() + QUIET_SECONDS
                elif partition in left:
                    left.discard(partition)
                    if error.code() != KafkaError._PARTITION_EOF:
                        read.errors[partition] = error.name()
    finally:
        consumer.close()
    return read


def by_kafka_python(address: str, layout: Layout) -> Read:
    """Reads with kafka-python, whose errors do not name the partition."""
    read = Read(layout)
    consumer = KafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    try:
        places = [KafkaTopicPartition(TOPIC, number) for number in range(layout.partitions)]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        deadline = time.monotonic() + QUIET_SECONDS
        while read.complete() < layout.partitions and time.monotonic() < deadline:
            try:
                found = consumer.poll(timeout_ms=100, max_records=10_000)
            except KafkaPythonError:
                continue
            for place, messages in found.items():
                rows = [(message.offset, message.value or b"") for message in messages]
                read.rows[place.partition].extend(rows)
                deadline = time.monotonic() + QUIET_SECONDS
    finally:
        consumer.close(autocommit=False)
    return read


def by_streamlog(address: str, layout: Layout) -> Read:
    """Reads with streamlog's client; an error in a partition does not affect the others."""
    read = Read(layout)
    with streamlog.connect(address) as client, client.consumer(TOPIC) as consumer:
        reading = consumer.until_end()
        while sum(map(len, read.rows.values())) < layout.partitions * RECORDS:
            try:
                message = next(reading)
            except StopIteration:
                break
            except streamlog.BrokerError as error:
                place = re.search(rf"{TOPIC}-(\d+) from offset (\d+)", str(error))
                read.errors[int(place[1]) if place else -1] = str(error)
            else:
                read.rows[message.partition].append((message.offset, message.value or b""))
    return read


CLIENTS: dict[str, Callable[[str, Layout], Read]] = {
    "librdkafka": by_librdkafka,
    "kafka-python": by_kafka_python,
    "streamlog": by_streamlog,
}
