"""The phases of a stream's triggers, beside the upper bound and beside Kafka's connector.

From each trigger the time of a trigger of Spark's own source with one row is deducted.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader
from servers import touch_memory

from on_spark.ceiling import Ceiling
from on_spark.reading import SCHEMAS, Row, Topic
from on_spark.session import CORES

__all__ = ["trigger_rows"]

TRIGGER_ROWS = 500_000
EMPTY_TRIGGERS = 8
EMPTY_SECONDS = 60.0
PHASES = (
    "latestOffset",
    "walCommit",
    "getBatch",
    "queryPlanning",
    "addBatch",
    "commitOffsets",
    "triggerExecution",
)

_Durations = dict[str, int]


def trigger_rows(spark: SparkSession, topic: Topic, rounds: int, folder: Path) -> list[Row]:
    """Streams the topic to the sink ``noop`` by each source in turn."""
    empty = _empty(spark, folder / "empty")
    print(f"    triggers of {TRIGGER_ROWS} rows, ms, medians; Spark's own: {_described(empty)}")
    spark.dataSource.register(Ceiling)
    reads: dict[str, list[int]] = {kind: [] for kind in ("ceiling", "streamlog", "kafka")}
    for turn in range(rounds + 1):
        touch_memory()
        for kind, found in reads.items():
            reader = _ceiling(spark, topic) if kind == "ceiling" else _source(spark, topic, kind)
            durations = _middle(_run(reader, folder / f"{kind}-{turn}"))
            print(f"    {kind}: {_described(durations)}", flush=True)
            # The first round is a warm-up.
            if turn:
                found.append(durations["triggerExecution"] - empty["triggerExecution"])

    def ratio(other: str) -> float:
        pairs = zip(reads[other], reads["streamlog"], strict=True)
        return median(theirs / ours for theirs, ours in pairs)

    ceiling, kafka = ratio("ceiling"), ratio("kafka")
    return [
        Row("stream: of Spark's ceiling", f"{ceiling:.2f}", "", is_met=True),
        Row("stream: times Kafka's connector", f"{kafka:.2f}", ">= 2.0", kafka >= 2.0),
    ]


def _ceiling(spark: SparkSession, topic: Topic) -> DataStreamReader:
    reader = spark.readStream.format("ceiling").schema(SCHEMAS["7 columns"])
    reader = reader.option("batch", str(topic.batch)).option("tasks", CORES)
    return reader.option("rows", TRIGGER_ROWS).option("triggers", topic.rows // TRIGGER_ROWS)


def _source(spark: SparkSession, topic: Topic, kind: str) -> DataStreamReader:
    reader = spark.readStream.format(kind).option("subscribe", "records")
    bootstrap = "bootstrap" if kind == "streamlog" else "kafka.bootstrap.servers"
    reader = reader.option(bootstrap, topic.address).option("startingOffsets", "earliest")
    return reader.option("maxOffsetsPerTrigger", TRIGGER_ROWS)


def _run(reader: DataStreamReader, checkpoint: Path) -> list[_Durations]:
    writer = reader.load().writeStream.format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    full = [each for each in query.recentProgress if each.numInputRows == TRIGGER_ROWS]
    return [dict(each.durationMs) for each in full]


def _empty(spark: SparkSession, checkpoint: Path) -> _Durations:
    """Returns the durations of triggers of Spark's own source with one row each."""
    reader = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1)
    writer = reader.load().writeStream.format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    deadline = time.monotonic() + EMPTY_SECONDS
    while len(query.recentProgress) < EMPTY_TRIGGERS and time.monotonic() < deadline:
        time.sleep(0.1)
    query.stop()
    return _middle(dict(each.durationMs) for each in query.recentProgress)


def _middle(triggers: Iterable[dict[str, Any]]) -> _Durations:
    """Returns the medians by phase, without the first trigger, which starts processes."""
    found = list(triggers)[1:]
    assert found, "no trigger came to its end"
    return {name: round(median(each.get(name, 0) for each in found)) for name in PHASES}


def _described(durations: _Durations) -> str:
    return ", ".join(f"{name} {durations[name]}" for name in PHASES)
