"""Publishing: serializers, partitioners, acknowledgements, and errors."""

import json
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

import streamlog

Client = streamlog.Client
Partitioner: TypeAlias = Literal["keyed", "sticky", "random", "roundrobin"]


@pytest.fixture
def topic(streamlog_client: Client, streamlog_topic: str) -> str:
    """A topic with four partitions."""
    streamlog_client.admin.create_topic(streamlog_topic, partitions=4)
    return streamlog_topic


def test_serializers_make_bytes_of_keys_and_values(streamlog_client: Client, topic: str) -> None:
    with streamlog_client.producer(key=str, value=json.dumps) as producer:
        producer.send(topic, {"id": 1}, key=7).result()
        producer.send(topic, None, key=7).result()
        assert producer.send_all(topic, [{"id": 2}], key=lambda item: str(item["id"])) == 1
        assert producer.send_all(topic, [3], value=lambda item: b"%d" % item) == 1
    rows = sorted((m.key or b"", m.value or b"") for m in streamlog_client.topic(topic))
    assert rows == [(b"", b"3"), (b"2", b'{"id": 2}'), (b"7", b""), (b"7", b'{"id": 1}')]


def test_an_error_of_a_serializer_reaches_the_caller(streamlog_client: Client, topic: str) -> None:
    with streamlog_client.producer(value=json.dumps) as producer:
        with pytest.raises(TypeError, match="not JSON serializable"):
            producer.send(topic, object())
        with pytest.raises(streamlog.ConfigError, match="value: expected something that can be"):
            streamlog_client.producer(value=7)  # type: ignore[call-overload]


def test_a_partitioner_of_the_programs_own_chooses(streamlog_client: Client, topic: str) -> None:
    seen = []

    def choose(name: str, key: bytes | None, value: bytes | None, count: int) -> int:
        seen.append((name, key, value, count))
        return int(value or b"0")

    with streamlog_client.producer(partitioner=choose) as producer:
        for number in range(4):
            ticket = producer.send(topic, b"%d" % number, key=b"k")
            assert ticket.result().partition == number
        assert seen[3] == (topic, b"k", b"3", 4)
        with pytest.raises(streamlog.ConfigError, match=r"it chose partition 9 of .* has 4"):
            producer.send(topic, b"9")
        with pytest.raises(ValueError, match="invalid literal"):
            producer.send(topic, b"nine")
        assert producer.send(topic, b"nine", partition=2).result().partition == 2


@pytest.mark.parametrize(
    ("partitioner", "is_kept"),
    [("keyed", True), ("random", False), ("roundrobin", False), ("sticky", True)],
)
def test_partitioners_have_names(
    streamlog_client: Client, topic: str, partitioner: Partitioner, is_kept: bool
) -> None:
    with streamlog_client.producer(partitioner=partitioner) as producer:
        for _ in range(40):
            producer.send(topic, b"x", key=b"one key")
    ends = streamlog_client.topic(topic).end_offsets()
    assert (sorted(end or 0 for end in ends.values()) == [0, 0, 0, 40]) is is_kept


def test_the_sticky_partitioner_moves_on_with_each_batch(
    streamlog_client: Client, topic: str
) -> None:
    with streamlog_client.producer(partitioner="sticky", batch_size=1000) as producer:
        for _ in range(40):
            producer.send(topic, bytes(400), key=b"one key")
    assert all(streamlog_client.topic(topic).end_offsets().values())


def test_an_unknown_keyword_of_a_record_is_refused(streamlog_client: Client, topic: str) -> None:
    with (
        streamlog_client.producer() as producer,
        pytest.raises(TypeError, match="unexpected keyword argument 'partiton'"),
    ):
        producer.send(topic, b"x", partiton=1)  # type: ignore[call-arg]


def test_contradictory_options_are_named_together(streamlog_client: Client) -> None:
    with pytest.raises(streamlog.ConfigError, match="idempotence: it needs acks=all, not acks=1"):
        streamlog_client.producer(acks=1, idempotence=True)


def test_a_ticket_has_the_error_without_raising(tmp_path: Path) -> None:
    with streamlog.Broker(tmp_path) as broker, broker.connect() as client:
        client.admin.create_topic("t", config={"max.message.bytes": 1000})
        producer = client.producer()
        sent = producer.send("t", b"x")
        refused = producer.send("t", bytes(5000))
        assert refused.exception() is not None
        assert isinstance(refused.exception(), streamlog.MessageTooLarge | streamlog.BrokerError)
        assert sent.exception() is None or refused.done()
        producer.flush()
        producer.close()


def test_failures_of_ignored_tickets_are_raised_at_the_end(streamlog_client: Client) -> None:
    name = "small"
    streamlog_client.admin.create_topic(name, config={"max.message.bytes": 1000}, exist_ok=True)
    with (
        pytest.raises(streamlog.DeliveryError, match="1 records were not delivered") as caught,
        streamlog_client.producer() as producer,
    ):
        producer.send(name, bytes(5000))
    ((topic, partition, records, error),) = caught.value.failures
    assert (topic, partition, records) == (name, 0, 1)
    assert isinstance(error, streamlog.StreamlogError)


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acknowledgement_delivers(
    streamlog_client: Client, topic: str, acks: int | str
) -> None:
    with streamlog_client.producer(acks=acks) as producer:  # type: ignore[call-overload]
        tickets = [producer.send(topic, b"x", partition=0) for _ in range(10)]
        producer.flush()
        offsets = [ticket.result().offset for ticket in tickets]
    assert offsets == ([None] * 10 if acks == 0 else list(range(10)))
    with streamlog_client.consumer(topic) as consumer:
        assert len(list(consumer.take(10, timeout=10))) == 10
