"""The connector's jars in the shared session, and topics for it."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.connector.jars import JARS
from spark.connector.tables import Copy, Topic


@pytest.fixture(scope="session")
def kafka(spark: SparkSession) -> SparkSession:
    """The session, with `format("kafka")`."""
    for module, version in JARS.items():
        try:
            spark.sql(f"ADD JAR 'ivy://{module}:{version}?transitive=false'").collect()
        except Exception as error:
            pytest.fail(f"Maven Central does not give {module}:{version}: {error}")
    return spark


@pytest.fixture
def copy(
    kafka: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> Copy:
    """Two topics that do not exist yet."""
    source, target = (Topic(kafka, broker, name) for name in (topic, f"{topic}-copy"))
    return Copy(client, source, target, tmp_path / "checkpoint")
