"""Streams between topics: rows a second written exactly once and at least once, in turn."""

from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

import streamlog
from on_spark.reading import Row
from on_spark.session import CORES

__all__ = ["exactly_rows"]

TRIGGERS = 4


def exactly_rows(
    spark: SparkSession, client: streamlog.Client, address: str, rows: int, folder: Path
) -> list[Row]:
    """Copies keys and values of ``records`` in a few triggers, three times in each mode."""
    ratios = []
    for turn in range(4):
        speeds = []
        for is_once in (False, True):
            target = f"copied-{turn}-{is_once}"
            client.admin.create_topic(target, partitions=CORES)
            speeds.append(_rows_per_second(spark, address, (target, is_once), rows, folder))
            client.admin.delete_topic(target)
        # The first round is a warm-up.
        if turn:
            ratios.append(speeds[1] / speeds[0])
            print(f"    exactly once: {speeds[1] / 1e3:.0f} of {speeds[0] / 1e3:.0f} k rows/s")
    ratio = median(ratios)
    name = "stream to topic, exactly once: of at least once"
    return [Row(name, f"{ratio:.2f}", ">= 0.60", ratio >= 0.6)]


def _rows_per_second(
    spark: SparkSession, address: str, target: tuple[str, bool], rows: int, folder: Path
) -> float:
    topic, is_once = target
    reader = spark.readStream.format("streamlog").option("bootstrap", address)
    reader = reader.option("subscribe", "records").option("startingOffsets", "earliest")
    reader = reader.option("columns", "key,value").option("maxOffsetsPerTrigger", rows // TRIGGERS)
    writer = reader.load().writeStream.format("streamlog").option("bootstrap", address)
    writer = writer.option("topic", topic).option("exactlyOnce", str(is_once).lower())
    writer = writer.option("checkpointLocation", str(folder / topic))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    done = [progress for progress in query.recentProgress if progress.numInputRows]
    seconds = sum(progress.durationMs["triggerExecution"] for progress in done) / 1000
    return sum(progress.numInputRows for progress in done) / seconds
