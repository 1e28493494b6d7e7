"""Errors are raised at once, by a specific class and with a helpful message."""

import pickle
import socket
from datetime import datetime, timedelta

import pytest

import streamlog
from py.support.broker import BrokerProcess
from streamlog import Client, errors


def test_an_address_without_a_broker_is_named() -> None:
    # Bound without listening, so that no other process can listen on the port.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(streamlog.ConnectError, match=address) as raised:
            streamlog.connect(address, timeout=2.0)
    assert isinstance(raised.value, ConnectionError)
    assert [tried for tried, _ in raised.value.tried] == [address]


def test_the_environment_says_where_to_connect(
    shared_broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMLOG_BOOTSTRAP", shared_broker.address)
    with streamlog.connect() as client:
        assert shared_broker.address in repr(client)


def test_an_option_that_is_invalid_is_named_by_the_callers_word(client: Client) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"lingr": 1}, "lingr: unknown setting; did you mean 'linger'"),
        ({"linger": -1.0}, "linger: invalid value '-1'"),
        ({"compression": "lzma"}, "compression: invalid value 'lzma'"),
        ({"buffer": "64 MIBS"}, "buffer: invalid value '64 MIBS'"),
        ({"config": {"linger.mss": 5}}, "did you mean 'linger.ms'"),
        ({"linger": 0.1, "config": {"linger.ms": 5}}, "linger.ms: given twice"),
        ({"acks": 1, "idempotence": True}, "acks=all"),
    ]
    for options, text in cases:
        with pytest.raises(streamlog.ConfigError, match=text):
            client.producer(**options)  # type: ignore[call-overload]


def test_kafkas_names_are_settings_too(client: Client, topic: str) -> None:
    config = {"linger.ms": 1, "compression.type": "zstd", "enable.idempotence": True, "acks": "all"}
    with client.producer(config=config) as producer:
        assert producer.send(topic, b"x").result(10).offset == 0


def test_a_dictionary_for_another_client_fits(shared_broker: BrokerProcess, topic: str) -> None:
    config = {
        "bootstrap.servers": shared_broker.address,
        "linger.ms": 1,
        "compression.type": "lz4",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    with streamlog.connect(config=config) as client:
        with client.producer() as producer:
            producer.send(topic, b"x", partition=0)
        with client.consumer(topic) as consumer:
            assert next(consumer).value == b"x"
    with pytest.raises(streamlog.ConfigError, match=r"did you mean 'linger\.ms'"):
        streamlog.connect(config={**config, "linger.mss": 1})


def test_a_commit_without_a_group_is_refused(client: Client, topic: str) -> None:
    with (
        client.consumer(topic, create_topics=True) as consumer,
        pytest.raises(streamlog.ConfigError, match="group="),
    ):
        consumer.commit()
    with pytest.raises(streamlog.ConfigError, match="processed, received or manual"):
        client.consumer(topic, commit="sometimes")  # type: ignore[call-overload]


def test_a_time_without_zone_or_in_the_future_is_refused(client: Client, topic: str) -> None:
    cases: list[tuple[datetime | timedelta, str]] = [
        (datetime(2026, 1, 1), "tzinfo"),
        (timedelta(hours=1), "from now"),
    ]
    for start, text in cases:
        with pytest.raises(streamlog.ConfigError, match=text):
            client.consumer(topic, start=start)


def test_a_text_is_not_sent_as_bytes(client: Client, topic: str) -> None:
    with client.producer() as producer, pytest.raises(TypeError, match="value must be bytes"):
        producer.send(topic, "text")  # type: ignore[arg-type]


def test_a_record_that_is_too_large_is_refused_with_both_numbers(
    client: Client, topic: str
) -> None:
    with (
        client.producer(max_request_size=1024) as producer,
        pytest.raises(streamlog.MessageTooLarge) as raised,
    ):
        producer.send(topic, bytes(2000))
    assert raised.value.limit == 1024
    assert raised.value.size > 2000


def test_a_partition_that_is_not_there_is_refused(client: Client, topic: str) -> None:
    client.admin.create_topic(topic, partitions=1)
    with client.producer() as producer, pytest.raises(streamlog.TopicNotFound, match=f"{topic}-7"):
        producer.send(topic, b"x", partition=7)


def test_an_offset_outside_the_log_is_an_error_on_request(client: Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send(topic, b"x", partition=0).result(10)
    with client.consumer(topic, start=1000, on_out_of_range="error") as consumer:
        with pytest.raises(streamlog.OffsetOutOfRange) as raised:
            next(consumer)
        error = raised.value
        assert (error.requested, error.earliest, error.latest) == (1000, 0, 1)
        consumer.seek("earliest")
        assert next(consumer).value == b"x"


def test_closed_objects_report_it(client: Client, topic: str) -> None:
    producer = client.producer()
    producer.close()
    producer.close()
    with pytest.raises(streamlog.Closed):
        producer.send(topic, b"x")
    consumer = client.consumer(topic, create_topics=True)
    consumer.close()
    consumer.close()
    with pytest.raises(streamlog.Closed):
        list(consumer)
    client.close()
    client.close()
    with pytest.raises(streamlog.Closed):
        client.admin.topics()


def test_every_error_can_be_pickled() -> None:
    inner = errors.BrokerError("no", 7, "REQUEST_TIMED_OUT", True)
    made: list[Exception] = [
        errors.ConnectError("c", [("a:1", "refused")]),
        errors.RequestTimeout("t", "flushing", 1.5, inner),
        errors.OffsetOutOfRange("o", 5, 1, 2),
        errors.MessageTooLarge("m", 3, 2),
        errors.DeliveryError("d", [("t", 0, 3, inner)], 4),
        inner,
    ]
    plain = [getattr(errors, name) for name in errors.__all__]
    made += [kind("text") for kind in plain]
    assert all(issubclass(kind, streamlog.StreamlogError) for kind in plain)
    for error in made:
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert repr(vars(copy)) == repr(vars(error))
