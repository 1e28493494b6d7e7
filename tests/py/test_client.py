"""The Rust client through Python: published records are consumed, from every start position."""

from datetime import UTC, datetime, timedelta

import pytest

import streamlog
from py.support.broker import BrokerProcess
from py.test_clients import CODECS, CONSUMERS, PRODUCERS, ROWS, Consume, Produce, Rows
from streamlog import Client, Message

T0 = datetime(2024, 2, 29, 12, tzinfo=UTC)


def read(client: Client, topic: str, count: int, **options: object) -> list[Message]:
    """Returns the first `count` messages of a new consumer, within 20 s."""
    with client.consumer(topic, **options) as consumer:  # type: ignore[call-overload]
        return list(consumer.take(count, timeout=20.0))


def values(messages: list[Message]) -> list[bytes | None]:
    return [message.value for message in messages]


def produce_streamlog(address: str, topic: str, rows: Rows, codec: str) -> None:
    """Produces with streamlog's client."""
    with (
        streamlog.connect(address) as client,
        client.producer(compression=codec) as producer,  # type: ignore[call-overload]
    ):
        sent = [producer.send(topic, value, key=key, partition=0) for key, value in rows]
        producer.flush(20)
        assert [ticket.result(0).offset for ticket in sent] == list(range(len(rows)))


def consume_streamlog(address: str, topic: str, count: int) -> Rows:
    """Consumes with streamlog's client."""
    with streamlog.connect(address) as client:
        return [(message.key, message.value) for message in read(client, topic, count)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("produce", PRODUCERS.values(), ids=PRODUCERS)
def test_streamlogs_client_consumes_records_of_other_clients(
    shared_broker: BrokerProcess, topic: str, produce: Produce, codec: str
) -> None:
    produce(shared_broker.address, topic, ROWS, codec)
    assert consume_streamlog(shared_broker.address, topic, len(ROWS)) == ROWS


@pytest.mark.parametrize("codec", CODECS)
def test_all_clients_consume_records_of_streamlogs_client(
    shared_broker: BrokerProcess, topic: str, codec: str
) -> None:
    produce_streamlog(shared_broker.address, topic, ROWS, codec)
    consumers: dict[str, Consume] = {**CONSUMERS, "streamlog": consume_streamlog}
    for name, consume in consumers.items():
        assert consume(shared_broker.address, topic, len(ROWS)) == ROWS, name


def test_a_record_comes_back_with_all_its_parts(client: Client, topic: str) -> None:
    headers = [("trace", b"ab12"), ("trace", b""), ("none", None), ("ключ", b"\xff")]
    with client.producer() as producer:
        ticket = producer.send(
            topic, b"\x00payload", key=b"42", headers=headers, partition=0, timestamp=T0
        )
        metadata = ticket.result(timeout=10)
    assert ticket.done()
    assert (metadata.topic, metadata.partition, metadata.offset) == (topic, 0, 0)
    assert metadata.timestamp == T0
    [message] = read(client, topic, 1)
    assert (message.topic, message.partition, message.offset) == (topic, 0, 0)
    assert (message.key, message.value) == (b"42", b"\x00payload")
    assert message.headers == tuple(headers)
    assert message.timestamp == T0
    assert message.timestamp is not None
    assert message.timestamp.tzinfo is not None
    assert message.timestamp_ms == T0.timestamp() * 1000


def test_null_and_empty_are_distinguished(client: Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send(topic, None, key=b"tombstone", partition=0)
        producer.send(topic, b"", key=b"", partition=0)
        producer.send(topic, b"no key", partition=0, headers={})
    messages = read(client, topic, 3)
    rows = [(message.key, message.value, message.headers) for message in messages]
    assert rows == [(b"tombstone", None, ()), (b"", b"", ()), (None, b"no key", ())]


def test_a_key_stays_in_its_partition_and_in_order(client: Client, topic: str) -> None:
    client.admin.create_topic(topic, partitions=4)
    with client.producer() as producer:
        sent = producer.send_all(
            topic, range(1000), key=lambda i: f"key-{i % 50}", value=lambda i: str(i)
        )
    assert sent == 1000
    messages = read(client, topic, 1000)
    assert sorted(int(message.value or b"") for message in messages) == list(range(1000))
    homes: dict[bytes | None, set[int]] = {}
    last: dict[bytes | None, int] = {}
    for message in messages:
        homes.setdefault(message.key, set()).add(message.partition)
        number = int(message.value or b"")
        assert number > last.get(message.key, -1)
        last[message.key] = number
    assert all(len(partitions) == 1 for partitions in homes.values())
    assert {message.partition for message in messages} == {0, 1, 2, 3}


def test_a_consumer_resumes_where_it_is_configured_to(client: Client, topic: str) -> None:
    with client.producer() as producer:
        for i in range(100):
            timestamp = T0 + timedelta(seconds=i)
            producer.send(topic, str(i).encode(), partition=0, timestamp=timestamp)
    with client.consumer(topic, start=90) as consumer:
        assert values(list(consumer.take(3, timeout=10))) == [b"90", b"91", b"92"]
        assert consumer.positions() == {(topic, 0): 93}
        assert consumer.lag() == {(topic, 0): 7}
        consumer.seek("earliest")
        assert values(list(consumer.take(2, timeout=10))) == [b"0", b"1"]
        consumer.seek(T0 + timedelta(seconds=49.5))
        assert values(list(consumer.take(1, timeout=10))) == [b"50"]
        consumer.seek({0: 70})
        assert values(list(consumer.take(1, timeout=10))) == [b"70"]
        consumer.seek({(topic, 0): "latest"})
        assert list(consumer.take(1, timeout=0.2)) == []
        consumer.seek(timedelta(days=-36500))
        assert values(list(consumer.take(1, timeout=10))) == [b"0"]
    assert values(read(client, topic, 1, start=T0 + timedelta(seconds=99))) == [b"99"]


def test_a_topic_has_its_offsets(client: Client, topic: str) -> None:
    client.admin.create_topic(topic, partitions=2)
    with client.producer() as producer:
        for i in range(10):
            producer.send(topic, b"x", partition=1, timestamp=T0 + timedelta(seconds=i))
    offsets = client.topic(topic)
    assert offsets.partitions() == 2
    assert offsets.begin_offsets() == {0: 0, 1: 0}
    assert offsets.end_offsets() == {0: 0, 1: 10}
    assert offsets.offsets_at(T0 + timedelta(seconds=4)) == {0: None, 1: 4}


def test_topics_are_created_listed_and_deleted(client: Client, topic: str) -> None:
    admin = client.admin
    admin.create_topic(topic, partitions=3, retention=timedelta(days=1))
    assert topic in admin.topics()
    with pytest.raises(streamlog.TopicExists, match=topic):
        admin.create_topic(topic)
    admin.create_topic(topic, exist_ok=True)
    assert client.topic(topic).partitions() == 3
    admin.delete_topic(topic)
    assert topic not in admin.topics()
    with pytest.raises(streamlog.TopicNotFound, match=topic):
        admin.delete_topic(topic)
    admin.delete_topic(topic, missing_ok=True)


def test_several_topics_are_read_by_one_consumer(client: Client, topic: str) -> None:
    topics = [f"{topic}-a", f"{topic}-b"]
    with client.producer() as producer:
        for name in topics:
            producer.send(name, name.encode(), partition=0)
    with client.consumer(topics) as consumer:
        messages = list(consumer.take(2, timeout=10))
        assert {message.topic for message in messages} == set(topics)
        assert sorted(set(consumer.assignment())) == sorted(consumer.assignment())
        with pytest.raises(streamlog.ConfigError, match="several topics"):
            consumer.seek({0: "earliest"})
