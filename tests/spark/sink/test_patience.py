"""For how long a task waits for brokers that are away."""

import time
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

import streamlog
from py.support.broker import BrokerProcess
from streamlog.errors import DeliveryError
from streamlog.spark.sink.rows import producing
from streamlog.spark.sink.settings import Settings


def write_while_away(settings: Settings, broker: BrokerProcess) -> None:
    """Writes as a task does, whose broker goes away and does not come back."""
    with producing(settings) as producer:
        producer.send("t", b"arrives").result()
        broker.kill()
        producer.send("t", b"cannot")


@pytest.mark.parametrize(
    "options",
    [{"brokertimeout": "1s"}, {"brokertimeout": "1h", "kafka.delivery.timeout.ms": "1000"}],
)
def test_a_task_fails_when_brokers_are_away_for_longer_than_it_was_told(
    options: dict[str, str], tmp_path: Path
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
        with pytest.raises(DeliveryError):
            write_while_away(settings, broker)
        assert 0.9 < time.monotonic() - began < 60
