"""Reads a topic through Spark Connect, as a table and as a stream; run as a separate program.

A process with a classic session cannot have a Connect session.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(server: str, address: str, topic: str, folder: str) -> None:
    """Prints the results as JSON."""
    builder = SparkSession.Builder().remote(server)
    spark = builder.config("spark.sql.python.filterPushdown.enabled", "true").getOrCreate()
    options = {"bootstrap": address, "subscribe": topic, "startingOffsets": "earliest"}
    table = spark.read.format("streamlog").options(**options).load()
    frame = spark.readStream.format("streamlog").options(**options).load()
    files = Path(folder, "rows")
    writer = frame.selectExpr("partition", "offset", "hex(value) AS value").writeStream
    writer = writer.format("json").option("checkpointLocation", str(Path(folder, "checkpoint")))
    query = writer.trigger(availableNow=True).start(str(files))
    assert query.awaitTermination(90)
    streamed = spark.read.json(str(files)).count()
    found = {
        "is_connect": type(spark).__module__.startswith("pyspark.sql.connect"),
        "table": table.count(),
        "filtered": table.where("partition = 1 AND offset < 10").count(),
        "streamed": streamed,
    }
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
