"""A record that takes longer than the first timeouts is delivered after retries."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from py.support.proxy import SlowProxy
from spark.parts.played import values
from spark.support.loads import load_here, rows_of_files
from streamlog.spark.options import Connection
from streamlog.spark.reading import records, sizes
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.records import RangeReader
from streamlog.spark.reading.settings import Reading, default_schema

BYTES_PER_SECOND = 100_000
LARGE = random.Random(6).randbytes(2 * BYTES_PER_SECOND)
"""The size of a record that takes longer than two timeouts of a second."""


@pytest.fixture
def address(tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A broker behind a slow link, with a large record; the first timeouts are short."""
    for module in (records, sizes):
        monkeypatch.setattr(module, "_LOOK_SECONDS", 1.0)
    with SlowProxy(BYTES_PER_SECOND) as proxy:
        options = ("--advertise", proxy.address)
        with BrokerProcess(tmp_path / "slow", *options) as broker:
            proxy.target = broker.address
            with streamlog.connect(proxy.address) as client:
                client.admin.create_topic(topic)
                with client.producer() as producer:
                    producer.send(topic, LARGE).result()
            yield proxy.address


def test_a_task_reads_it(address: str, topic: str) -> None:
    given = {"bootstrap": address, "subscribe": topic}
    reading = Reading.of_batch(given, default_schema(given))
    assert values(RangeReader.of(reading, OffsetRange(topic, 0, 0, 1)).batches()) == [LARGE]


def test_a_load_brings_it(address: str, topic: str, tmp_path: Path) -> None:
    assert load_here(address, tmp_path / "lake", [topic]).records == 1
    assert rows_of_files(tmp_path / "lake") == {(topic, 0, 0, LARGE): 1}


def test_its_size_is_found(address: str, topic: str) -> None:
    size = sizes.bytes_per_offset(Connection.of(address, {}), OffsetRange(topic, 0, 0, 1))
    assert size >= len(LARGE)
