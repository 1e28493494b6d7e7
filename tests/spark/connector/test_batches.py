"""Batch queries with Kafka's connector: reading, writing, headers, timestamps."""

import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import streamlog
from py.support.broker import BrokerProcess
from spark.connector.tables import Topic, digest, values_in, values_of


def test_a_batch_read_has_every_record(
    kafka: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=3)
    values = [b"%d" % number * 9 for number in range(3000)]
    with client.producer() as producer:
        producer.send_all(topic, values)
    assert digest(values_of(Topic(kafka, broker, topic).table())) == digest(values)


def test_a_batch_write_arrives_whole_with_keys_headers_and_partitions(
    kafka: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    source = kafka.range(2000).select(
        F.col("id").cast("string").alias("key"),
        F.repeat(F.col("id").cast("string"), 20).alias("value"),
        (F.col("id") % 2).cast("int").alias("partition"),
        F.expr("array(struct('origin' as key, cast('spark' as binary) as value))").alias("headers"),
    )
    Topic(kafka, broker, topic).append(source, includeHeaders="true")
    messages = list(client.topic(topic).read())
    assert digest(m.value or b"" for m in messages) == digest(
        (str(number) * 20).encode() for number in range(2000)
    )
    assert {(m.partition, int(m.key or b"") % 2) for m in messages} == {(0, 0), (1, 1)}
    assert {tuple(m.headers) for m in messages} == {(("origin", b"spark"),)}
    rows = Topic(kafka, broker, topic).table(includeHeaders="true").limit(1).collect()
    assert [(h.key, bytes(h.value)) for h in rows[0].headers] == [("origin", b"spark")]


def test_a_read_begins_at_the_time_asked_for(
    kafka: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    with client.producer() as producer:
        for number in range(100):
            producer.send(topic, b"%d" % number, timestamp=1_700_000_000_000 + 1000 * number)
    start = json.dumps({topic: {"0": 1_700_000_000_000 + 40_000}})
    table = Topic(kafka, broker, topic).table(startingOffsetsByTimestamp=start)
    assert sorted(map(int, values_of(table))) == list(range(40, 100))


def test_streamlog_reads_records_of_the_connector(
    kafka: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    rows = kafka.range(500).selectExpr("cast(id as string) as value")
    Topic(kafka, broker, topic).append(rows)
    ours = kafka.read.format("streamlog").option("bootstrap", broker.address)
    wanted = digest(b"%d" % number for number in range(500))
    assert digest(values_of(ours.option("subscribe", topic).load())) == wanted
    assert digest(values_in(client, topic)) == wanted
