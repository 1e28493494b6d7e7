"""Rows to records, exactly once: staged by the tasks, committed and published by the driver."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from streamlog.errors import ConfigError
from streamlog.spark.clients import client_of
from streamlog.spark.patience import Patience
from streamlog.spark.sink.delivery import Delivery
from streamlog.spark.sink.exactly.commit import Commit
from streamlog.spark.sink.exactly.publication import Step
from streamlog.spark.sink.exactly.stage import StagedRows, stage

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ExactlyOnce"]

_QUERY = "sql.streaming.queryId"


class ExactlyOnce(Delivery):
    """What a write does with the rows of its tasks, and with each batch on the driver."""

    def write(self, rows: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """Stages the rows of a task; nobody sees them before the batch is committed.

        Raises:
            DeliveryError: Records were not delivered.
            TopicNotFound: There is no such target.
        """
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        if query is None:
            raise ConfigError("option 'exactlyOnce': for streams only, and there is no query here")
        return stage(self.settings, query, rows)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch: int) -> None:
        """Commits the batch and publishes what its tasks have staged; a replay adds nothing.

        Raises:
            FencedError: Another driver runs the same query.
        """
        staged = [message for message in messages if isinstance(message, StagedRows)]
        if staged:
            connection = self.settings.connection
            client, patience = client_of(connection), Patience(connection)

            def on_step(step: Step) -> None:
                # A large batch may take longer than brokers may be away.
                if step is not Step.STAGED:
                    patience.renew()

            commit = Commit(client, staged[0].query, on_step, connection.patience)
            # What was done before brokers went away is found when it is done again.
            patience.through(lambda: commit.batch(batch, staged))
