"""Topics as tables: reads return the records of the log, all or a range."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.reading.rows import fill, published, read, table

LAST_MILLISECOND = (2**63 - 1) // 1000
"""The last time that Spark's microseconds can hold, in the year 294247."""


def test_a_table_has_every_record_with_all_columns(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    fill(client, topic, 1000, partitions=3)
    frame = table(spark, broker.address, subscribe=topic)
    rows = frame.collect()
    assert read(rows) == published(client, topic)
    messages = {(m.partition, m.offset): m for m in client.topic(topic).read()}
    for row in rows[::50]:
        message = messages[row.partition, row.offset]
        assert row.timestamp.replace(tzinfo=UTC) == message.timestamp
        assert row.timestampType == 0
    assert frame.rdd.getNumPartitions() == 3


def test_a_time_that_microseconds_cannot_hold_is_null(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    config = {"message.timestamp.after.max.ms": 2**63 - 1}
    client.admin.create_topic(topic, partitions=1, config=config)
    with client.producer() as producer:
        for time in (0, LAST_MILLISECOND, LAST_MILLISECOND + 1, 2**63 - 1):
            producer.send(topic, b"%d" % time, timestamp=time)
    found = table(spark, broker.address, subscribe=topic)
    found = found.selectExpr("unix_millis(timestamp)", "timestampType").orderBy("offset")
    times = [0, LAST_MILLISECOND, None, None]
    assert [tuple(row) for row in found.collect()] == [(time, 0) for time in times]


def test_headers_come_when_they_are_asked_for(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    with client.producer() as producer:
        producer.send(topic, b"with", headers=[("a", b"1"), ("a", None)])
        producer.send(topic, b"without")
    frame = table(spark, broker.address, subscribe=topic, includeHeaders="true")
    found = {bytes(row.value): row.headers for row in frame.collect()}
    assert [(header.key, header.value) for header in found[b"with"]] == [("a", b"1"), ("a", None)]
    assert not found[b"without"]


def test_a_part_of_the_columns_is_asked_for_by_schema_or_by_option(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    fill(client, topic, 100)
    reader = spark.read.format("streamlog").option("bootstrap", broker.address)
    by_schema = reader.option("subscribe", topic).schema("offset long, value binary").load()
    by_option = table(spark, broker.address, subscribe=topic, columns="offset,value")
    assert by_schema.columns == by_option.columns == ["offset", "value"]
    by_offset = [frame.orderBy("offset", "value").collect() for frame in (by_schema, by_option)]
    assert by_offset[0] == by_offset[1]
    assert len(by_offset[0]) == 100


def test_topics_are_named_matched_or_assigned_by_partition(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    names = [f"{topic}.a", f"{topic}.b", f"{topic}.b.more"]
    for name in names:
        fill(client, name, 20)
    both = read(table(spark, broker.address, subscribe=f"{names[0]}, {names[1]}").collect())
    assert both == published(client, *names[:2])
    pattern = rf"{topic}\.[ab]"
    assert read(table(spark, broker.address, subscribePattern=pattern).collect()) == both
    assign = json.dumps({names[0]: [1], names[1]: [0, 1]})
    assigned = read(table(spark, broker.address, assign=assign).collect())
    assert assigned == {row: n for row, n in both.items() if row[:2] != (names[0], 0)}
    assert table(spark, broker.address, subscribePattern=f"{topic}-none").count() == 0


def test_a_read_begins_and_ends_at_offsets(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    fill(client, topic, 100)
    starting = json.dumps({topic: {"0": 10, "1": -2}})
    ending = json.dumps({topic: {"0": 20, "1": -1}})
    frame = table(
        spark, broker.address, subscribe=topic, startingOffsets=starting, endingOffsets=ending
    )
    offsets = sorted((row.partition, row.offset) for row in frame.collect())
    assert offsets == [(0, o) for o in range(10, 20)] + [(1, o) for o in range(50)]


def test_a_read_begins_where_a_group_is(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    fill(client, topic, 100)
    client.admin.group(f"of-{topic}").commit({(topic, 0): 45})
    frame = table(spark, broker.address, subscribe=topic, startingOffsets=f"group:of-{topic}")
    offsets = sorted((row.partition, row.offset) for row in frame.collect())
    assert offsets == [(0, o) for o in range(45, 50)] + [(1, o) for o in range(50)]


NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def hours(client: streamlog.Client, topic: str) -> str:
    """A topic with a record for each hour, from noon to the tenth hour after it."""
    client.admin.create_topic(topic, partitions=1)
    with client.producer() as producer:
        for hour in range(11):
            time = NOON + timedelta(hours=hour)
            producer.send(topic, b"%d" % hour, timestamp=time)
    return topic


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingTimestamp": NOON + timedelta(hours=8)}, range(8, 11)),
        ({"startingTimestamp": "2026-11-01T19:30:00+00:00"}, range(8, 11)),
        ({"endingTimestamp": NOON + timedelta(hours=2)}, range(2)),
        ({"startingTimestamp": NOON, "startingOffsets": '{"TOPIC":{"0":9}}'}, range(11)),
        ({"startingOffsetsByTimestamp": NOON + timedelta(hours=9)}, range(9, 11)),
        ({"endingOffsetsByTimestamp": NOON + timedelta(hours=3)}, range(3)),
        ({"endingTimestamp": NOON + timedelta(days=9)}, range(11)),
        (
            {
                "startingTimestamp": NOON + timedelta(days=9),
                "startingOffsetsByTimestampStrategy": "latest",
            },
            range(0),
        ),
    ],
)
def test_a_read_begins_and_ends_at_times(
    spark: SparkSession,
    broker: BrokerProcess,
    hours: str,
    options: dict[str, object],
    expected: range,
) -> None:
    def text(name: str, value: object) -> str:
        if not isinstance(value, datetime):
            return str(value).replace("TOPIC", hours)
        time_ms = int(value.timestamp() * 1000)
        return json.dumps({hours: {"0": time_ms}}) if "ByTime" in name else str(time_ms)

    given = {name: text(name, value) for name, value in options.items()}
    rows = table(spark, broker.address, subscribe=hours, **given).collect()
    assert sorted(int(row.value) for row in rows) == list(expected)


def test_a_read_begins_and_ends_a_duration_before_now(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    with client.producer() as producer:
        for minutes in (180, 90, 30, 0):
            moment = datetime.now(UTC) - timedelta(minutes=minutes)
            producer.send(topic, b"%d" % minutes, timestamp=moment)
    for options, expected in (
        ({"startingTimestamp": "-1h"}, {b"30", b"0"}),
        ({"endingTimestamp": "-1h"}, {b"180", b"90"}),
        ({"startingTimestamp": "-2h", "endingTimestamp": "-15m"}, {b"90", b"30"}),
    ):
        rows = table(spark, broker.address, subscribe=topic, columns="value", **options).collect()
        assert {bytes(row.value) for row in rows} == expected


@pytest.mark.parametrize(
    "case",
    [
        ({"subscribe": "there-is-none"}, "there is no topic 'there-is-none'"),
        ({"startingOffsets": '{"TOPIC":{"0":5}}'}, "partition 1 of 'TOPIC' is missing"),
        (
            {"startingOffsets": '{"TOPIC":{"0":5,"1":5,"2":5}}'},
            "partition 2 of 'TOPIC' is not read",
        ),
        ({"startingOffsets": '{"TOPIC":{"0":51,"1":0}}'}, "would begin at 51 .* and end at 50"),
        (
            {
                "startingOffsets": '{"TOPIC":{"0":9,"1":0}}',
                "endingOffsets": '{"TOPIC":{"0":5,"1":-1}}',
            },
            "would begin at 9 .* and end at 5",
        ),
        (
            {"endingOffsets": '{"TOPIC":{"0":500,"1":-1}}'},
            "'TOPIC', partition 0: offset 500 was requested, the log begins at 0 .* ends at 50",
        ),
        ({"startingTimestamp": "99999999999999"}, "no record of topic 'TOPIC', partition 0, is of"),
        ({"kafka.fetch.max.byte": "1"}, "did you mean 'fetch.max.bytes'"),
    ],
)
def test_options_that_do_not_match_the_topic_are_an_error_that_names_it(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    case: tuple[dict[str, str], str],
) -> None:
    options, words = case
    fill(client, topic, 100)
    given = {name: text.replace("TOPIC", topic) for name, text in options.items()}
    with pytest.raises(AnalysisException, match=words.replace("TOPIC", topic)):
        table(spark, broker.address, **{"subscribe": topic, **given}).count()


@pytest.mark.parametrize(
    "case",
    [
        ({"minPartitions": "5"}, range(5, 7)),
        ({"maxRecordsPerPartition": "300"}, range(4, 5)),
        ({"maxBytesPerPartition": "20k"}, range(12, 24)),
        ({"minPartitions": "1"}, range(2, 3)),
    ],
)
def test_a_table_is_split_into_tasks_that_read_everything_once(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    case: tuple[dict[str, str], range],
) -> None:
    options, tasks = case
    client.admin.create_topic(topic, partitions=2)
    with client.producer(compression="lz4") as producer:
        for number in range(1000):
            producer.send(topic, b"%d" % number * 100, partition=number % 2)
    frame = table(spark, broker.address, subscribe=topic, **options)
    assert frame.rdd.getNumPartitions() in tasks
    assert read(frame.collect()) == published(client, topic)


def test_a_view_of_sql_reads_a_topic(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    fill(client, topic, 30)
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW orders USING streamlog "
        f"OPTIONS (bootstrap '{broker.address}', subscribe '{topic}')"
    )
    found = spark.sql("SELECT partition, count(*) AS n FROM orders GROUP BY partition").collect()
    assert sorted((row.partition, row.n) for row in found) == [(0, 15), (1, 15)]
