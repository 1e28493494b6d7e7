"""At-least-once delivery: rows are published directly to their topics."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from streamlog.spark.sink.columns import send
from streamlog.spark.sink.rows import columns_in, producing
from streamlog.spark.sink.settings import Settings
from streamlog.spark.sink.target import NamedPartitions

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Delivery"]


class Delivery:
    """The work of a write's tasks and its driver. The object is pickled and sent to every task."""

    def __init__(self, settings: Settings) -> None:
        """Writes with these settings."""
        self.settings = settings

    def write(self, rows: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """Publishes the rows of a task, and returns when all are delivered.

        A repeated task publishes all of its rows again, even rows that were delivered before.

        Raises:
            DeliveryError: Records were not delivered.
            TopicNotFound: A row names a partition that does not exist.
        """
        topic, partitions = self.settings.topic, NamedPartitions(self.settings.connection)
        with producing(self.settings) as producer:
            for batch in rows:
                columns = columns_in(batch, self.settings)
                partitions.check(topic, columns)
                send(producer, topic, columns)
        return WriterCommitMessage()

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch: int) -> None:
        """Does nothing: the rows are published already."""
