"""The lag of a stream, and the progress line of a trigger."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from pyspark.sql.streaming.listener import StreamingQueryProgress

from streamlog.spark.pipeline.progress import Progress, lag


def test_lag_is_what_lies_between_what_was_read_and_the_end_of_each_partition() -> None:
    read = {"orders": {"0": 10, "1": 5}, "returns": {"0": 7}}
    latest = {"orders": {"0": 12, "1": 5, "2": 3}, "returns": {"0": 7}}
    assert lag(read, latest) == {"orders": 5, "returns": 0}


def test_a_truncated_topic_has_no_negative_lag() -> None:
    assert lag({"orders": {"0": 10}}, {"orders": {"0": 4}}) == {"orders": 0}


def line_of(*dropped: int) -> str:
    """Returns the line for a batch whose operators dropped this many rows."""
    operator = dict.fromkeys(
        (
            *("numRowsTotal", "numRowsUpdated", "numRowsRemoved", "allUpdatesTimeMs"),
            *("allRemovalsTimeMs", "commitTimeMs", "memoryUsedBytes"),
            *("numShufflePartitions", "numStateStoreInstances"),
        ),
        0,
    )
    operators: Sequence[dict[str, Any]] = [
        {**operator, "operatorName": "o", "numRowsDroppedByWatermark": count} for count in dropped
    ]
    told = {
        "id": "8a0cbd4c-0c49-4b4e-a0b3-8b3b1b0f3a55",
        "runId": "8a0cbd4c-0c49-4b4e-a0b3-8b3b1b0f3a55",
        "name": "q",
        "timestamp": "2026-11-01T08:00:00.000Z",
        "batchId": 4,
        "batchDuration": 1300,
        "durationMs": {"addBatch": 1200},
        "stateOperators": operators,
        "sources": [],
        "sink": {"description": "s", "numOutputRows": -1},
        "numInputRows": 12_345,
    }
    query = SimpleNamespace(recentProgress=[StreamingQueryProgress.fromJson(told)])
    (line,) = Progress("sales", cast(Any, query)).news()
    return line


def test_rows_that_a_watermark_dropped_are_reported_with_their_batch() -> None:
    assert line_of() == "sales: batch 4, 12,345 rows in, 0 out, 1.3 s"
    assert line_of(0) == "sales: batch 4, 12,345 rows in, 0 out, 1.3 s"
    assert line_of(1000, 0, 2) == "sales: batch 4, 12,345 rows in, 0 out, 1,002 late, 1.3 s"
