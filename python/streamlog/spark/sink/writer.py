"""Writers for Spark."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from streamlog.spark.garbage import spare_modules
from streamlog.spark.sink.delivery import Delivery
from streamlog.spark.sink.exactly.delivery import ExactlyOnce
from streamlog.spark.sink.settings import Settings
from streamlog.spark.sink.target import check_target

if TYPE_CHECKING:
    import pyarrow

__all__ = ["StreamWriter", "Writer"]


class Writer(DataSourceArrowWriter):
    """Writes a table, at least once."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        """Validates the options, the columns and the target, on the driver.

        Raises:
            ConfigError: An option or a column is invalid.
            TopicNotFound: The target must exist, and does not.
        """
        settings = Settings.of(options, schema, overwrite, is_stream=False)
        check_target(settings)
        self._delivery = Delivery(settings)

    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """Publishes the rows of a task, and returns when all are delivered."""
        spare_modules()
        return self._delivery.write(iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes a stream, at least once or exactly once."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        """Validates the options, the columns and the target, on the driver.

        Raises:
            ConfigError: An option or a column is invalid.
            TopicNotFound: The target must exist, and does not.
        """
        settings = Settings.of(options, schema, overwrite)
        check_target(settings)
        self._delivery = ExactlyOnce(settings) if settings.is_exactly_once else Delivery(settings)

    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """Publishes or stages the rows of a task, and returns when all are delivered."""
        spare_modules()
        return self._delivery.write(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Publishes the rows that the tasks of the batch have staged, if they stage rows."""
        self._delivery.commit(messages, batchId)
