"""The data source that Spark knows as ``streamlog``."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from streamlog.spark.reading.batch import BatchReader
from streamlog.spark.reading.settings import Reading, default_schema
from streamlog.spark.sink import StreamWriter, Writer
from streamlog.spark.streaming.stream import StreamReader

__all__ = ["StreamlogDataSource"]


class StreamlogDataSource(DataSource):
    """Reads and writes topics, in batches and as streams.

    Spark finds it by itself where streamlog is installed: ``spark.read.format("streamlog")``.
    """

    @classmethod
    def name(cls) -> str:
        """The word for ``format``."""
        return "streamlog"

    def schema(self) -> StructType:
        """Kafka's columns, or those that are asked for.

        Raises:
            ConfigError: An option is unknown, or does not fit.
        """
        return default_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads once.

        Raises:
            ConfigError: An option or the schema does not fit.
        """
        return BatchReader(Reading.of_batch(self.options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Reads on.

        Raises:
            ConfigError: An option or the schema does not fit.
        """
        return StreamReader(Reading.of_stream(self.options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Writes once."""
        return Writer(dict(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Writes on."""
        return StreamWriter(dict(self.options), schema, overwrite)
