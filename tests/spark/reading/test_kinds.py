"""Topics whose offsets have gaps or count bytes are read like all others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.reading.rows import Collected, Streamed, published, read, table

KEYS, TURNS = 20, 60


def keys_of(turn: int) -> range:
    """Returns the keys of a round; half of them stop after a while, so that gaps are anywhere."""
    return range(KEYS if turn < TURNS // 2 else KEYS // 2)


@pytest.fixture
def compacted(spark: SparkSession, topic: str, tmp_path: Path) -> Iterator[Streamed]:
    """A topic from which compaction has removed most records, and will remove no more."""
    settings = ("--set", "log.cleaner.backoff.ms=50")
    with (
        BrokerProcess(tmp_path / "compacting", *settings) as broker,
        streamlog.connect(broker.address) as client,
    ):
        config: dict[str, str | float] = {
            "cleanup.policy": "compact",
            "segment.bytes": 4096,
            "min.cleanable.dirty.ratio": 0.01,
        }
        client.admin.create_topic(topic, partitions=1, config=config)
        with client.producer(batch_size="1 KiB") as producer:
            for turn in range(TURNS):
                for key in keys_of(turn):
                    producer.send(topic, b"%d" % turn * 20, key=b"key %d" % key)
        streamed = Streamed(spark, broker.address, client, topic, tmp_path / "checkpoint")
        until(lambda: streamed.published().total() < KEYS * TURNS // 4, 30)
        client.admin.set_settings({"cleanup.policy": "delete"}, topic=topic)
        # Stopping the broker ends a compaction in progress.
        broker.stop()
        broker.start()
        yield streamed


def test_a_compacted_topic_is_read_with_its_gaps_as_a_table_and_as_a_stream(
    spark: SparkSession, compacted: Streamed
) -> None:
    expected = compacted.published()
    frame = table(spark, compacted.address, subscribe=compacted.topic, minPartitions=7)
    assert frame.rdd.getNumPartitions() == 7
    assert read(frame.collect()) == expected
    got = compacted.drain(Collected(), maxOffsetsPerTrigger=300, minPartitions=3)
    assert len(got.triggers) == 3
    assert read(got.rows) == expected
    newest = {bytes(row.key): bytes(row.value) for row in got.rows}
    last = {key: turn for turn in range(TURNS) for key in keys_of(turn)}
    assert newest == {b"key %d" % key: b"%d" % turn * 20 for key, turn in last.items()}


def test_a_topic_whose_offsets_count_bytes_is_read_as_a_table_and_as_a_stream(
    spark: SparkSession, streamed: Streamed
) -> None:
    client, topic = streamed.client, streamed.topic
    client.admin.create_topic(topic, partitions=2, config={"offset.unit": "byte"})
    streamed.fill(600)
    expected = published(client, topic)
    assert expected.total() == 600
    ends = client.admin.end_offsets(topic)
    size = sum(end or 0 for end in ends.values())
    assert size > 6000
    frame = table(spark, streamed.address, subscribe=topic, minPartitions=7)
    assert frame.rdd.getNumPartitions() >= 7
    assert read(frame.collect()) == expected
    got = streamed.drain(Collected(), maxOffsetsPerTrigger=size // 3 + 1, minPartitions=4)
    assert len(got.triggers) == 3
    assert read(got.rows) == expected
