"""A Spark session with Kafka's connector, as in the tests, and a topic to read."""

import os
import sys

import pyarrow
from pyspark.sql import SparkSession

import streamlog
from spark.connector.jars import JARS
from streamlog.spark import provide_java

__all__ = ["CORES", "filled", "session"]

CORES = 2
VALUE_BYTES = 200


def session(with_connector: bool) -> SparkSession:
    """Creates the session, with the settings recommended in the documentation."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    provide_java()
    builder = SparkSession.Builder().master(f"local[{CORES}]").appName("bench")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.log.level": "ERROR",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for module, version in JARS.items() if with_connector else ():
        spark.sql(f"ADD JAR 'ivy://{module}:{version}?transitive=false'").collect()
    return spark


def filled(client: streamlog.Client, topic: str, rows: int) -> object:
    """Publishes the records, and returns the first 10,000 of a partition as a batch for Spark."""
    client.admin.create_topic(topic, partitions=CORES)
    value = os.urandom(VALUE_BYTES)
    with client.producer(batch_size="256 KiB", buffer="256 MiB") as producer:
        for number in range(rows):
            producer.send(topic, value, key=b"key %08d" % number, partition=number % CORES)
    batches = client.topic(topic).partition(0).arrow(0, 10_000, max_rows=10_000, max_bytes="64 MiB")
    table = pyarrow.Table.from_batches(list(batches)).combine_chunks()
    names = [name if name != "timestamp_type" else "timestampType" for name in table.column_names]
    return table.rename_columns(names).to_batches()[0]
