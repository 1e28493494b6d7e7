"""Kafka's connector, on and on: checkpoints, restarts, and records that are gone."""

import json
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.connector.tables import Topic, digest, values_in

pytestmark = pytest.mark.timeout(120)


def publish(client: streamlog.Client, topic: str, values: list[bytes]) -> None:
    """Publishes them all."""
    with client.producer() as producer:
        producer.send_all(topic, values)


def test_a_stream_goes_on_from_its_checkpoint(
    kafka: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    copy = topic + "-copy"
    client.admin.create_topic(topic, partitions=2)
    client.admin.create_topic(copy, partitions=3)
    values = [b"%d" % number * 7 for number in range(3000)]
    source = Topic(kafka, broker, topic)
    for part in (values[:1000], values[1000:]):
        publish(client, topic, part)
        stream = source.stream(maxOffsetsPerTrigger="700").select("key", "value")
        Topic(kafka, broker, copy).run(stream, tmp_path / "checkpoint")
    assert digest(values_in(client, copy)) == digest(values)
    offsets = tmp_path / "checkpoint" / "offsets"
    assert len([file for file in offsets.iterdir() if file.name.isdigit()]) >= 5


def test_records_that_are_gone_end_a_stream_unless_it_may_lose_them(
    kafka: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    copy = topic + "-copy"
    for name in (topic, copy):
        client.admin.create_topic(name, partitions=1)
    values = [b"%d" % number for number in range(300)]
    source, target = Topic(kafka, broker, topic), Topic(kafka, broker, copy)
    publish(client, topic, values[:100])
    target.run(source.stream().select("value"), tmp_path / "checkpoint")
    publish(client, topic, values[100:])
    client.admin.delete_records(topic, 0, before=200)
    # Of an exception whose class came by ADD JAR, Spark's scheduler can tell no more than that.
    with pytest.raises(StreamingQueryException, match=r"UnknownReason|data may have been lost"):
        target.run(source.stream().select("value"), tmp_path / "checkpoint")
    assert digest(values_in(client, copy)) == digest(values[:100])
    tolerant = source.stream(failOnDataLoss="false").select("value")
    target.run(tolerant, tmp_path / "checkpoint")
    assert digest(values_in(client, copy)) == digest(values[:100] + values[200:])


def test_a_stream_begins_where_its_offsets_say(
    kafka: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    copy = topic + "-copy"
    client.admin.create_topic(topic, partitions=2)
    client.admin.create_topic(copy, partitions=1)
    with client.producer() as producer:
        for number in range(200):
            producer.send(topic, b"%d" % number, partition=number % 2)
    start = json.dumps({topic: {"0": 90, "1": -2}})
    stream = Topic(kafka, broker, topic).stream(startingOffsets=start).select("value")
    Topic(kafka, broker, copy).run(stream, tmp_path / "checkpoint")
    wanted = [number for number in range(200) if number % 2 or number >= 180]
    assert sorted(map(int, values_in(client, copy))) == wanted
