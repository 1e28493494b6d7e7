"""Brokers that cannot be reached for a while, and come back or do not.

`STREAMLOG_AWAY_SECONDS=60` sets the length of an outage.
"""

import os
import threading
from pathlib import Path

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.reading.proxies import Kind, SpoilingProxy
from spark.reading.rows import PATIENCE, Collected, Streamed, fill, read, table

_AWAY_SECONDS = float(os.environ.get("STREAMLOG_AWAY_SECONDS", "12"))
"""Longer than the timeout of any single call of the client."""

pytestmark = pytest.mark.timeout(300 + 2 * _AWAY_SECONDS)


def test_a_query_continues_when_the_broker_is_back(
    spark: SparkSession, shaky: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    got = Collected()
    with streamlog.connect(shaky.address) as client:
        streamed = Streamed(spark, shaky.address, client, topic, tmp_path / "checkpoint")
        streamed.fill(200)
        with streamed.running(got, maxOffsetsPerTrigger=50) as query:
            until(lambda: len(got.rows) > 0, PATIENCE)
            shaky.kill()
            threading.Event().wait(_AWAY_SECONDS)
            shaky.start()
            streamed.fill(200)
            until(lambda: len(got.rows) >= 400, PATIENCE)
            assert query.exception() is None
        assert read(got.rows) == streamed.published()


@pytest.mark.parametrize("kind", ["empty", "unknown"])
def test_a_query_continues_when_metadata_lacks_its_topic_for_a_moment(
    spark: SparkSession, topic: str, kind: Kind, tmp_path: Path
) -> None:
    got = Collected()
    with SpoilingProxy(topic) as proxy:
        broker = BrokerProcess(tmp_path / "data", "--advertise", proxy.address)
        with broker, streamlog.connect(broker.address) as client:
            proxy.target = broker.address
            streamed = Streamed(spark, proxy.address, client, topic, tmp_path / "checkpoint")
            streamed.fill(200)
            with streamed.running(got, maxOffsetsPerTrigger=50) as query:
                until(lambda: len(got.rows) > 0, PATIENCE)
                for total in (300, 400):
                    spoilt = proxy.spoilt
                    proxy.kind = kind
                    until(lambda before=spoilt: proxy.spoilt >= before + 3, PATIENCE)
                    proxy.kind = None
                    streamed.fill(100)
                    until(lambda wanted=total: len(got.rows) >= wanted, PATIENCE)
                    assert query.exception() is None
            assert read(got.rows) == streamed.published()


def test_a_table_waits_for_the_broker(
    spark: SparkSession, shaky: BrokerProcess, topic: str
) -> None:
    with streamlog.connect(shaky.address) as client:
        fill(client, topic, 100)
    shaky.kill()
    back = threading.Timer(_AWAY_SECONDS, shaky.start)
    back.start()
    try:
        assert table(spark, shaky.address, subscribe=topic).count() == 100
    finally:
        back.join()


def test_patience_ends(spark: SparkSession, shaky: BrokerProcess, topic: str) -> None:
    shaky.kill()
    with pytest.raises(PySparkException, match="no broker could be reached"):
        table(spark, shaky.address, subscribe=topic, brokerTimeout="1s").count()
