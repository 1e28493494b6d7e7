"""A topic to be read as a stream."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.reading.rows import Streamed


@pytest.fixture
def streamed(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> Streamed:
    """A topic that does not exist yet, at the shared broker."""
    return Streamed(spark, broker.address, client, topic, tmp_path)
