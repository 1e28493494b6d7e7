"""Exactly-once delivery: rows are staged by the tasks, committed and published by the driver."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from streamlog.errors import ConfigError
from streamlog.spark.clients import client_of
from streamlog.spark.patience import Patience
from streamlog.spark.sink.delivery import Delivery
from streamlog.spark.sink.exactly.commit import Commit
from streamlog.spark.sink.exactly.publication import CopyElsewhere, Step
from streamlog.spark.sink.exactly.stage import StagedRows, stage

if TYPE_CHECKING:
    import pyarrow

__all__ = ["COPIERS", "QUERY", "ExactlyOnce"]

QUERY = "sql.streaming.queryId"
"""Spark's property with the id of a query."""
COPIERS = 2
"""The number of clients with which the driver copies. The thread of a client copies about 600 MB/s,
so that two can fill a network of 10 Gbit/s. Each may hold four partitions' fetches in memory."""


class ExactlyOnce(Delivery):
    """The work of a write's tasks, and of its driver at the end of each batch."""

    def write(self, rows: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """Stages the rows of a task; they are invisible until the batch is committed.

        Raises:
            DeliveryError: Records were not delivered.
            TopicNotFound: There is no such target.
        """
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY)
        if query is None:
            raise ConfigError("option 'exactlyOnce': for streams only, and there is no query here")
        return stage(self.settings, query, rows)

    def commit(
        self,
        messages: Sequence[WriterCommitMessage | None],
        batch: int,
        copy_elsewhere: CopyElsewhere | None = None,
    ) -> None:
        """Commits the batch and publishes its staged rows; repeating it changes nothing.

        Args:
            messages: The messages of the batch's tasks.
            batch: Its number.
            copy_elsewhere: Copies in other processes instead of this one.

        Raises:
            FencedError: Another driver runs the same query, or the checkpoint does not fit its
                commit log.
        """
        staged = [message for message in messages if isinstance(message, StagedRows)]
        if staged:
            connection = self.settings.connection
            count = 1 if copy_elsewhere else COPIERS
            clients = [client_of(connection, number) for number in range(count)]
            patience = Patience(connection)

            def on_step(step: Step) -> None:
                # A large batch may take longer than the time allowed for unreachable brokers.
                if step is not Step.STAGED:
                    patience.renew()

            query = staged[0].query
            commit = Commit(clients, query, on_step, connection.patience, copy_elsewhere)
            # A retry detects the steps that were done before the brokers became unreachable.
            location = self.settings.checkpoint
            patience.through(lambda: commit.batch(batch, staged, location))
