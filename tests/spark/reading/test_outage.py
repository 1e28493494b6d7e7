"""Brokers that go away for a while, and come back or do not."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.reading.rows import PATIENCE, Collected, fill, published, read, stream, table

pytestmark = pytest.mark.timeout(150)

AWAY_SECONDS = 12.0
"""Longer than any single call of the client waits."""


@pytest.fixture
def shaky(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker of the test's own, to be killed."""
    with BrokerProcess(tmp_path / "shaky") as broker:
        yield broker


def test_a_query_goes_on_when_the_broker_is_back(
    spark: SparkSession, shaky: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    got = Collected()
    with streamlog.connect(shaky.address) as client:
        fill(client, topic, 200)
        frame = stream(spark, shaky.address, subscribe=topic, maxOffsetsPerTrigger=50)
        query = got.start(frame, tmp_path / "checkpoint", available_now=False)
        try:
            until(lambda: len(got.rows) > 0, PATIENCE)
            shaky.kill()
            threading.Event().wait(AWAY_SECONDS)
            shaky.start()
            fill(client, topic, 200)
            until(lambda: len(got.rows) >= 400, PATIENCE)
            assert query.exception() is None
        finally:
            query.stop()
        assert read(got.rows) == published(client, topic)


def test_a_table_waits_for_the_broker(
    spark: SparkSession, shaky: BrokerProcess, topic: str
) -> None:
    with streamlog.connect(shaky.address) as client:
        fill(client, topic, 100)
    shaky.kill()
    back = threading.Timer(4.0, shaky.start)
    back.start()
    try:
        assert table(spark, shaky.address, subscribe=topic).count() == 100
    finally:
        back.join()


def test_patience_ends(spark: SparkSession, shaky: BrokerProcess, topic: str) -> None:
    shaky.kill()
    with pytest.raises(PySparkException, match="no broker could be reached"):
        table(spark, shaky.address, subscribe=topic, brokerTimeout="1s").count()
