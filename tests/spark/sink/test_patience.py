"""The time that a task waits for unreachable brokers."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import streamlog
from py.support.broker import BrokerProcess
from spark.sink.query import Query, counted, values_of
from spark.support.clock import Clock
from streamlog.errors import ConnectError, DeliveryError, RequestTimeout, StreamlogError
from streamlog.spark import patience
from streamlog.spark.sink.exactly.publication import Publication
from streamlog.spark.sink.exactly.record import BatchRecord, Part, PartitionPlan
from streamlog.spark.sink.exactly.stage import stage
from streamlog.spark.sink.rows import producing
from streamlog.spark.sink.settings import Settings


def write_while_away(settings: Settings, broker: BrokerProcess) -> None:
    """Writes like a task whose broker goes away for good."""
    with producing(settings) as producer:
        producer.send("t", b"arrives").result()
        broker.kill()
        producer.send("t", b"cannot")


def begin_while_away(settings: Settings, broker: BrokerProcess) -> None:
    """Writes like a task whose broker is away before the first row."""
    with producing(settings) as producer:
        broker.kill()
        producer.send("t", b"cannot")


@pytest.mark.parametrize(
    ("write", "options", "error"),
    [
        (write_while_away, {"brokertimeout": "1s"}, DeliveryError),
        (
            write_while_away,
            {"brokertimeout": "1h", "kafka.delivery.timeout.ms": "1000"},
            DeliveryError,
        ),
        (begin_while_away, {"brokertimeout": "1s"}, RequestTimeout),
        (
            begin_while_away,
            {"brokertimeout": "1h", "kafka.max.block.ms": "1000"},
            RequestTimeout,
        ),
    ],
)
def test_a_task_fails_when_brokers_are_unreachable_for_longer_than_its_timeout(
    write: Callable[[Settings, BrokerProcess], None],
    options: dict[str, str],
    error: type[StreamlogError],
    tmp_path: Path,
) -> None:
    given = {"topic": "t"} | options
    with (
        BrokerProcess(tmp_path / "data") as broker,
        streamlog.connect(broker.address) as client,
    ):
        client.admin.create_topic("t")
        given["bootstrap"] = broker.address
        settings = Settings.of(given, StructType().add("value", "binary"), overwrite=False)
        began = time.monotonic()
        with pytest.raises(error) as told:
            write(settings, broker)
        # The search for a topic ends if its next pause would exceed the timeout.
        assert 0.5 < time.monotonic() - began < 50
        assert "brokerTimeout" in told.value.__notes__[-1]


def test_a_copy_gives_up_when_brokers_are_unreachable_for_longer_than_its_timeout(
    tmp_path: Path,
) -> None:
    with BrokerProcess(tmp_path / "data") as broker, streamlog.connect(broker.address) as client:
        for name in ("staged", "t"):
            client.admin.create_topic(name, partitions=1)
        part = Part(producer=1, first=0, last=0, records=1)
        plan = PartitionPlan(
            target="t",
            staged="staged",
            partition=0,
            sequence=0,
            offset=0,
            staged_end=1,
            parts=(part,),
        )
        record = BatchRecord(
            batch=0,
            previous=None,
            writer="w",
            producer=1,
            epoch=0,
            staged={},
            partitions=(plan,),
        )
        broker.kill()
        began = time.monotonic()
        with pytest.raises(ConnectError):
            Publication([client], record, lambda step: None, patience=1.0).publish()
        assert time.monotonic() - began < 20


def test_a_broker_may_be_unreachable_at_the_end_of_a_long_commit(
    broker: BrokerProcess, client: streamlog.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.admin.create_topic(topic)
    copy, forget = Publication._copy, Publication.forget
    outage, clock = iter([RequestTimeout("the broker is away")]), Clock()

    def copy_slowly(batch: Publication, done: dict[PartitionPlan, int]) -> None:
        clock.pass_on(130)
        copy(batch, done)

    def forget_at_last(batch: Publication) -> None:
        for error in outage:
            raise error
        forget(batch)

    monkeypatch.setattr(patience, "time", clock)
    monkeypatch.setattr(Publication, "_copy", copy_slowly)
    monkeypatch.setattr(Publication, "forget", forget_at_last)
    query = Query(broker.address, f"query-of-{topic}", topic)
    query.commit_as_spark_does(0, query.staged(values_of(0, 60)))
    query.close()
    assert counted(client, topic) == Counter(values_of(0, 60))


def test_a_task_without_rows_asks_no_broker(topic: str) -> None:
    given = {"bootstrap": "127.0.0.1:1", "topic": topic, "brokertimeout": "1s"}
    settings = Settings.of(given, StructType().add("value", "binary"), overwrite=False)
    none = pa.record_batch([pa.array([], pa.binary())], names=["value"])
    assert stage(settings, "query", [none]).topics == {}
