"""Copies of a topic: rows a second of a plain write, and of streams in each mode, in turn.

A plain write is a batch job that reads and writes the same rows. Exactly once, the driver copies,
as it does for the sink, or the executors, for ``foreachBatch``.
"""

import time
from enum import Enum
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import streamlog
from on_spark.reading import Row
from on_spark.session import CORES
from streamlog.spark import BatchPublisher

__all__ = ["exactly_rows"]

TRIGGERS = 4


class Mode(Enum):
    """A way to copy a topic."""

    PLAIN = "plain write"
    AT_LEAST_ONCE = "at least once"
    BY_DRIVER = "exactly once, copied by the driver"
    BY_EXECUTORS = "exactly once, copied by the executors"


def exactly_rows(
    spark: SparkSession, client: streamlog.Client, address: str, rows: int, folder: Path
) -> list[Row]:
    """Copies keys and values of ``records`` three times in each mode, streams in a few triggers."""
    speeds: dict[Mode, list[float]] = {mode: [] for mode in Mode}
    for turn in range(4):
        for mode in Mode:
            target = f"copied-{turn}-{mode.name}"
            client.admin.create_topic(target, partitions=CORES)
            speed = _rows_per_second(spark, address, (target, mode), rows, folder)
            client.admin.delete_topic(target)
            # The first round is a warm-up.
            if turn:
                speeds[mode].append(speed)
                print(f"    {mode.value}: {speed / 1e3:.0f} k rows/s", flush=True)
    return [
        _compared(speeds, mode, base)
        for mode in (Mode.BY_DRIVER, Mode.BY_EXECUTORS)
        for base in (Mode.PLAIN, Mode.AT_LEAST_ONCE)
    ]


def _compared(speeds: dict[Mode, list[float]], mode: Mode, base: Mode) -> Row:
    pairs = zip(speeds[mode], speeds[base], strict=True)
    ratio = median(one / other for one, other in pairs)
    name, figure = f"{mode.value}: of {base.value}", f"{ratio:.2f}"
    if base is Mode.PLAIN:
        # Most of the difference is Spark's own time for a trigger: docs/decisions/0028.
        return Row(name, figure, "", is_met=True)
    return Row(name, figure, ">= 0.60", ratio >= 0.6)


def _rows_per_second(
    spark: SparkSession, address: str, target: tuple[str, Mode], rows: int, folder: Path
) -> float:
    topic, mode = target
    if mode is Mode.PLAIN:
        return rows / _plain_seconds(spark, address, topic)
    reader = spark.readStream.format("streamlog").option("bootstrap", address)
    reader = reader.option("subscribe", "records").option("startingOffsets", "earliest")
    reader = reader.option("columns", "key,value").option("maxOffsetsPerTrigger", rows // TRIGGERS)
    writer = _writer(reader.load().writeStream, address, topic, mode)
    writer = writer.option("checkpointLocation", str(folder / topic))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    done = [progress for progress in query.recentProgress if progress.numInputRows]
    seconds = sum(progress.durationMs["triggerExecution"] for progress in done) / 1000
    return sum(progress.numInputRows for progress in done) / seconds


def _plain_seconds(spark: SparkSession, address: str, topic: str) -> float:
    reader = spark.read.format("streamlog").option("bootstrap", address)
    reader = reader.option("subscribe", "records").option("columns", "key,value")
    began = time.perf_counter()
    writer = reader.load().write.format("streamlog").mode("append")
    writer.option("bootstrap", address).option("topic", topic).save()
    return time.perf_counter() - began


def _writer(writer: DataStreamWriter, address: str, topic: str, mode: Mode) -> DataStreamWriter:
    if mode is Mode.BY_EXECUTORS:
        return writer.foreachBatch(BatchPublisher(bootstrap=address, topic=topic))
    writer = writer.format("streamlog").option("bootstrap", address).option("topic", topic)
    return writer.option("exactlyOnce", str(mode is Mode.BY_DRIVER).lower())
