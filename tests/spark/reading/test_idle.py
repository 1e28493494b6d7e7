"""An idle query makes few requests, and notices new records at once."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.reading.proxies import CountingProxy
from spark.reading.rows import PATIENCE, Collected, Streamed, read

IDLE_SECONDS = 8.0
REQUESTS_AT_MOST = 3.0
"""The maximal number of requests of all kinds in a second."""


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[CountingProxy]:
    """A broker behind a counting proxy."""
    with CountingProxy() as proxy:
        options = ("--advertise", proxy.address)
        with BrokerProcess(tmp_path / "counted", *options) as broker:
            proxy.target = broker.address
            yield proxy


def is_settled(counted: CountingProxy) -> bool:
    """Returns true if a second passes without the requests that end a trigger."""
    before = counted.counted()
    time.sleep(1.0)
    return (counted.counted() - before).total() <= REQUESTS_AT_MOST


def test_an_idle_query_costs_few_requests_and_goes_on_at_once(
    spark: SparkSession, counted: CountingProxy, topic: str, tmp_path: Path
) -> None:
    with streamlog.connect(counted.address) as client:
        streamed = Streamed(spark, counted.address, client, topic, tmp_path / "checkpoint")
        streamed.fill(40, partitions=4)
        got = Collected()
        with streamed.running(got, group=f"of-{topic}"):
            until(lambda: len(got.rows) == 40, PATIENCE)
            until(lambda: is_settled(counted), PATIENCE)
            before, began = counted.counted(), time.monotonic()
            time.sleep(IDLE_SECONDS)
            seconds = time.monotonic() - began
            after = counted.counted() - before
            assert after.total() / seconds <= REQUESTS_AT_MOST, after
            streamed.fill(4, partitions=4)
            until(lambda: len(got.rows) == 44, PATIENCE)
        assert read(got.rows) == streamed.published()
