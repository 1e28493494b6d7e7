"""The data source that Spark knows as ``streamlog``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

import streamlog
from streamlog.spark.sink import StreamWriter, Writer

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, "
    "timestamp timestamp, timestampType int"
)


@dataclass
class OffsetRange(InputPartition):
    """Offsets of one partition, from `start` to before `stop`."""

    topic: str
    partition: int
    start: int
    stop: int


class StreamlogDataSource(DataSource):
    """Reads and writes topics, in batches and as streams."""

    @classmethod
    def name(cls) -> str:
        """The word for ``format``."""
        return "streamlog"

    def schema(self) -> str:
        """Kafka's columns."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads once."""
        return Reader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Reads on."""
        return StreamReader(dict(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Writes once."""
        return Writer(dict(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Writes on."""
        return StreamWriter(dict(self.options), schema, overwrite)


class Ranges:
    """What both readers share: they read ranges of offsets as columns."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Reads the columns of the schema."""
        self.address = options.get("bootstrap") or options["kafka.bootstrap.servers"]
        self.topics = options["subscribe"].split(",")
        self.columns = schema.fieldNames()

    def read(self, partition: InputPartition) -> Iterator["pyarrow.RecordBatch"]:
        """The records of a range."""
        assert isinstance(partition, OffsetRange)
        with streamlog.connect(self.address) as client:
            log = client.topic(partition.topic).partition(partition.partition)
            names = ["timestamp_type" if name == "timestampType" else name for name in self.columns]
            for batch in log.arrow(
                partition.start, partition.stop, on_out_of_range="error", columns=names
            ):
                yield batch.rename_columns(self.columns)

    def ends(self) -> dict[str, dict[str, int]]:
        """Where the partitions end."""
        with streamlog.connect(self.address) as client:
            return {
                topic: {
                    str(number): offset or 0
                    for number, offset in client.admin.end_offsets(topic).items()
                }
                for topic in self.topics
            }


class Reader(Ranges, DataSourceReader):
    """Reads all there is."""

    def partitions(self) -> Sequence[InputPartition]:
        """One for each partition."""
        return [
            OffsetRange(topic, int(number), 0, end)
            for topic, ends in self.ends().items()
            for number, end in ends.items()
        ]


class StreamReader(Ranges, DataSourceStreamReader):
    """Reads on from the earliest offsets."""

    def initialOffset(self) -> dict[str, dict[str, int]]:
        """Where it begins."""
        return {topic: dict.fromkeys(ends, 0) for topic, ends in self.ends().items()}

    def latestOffset(self, start: object = None, limit: object = None) -> dict[str, dict[str, int]]:
        """Where it can go."""
        return self.ends()

    def partitions(
        self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]
    ) -> Sequence[InputPartition]:
        """What lies between."""
        return [
            OffsetRange(topic, int(number), start.get(topic, {}).get(number, 0), stop)
            for topic, ends in end.items()
            for number, stop in ends.items()
        ]
