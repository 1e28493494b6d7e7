"""Topics whose offsets count bytes: third-party clients stop and resume at any record."""

import subprocess
import sys
from collections.abc import Callable
from itertools import count, islice

import pytest
from confluent_kafka import OFFSET_STORED, Consumer, Message, Producer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.structs import OffsetAndMetadata

import streamlog
from py.support.broker import BrokerProcess
from py.test_client import consume_streamlog
from py.test_clients import CODECS

ReadSome = Callable[[str, str, int], list[bytes]]

SECONDS = 20.0
GROUP = "readers"


def produce(address: str, topic: str, values: list[bytes], settings: dict[str, object]) -> None:
    """Produces, waits for every delivery, and checks that offsets increase."""
    offsets: list[int | None] = []
    producer = Producer({"bootstrap.servers": address, "linger.ms": 20, **settings})
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda _, sent: offsets.append(sent.offset())
        )
    assert producer.flush(SECONDS) == 0
    assert len(offsets) == len(values)
    assert None not in offsets
    assert offsets == sorted({offset for offset in offsets if offset is not None})


def read_confluent(address: str, topic: str, most: int) -> list[bytes]:
    """Resumes the group, reads some records, commits after the last one and leaves."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_STORED)])
    try:
        messages: list[Message] = []
        while len(messages) < most and (message := consumer.poll(SECONDS)) is not None:
            assert message.error() is None, message.error()
            messages.append(message)
        offset = messages[-1].offset()
        assert offset is not None
        consumer.commit(offsets=[TopicPartition(topic, 0, offset + 1)], asynchronous=False)
        return [message.value() or b"" for message in messages]
    finally:
        consumer.close()


def read_kafka_python(address: str, topic: str, most: int) -> list[bytes]:
    """Does the same as `read_confluent`, with kafka-python."""
    consumer = KafkaConsumer(
        bootstrap_servers=address,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=int(SECONDS * 1000),
    )
    partition = KafkaTopicPartition(topic, 0)
    try:
        consumer.assign([partition])
        messages = list(islice(consumer, most))
        next_offset = messages[-1].offset + 1
        consumer.commit({partition: OffsetAndMetadata(next_offset, "", -1)})
        return [message.value for message in messages]
    finally:
        consumer.close()


READERS: dict[str, ReadSome] = {"confluent": read_confluent, "kafka-python": read_kafka_python}


def streamlog_log(*words: str) -> str:
    """Returns the output of `streamlog log`, which has to find no damage."""
    command = [sys.executable, "-m", "streamlog", "log", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_commits_within_batches_and_restarts_lose_and_repeat_nothing(
    broker: BrokerProcess, topic: str, read: ReadSome
) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic, partitions=1, config={"offset.unit": "byte"})
    values = [f"value {number} ".encode() * (1 + number % 9) for number in range(900)]
    sizes = [1, 7, 60]
    parts = [(codec, size) for codec in CODECS for size in sizes]
    step = len(values) // len(parts)
    for number, (codec, size) in enumerate(parts):
        part = values[number * step : (number + 1) * step]
        settings = {"compression.type": codec, "batch.num.messages": size}
        produce(broker.address, topic, part, {**settings, "enable.idempotence": number % 2 == 0})

    found: list[bytes] = []
    for turn in count():
        found += read(broker.address, topic, min(83, len(values) - len(found)))
        if len(found) == len(values):
            break
        if turn == 3:
            assert broker.stop() == 0
            broker.start()
        if turn == 6:
            broker.kill()
            broker.start()
    assert found == values
    ours = consume_streamlog(broker.address, topic, len(values))
    assert [value for _, value in ours] == values

    # The group's offset is after the last record: only later records are new to it.
    produce(broker.address, topic, [b"one more"], {})
    assert read(broker.address, topic, 1) == [b"one more"]

    assert broker.stop() == 0
    assert "901 records" in streamlog_log("verify", str(broker.data_dir))
    segment = broker.data_dir / f"{topic}-0" / f"{0:020}.log"
    assert "one more" in streamlog_log("dump", "--records", str(segment))


def test_lag_is_counted_in_bytes(broker: BrokerProcess, topic: str) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic, partitions=1, config={"offset.unit": "byte"})
    produce(broker.address, topic, [b"x" * 100] * 50, {"batch.num.messages": 10})
    read_confluent(broker.address, topic, 50)
    consumer = KafkaConsumer(bootstrap_servers=broker.address)
    partition = KafkaTopicPartition(topic, 0)
    try:
        end = consumer.end_offsets([partition])[partition]
    finally:
        consumer.close()
    segment = broker.data_dir / f"{topic}-0" / f"{0:020}.log"
    assert end == segment.stat().st_size


def test_a_topic_that_counts_bytes_is_read_backwards(broker: BrokerProcess, topic: str) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic, partitions=1, config={"offset.unit": "byte"})
        values = [b"%d" % number for number in range(200)]
        with client.producer() as producer:
            for number, value in enumerate(values):
                producer.send(topic, value, partition=0)
                if number % 10 == 9:
                    producer.flush()
        partition = client.topic(topic).partition(0)
        assert partition.end_offset() > 1000
        assert [message.value for message in partition] == values
        assert [message.value for message in partition[::-1]] == values[::-1]
        assert [message.value for message in partition[-15:]] == values[-15:]
        assert partition[-1].value == values[-1]
        with client.consumer(topic) as consumer:
            assert len(list(consumer.until_end())) == 200
            consumer.rewind(messages=25)
            assert [message.value for message in consumer.until_end()] == values[-25:]
