"""Ranges of offsets: waits for them time out, and no offset beyond them is fetched."""

import time
from collections.abc import Iterator
from itertools import pairwise

import pyarrow
import pytest

import streamlog
from streamlog._core.bounded import open_range

COLUMNS = ["offset", "value"]


def patiently(batches: Iterator[pyarrow.RecordBatch]) -> pyarrow.RecordBatch:
    """Returns the next batch, retrying after timeouts."""
    for _ in range(50):
        try:
            return next(batches)
        except streamlog.RequestTimeout:
            continue
    raise AssertionError("it never came")


def test_a_batch_that_does_not_come_times_out_and_can_be_requested_again(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.producer() as producer:
        producer.send(streamlog_topic, b"first", partition=0).result()
        batches = open_range(streamlog_client, streamlog_topic, [(0, 0, 2)], "error").arrow(
            columns=COLUMNS, timeout=0.3, max_wait=0.0
        )
        assert patiently(batches)["offset"].to_pylist() == [0]
        began = time.monotonic()
        with pytest.raises(streamlog.RequestTimeout):
            next(batches)
        assert 0.25 < time.monotonic() - began < 5
        assert batches.positions() == {(streamlog_topic, 0): 1}
        producer.send(streamlog_topic, b"second", partition=0).result()
        assert patiently(batches)["value"].to_pylist() == [b"second"]
        assert list(batches) == []


def test_a_wait_without_a_limit_is_of_ranges_only(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic, exist_ok=True)
    with (
        streamlog_client.consumer(streamlog_topic) as consumer,
        pytest.raises(streamlog.ConfigError, match="timeout"),
    ):
        consumer.arrow(timeout=1.0)  # type: ignore[call-arg]


def test_ranges_side_by_side_are_read_whole(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.producer(batch_size="2 KiB") as producer:
        for number in range(5000):
            producer.send(streamlog_topic, b"%d" % number * 20, partition=0)
    cuts = [0, 1, 17, 1800, 1801, 4999, 5000]
    found = []
    for start, stop in pairwise(cuts):
        batches = open_range(streamlog_client, streamlog_topic, [(0, start, stop)], "error").arrow(
            columns=["offset"], timeout=20.0
        )
        found += [offset for batch in batches for offset in batch["offset"].to_pylist()]
        assert batches.positions() == {(streamlog_topic, 0): stop}
    assert found == list(range(5000))


def test_offsets_are_stored_for_a_group_from_outside(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.producer() as producer:
        producer.send_all(streamlog_topic, [b"1", b"2", b"3"])
    group = streamlog_client.admin.group("from-outside")
    group.commit({(streamlog_topic, 0): 1})
    assert group.committed() == {(streamlog_topic, 0): 1}
    with pytest.raises(streamlog.ConfigError, match="negative"):
        group.commit({(streamlog_topic, 0): -1})
    with pytest.raises(streamlog.ConfigError, match="offsets"):
        group.commit({("no/topic", 0): 1})
    with streamlog_client.consumer(streamlog_topic, group="from-outside") as consumer:
        assert next(consumer).offset == 1
        with pytest.raises(streamlog.BrokerError, match="has members"):
            group.commit({(streamlog_topic, 0): 3})
