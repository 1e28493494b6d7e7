"""``config=`` accepts settings of other clients, or refuses each with a place or a reason."""

from typing import Any

import pytest

import streamlog
from streamlog import Client

JAVA = {
    "bootstrap.servers": "",
    "client.id": "billing",
    "group.id": "billing",
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "max.poll.interval.ms": 300000,
    "acks": "all",
    "linger.ms": 5,
    "security.protocol": "PLAINTEXT",
}
LIBRDKAFKA = {
    "metadata.broker.list": "",
    "client.id": "billing",
    "group.id": "billing",
    "enable.auto.commit": False,
    "auto.offset.reset": "smallest",
    "queue.buffering.max.ms": 5,
    "fetch.wait.max.ms": 100,
    "socket.timeout.ms": 60000,
    "api.version.request": True,
}
KAFKA_PYTHON = {
    "bootstrap_servers": "",
    "client_id": "billing",
    "group_id": "billing",
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
    "request_timeout_ms": 40000,
    "security_protocol": None,
}


@pytest.mark.parametrize("pasted", [JAVA, LIBRDKAFKA, KAFKA_PYTHON], ids=["java", "rd", "py"])
def test_a_dictionary_of_another_client_is_used(
    streamlog_broker: streamlog.Broker, streamlog_topic: str, pasted: dict[str, Any]
) -> None:
    address = streamlog_broker.address
    config = {name: address if value == "" else value for name, value in pasted.items()}
    with streamlog.connect(config=config) as client:
        assert repr(client) == f'<Client "billing" at {address}>'
        client.producer().send(streamlog_topic, b"x").result(10)
        with client.consumer(streamlog_topic) as consumer:
            assert 'group "billing"' in repr(consumer)
            next(consumer)
            list(consumer.take(1, timeout=0.1))
        # Nothing was committed: enable.auto.commit is false.
        assert client.admin.group("billing").committed() == {}
        client.admin.group("billing").delete()


def test_a_consumer_takes_the_dictionary_that_its_client_was_created_with(
    streamlog_broker: streamlog.Broker, streamlog_client: Client, streamlog_topic: str
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic)
    pasted = {
        "bootstrap.servers": streamlog_broker.address,
        "group.id": streamlog_topic,
        "enable.auto.commit": "true",
    }
    with streamlog_client.consumer(streamlog_topic, config=pasted) as consumer:
        assert f'group "{streamlog_topic}"' in repr(consumer)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (
            "bootstrap.servers",
            "elsewhere:9092",
            r"of the client: connect\(config=\.\.\.\) takes it",
        ),
        ("linger.ms", 5, r"client\.producer\(config=\.\.\.\) takes it"),
        ("security.protocol", "SSL", "not served yet: TLS and SASL"),
        ("ssl_cafile", "/ca.pem", "not served yet: TLS"),
        ("sasl.username", "me", "not served yet: SASL"),
        ("isolation.level", "read_committed", "not served yet: transactions"),
        ("group.protocol", "consumer", "not served yet: the group protocol of KIP-848"),
        ("value_deserializer", str, r"value= of client\.consumer\(\)"),
        ("max.poll.records", 10, r"max_messages= of consumer\.batches\(\)"),
        ("debug", "all", "the logger is 'streamlog.client'"),
        ("stats_cb", print, r"client\.stats\(\)"),
        ("socket.keepalive.enable", True, "no counterpart here: leave it out"),
    ],
)
def test_a_refused_option_has_a_reason_and_is_not_unknown(
    client: Client, name: str, value: object, reason: str
) -> None:
    with pytest.raises(streamlog.ConfigError, match=reason) as raised:
        client.consumer("orders", config={name: value})
    assert str(raised.value).startswith(f"{name}: ")
    assert "unknown" not in str(raised.value)


def test_a_misspelt_name_is_still_unknown_and_answered_with_the_nearest(client: Client) -> None:
    with pytest.raises(streamlog.ConfigError, match=r"group\.idd: unknown .* 'group\.id'"):
        client.consumer("orders", config={"group.idd": "x"})
    with pytest.raises(streamlog.ConfigError, match=r"group\.id: .*client\.consumer\(config"):
        client.producer(config={"group.id": "x"})
