"""Copies a topic exactly once through Spark Connect; run as a separate program.

A process with a classic session cannot have a Connect session.
"""

import json
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from streamlog.spark import BatchPublisher
from streamlog.spark.options import Connection
from streamlog.spark.sink.exactly import publication, publisher
from streamlog.spark.sink.exactly.record import BatchRecord

PATIENCE = 90


class CopyingNothing(BatchPublisher):
    """A publisher whose own process cannot copy."""

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Publishes a batch."""
        vars(publication).pop("republish", None)
        super().__call__(batch, number)


class DyingHalfWay(BatchPublisher):
    """A publisher that dies after one of two partitions of batch 1."""

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Publishes a batch."""
        if number == 1:
            copy = publisher.copy_by_executors

            def half(spark: SparkSession, connection: Connection, record: BatchRecord) -> None:
                copy(spark, connection, record.of_partition(0))
                raise RuntimeError("died half way")

            vars(publisher)["copy_by_executors"] = half
        super().__call__(batch, number)


class DyingAfterwards(BatchPublisher):
    """A publisher that dies after it has published batch 2, before Spark knows."""

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Publishes a batch."""
        super().__call__(batch, number)
        if number == 2:
            raise RuntimeError("died afterwards")


def main(server: str, address: str, source: str, target: str, folder: str) -> None:
    """Prints the errors of the queries as JSON, in their order."""
    spark = SparkSession.Builder().remote(server).getOrCreate()

    def writer(topic: str) -> DataStreamWriter:
        options = {"bootstrap": address, "subscribe": topic, "startingOffsets": "earliest"}
        frame = spark.readStream.format("streamlog").options(**options)
        frame = frame.option("maxOffsetsPerTrigger", 100)
        return frame.load().select("key", "value").writeStream

    def error(writer: DataStreamWriter) -> str | None:
        query = writer.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(PATIENCE)
        except StreamingQueryException as error:
            return str(error)
        return None

    # Hadoop would take the brackets for a pattern.
    copies = str(Path(folder, "copies[1]"))
    given = {"bootstrap": address, "topic": target}
    found = [
        error(kind(**given).publishing(writer(source), copies))
        for kind in (DyingHalfWay, DyingAfterwards, CopyingNothing, BatchPublisher)
    ]
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
