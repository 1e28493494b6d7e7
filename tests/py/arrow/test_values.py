"""The columns of record batches have the values of the messages, whatever the log looks like."""

from collections.abc import Iterable
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Literal

import pyarrow
import pytest

import streamlog
from py.support.broker import until

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]

CODECS: list[Codec] = ["none", "gzip", "snappy", "lz4", "zstd"]
TIME = datetime(2026, 11, 1, 12, 30, 0, 123_000, tzinfo=UTC)
PLACE = itemgetter("partition", "offset")

NAMES = [
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
]


def row(message: streamlog.Message) -> dict[str, Any]:
    """Returns the message as a row of a batch."""
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "timestamp_type": 0,
        "key": message.key,
        "value": message.value,
        "headers": [{"key": key, "value": value} for key, value in message.headers],
    }


def rows(batches: Iterable[pyarrow.RecordBatch]) -> list[dict[str, Any]]:
    """Returns the rows of all batches, after validating these."""
    found: list[dict[str, Any]] = []
    for batch in batches:
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


def fill(client: streamlog.Client, topic: str, codec: Codec, count: int = 500) -> None:
    """Publishes records of every kind, in several batches."""
    with client.producer(compression=codec, batch_size="4 KiB") as producer:
        for number in range(count):
            value = None if number % 7 == 3 else b"" if number % 7 == 4 else b"%d" % number * 9
            key = None if number % 3 == 0 else b"" if number % 3 == 1 else b"key %d" % number
            headers = [("a", b"%d" % number), ("a", None), ("ü", b"")][: number % 4]
            producer.send(
                topic, value, key=key, headers=headers, timestamp=TIME, partition=number % 2
            )


@pytest.mark.parametrize("codec", CODECS)
def test_rows_are_what_messages_are(
    streamlog_client: streamlog.Client, streamlog_topic: str, codec: Codec
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic, partitions=2)
    fill(streamlog_client, streamlog_topic, codec)
    with streamlog_client.consumer(streamlog_topic) as consumer:
        messages = sorted((row(message) for message in consumer.until_end()), key=PLACE)
        consumer.seek("earliest")
        found = rows(consumer.until_end().arrow(max_rows=64))
    assert len(messages) == 500
    assert sorted(found, key=PLACE) == messages
    assert found[0]["timestamp"] == TIME


def test_a_time_that_microseconds_cannot_hold_is_null(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    last = (2**63 - 1) // 1000
    config = {"message.timestamp.after.max.ms": 2**63 - 1}
    streamlog_client.admin.create_topic(streamlog_topic, partitions=1, config=config)
    with streamlog_client.producer() as producer:
        for time in (0, last, last + 1, 2**63 - 1):
            producer.send(streamlog_topic, b"x", timestamp=time)
    (batch,) = streamlog_client.topic(streamlog_topic).arrow()
    times = batch.column("timestamp").cast(pyarrow.int64()).to_pylist()
    assert times == [0, last * 1000, None, None]


def test_types_are_those_that_spark_takes(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.consumer(streamlog_topic, create_topics=True) as consumer:
        schema = consumer.arrow().schema
    pair = pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
    types = [
        pyarrow.string(),
        pyarrow.int32(),
        pyarrow.int64(),
        pyarrow.timestamp("us", tz="UTC"),
        pyarrow.int32(),
        pyarrow.binary(),
        pyarrow.binary(),
        pyarrow.list_(pair),
    ]
    assert schema == pyarrow.schema(list(zip(NAMES, types, strict=True)))
    assert all(field.nullable for field in schema)


def test_columns_are_those_that_were_named_in_their_order(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic, partitions=2)
    fill(streamlog_client, streamlog_topic, "lz4", 20)
    partition = streamlog_client.topic(streamlog_topic).partition(0)
    whole = pyarrow.table(partition.arrow())
    assert whole.column_names == NAMES
    assert whole.num_rows == 10
    for names in [["value"], ["offset", "key"], ["headers", "topic"], NAMES[::-1]]:
        assert pyarrow.table(partition.arrow(columns=names)) == whole.select(names)


def test_wrong_columns_and_limits_are_reported_by_name(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.consumer(streamlog_topic, create_topics=True) as consumer:
        with pytest.raises(
            streamlog.ConfigError, match=r"columns: there is no column 'vlue'; did you mean 'value'"
        ):
            consumer.arrow(columns=["offset", "vlue"])
        with pytest.raises(streamlog.ConfigError, match="columns: 'key' is named twice"):
            consumer.arrow(columns=["key", "key"])
        with pytest.raises(streamlog.ConfigError, match="at least one column"):
            consumer.arrow(columns=[])
        with pytest.raises(streamlog.ConfigError, match="max_rows: invalid value '0'"):
            consumer.arrow(max_rows=0)
        with pytest.raises(streamlog.ConfigError, match="max_bytes"):
            consumer.arrow(max_bytes="4 GiB")
        with pytest.raises(streamlog.ConfigError, match="max_row"):
            consumer.arrow(max_row=5)  # type: ignore[call-arg]


def test_limits_cut_batches(streamlog_client: streamlog.Client, streamlog_topic: str) -> None:
    with streamlog_client.producer() as producer:
        for number in range(100):
            producer.send(streamlog_topic, b"%010d" % number, partition=0)
    partition = streamlog_client.topic(streamlog_topic).partition(0)

    def sizes(max_rows: int, max_bytes: int | str = "1 MiB") -> list[int]:
        batches = partition.arrow(max_rows=max_rows, max_bytes=max_bytes, max_wait=5)
        return [batch.num_rows for batch in batches]

    assert sizes(30) == [30, 30, 30, 10]
    assert sizes(1000, 250) == [25, 25, 25, 25]
    assert sizes(1000, 251) == [26, 26, 26, 22]
    assert sizes(1) == [1] * 100
    assert sizes(1000) == [100]


def test_the_time_of_the_log_is_distinguished(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    config = {"message.timestamp.type": "LogAppendTime"}
    streamlog_client.admin.create_topic(streamlog_topic, config=config)
    with streamlog_client.producer() as producer:
        producer.send(streamlog_topic, b"x", timestamp=TIME)
    [message] = streamlog_client.topic(streamlog_topic)
    [found] = rows(streamlog_client.topic(streamlog_topic).arrow())
    assert found == row(message) | {"timestamp_type": 1}
    assert found["timestamp"] != TIME


def test_an_empty_topic_has_no_batches(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic, partitions=2)
    topic = streamlog_client.topic(streamlog_topic)
    assert list(topic.arrow()) == []
    batches = topic.partition(1).arrow(0, 10)
    assert list(batches) == []
    assert batches.positions() == {(streamlog_topic, 1): 0}
    assert pyarrow.table(topic.arrow()).num_rows == 0
    with streamlog_client.consumer(streamlog_topic) as consumer:
        assert list(consumer.until_end().arrow()) == []


def test_offsets_that_count_bytes_are_read_to_the_end(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic, config={"offset.unit": "byte"})
    with streamlog_client.producer() as producer:
        for number in range(50):
            producer.send(streamlog_topic, b"%d" % number).result()
    partition = streamlog_client.topic(streamlog_topic).partition(0)
    messages = [row(message) for message in partition]
    batches = partition.arrow(max_rows=7)
    assert rows(batches) == messages
    end = partition.end_offset()
    assert batches.positions() == {(streamlog_topic, 0): end}
    # There is no record after the last.
    last = partition.arrow(messages[-1]["offset"] + 1, end)
    assert list(last) == []
    assert last.positions() == {(streamlog_topic, 0): end}
    some = partition.arrow(messages[10]["offset"] - 1, messages[20]["offset"] + 1)
    assert rows(some) == messages[10:21]


@pytest.mark.streamlog(log_cleaner_backoff_ms=50)
def test_gaps_of_compaction_are_skipped_and_reported(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    config: dict[str, str | float] = {
        "cleanup.policy": "compact",
        "segment.bytes": 4096,
        "min.cleanable.dirty.ratio": 0.01,
    }
    streamlog_client.admin.create_topic(streamlog_topic, partitions=1, config=config)
    with streamlog_client.producer(batch_size="1 KiB") as producer:
        for turn in range(60):
            for key in range(20):
                producer.send(streamlog_topic, b"%d" % turn * 20, key=b"key %d" % key)
    partition = streamlog_client.topic(streamlog_topic).partition(0)
    until(lambda: len(list(partition)) < 400, 20)
    for start, stop in [(0, 1200), (3, 700), (100, 1199), (0, 2)]:

        def is_read_as_messages_are(start: int = start, stop: int = stop) -> bool:
            messages = [message.offset for message in partition[start:stop]]
            batches = partition.arrow(start, stop, max_rows=50)
            offsets = [found["offset"] for found in rows(batches)]
            assert batches.positions() == {(streamlog_topic, 0): stop}
            return offsets == messages

        # Compaction may run meanwhile.
        until(is_read_as_messages_are, 20)
