"""Third-party clients produce and consume unchanged, and read each other's records."""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition

from py.support.broker import BrokerProcess

Rows = list[tuple[bytes | None, bytes | None]]
Produce = Callable[[str, str, Rows, str], None]
Consume = Callable[[str, str, int], Rows]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ROWS: Rows = [(f"key-{i % 7}".encode(), f"value {i} ".encode() * (1 + i % 40)) for i in range(500)]
ROWS += [(None, b"no key"), (b"tombstone", None), (b"", b"")]


def produce_confluent(address: str, topic: str, rows: Rows, codec: str) -> None:
    """Produces with librdkafka and waits for every delivery."""
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": address, "compression.type": codec, "linger.ms": 5})
    for key, value in rows:
        producer.produce(
            topic, value, key, partition=0, on_delivery=lambda error, _: failures.append(error)
        )
    assert producer.flush(20) == 0
    assert failures == [None] * len(rows)


def consume_confluent(address: str, topic: str, count: int) -> Rows:
    """Consumes with librdkafka, without a group."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    rows: Rows = []
    try:
        while len(rows) < count:
            messages = consumer.consume(count, timeout=20)
            assert messages, f"only {len(rows)} of {count} came"
            for message in messages:
                assert message.error() is None, message.error()
                rows.append((message.key(), message.value()))
    finally:
        consumer.close()
    return rows


def produce_kafka_python(address: str, topic: str, rows: Rows, codec: str) -> None:
    """Produces with kafka-python and waits for every delivery."""
    compression = None if codec == "none" else codec
    producer = KafkaProducer(bootstrap_servers=address, compression_type=compression, linger_ms=5)
    try:
        sent = [producer.send(topic, value, key, partition=0) for key, value in rows]
        producer.flush(20)
        assert [future.get(20).offset for future in sent] == list(range(len(rows)))
    finally:
        producer.close()


def consume_kafka_python(address: str, topic: str, count: int) -> Rows:
    """Consumes with kafka-python, without a group."""
    consumer = KafkaConsumer(bootstrap_servers=address, consumer_timeout_ms=20_000)
    try:
        consumer.assign([KafkaTopicPartition(topic, 0)])
        consumer.seek_to_beginning()
        rows: Rows = []
        for message in consumer:
            rows.append((message.key, message.value))
            if len(rows) == count:
                break
        return rows
    finally:
        consumer.close()


PRODUCERS = {"confluent": produce_confluent, "kafka-python": produce_kafka_python}
CONSUMERS = {"confluent": consume_confluent, "kafka-python": consume_kafka_python}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("produce", PRODUCERS.values(), ids=PRODUCERS)
def test_all_clients_consume_the_records_of_each(
    shared_broker: BrokerProcess, topic: str, produce: Produce, codec: str
) -> None:
    produce(shared_broker.address, topic, ROWS, codec)
    for name, consume in CONSUMERS.items():
        rows = consume(shared_broker.address, topic, len(ROWS))
        assert rows == ROWS, name


def test_records_outlive_a_clean_stop_and_a_kill(broker: BrokerProcess, topic: str) -> None:
    produce_confluent(broker.address, topic, ROWS, "none")
    assert broker.stop() == 0
    broker.start()
    assert consume_confluent(broker.address, topic, len(ROWS)) == ROWS
    produce_kafka_python_more = KafkaProducer(bootstrap_servers=broker.address)
    produce_kafka_python_more.send(topic, b"one more", partition=0).get(20)
    produce_kafka_python_more.close()
    broker.kill()
    broker.start()
    assert consume_confluent(broker.address, topic, len(ROWS) + 1) == [*ROWS, (None, b"one more")]
