"""Deleted records are reported, and none is skipped silently."""

import json

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.reading.rows import PATIENCE, Collected, Streamed, fill, published, read, table
from streamlog.spark.reading.loss import Losses


def test_deleted_records_are_an_error_of_a_batch_or_dropped_with_a_warning(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    fill(client, topic, 100)
    client.admin.delete_records(topic, 0, before=30)
    wanted = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 10, "1": 0}})}
    words = f"topic '{topic}', partition 0: offset 10 was requested, the log begins at 30"
    with pytest.raises(PySparkException, match=words):
        table(spark, broker.address, **wanted).count()
    rest = table(spark, broker.address, **wanted, failOnDataLoss="false").collect()
    assert read(rest) == published(client, topic)


def test_records_deleted_under_a_checkpoint_end_a_query_or_are_omitted(
    streamed: Streamed,
) -> None:
    topic = streamed.topic
    streamed.fill(20)
    got = streamed.drain(Collected())
    streamed.fill(100)
    streamed.client.admin.delete_records(topic, 1, before=40)
    words = f"topic '{topic}', partition 1: offset 10 was requested, the log begins at 40"
    with pytest.raises(StreamingQueryException, match=words):
        streamed.drain(got)
    streamed.drain(got, failOnDataLoss="false")
    lost = {(topic, 1, offset) for offset in range(10)}
    kept = {row: n for row, n in read(got.rows).items() if row[:3] not in lost}
    assert kept == streamed.published()


def test_a_topic_deleted_under_a_query_ends_it(streamed: Streamed) -> None:
    topic = streamed.topic
    streamed.fill(20)
    got = Collected()
    with streamed.running(got, brokerTimeout="2s") as query:
        until(lambda: len(got.rows) == 20, PATIENCE)
        streamed.client.admin.delete_topic(topic)
        words = f"topic '{topic}', partition 0: offset 10 was requested, and the topic was deleted"
        with pytest.raises(StreamingQueryException, match=words):
            query.awaitTermination(PATIENCE)


def test_a_topic_recreated_under_a_query_is_read_from_its_beginning_if_losses_are_allowed(
    streamed: Streamed,
) -> None:
    streamed.fill(20)
    got = Collected()
    with streamed.running(got, failOnDataLoss="false"):
        until(lambda: len(got.rows) == 20, PATIENCE)
        streamed.client.admin.delete_topic(streamed.topic)
        # The new topic is longer than the old one: offsets alone cannot distinguish them.
        streamed.fill(60)
        until(lambda: len(got.rows) >= 80, PATIENCE)
    first = len(got.triggers[min(got.triggers)])
    assert first == 20
    assert read(got.rows[first:]) == streamed.published()


def test_a_topic_recreated_while_a_query_is_down_is_reported(streamed: Streamed) -> None:
    topic = streamed.topic
    streamed.fill(20)
    got = streamed.drain(Collected())
    streamed.client.admin.delete_topic(topic)
    # The new topic is longer than the old one: offsets alone cannot distinguish them.
    streamed.fill(60)
    words = f"topic '{topic}', partition 0: offset 10 was requested, and the topic was deleted"
    with pytest.raises(StreamingQueryException, match=words):
        streamed.drain(got)
    streamed.drain(got, failOnDataLoss="false")
    assert read(got.rows[20:]) == streamed.published()


def test_losses_are_counted_in_what_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses(is_fatal=False)
    losses.outside(("orders", 0), 10, (30, 90))
    losses.outside(("orders", 1), 5, (6, 90))
    losses.gone(("orders", 2), 7)
    losses.see({("orders", 3): 12})
    losses.gone(("orders", 3), 7)
    assert (losses.count, losses.offsets) == (4, 26)
    told = [record.getMessage() for record in caplog.records]
    assert "partition 0: offset 10 was requested, the log begins at 30" in told[0]
    assert "1 offset skipped; loss 2, 21 offsets in total" in told[1]
    assert "all offsets from 7 to the end of the log (unknown) skipped; loss 3, 21" in told[2]
    assert "from 7 to the end of the log (last seen at 12) skipped; loss 4, 26" in told[3]
