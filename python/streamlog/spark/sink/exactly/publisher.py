"""Exactly once for ``foreachBatch``, where the executors copy instead of the driver.

A sink of Spark commits in a process without a session. A function for ``foreachBatch`` has a
session, so it can publish by a second job. A task for each partition copies the staged records that
the target lacks. So a task that runs again, or twice at the same time, changes nothing.
"""

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from streamlog.errors import ConfigError
from streamlog.spark.clients import client_of
from streamlog.spark.options import Connection
from streamlog.spark.patience import patiently
from streamlog.spark.sink.exactly.delivery import ExactlyOnce
from streamlog.spark.sink.exactly.publication import Publication
from streamlog.spark.sink.exactly.record import BatchRecord
from streamlog.spark.sink.exactly.running import running_query
from streamlog.spark.sink.exactly.stage import StagedRows, stage
from streamlog.spark.sink.settings import Settings, check_options_of_function
from streamlog.spark.sink.target import check_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = ["BatchPublisher", "copy_by_executors"]

_Writer = TypeVar("_Writer", bound="DataStreamWriter")
_published: dict[str, tuple[str | None, int]] = {}
"""The last batch that this process has published of each query, and the run of the query."""


class BatchPublisher:
    """Publishes each batch of a query exactly once, by the executors: pass it to ``foreachBatch``.

    Readers see the same as with the sink and ``exactlyOnce``, whichever process is killed and when.
    The query needs the option ``checkpointLocation``: with another checkpoint it is another query.
    On Spark Connect, call ``publishing`` instead of ``foreachBatch``.

    Example:
        >>> publisher = BatchPublisher(bootstrap=bootstrap, topic="copies")
        >>> writer = publisher.publishing(rows.writeStream, folder).trigger(availableNow=True)
        >>> writer.start().awaitTermination()
    """

    def __init__(self, **options: object) -> None:
        """Takes the options of the sink, except the options of the query.

        Raises:
            ConfigError: An option is unknown, or an option of the query.
        """
        self._given = {name: str(value) for name, value in options.items()}
        check_options_of_function(self._given)
        self._checkpoint: str | None = None

    def publishing(self, writer: _Writer, checkpoint: str) -> _Writer:
        """Returns the writer, with this location as its checkpoint and a publisher of its batches.

        The publisher then knows its query on Spark Connect too, by the checkpoint.

        Args:
            writer: The writer of a stream.
            checkpoint: The location of the query's checkpoint, in any file system of Spark's.
        """
        publisher = type(self)(**self._given)
        publisher._checkpoint = checkpoint
        writer.option("checkpointLocation", checkpoint).foreachBatch(publisher)
        return writer

    def __call__(self, batch: "DataFrame", number: int) -> None:
        """Publishes a batch; repeating it changes nothing.

        Raises:
            ConfigError: An option or a column is invalid, or the batch has been published already
                in this run of the query.
            FencedError: Another driver runs the same query, or the checkpoint does not fit its
                commit log.
            TopicNotFound: There is no such target.
        """
        spark = batch.sparkSession
        query = running_query(spark, number, self._checkpoint)
        if _published.get(query.id) == (query.run, number):
            # The commit log would take the second call for a repetition, and drop its rows.
            raise ConfigError(
                f"batch {number} of query {query.id} is published already: call a BatchPublisher "
                "once for each batch, and name the topics of its rows by the column 'topic'"
            )
        settings = Settings.of_function(self._given, batch.schema)
        settings = replace(settings, checkpoint=query.checkpoint)
        check_target(settings)
        tasks = batch.mapInArrow(partial(_staged, settings, query.id), "rows binary").collect()
        messages: list[StagedRows] = [pickle.loads(task.rows) for task in tasks]
        copy = partial(copy_by_executors, spark, settings.connection)
        ExactlyOnce(settings).commit(messages, number, copy)
        _published[query.id] = query.run, number


def copy_by_executors(spark: "SparkSession", connection: Connection, record: BatchRecord) -> None:
    """Copies records that the targets of a committed batch lack: a job with a task per partition.

    Raises:
        PySparkException: A partition could not be copied; the message says why.
    """
    count = len(record.partitions)
    numbers = spark.range(0, count, 1, count)
    numbers.mapInArrow(partial(_copied, connection, record), "id long").collect()


def _staged(
    settings: Settings, query: str, rows: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Stages the rows of a task, and yields a row that describes them."""
    staged = pickle.dumps(stage(settings, query, rows))
    yield pa.record_batch([pa.array([staged], pa.binary())], names=["rows"])


def _copied(
    connection: Connection, record: BatchRecord, numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Copies the partitions of these numbers, and yields the numbers."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            part = record.of_partition(number)
            clients, patience = [client_of(connection)], connection.patience
            publication = Publication(clients, part, lambda step: None, patience)
            patiently(connection, publication.copy_rest)
        yield batch
