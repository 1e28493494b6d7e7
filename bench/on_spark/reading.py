"""Batch reads: rows a second of the upper bound, of streamlog and of Kafka's connector, in turn."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession
from servers import touch_memory

from on_spark.ceiling import Ceiling
from on_spark.session import CORES

__all__ = ["Row", "Topic", "read_rows"]

COLUMNS = "key binary, value binary, topic string, partition int, offset long, "
SCHEMAS = {
    "7 columns": COLUMNS + "timestamp timestamp, timestampType int",
    "value only": "value binary",
}

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


def read_rows(spark: SparkSession, topic: Topic, rounds: int, with_connector: bool) -> list[Row]:
    """Reads the topic in every way, in several rounds, and compares within each round."""
    spark.dataSource.register(Ceiling)
    sources = _sources(spark, topic, with_connector)
    found: list[Row] = []
    for what, schema in SCHEMAS.items():
        seconds: dict[str, list[float]] = {name: [] for name in sources}
        for turn in range(rounds + 1):
            touch_memory()
            for name, read in sources.items():
                taken = _seconds(read(schema))
                # The first round is a warm-up.
                if turn:
                    seconds[name].append(taken)
        for name, times in seconds.items():
            rate = topic.rows / median(times) / 1e6
            print(f"    {what}, {name}: {rate:.2f} M rows/s", flush=True)
        found += _compared(what, seconds)
    return found


def _compared(what: str, seconds: dict[str, list[float]]) -> list[Row]:
    def ratio(other: str) -> float:
        pairs = zip(seconds[other], seconds["streamlog"], strict=True)
        return median(theirs / ours for theirs, ours in pairs)

    ceiling = ratio("ceiling")
    rows = [Row(f"{what}: of Spark's ceiling", f"{ceiling:.2f}", ">= 0.80", ceiling >= 0.8)]
    if "kafka" in seconds:
        kafka = ratio("kafka")
        gate, is_met = (">= 2.0", kafka >= 2.0) if what == "7 columns" else ("", True)
        rows.append(Row(f"{what}: times Kafka's connector", f"{kafka:.2f}", gate, is_met))
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


def _seconds(frame: DataFrame) -> float:
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
