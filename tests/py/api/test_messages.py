"""Messages and metadata are values: they compare, hash, match and pickle, and are immutable."""

import pickle
from datetime import UTC, datetime, timedelta

import pytest

import streamlog
from py.support.broker import BrokerProcess
from streamlog import Client, Message, RecordMetadata


@pytest.fixture
def message(client: Client, topic: str) -> Message:
    with client.producer() as producer:
        ticket = producer.send(topic, b"v" * 100, key=b'k"\x00', headers={"a": b"1", "b": None})
        partition = ticket.result(10).partition
    with client.consumer(topic) as consumer:
        message = next(consumer)
    assert message.partition == partition
    return message


def test_a_message_survives_pickling(message: Message) -> None:
    copy = pickle.loads(pickle.dumps(message))
    assert copy == message
    assert hash(copy) == hash(message)
    assert (copy.key, copy.value, copy.headers) == (message.key, message.value, message.headers)
    assert copy.timestamp == message.timestamp
    assert pickle.loads(pickle.dumps(copy)) == message


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "millis", [0, 1, -2, 8_589_934_592_001, 253_402_300_799_999, -62_135_596_800_000]
)
def test_a_timestamp_is_exact(millis: int) -> None:
    expected = EPOCH + timedelta(milliseconds=millis)
    state: tuple[object, ...] = ("t", 0, 5, millis, None, None, [])
    assert Message(state).timestamp == expected
    metadata = RecordMetadata("t", 0, 5, millis)
    assert metadata.timestamp == expected


@pytest.mark.parametrize("millis", [253_402_300_800_000, -62_135_596_800_001, 2**63 - 1])
def test_a_timestamp_that_no_datetime_holds_is_reported_with_its_record(millis: int) -> None:
    expected = f"the timestamp of t-0 at offset 5, {millis} ms .* read timestamp_ms"
    message = Message(("t", 0, 5, millis, None, None, []))
    metadata = RecordMetadata("t", 0, 5, millis)
    for record in (message, metadata):
        with pytest.raises(ValueError, match=expected):
            _ = record.timestamp
        assert record.timestamp_ms == millis


def test_a_message_matches_by_its_parts(message: Message) -> None:
    match message:
        case Message(topic, 0 | 1, 0, _, key, value, headers):
            assert (topic, key, value) == (message.topic, message.key, message.value)
            assert dict(headers) == {"a": b"1", "b": None}
        case _:
            pytest.fail("it did not match")


def test_a_message_cannot_be_changed(message: Message) -> None:
    with pytest.raises(AttributeError):
        message.value = b"other"  # type: ignore[misc]


def test_a_long_value_is_shown_short(message: Message) -> None:
    shown = repr(message)
    assert len(shown) < 200
    assert message.topic in shown
    assert "(100 bytes)" in shown
    assert r'b"k\"\x00"' in shown


def test_different_messages_differ(client: Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send_all(topic, [b"same", b"same"])
    with client.consumer(topic) as consumer:
        first, second = consumer.take(2, timeout=10)
    assert first != second
    assert len({first, second, pickle.loads(pickle.dumps(first))}) == 2


def test_metadata_is_a_value() -> None:
    metadata = RecordMetadata("t", 1, 2, 3000)
    copy = pickle.loads(pickle.dumps(metadata))
    assert copy == metadata
    assert hash(copy) == hash(metadata)
    assert metadata != RecordMetadata("t", 1, 3, 3000)
    assert repr(metadata) == 'RecordMetadata("t", partition=1, offset=2)'


def test_a_client_is_pickled_as_its_settings(client: Client, topic: str) -> None:
    with pickle.loads(pickle.dumps(client)) as other:
        assert isinstance(other, streamlog.Client)
        with other.producer() as producer:
            assert producer.send(topic, b"x").result(10).topic == topic


def test_the_producers_of_a_copied_client_are_those_of_the_client(
    client: Client, shared_broker: BrokerProcess
) -> None:
    with pickle.loads(pickle.dumps(client)) as copy, copy.producer(acks=1):
        pass
    settings = {"acks": 1, "max.in.flight.requests.per.connection": 6}
    with (
        streamlog.connect(shared_broker.address, config=settings) as hasty,
        pickle.loads(pickle.dumps(hasty)) as copy,
        pytest.raises(streamlog.ConfigError, match="at most 5"),
    ):
        copy.producer(acks="all")
