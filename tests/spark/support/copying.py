"""A program that copies a topic exactly once, and ends when it has caught up.

python -m spark.support.copying BOOTSTRAP SOURCE TARGET FOLDER RECORDS_PER_BATCH
"""

import sys
from pathlib import Path

from spark.support.cluster import session


def main(bootstrap: str, source: str, target: str, folder: Path, per_batch: str) -> None:
    """Copies the existing records; the checkpoint is in `folder`."""
    spark = session(folder, "copying")
    rows = (
        spark.readStream.format("streamlog")
        .option("bootstrap", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_batch)
        .load()
    )
    query = (
        rows.select("key", "value")
        .writeStream.format("streamlog")
        .option("bootstrap", bootstrap)
        .option("topic", target)
        .option("exactlyOnce", "true")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    bootstrap, source, target, folder, per_batch = sys.argv[1:]
    main(bootstrap, source, target, Path(folder), per_batch)
