"""The query for which Spark calls a function of ``foreachBatch``.

Classic Spark tells the id of the query in a property of the thread. Spark Connect does not, so the
id is read from the checkpoint. There, each run of a query has a process of its own.
"""

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.utils import is_remote

from streamlog.errors import ConfigError
from streamlog.spark.sink.exactly.delivery import QUERY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RunningQuery", "running_query"]

_RUN = "spark.jobGroup.id"
"""Spark's property with the id of a query's run."""
_GLOBS = re.compile(r"[\\{}\[\]*?]")
"""The characters that Hadoop expands in the path of a file."""
_connected: dict[str, "RunningQuery"] = {}
"""The queries of this process on Spark Connect, by the location of the checkpoint."""


@dataclass(frozen=True)
class RunningQuery:
    """A query, as far as a function that it calls can know it."""

    id: str
    run: str | None
    """The id of the run; None if each run has a process of its own."""
    checkpoint: str | None
    """The location of the checkpoint; None if this Spark does not reveal it."""


def running_query(spark: "SparkSession", batch: int, checkpoint: str | None) -> RunningQuery:
    """Returns the query that this thread runs.

    Args:
        spark: The session of the batch.
        batch: The number of the batch.
        checkpoint: The location of the query's checkpoint, if the user gave it.

    Raises:
        ConfigError: The thread runs no query, the checkpoint is not that of the query, or the
            checkpoint is missing on Spark Connect.
    """
    if not is_remote():
        return _classic(spark, checkpoint)
    if checkpoint is None:
        raise ConfigError(
            "BatchPublisher: Spark Connect does not tell a function which query it belongs to; "
            "write with publisher.publishing(frame.writeStream, checkpoint), or use "
            "format('streamlog') with exactlyOnce"
        )
    if checkpoint not in _connected:
        _connected[checkpoint] = _of_checkpoint(spark, batch, checkpoint)
    return _connected[checkpoint]


def _classic(spark: "SparkSession", checkpoint: str | None) -> RunningQuery:
    context = spark.sparkContext
    query = context.getLocalProperty(QUERY)
    if query is None:
        raise ConfigError("BatchPublisher: for foreachBatch, and no query runs here")
    location = _resolved_checkpoint(spark, query) or checkpoint
    return RunningQuery(query, context.getLocalProperty(_RUN), location)


def _of_checkpoint(spark: "SparkSession", batch: int, checkpoint: str) -> RunningQuery:
    """Returns the query of a checkpoint, in which this batch has begun and not ended."""
    metadata = _text(spark, f"{checkpoint}/metadata")
    is_running = _text(spark, f"{checkpoint}/offsets/{batch}") is not None
    if metadata is None or not is_running or _text(spark, f"{checkpoint}/commits/{batch}"):
        raise ConfigError(
            f"BatchPublisher: batch {batch} does not run in the checkpoint '{checkpoint}': give "
            "publishing() the location of the query's own checkpoint, and do not change the "
            "option 'checkpointLocation' later"
        )
    return RunningQuery(json.loads(metadata)["id"], None, checkpoint)


def _text(spark: "SparkSession", path: str) -> str | None:
    """Returns the content of a file in any file system that Spark reads; None if it is missing."""
    try:
        rows = spark.read.text(_GLOBS.sub(r"\\\g<0>", path), wholetext=True).collect()
    except PySparkException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    return "".join(row.value for row in rows)


def _resolved_checkpoint(spark: "SparkSession", query: str) -> str | None:
    """Returns the location of the query's checkpoint; None if this Spark does not reveal it."""
    # The session of a batch is a copy, whose `streams` do not have the query.
    session: Any = spark
    try:
        id = session.sparkContext._jvm.java.util.UUID.fromString(query)
        running = session._jsparkSession.sharedState().activeStreamingQueries().get(id)
        return str(running.resolvedCheckpointRoot())
    except Exception:
        # These are internals of Spark, which another release may lack.
        return None
