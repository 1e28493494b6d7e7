"""Filters narrow a read where that is asked for, and change nothing about what comes of it."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.reading.rows import fill, table

SWITCH = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(params=["true", "false"])
def pushdown(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[bool]:
    """Whether Spark gives filters to the source."""
    before = spark.conf.get(SWITCH)
    spark.conf.set(SWITCH, request.param)
    yield request.param == "true"
    spark.conf.set(SWITCH, before or "false")


@pytest.fixture(scope="module")
def topics(client: streamlog.Client) -> list[str]:
    """A topic of 100 records and one of 40, each with two partitions."""
    names = ["filtered", "filtered-other"]
    fill(client, names[0], 100)
    fill(client, names[1], 40)
    return names


@pytest.mark.parametrize(
    "case",
    [
        ("partition = 1 AND offset >= 10 AND offset < 20", 20, 2),
        ("topic = 'filtered-other'", 40, 2),
        ("topic IN ('filtered-other', 'none') AND partition != 0", 20, 1),
        ("topic LIKE 'filtered-%' AND offset = 7", 2, 2),
        ("topic LIKE '%other' AND offset > 7 AND offset <= 9", 4, 2),
        ("offset > 1000", 0, 1),
        ("timestamp >= '2100-01-01T00:00:00Z'", 0, 1),
        ("partition = 0 OR offset = 0", 72, 4),
        ("offset IN (1, 2)", 8, 4),
    ],
)
def test_what_is_filtered_is_the_same_read_narrowly_or_widely(
    spark: SparkSession,
    broker: BrokerProcess,
    topics: list[str],
    pushdown: bool,
    case: tuple[str, int, int],
) -> None:
    condition, count, tasks = case
    frame = table(spark, broker.address, subscribe=",".join(topics), pushdown="true")
    filtered = frame.where(condition)
    assert filtered.count() == count
    assert filtered.rdd.getNumPartitions() == (tasks if pushdown else 4)


def test_queries_of_one_table_do_not_meddle_with_each_other(
    spark: SparkSession, broker: BrokerProcess, topics: list[str], pushdown: bool
) -> None:
    frame = table(spark, broker.address, subscribe=",".join(topics))
    assert frame.where("partition = 0 AND offset < 5").count() == 10
    assert frame.count() == 140
    halves = [frame.where(f"partition = {number}") for number in (0, 1)]
    found = halves[0].union(halves[1]).groupBy("partition").count().collect()
    assert {row.partition: row["count"] for row in found} == {0: 70, 1: 70}


def test_a_time_is_found_among_records_that_are_out_of_order(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    pushdown: bool,
) -> None:
    client.admin.create_topic(topic, partitions=1)
    times = [-5_000, 1_000, 5_000, 3_000, 9_000, 2_000, 7_000, 8_000, 4_000]
    with client.producer() as producer:
        for time in times:
            producer.send(topic, b"%d" % time, timestamp=time)
    for limit in (-6_000, 0, 2_500, 6_001, 9_001):
        frame = table(spark, broker.address, subscribe=topic, pushdown="true")
        moment = datetime.fromtimestamp(limit / 1000)
        rows = frame.where(frame.timestamp >= moment).collect()
        assert sorted(int(row.value) for row in rows) == sorted(t for t in times if t >= limit)
    frame = table(spark, broker.address, subscribe=topic, pushdown="true")
    rows = frame.where(frame.timestamp < datetime.fromtimestamp(4)).collect()
    assert sorted(int(row.value) for row in rows) == [-5_000, 1_000, 2_000, 3_000]
