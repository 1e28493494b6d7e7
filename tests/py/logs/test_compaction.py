"""Compacted topics as clients see them: gaps in the offsets, and the last value of every key."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition

import streamlog
from py.support.broker import BrokerProcess, until

SECONDS = 20
KEYS = 20
ROUNDS = 60

# Keys and rounds in the order of writing. Every other key ends halfway, far from the last records.
WRITTEN = [
    (b"key %d" % key, turn)
    for turn in range(ROUNDS)
    for key in range(KEYS)
    if key % 2 or turn < ROUNDS // 2
]

Found = list[tuple[int, bytes, bytes]]


@pytest.fixture
def compacting(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker that searches for logs to compact all the time."""
    settings = ["--set", "log.cleaner.backoff.ms=50"]
    with BrokerProcess(tmp_path / "data", *settings) as broker:
        yield broker


def written(broker: BrokerProcess, topic: str, codec: str) -> None:
    """Creates a compacted topic with small segments and writes every key many times."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": "4096",
        "min.cleanable.dirty.ratio": "0.01",
    }
    for future in admin.create_topics([NewTopic(topic, 1, config=config)]).values():
        future.result(SECONDS)
    producer = Producer(
        {
            "bootstrap.servers": broker.address,
            "compression.type": codec,
            "enable.idempotence": True,
            "batch.num.messages": 7,
        }
    )
    for key, turn in WRITTEN:
        producer.produce(topic, f"{turn} {'x' * 50}", key=key)
    assert producer.flush(SECONDS) == 0


def read(broker: BrokerProcess, topic: str) -> Found:
    """Returns all records that librdkafka reads from the start."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            "auto.offset.reset": "error",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: Found = []
    while True:
        message = consumer.poll(SECONDS)
        assert message is not None, "no record and no end"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            break
        offset, key, value = message.offset(), message.key(), message.value()
        assert offset is not None
        assert key is not None
        assert value is not None
        found.append((offset, bytes(key), bytes(value)))
    consumer.close()
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_client_reads_a_compacted_topic_from_its_start(
    compacting: BrokerProcess, topic: str, codec: str
) -> None:
    written(compacting, topic, codec)
    until(lambda: len(read(compacting, topic)) < len(WRITTEN) // 3, SECONDS)
    compacting.kill()
    compacting.start()
    found = read(compacting, topic)
    offsets = [offset for offset, _, _ in found]
    assert offsets == sorted(set(offsets))
    assert offsets[-1] == len(WRITTEN) - 1
    assert len(offsets) < offsets[-1] - offsets[0], "there are gaps"
    last = {key: value for _, key, value in found}
    assert {key: int(value.split()[0]) for key, value in last.items()} == dict(WRITTEN)

    consumer = KafkaConsumer(
        bootstrap_servers=compacting.address,
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1000,
    )
    partition = KafkaTopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    theirs = {}
    for record in consumer:
        theirs[record.key] = record.value
        if record.offset == offsets[-1]:
            break
    consumer.close()
    assert theirs == last

    with streamlog.connect(compacting.address) as client, client.consumer(topic) as reader:
        ours = {message.key: message.value for message in reader.until_end()}
    assert ours == last
