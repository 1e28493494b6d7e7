"""A broker that cannot be reached while tasks write to it, and comes back."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.streaming.query import StreamingQuery

import streamlog
from py.support.broker import BrokerProcess, until
from spark.sink.query import counted, counted_by_confluent
from spark.support.outages import AWAY_SECONDS, IMPATIENT, away
from streamlog.spark.sink.exactly.staging import staging_topic

pytestmark = pytest.mark.timeout(300 + 2 * AWAY_SECONDS)

_PATIENCE = 100 + AWAY_SECONDS
_GATE = 250
"""The number of the record at which a batch is held."""
_RECORDS = 400
_ROWS_AT_ONCE = "spark.sql.execution.arrow.maxRecordsPerBatch"


@dataclass(frozen=True)
class Gate:
    """Holds the record in the middle of a batch until the gate is opened, across processes."""

    folder: Path

    @property
    def is_reached(self) -> bool:
        """Returns true if the record has been reached."""
        return (self.folder / "reached").exists()

    def open(self) -> None:
        """Releases the record, and all after it."""
        (self.folder / "open").touch()

    def through(self, values: Column) -> Column:
        """Yields the values unchanged."""
        folder, gate, patience = str(self.folder), _value(_GATE), _PATIENCE

        def passed(value: bytes) -> bytes:
            import time
            from pathlib import Path

            if bytes(value) == gate:
                Path(folder, "reached").touch()
                deadline = time.monotonic() + patience
                while not Path(folder, "open").exists():
                    assert time.monotonic() < deadline, "nobody opens the gate"
                    time.sleep(0.01)
            return value

        return udf(passed, "binary", useArrow=False).asNondeterministic()(values)


def _value(number: int) -> bytes:
    return b"%d " % number * 300


def _publish(client: streamlog.Client, topic: str, begin: int, end: int) -> None:
    with client.producer() as producer:
        producer.send_all(topic, range(begin, end), key=str, value=_value)


@contextmanager
def copying(rows: DataFrame, folder: Path, **options: object) -> Iterator[StreamingQuery]:
    """Runs a query that writes the rows to the topic named after the folder."""
    given = {"checkpointLocation": str(folder / "checkpoint"), "topic": folder.name}
    given |= {f"kafka.{name}": value for name, value in IMPATIENT.items()}
    given |= {name: str(value) for name, value in options.items()}
    query = rows.writeStream.format("streamlog").options(**given).start()
    try:
        yield query
    finally:
        query.stop()


@contextmanager
def batches_of(rows: int, spark: SparkSession) -> Iterator[None]:
    """Sets the number of rows in a batch for new queries."""
    spark.conf.set(_ROWS_AT_ONCE, rows)
    try:
        yield
    finally:
        spark.conf.unset(_ROWS_AT_ONCE)


def test_a_broker_back_after_an_outage_within_a_batch_gets_all_of_it(
    spark: SparkSession, broker: BrokerProcess, shaky: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    source = spark.readStream.format("streamlog").option("bootstrap", broker.address)
    rows = source.option("subscribe", topic).option("startingOffsets", "earliest").load()
    gates = [Gate(tmp_path / name) for name in ("often", "once")]
    often, once = (rows.select("key", gate.through(rows.value).alias("value")) for gate in gates)
    with (
        streamlog.connect(broker.address) as here,
        streamlog.connect(shaky.address) as there,
        ExitStack() as queries,
    ):
        here.admin.create_topic(topic, partitions=1)
        _publish(here, topic, 0, _RECORDS)
        for gate in gates:
            gate.folder.mkdir()
            there.admin.create_topic(gate.folder.name, partitions=2)
        to = partial(copying, bootstrap=shaky.address)
        with batches_of(10, spark):
            first = queries.enter_context(to(often, gates[0].folder))
            second = queries.enter_context(to(once, gates[1].folder, exactlyOnce=True))
        until(lambda: all(gate.is_reached for gate in gates), _PATIENCE)
        for written in ("often", staging_topic(str(second.id), "once")):
            _until_there_are(1, there, written)
            assert _size(there, written) < _RECORDS
        with away(shaky):
            for gate in gates:
                gate.open()
        _publish(here, topic, _RECORDS, 2 * _RECORDS)
        for written in ("often", "once"):
            _until_there_are(2 * _RECORDS, there, written)
        assert (first.exception(), second.exception()) == (None, None)
        expected = Counter(_value(number) for number in range(2 * _RECORDS))
        assert counted(there, "once") == expected
        assert counted_by_confluent(shaky.address, "once") == expected
        assert counted(there, "often").keys() == expected.keys()


def _until_there_are(least: int, client: streamlog.Client, topic: str) -> None:
    until(lambda: _size(client, topic) >= least, _PATIENCE)


def _size(client: streamlog.Client, topic: str) -> int:
    """Returns the number of records; 0 if the topic does not exist yet."""
    if topic not in client.admin.topics():
        return 0
    return sum(end or 0 for end in client.admin.end_offsets(topic).values())
