"""A program that copies a topic exactly once, and ends when it has caught up.

python -m spark.support.copying FOLDER BOOTSTRAP SOURCE TARGET RECORDS_PER_BATCH COPIERS

The driver copies, by the sink, or the executors do, by a function for ``foreachBatch``.
"""

import sys
from pathlib import Path

from spark.support.cluster import session
from streamlog.spark import BatchPublisher


def main(folder: Path, words: list[str]) -> None:
    """Copies the existing records; the checkpoint is in `folder`."""
    bootstrap, source, target, per_batch, copiers = words
    spark = session(folder, "copying")
    rows = (
        spark.readStream.format("streamlog")
        .option("bootstrap", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_batch)
        .load()
    )
    writer = rows.select("key", "value").writeStream
    if copiers == "executors":
        writer = writer.foreachBatch(BatchPublisher(bootstrap=bootstrap, topic=target))
    else:
        writer = writer.format("streamlog").option("bootstrap", bootstrap)
        writer = writer.option("topic", target).option("exactlyOnce", "true")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    folder, *words = sys.argv[1:]
    main(Path(folder), words)
