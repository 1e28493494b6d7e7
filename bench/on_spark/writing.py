"""Batch writes: rows a second into a topic, and into an Arrow writer that drops them, in turn."""

import time
from collections.abc import Iterator
from statistics import median

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType
from servers import touch_memory

import streamlog
from on_spark.reading import Row
from on_spark.session import CORES, VALUE_BYTES

__all__ = ["write_rows"]

_VALUE = f"CAST(repeat('v', {VALUE_BYTES}) AS BINARY) AS value"
_TABLES = {
    "1 column": [_VALUE],
    "6 columns": [
        "CAST(lpad(CAST(id AS STRING), 12, '0') AS BINARY) AS key",
        _VALUE,
        "array(struct('trace' AS key, CAST('ab12' AS BINARY) AS value)) AS headers",
        "'written' AS topic",
        f"CAST(id % {CORES} AS INT) AS partition",
        "timestamp_millis(1793520000000 + id) AS timestamp",
    ],
}


class Dropping(DataSource):
    """``format("dropping")``: a sink that receives Arrow batches and drops them."""

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format``."""
        return "dropping"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Returns a writer that drops the rows."""
        return Nowhere()


class Nowhere(DataSourceArrowWriter):
    """Receives every batch."""

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> WriterCommitMessage:
        """Drops the rows of a task."""
        for _ in iterator:
            pass
        return WriterCommitMessage()


def write_rows(
    spark: SparkSession, client: streamlog.Client, address: str, rows: int, rounds: int
) -> list[Row]:
    """Writes a table in both ways, in several rounds, and compares within each round."""
    spark.dataSource.register(Dropping)
    found = []
    for what, columns in _TABLES.items():
        table = spark.range(rows, numPartitions=CORES).selectExpr(*columns)
        ratios = []
        for turn in range(rounds + 1):
            client.admin.create_topic("written", partitions=CORES)
            touch_memory()
            dropped = _seconds(table, "dropping", address)
            written = _seconds(table, "streamlog", address)
            client.admin.delete_topic("written")
            # The first round is a warm-up.
            if turn:
                ratios.append(dropped / written)
                print(f"    {what}: {rows / written / 1e6:.2f} M rows/s", flush=True)
        ratio = median(ratios)
        name = f"write, {what}: of an Arrow writer that drops"
        found.append(Row(name, f"{ratio:.2f}", ">= 0.80", ratio >= 0.8))
    return found


def _seconds(table: DataFrame, kind: str, address: str) -> float:
    began = time.perf_counter()
    writer = table.write.format(kind).mode("append")
    if kind == "streamlog":
        writer = writer.options(bootstrap=address, topic="written")
    writer.save()
    return time.perf_counter() - began
