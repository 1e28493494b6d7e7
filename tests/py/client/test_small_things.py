"""Conveniences for short programs: names, headers, lengths, decoded reads, texts."""

import json
from typing import Any

import pytest

import streamlog
from py.aio.conftest import Run
from streamlog import Client, aio


@pytest.fixture
def filled(client: Client, topic: str) -> str:
    """Three JSON records and a tombstone after them, in one partition."""
    with client.producer(value=json.dumps) as producer:
        for number in range(3):
            producer.send(topic, {"id": number}, key=b"%d" % number)
        producer.send(topic, None, key=b"0")
    return topic


def test_clients_producers_and_consumers_show_where_they_are(client: Client, filled: str) -> None:
    address = client.__getnewargs_ex__()[1]["config"]["bootstrap.servers"]
    assert repr(client) == f'<Client "streamlog" at {address}>'
    assert repr(client.producer()) == f"<Producer at {address}>"
    with client.consumer(filled) as alone:
        assert repr(alone) == f'<Consumer of "{filled}" at {address}>'
    assert repr(alone) == f'<Consumer of "{filled}" at {address}, closed>'
    with client.consumer([filled, filled], group="readers") as member:
        assert repr(member) == f'<Consumer of "{filled}", "{filled}" at {address}, group "readers">'


def test_a_header_is_found_by_its_name(client: Client, topic: str) -> None:
    headers = [("trace", b"1"), ("empty", None), ("trace", b"2")]
    with client.producer() as producer:
        producer.send(topic, b"x", headers=headers).result(10)
    message = client.topic(topic).partition(0)[0]
    assert message.header("trace") == b"2"
    assert message.header("empty") is None
    assert message.header("empty", b"none") is None
    assert message.header("span") is None
    assert message.header("span", b"none") == b"none"
    assert message.header("Trace") is None


def test_a_partition_has_a_length(client: Client, filled: str) -> None:
    partition = client.topic(filled).partition(0)
    assert len(partition) == 4
    with pytest.raises(streamlog.TopicNotFound, match="no partition 5"):
        len(client.topic(filled).partition(5))
    client.admin.create_topic(f"{filled}-empty")
    empty = client.topic(f"{filled}-empty").partition(0)
    assert len(empty) == 0
    assert empty


def test_a_topic_is_read_decoded(client: Client, filled: str) -> None:
    whole = client.topic(filled)
    values = [{"id": 0}, {"id": 1}, {"id": 2}, None]
    assert [message.value for message in whole.read(value=json.loads)] == values
    assert [message.value for message in whole.reversed(value=json.loads)] == values[::-1]
    assert [message.value for message in whole.read(-2, value=json.loads)] == values[-2:]
    partition = whole.partition(0)
    assert [message.value for message in partition.read(1, 3, value=json.loads)] == values[1:3]
    backwards = partition.reversed(value=json.loads, key=int)
    assert [(message.key, message.value) for message in backwards] == [
        (0, None),
        (2, {"id": 2}),
        (1, {"id": 1}),
        (0, {"id": 0}),
    ]


def test_a_message_that_does_not_decode_is_named_and_skipped(client: Client, filled: str) -> None:
    client.producer().send(filled, b"no json").result(10)
    messages = client.topic(filled).read(3, value=json.loads)
    assert next(messages).value is None
    with pytest.raises(streamlog.DecodeError, match="offset 4") as raised:
        next(messages)
    assert raised.value.message is not None
    assert raised.value.message.value == b"no json"
    assert next(messages, None) is None
    with pytest.raises(streamlog.ConfigError, match="value: expected something that can be called"):
        client.topic(filled).read(value="json")  # type: ignore[call-overload]


def test_a_topic_is_read_decoded_on_a_loop(run: Run, filled: str) -> None:
    async def main(client: aio.Client) -> None:
        whole = client.topic(filled)
        values = [{"id": 0}, {"id": 1}, {"id": 2}, None]
        assert [message.value async for message in whole.read(value=json.loads)] == values
        newest = whole.partition(0).reversed(limit=2, value=json.loads)
        assert [message.value async for message in newest] == [None, {"id": 2}]
        assert [m.value async for m in whole.read(-1, value=json.loads)] == [None]

    run(main)


def test_texts_are_sent_with_the_chosen_encoding(client: Client, topic: str) -> None:
    with client.producer(encoding="utf-8") as producer:
        producer.send(topic, "größer", key="ключ", headers={"name": "é"}).result(10)
        producer.send(topic, b"\xff", key=None).result(10)
        producer.send_all(topic, ["a", b"b"])
    messages = list(client.topic(topic))
    assert messages[0].value == "größer".encode()
    assert messages[0].key == "ключ".encode()
    assert messages[0].headers == (("name", "é".encode()),)
    assert [message.value for message in messages[1:]] == [b"\xff", b"a", b"b"]


def test_texts_are_refused_with_the_remedy_without_an_encoding(client: Client, topic: str) -> None:
    with client.producer() as producer, pytest.raises(TypeError, match='encoding="utf-8"'):
        producer.send(topic, "text")  # type: ignore[arg-type]
    with pytest.raises(streamlog.ConfigError, match=r"encoding: invalid value 'latin-1'"):
        client.producer(encoding="latin-1")  # type: ignore[call-overload]


def test_a_group_without_a_name_is_refused(client: Client, filled: str) -> None:
    for group in ("", " "):
        with pytest.raises(streamlog.ConfigError, match="group: the name is empty: leave it out"):
            client.consumer(filled, group=group)
    with pytest.raises(streamlog.ConfigError, match=r"group\.id: the name is empty"):
        client.consumer(filled, config={"group.id": ""})


@pytest.mark.parametrize("form", ["iter", "take", "batches", "arrow", "until_end"])
def test_a_loop_over_a_closed_consumer_is_an_error(client: Client, filled: str, form: str) -> None:
    consumer = client.consumer(filled)
    consumer.close()
    forms = {
        "iter": lambda: iter(consumer),
        "take": lambda: consumer.take(1),
        "batches": consumer.batches,
        "arrow": consumer.arrow,
        "until_end": consumer.until_end,
    }
    with pytest.raises(streamlog.Closed, match="was closed: create a new one"):
        forms[form]()


def test_a_loop_over_a_closed_consumer_is_an_error_on_a_loop(run: Run, filled: str) -> None:
    async def main(client: aio.Client) -> None:
        async with client.consumer(filled) as consumer:
            assert [message.offset async for message in consumer.take(2)] == [0, 1]
            assert filled in repr(consumer)
        with pytest.raises(streamlog.Closed, match="closed"):
            aiter(consumer)

    run(main)


@pytest.mark.parametrize("value", [None, json.loads], ids=["bytes", "decoded"])
def test_tombstones_are_skipped_and_count_as_done(
    client: Client, filled: str, value: object
) -> None:
    options: dict[str, Any] = {} if value is None else {"value": value}
    options["group"] = filled
    with client.consumer(filled, tombstones="skip", **options) as consumer:
        assert [message.offset for message in consumer.until_end()] == [0, 1, 2]
    assert client.admin.group(filled).lag() == {(filled, 0): 0}
    with client.consumer(filled, tombstones="skip") as consumer:
        assert [message.offset for message in next(consumer.batches(max_wait=0.5))] == [0, 1, 2]
    with pytest.raises(streamlog.ConfigError, match="tombstones: invalid value 'drop'"):
        client.consumer(filled, tombstones="drop")  # type: ignore[call-overload]


def test_dead_letters_are_named_by_their_topic(client: Client, filled: str) -> None:
    letters = streamlog.DeadLetters(f"{filled}.dead")
    with client.consumer(filled, value=int, on_error=letters) as consumer:
        assert [message.value for message in consumer.until_end()] == [None]
    assert len(list(client.topic(letters.topic))) == 3
    with pytest.raises(streamlog.ConfigError, match=r"on_error: invalid value 'rase': expected"):
        client.consumer(filled, value=int, on_error="rase")  # type: ignore[call-overload]
