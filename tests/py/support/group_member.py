"""A member of a consumer group as a separate process, so that it can be killed.

It prints `partition offset value` for each record, and commits after every few records.
"""

import sys

from confluent_kafka import Consumer, KafkaException
from kafka import KafkaConsumer
from kafka.errors import KafkaError

SESSION_MS = 1500
HEARTBEAT_MS = 300
HANDFUL = 50


def show(partition: int | None, offset: int | None, value: bytes | None) -> None:
    """Prints one record."""
    assert value is not None
    print(partition, offset, value.decode(), flush=True)


def consume_confluent(address: str, group: str, topic: str) -> None:
    """Consumes with librdkafka until it is killed."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 500,
        }
    )
    consumer.subscribe([topic])
    while True:
        messages = [m for m in consumer.consume(HANDFUL, timeout=0.1) if m.error() is None]
        for message in messages:
            show(message.partition(), message.offset(), message.value())
        if messages:
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as error:
                # The partitions were reassigned: their new member reads the records again.
                print(f"not committed: {error}", file=sys.stderr, flush=True)


def consume_kafka_python(address: str, group: str, topic: str) -> None:
    """Consumes with kafka-python until it is killed."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        metadata_max_age_ms=500,
    )
    while True:
        found = consumer.poll(timeout_ms=100, max_records=HANDFUL)
        for message in (m for messages in found.values() for m in messages):
            show(message.partition, message.offset, message.value)
        if found:
            try:
                consumer.commit()
            except KafkaError as error:
                print(f"not committed: {error!r}", file=sys.stderr, flush=True)


MEMBERS = {"confluent": consume_confluent, "kafka-python": consume_kafka_python}

if __name__ == "__main__":
    client, address, group, topic = sys.argv[1:]
    MEMBERS[client](address, group, topic)
