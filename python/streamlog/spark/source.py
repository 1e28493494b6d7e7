"""The data source ``streamlog`` of Spark."""

from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from streamlog.spark.garbage import spare_modules
from streamlog.spark.reading.batch import BatchReader
from streamlog.spark.reading.settings import Reading, default_schema
from streamlog.spark.sink import StreamWriter, Writer
from streamlog.spark.streaming.stream import StreamReader

__all__ = ["StreamlogDataSource"]


class StreamlogDataSource(DataSource):
    """Reads and writes topics, in batches and as streams.

    Spark finds it if streamlog is installed: ``spark.read.format("streamlog")``.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        """Takes the options; Spark creates the data source in a worker."""
        spare_modules()
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format``."""
        return "streamlog"

    def schema(self) -> StructType:
        """Returns Kafka's columns, or the selected columns.

        Raises:
            ConfigError: An option is unknown or invalid.
        """
        return default_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns a reader for a batch query.

        Raises:
            ConfigError: An option or the schema is invalid.
        """
        spare_modules()
        return BatchReader(Reading.of_batch(self.options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Returns a reader for a streaming query.

        Raises:
            ConfigError: An option or the schema is invalid.
        """
        return StreamReader(Reading.of_stream(self.options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Returns a writer for a batch query."""
        spare_modules()
        return Writer(dict(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Returns a writer for a streaming query."""
        spare_modules()
        return StreamWriter(dict(self.options), schema, overwrite)
