"""Batch reads by the upper bound, by streamlog and by Kafka's connector, in turn.

The comparison with the upper bound is in processor time of Spark's processes, because rows a second
depend on the cores that the broker takes from Spark. That with the connector is in rows a second.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession
from servers import touch_memory

from on_spark.ceiling import Ceiling
from on_spark.processor import Processes, Usage
from on_spark.session import CORES

__all__ = ["Row", "Topic", "read_rows"]

COLUMNS = "key binary, value binary, topic string, partition int, offset long, "
SCHEMAS = {
    "7 columns": COLUMNS + "timestamp timestamp, timestampType int",
    "value only": "value binary",
}
CEILING_GATES = {"7 columns": 0.82, "value only": 0.75}

Read: TypeAlias = Callable[[str], DataFrame]
"""Creates a table with a schema."""


@dataclass(frozen=True)
class Row:
    """A row of the results."""

    name: str
    figure: str
    gate: str
    is_met: bool

    def __str__(self) -> str:
        """Its printed form."""
        return f"{self.name:44} {self.figure:28} {self.gate:12} {'ok' if self.is_met else 'MISSED'}"


@dataclass(frozen=True)
class Topic:
    """The topic `records`."""

    address: str
    batch: Path
    """A file with some of its records as an Arrow batch."""
    rows: int
    broker: int
    """The broker's process id."""


@dataclass(frozen=True)
class _Taken:
    """The cost of one read of the whole topic."""

    seconds: float
    usage: Usage


def read_rows(spark: SparkSession, topic: Topic, rounds: int, with_connector: bool) -> list[Row]:
    """Reads the topic in every way, in several rounds, and compares within each round."""
    spark.dataSource.register(Ceiling)
    sources = _sources(spark, topic, with_connector)
    processes = Processes.of(spark, topic.broker)
    found: list[Row] = []
    for what, schema in SCHEMAS.items():
        reads: dict[str, list[_Taken]] = {name: [] for name in sources}
        for turn in range(rounds + 1):
            touch_memory()
            for name, read in sources.items():
                taken = _taken(read(schema), processes)
                # The first round is a warm-up.
                if turn:
                    reads[name].append(taken)
        for name, taken_by in reads.items():
            print(f"    {what}, {name}: {_described(taken_by, topic.rows)}", flush=True)
        found += _compared(what, reads)
    return found


def _described(reads: list[_Taken], rows: int) -> str:
    rate = rows / median(read.seconds for read in reads) / 1e6
    spark = median(read.usage.spark for read in reads) / rows * 1e6
    broker = median(read.usage.broker for read in reads) / rows * 1e6
    return f"{rate:.2f} M rows/s, µs of processor a row: Spark {spark:.2f}, broker {broker:.2f}"


def _compared(what: str, reads: dict[str, list[_Taken]]) -> list[Row]:
    pairs = zip(reads["ceiling"], reads["streamlog"], strict=True)
    ceiling = median(least.usage.spark / ours.usage.spark for least, ours in pairs)
    gate = CEILING_GATES[what]
    name = f"{what}: processor time, of the ceiling's"
    rows = [Row(name, f"{ceiling:.2f}", f">= {gate:.2f}", ceiling >= gate)]
    if "kafka" in reads:
        pairs = zip(reads["kafka"], reads["streamlog"], strict=True)
        kafka = median(theirs.seconds / ours.seconds for theirs, ours in pairs)
        least, is_met = (">= 2.0", kafka >= 2.0) if what == "7 columns" else ("", True)
        rows.append(Row(f"{what}: times Kafka's connector", f"{kafka:.2f}", least, is_met))
    return rows


def _sources(spark: SparkSession, topic: Topic, with_connector: bool) -> dict[str, Read]:
    address, batch, rows = topic.address, topic.batch, topic.rows

    def ceiling(schema: str) -> DataFrame:
        reader = spark.read.format("ceiling").schema(schema).option("batch", str(batch))
        return reader.option("rows", rows).option("tasks", CORES).load()

    def streamlog(schema: str) -> DataFrame:
        reader = spark.read.format("streamlog").schema(schema).option("bootstrap", address)
        return reader.option("subscribe", "records").load()

    def kafka(schema: str) -> DataFrame:
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", address)
        names = [column.split()[0] for column in schema.split(", ")]
        return reader.option("subscribe", "records").load().select(*names)

    sources: dict[str, Read] = {"ceiling": ceiling, "streamlog": streamlog}
    if with_connector:
        sources["kafka"] = kafka
    return sources


def _taken(frame: DataFrame, processes: Processes) -> _Taken:
    before, began = processes.used(), time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return _Taken(time.perf_counter() - began, processes.used() - before)
