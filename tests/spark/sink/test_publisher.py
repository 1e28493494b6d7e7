"""Batches of ``foreachBatch`` are published once, copied by the executors."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from doctest import ELLIPSIS, DocTestRunner
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import streamlog
from pages.docstrings import docstrings
from py.support.broker import BrokerProcess
from spark.reading.rows import PATIENCE, fill, stream
from spark.sink.query import Crash, Query, counted, counted_by_confluent, values_of
from streamlog.errors import ConfigError
from streamlog.spark import BatchPublisher
from streamlog.spark.options import Connection
from streamlog.spark.sink.exactly import publication
from streamlog.spark.sink.exactly.publication import CopyElsewhere
from streamlog.spark.sink.exactly.publisher import copy_by_executors
from streamlog.spark.sink.exactly.record import BatchRecord


@pytest.fixture
def copy(spark: SparkSession, broker: BrokerProcess) -> CopyElsewhere:
    """The executors' copy."""
    return partial(copy_by_executors, spark, Connection.of(broker.address, {}))


def test_the_executors_copy_each_row_once_and_the_driver_none(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    target = f"{topic}-out"
    client.admin.create_topic(target, partitions=3)
    publish = BatchPublisher(bootstrap=broker.address, topic=target, compression="lz4")
    with pytest.MonkeyPatch.context() as driver:
        driver.delattr(publication, "republish")
        for _ in range(2):
            fill(client, topic, 300)
            frame = stream(spark, broker.address, subscribe=topic, maxOffsetsPerTrigger=120)
            writer = frame.drop("topic", "partition").writeStream.foreachBatch(publish)
            writer = writer.option("checkpointLocation", str(tmp_path))
            assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE)
    assert counted(client, target) == counted(client, topic)
    assert counted_by_confluent(broker.address, target) == counted(client, topic)


def test_a_driver_that_crashes_at_any_step_publishes_each_record_once(
    copy: CopyElsewhere, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    query = Query(broker.address, f"query-of-{topic}", topic, copy)
    batch, has_crashed = -1, True
    while has_crashed:
        batch += 1
        values = values_of(batch, 60)
        try:
            query.commit(batch, query.staged(values), crash_at=batch)
            has_crashed = False
        except Crash:
            query.commit(batch, query.staged(values))
    query.close()
    assert batch >= 5
    expected = Counter(value for number in range(batch + 1) for value in values_of(number, 60))
    assert counted(client, topic) == expected
    assert counted_by_confluent(broker.address, topic) == expected


def test_a_copy_that_stopped_half_way_or_runs_twice_adds_nothing(
    copy: CopyElsewhere, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=3)
    values = values_of(0, 3000)

    def half(record: BatchRecord) -> None:
        copy(record.of_partition(1))
        raise Crash

    def twice(record: BatchRecord) -> None:
        with ThreadPoolExecutor(2) as drivers:
            for done in [drivers.submit(copy, record) for _ in range(2)]:
                done.result(PATIENCE)

    first = Query(broker.address, f"query-of-{topic}", topic, half)
    with pytest.raises(Crash):
        first.commit(0, first.staged(values))
    assert 0 < counted(client, topic).total() < 3000
    again = Query(broker.address, first.name, topic, twice)
    again.commit(0, again.staged(values))
    assert counted(client, topic) == Counter(values)
    for query in (first, again):
        query.close()


def test_a_second_call_for_a_batch_is_refused(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    fill(client, topic, 20)
    target = f"{topic}-out"
    client.admin.create_topic(target)
    publish = BatchPublisher(bootstrap=broker.address, topic=target)

    def publish_twice(batch: DataFrame, number: int) -> None:
        for rest in range(2):
            publish(batch.where(f"offset % 2 = {rest}").select("value"), number)

    frame = stream(spark, broker.address, subscribe=topic)
    writer = frame.writeStream.foreachBatch(publish_twice)
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException, match="once for each batch"):
        writer.start().awaitTermination(PATIENCE)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("exactlyOnce", "it is always on"),
        ("checkpointLocation", "it is an option of the query"),
        ("compresion", "did you mean 'compression'"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(name: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        BatchPublisher(bootstrap="localhost:9092", topic="copies", **{name: "true"})


def test_a_table_is_refused(spark: SparkSession, broker: BrokerProcess) -> None:
    publish = BatchPublisher(bootstrap=broker.address, topic="copies")
    with pytest.raises(ConfigError, match="no query runs here"):
        publish(spark.createDataFrame([("a",)], "value string"), 0)


def test_the_example_does_what_it_shows(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic("copies", exist_ok=True)
    fill(client, topic, 20)
    (docstring,) = (found for found in docstrings() if found.name == "BatchPublisher")
    names = {
        "BatchPublisher": BatchPublisher,
        "bootstrap": broker.address,
        "folder": str(tmp_path),
        "rows": stream(spark, broker.address, subscribe=topic).select("key", "value"),
    }
    said: list[str] = []
    DocTestRunner(optionflags=ELLIPSIS).run(docstring.examples(names), out=said.append)
    assert said == [], "".join(said)
    assert counted(client, "copies") == counted(client, topic)
