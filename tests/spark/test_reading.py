"""Topics as tables."""

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess


@pytest.mark.timeout(120)
def test_a_batch_read_has_every_record(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    values = [b"%d" % number for number in range(1000)]
    with client.producer() as producer:
        producer.send_all(topic, values)
    table = (
        spark.read.format("streamlog")
        .option("bootstrap", broker.address)
        .option("subscribe", topic)
        .load()
    )
    assert sorted(bytes(row.value) for row in table.collect()) == sorted(values)
