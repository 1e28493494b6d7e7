"""Positions, units and names as arguments: the same forms everywhere, and clear refusals."""

import asyncio
from collections.abc import Callable

import pyarrow
import pytest

import streamlog
from py.support.broker import BrokerProcess
from streamlog import ArrowBatches, Client, WorkQueue, aio

COUNT = 6
PAST = "2020-01-01T00:00Z"
FUTURE = "2999-01-01T00:00+01:00"


@pytest.fixture
def filled(client: Client, topic: str) -> str:
    """Two partitions with messages 0, 2, 4 and 1, 3, 5, in the order of their timestamps."""
    client.admin.create_topic(topic, partitions=2)
    with client.producer() as producer:
        for number in range(COUNT):
            producer.send(topic, b"%d" % number, partition=number % 2, timestamp=1000 + number)
    return topic


def values(batches: ArrowBatches) -> list[bytes]:
    """Returns the values of record batches, sorted."""
    return sorted(pyarrow.table(batches)["value"].to_pylist())


@pytest.mark.parametrize("count", [1, 3, COUNT, 99])
def test_the_last_messages_are_read_as_arrow_too(client: Client, filled: str, count: int) -> None:
    expected = [b"%d" % number for number in range(COUNT)][-count:]
    assert values(client.topic(filled).arrow(-count)) == expected
    assert values(client.topic(filled).arrow(start=-count, columns=["value"])) == expected
    partition = client.topic(filled).partition(0)
    assert values(partition.arrow(-count)) == [b"0", b"2", b"4"][-count:]


def test_batches_have_together_as_many_rows_as_the_limit(client: Client, filled: str) -> None:
    topic = client.topic(filled)
    assert [len(values(topic.arrow(limit=n))) for n in (0, 1, 4, 99)] == [0, 1, 4, COUNT]
    assert len(values(topic.arrow(-3, limit=2))) == 2
    batches = list(topic.partition(1).arrow(limit=2, max_rows=1))
    assert [batch["value"].to_pylist() for batch in batches] == [[b"1"], [b"3"]]
    with pytest.raises(streamlog.ConfigError, match="limit: invalid value '-1'"):
        topic.arrow(limit=-1)


def test_times_may_be_texts(client: Client, filled: str) -> None:
    topic = client.topic(filled)
    client.producer().send(filled, b"now", partition=0).result()
    for read in (topic.read, topic.reversed, topic.partition(0).read, topic.partition(0).reversed):
        assert [message.value for message in read(PAST)] == [b"now"]
        assert list(read(FUTURE)) == []
    assert values(topic.arrow(PAST)) == [b"now"]
    assert [message.value for message in topic.replay(PAST)] == [b"now"]


def test_times_may_be_texts_on_a_loop(
    shared_broker: BrokerProcess, client: Client, filled: str
) -> None:
    client.producer().send(filled, b"now", partition=0).result()

    async def main() -> None:
        async with aio.connect(shared_broker.address) as other:
            topic = other.topic(filled)
            assert [message.value async for message in topic.read(PAST)] == [b"now"]
            assert [message.value async for message in topic.partition(0).read(PAST)] == [b"now"]

    asyncio.run(main())


REFUSED: dict[str, Callable[[Client, str, str], object]] = {
    "read": lambda client, topic, text: list(client.topic(topic).read(text)),
    "partition": lambda client, topic, text: list(client.topic(topic).partition(0).read(text)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_other_texts_and_times_without_a_zone_are_refused(
    client: Client, filled: str, call: Callable[[Client, str, str], object]
) -> None:
    with pytest.raises(streamlog.ConfigError, match="time zone"):
        call(client, filled, "2020-01-01T00:00")
    with pytest.raises(streamlog.ConfigError, match="2026-11-01T08:00Z"):
        call(client, filled, "yesterday")


def test_settings_may_have_units(client: Client, topic: str) -> None:
    config = {"retention.ms": "7d", "segment.bytes": "1GiB"}
    client.admin.create_topic(topic, config=config)
    settings = client.admin.settings(topic=topic)
    assert settings["retention.ms"].value == "604800000"
    assert settings["segment.bytes"].value == "1073741824"
    client.admin.set_settings({"retention.ms": "90m", "flush.ms": 5}, topic=topic)
    settings = client.admin.settings(topic=topic)
    assert (settings["retention.ms"].value, settings["flush.ms"].value) == ("5400000", "5")
    address = client.__getnewargs_ex__()[1]["config"]["bootstrap.servers"]
    config = {"linger.ms": "5ms", "batch_size": "64k", "request.timeout.ms": "1m"}
    with streamlog.connect(address, config=config) as other:
        given = other.__getnewargs_ex__()[1]["config"]
        assert (given["linger.ms"], given["batch.size"]) == ("5", "65536")
        assert given["request.timeout.ms"] == "60000"
        other.producer(config={"linger.ms": "1s"}).close()
        with pytest.raises(streamlog.ConfigError, match=r"linger\.ms: invalid value 'soon'"):
            other.producer(config={"linger.ms": "soon"})


def test_the_lag_of_a_mistyped_group_is_an_error(client: Client, filled: str) -> None:
    with pytest.raises(streamlog.BrokerError) as raised:
        client.admin.group("typo").lag()
    assert raised.value.name == "GROUP_ID_NOT_FOUND"
    client.admin.group(filled).commit({(filled, 0): 1})
    assert client.admin.group(filled).lag() == {(filled, 0): 2, (filled, 1): 3}


@pytest.mark.parametrize("group", ["bad/group", "größer", "g" * 240])
def test_a_work_queue_names_a_group_that_its_topics_cannot_be_named_after(
    client: Client, filled: str, group: str
) -> None:
    with pytest.raises(streamlog.ConfigError, match=r"group: .* are named after its group"):
        WorkQueue(client, filled, group=group)
