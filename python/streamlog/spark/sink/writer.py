"""Writers of Spark that publish each row at least once."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

import streamlog

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]


class Records:
    """What both writers share: rows become records."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        """Writes to one topic."""
        self.address = options.get("bootstrap") or options["kafka.bootstrap.servers"]
        self.topic = options["topic"]

    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """Publishes the rows of a task."""
        with streamlog.connect(self.address) as client, client.producer() as producer:
            for batch in iterator:
                for row in batch.to_pylist():
                    producer.send(self.topic, row["value"], key=row.get("key"))
        return WriterCommitMessage()


class Writer(Records, DataSourceArrowWriter):
    """Writes once."""


class StreamWriter(Records, DataSourceStreamArrowWriter):
    """Writes on."""
