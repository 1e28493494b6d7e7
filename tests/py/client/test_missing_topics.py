"""A consumer creates a topic only on request; a producer creates it, and logs that."""

import logging
import time

import pytest

import streamlog
from py.aio.conftest import Run, eventually
from py.support.broker import until
from streamlog import Client, aio


@pytest.mark.parametrize("group", [None, "readers"])
def test_a_consumer_creates_no_topic_and_names_the_nearest(
    client: Client, topic: str, group: str | None
) -> None:
    client.admin.create_topic(f"{topic}-invoices")
    begun = time.monotonic()
    with pytest.raises(streamlog.TopicNotFound, match=f"did you mean '{topic}-invoices'") as raised:
        client.consumer(f"{topic}-invoces", group=group)
    assert time.monotonic() - begun < 5
    error = raised.value
    assert (error.topic, error.nearest) == (f"{topic}-invoces", f"{topic}-invoices")
    assert f"{topic}-invoces" not in client.admin.topics()


def test_nothing_is_offered_when_nothing_is_near(client: Client) -> None:
    with pytest.raises(streamlog.TopicNotFound, match="no topic or partition") as raised:
        client.consumer("quite-another-thing-altogether")
    assert raised.value.nearest is None
    assert "did you mean" not in str(raised.value)


def test_administration_and_reading_name_the_nearest_too(client: Client, topic: str) -> None:
    client.admin.create_topic(f"{topic}-invoices")
    with pytest.raises(streamlog.TopicNotFound, match=f"did you mean '{topic}-invoices'"):
        client.admin.delete_topic(f"{topic}-invoice")
    with pytest.raises(streamlog.TopicNotFound, match=f"did you mean '{topic}-invoices'"):
        list(client.topic(f"{topic}-invoice").read())


def test_a_missing_partition_is_no_misspelt_topic(client: Client, topic: str) -> None:
    client.admin.create_topic(topic, partitions=2)
    with pytest.raises(streamlog.TopicNotFound, match="no partition 7"):
        list(client.topic(topic).partition(7).read())
    with client.producer() as producer, pytest.raises(streamlog.TopicNotFound) as raised:
        producer.send(topic, b"x", partition=7)
    assert raised.value.nearest is None


def test_a_consumer_creates_its_topic_on_request(client: Client, topic: str) -> None:
    with client.consumer(topic, create_topics=True) as consumer:
        client.producer().send(topic, b"x").result(10)
        assert next(consumer).value == b"x"
    setting = {"allow.auto.create.topics": True}
    client.consumer(f"{topic}-other", config=setting).close()
    assert f"{topic}-other" in client.admin.topics()


def test_a_group_does_not_bring_back_a_topic_that_was_deleted(client: Client, topic: str) -> None:
    client.admin.create_topic(topic)
    config = {"heartbeat.interval.ms": 50}
    with client.consumer(topic, group=topic, config=config) as consumer:
        list(consumer.until_end())
        client.admin.delete_topic(topic)
        # When a second member joins, the leader looks up the partitions of all topics again.
        with pytest.raises(streamlog.TopicNotFound):
            client.consumer(topic, group=topic)
        list(consumer.take(1, timeout=0.5))
    assert topic not in client.admin.topics()


def test_a_producer_creates_its_topic_and_reports_it(
    client: Client, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="streamlog")
    with client.producer() as producer:
        producer.send(topic, b"x").result(10)
        producer.send(topic, b"y").result(10)
    said = f"created topic '{topic}' with 1 partitions"
    until(lambda: any(said in record.getMessage() for record in caplog.records))
    found = [record for record in caplog.records if said in record.getMessage()]
    assert [(record.levelname, record.name) for record in found] == [("INFO", "streamlog.client")]


def test_a_producer_that_finds_its_topic_says_nothing(
    client: Client, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="streamlog")
    client.admin.create_topic(topic)
    with client.producer() as producer:
        producer.send(topic, b"x").result(10)
        # Once this record is delivered, earlier log lines have arrived.
        producer.send(f"{topic}-new", b"x").result(10)
    until(lambda: any(f"'{topic}-new'" in record.getMessage() for record in caplog.records))
    assert not any(f"topic '{topic}' " in record.getMessage() for record in caplog.records)


@pytest.mark.streamlog(auto_create_topics_enable=False)
def test_a_producer_names_the_nearest_where_brokers_create_nothing(
    streamlog_client: Client, streamlog_topic: str
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic)
    misspelt = streamlog_topic.replace("producer", "prducer")
    producer = streamlog_client.producer(send_timeout=0.5)
    with pytest.raises(streamlog.TopicNotFound, match=f"did you mean '{streamlog_topic}'"):
        producer.send(misspelt, b"x")


def test_an_asynchronous_consumer_does_the_same(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await client.admin.create_topic(f"{topic}-invoices")
        with pytest.raises(streamlog.TopicNotFound, match=f"did you mean '{topic}-invoices'"):
            await client.consumer(f"{topic}-invoces")
        async with client.consumer(f"{topic}-new", create_topics=True) as consumer:
            assert consumer.assignment() == [(f"{topic}-new", 0)]
        names = await client.admin.topics()
        assert f"{topic}-new" in names
        assert f"{topic}-invoces" not in names
        await eventually(lambda: consumer.closed)

    run(main)
