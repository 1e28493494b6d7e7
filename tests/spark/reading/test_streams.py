"""Topics as streams: each record once, in triggers of the size that was asked for."""

import json
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.reading.rows import PATIENCE, Collected, fill, published, read, stream

pytestmark = pytest.mark.timeout(120)


def test_triggers_take_no_more_than_they_may_and_a_group_shows_how_far_it_is(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    fill(client, topic, 1000)
    group, got = client.admin.group(f"of-{topic}"), Collected()
    frame = stream(
        spark, broker.address, subscribe=topic, maxOffsetsPerTrigger=400, group=group.name
    )
    got.drain(frame, tmp_path)
    assert got.sizes() == [400, 400, 200]
    assert read(got.rows) == published(client, topic)
    assert group.lag() == {(topic, 0): 0, (topic, 1): 0}
    fill(client, topic, 10)
    assert group.lag() == {(topic, 0): 5, (topic, 1): 5}
    again = Collected()
    again.drain(frame, tmp_path)
    assert read([*got.rows, *again.rows]) == published(client, topic)
    assert again.sizes() == [10]
    offsets = json.loads((tmp_path / "offsets" / "0").read_text().splitlines()[-1])
    assert offsets == {topic: {"0": 200, "1": 200}}


def test_a_trigger_that_failed_is_done_again_with_the_same_records(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    fill(client, topic, 300)
    got = Collected()

    def stumble(trigger: int) -> None:
        if trigger == 1 and not got.again:
            fill(client, topic, 100)
            raise RuntimeError("the sink fails")

    got.before = stumble
    frame = stream(spark, broker.address, subscribe=topic, maxOffsetsPerTrigger=100)
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        got.drain(frame, tmp_path)
    got.drain(frame, tmp_path)
    assert sorted(got.again) == [1]
    assert read(got.again[1]) == read(got.triggers[1])
    assert read(got.rows) == published(client, topic)


def test_a_stream_begins_at_the_end_unless_told_otherwise_and_goes_on(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    fill(client, topic, 50)
    got = Collected()
    reader = spark.readStream.format("streamlog").option("subscribe", topic)
    frame = reader.option("kafka.bootstrap.servers", broker.address).load()
    query = got.start(frame, tmp_path, available_now=False)
    try:
        # What it begins with is written before its first trigger is over.
        until((tmp_path / "commits" / "0").exists, PATIENCE)
        for number in range(3):
            with client.producer() as producer:
                producer.send(topic, b"later %d" % number)
            until(lambda wanted=number + 1: len(got.rows) == wanted, PATIENCE)
        progress = query.lastProgress
        assert progress is not None
        source = progress.sources[0]
        assert json.loads(source.latestOffset) == json.loads(source.endOffset)
    finally:
        query.stop()
    assert sorted(bytes(row.value) for row in got.rows) == [b"later 0", b"later 1", b"later 2"]


def test_topics_and_partitions_that_come_later_are_read_from_their_beginning(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    names = [f"{topic}-a", f"{topic}-b"]
    fill(client, names[0], 20, partitions=1)
    got = Collected()
    frame = stream(spark, broker.address, subscribePattern=f"{topic}-.", startingOffsets="latest")
    query = got.start(frame, tmp_path, available_now=False)
    try:
        until((tmp_path / "commits" / "0").exists, PATIENCE)
        fill(client, names[1], 30)
        client.admin.set_partitions(names[0], 2)
        with client.producer() as producer:
            producer.send(names[0], b"later", partition=1)
        until(lambda: len(got.rows) >= 31, PATIENCE)
    finally:
        query.stop()
    old = {(names[0], 0, offset) for offset in range(20)}
    expected = {row: n for row, n in published(client, *names).items() if row[:3] not in old}
    assert read(got.rows) == expected


def test_too_little_waits_until_it_is_enough_or_has_waited_long_enough(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    fill(client, topic, 100)
    got = Collected()
    frame = stream(
        spark,
        broker.address,
        subscribe=topic,
        minOffsetsPerTrigger=90,
        maxTriggerDelay="6s",
    )
    query = got.start(frame, tmp_path, available_now=False)
    try:
        until(lambda: got.sizes() == [100], PATIENCE)
        fill(client, topic, 60)
        fill(client, topic, 60)
        until(lambda: sum(got.sizes()) == 220, PATIENCE)
    finally:
        query.stop()
    assert got.sizes()[0] == 100
    assert all(size >= 60 for size in got.sizes())
    assert read(got.rows) == published(client, topic)


def test_triggers_hold_about_as_many_bytes_as_they_may(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    client.admin.create_topic(topic, partitions=2)
    with client.producer() as producer:
        producer.send_all(topic, [b"x" * 1000] * 600)
    got = Collected()
    got.drain(stream(spark, broker.address, subscribe=topic, maxBytesPerTrigger="200k"), tmp_path)
    assert read(got.rows) == published(client, topic)
    sizes = [sum(len(row.value) for row in rows) for rows in got.triggers.values() if rows]
    assert len(sizes) in (3, 4)
    assert max(sizes) <= 1.1 * (200 << 10)
