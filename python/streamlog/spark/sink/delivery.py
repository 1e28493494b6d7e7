"""Rows to records, at least once: straight into their topics."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from streamlog.spark.sink.columns import send
from streamlog.spark.sink.rows import columns_in, producing
from streamlog.spark.sink.settings import Settings

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Delivery"]


class Delivery:
    """What a write does with the rows of its tasks. It is pickled and goes to every task."""

    def __init__(self, settings: Settings) -> None:
        """Writes as the settings say."""
        self.settings = settings

    def write(self, rows: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """Publishes the rows of a task; all have been delivered when it returns.

        A task that is tried again publishes its rows again, those included that had been delivered.

        Raises:
            DeliveryError: Records were not delivered.
        """
        with producing(self.settings) as producer:
            for batch in rows:
                send(producer, self.settings.topic, columns_in(batch, self.settings))
        return WriterCommitMessage()

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch: int) -> None:
        """Nothing is left to do."""
