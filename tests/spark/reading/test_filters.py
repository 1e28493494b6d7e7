"""Filters do not change the range that is read, whichever queries share a table."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.reading.rows import fill, table

SWITCH = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(params=["true", "false"])
def pushdown(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Runs a test with and without Spark's filter pushdown."""
    before = spark.conf.get(SWITCH)
    spark.conf.set(SWITCH, request.param)
    yield
    spark.conf.set(SWITCH, before or "false")


@pytest.fixture(scope="module")
def topics(client: streamlog.Client) -> str:
    """A topic of 100 records and one of 40, each with two partitions."""
    fill(client, "filtered", 100)
    fill(client, "filtered-other", 40)
    return "filtered,filtered-other"


@pytest.mark.usefixtures("pushdown")
def test_every_query_of_one_table_has_all_rows_that_its_own_filter_leaves(
    spark: SparkSession, broker: BrokerProcess, topics: str
) -> None:
    frame = table(spark, broker.address, subscribe=topics)
    for condition, count in (
        ("partition = 1 AND offset >= 10 AND offset < 20", 20),
        ("topic = 'filtered-other'", 40),
        ("topic LIKE 'filtered-%' AND offset = 7", 2),
        ("offset > 1000", 0),
        ("timestamp >= '2100-01-01T00:00:00Z'", 0),
        ("partition = 0 OR offset = 0", 72),
        ("true", 140),
    ):
        assert frame.where(condition).count() == count, condition


@pytest.mark.usefixtures("pushdown")
def test_queries_planned_side_by_side_do_not_share_their_filters(
    spark: SparkSession, broker: BrokerProcess, topics: str
) -> None:
    frame = table(spark, broker.address, subscribe=topics)
    halves = [frame.where(f"partition = {number}") for number in (0, 1)]
    found = halves[0].union(halves[1]).groupBy("partition").count().collect()
    assert {row.partition: row["count"] for row in found} == {0: 70, 1: 70}


def test_the_option_that_lost_rows_of_later_queries_is_refused(
    spark: SparkSession, broker: BrokerProcess, topics: str
) -> None:
    with pytest.raises(Exception, match=r"option 'pushdown': not taken, .*'startingOffsets'"):
        table(spark, broker.address, subscribe=topics, pushdown="true")
