"""Spark's classes as Java keeps them once loaded, in a file that each Spark of the tests maps.

Reading and checking its 14,000 classes is most of what a Spark does that lives for seconds.
`python -m spark.support.class_data` writes the file, from what a short program loads.
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from streamlog.spark import provide_java

ARCHIVE = Path(sys.prefix) / "spark.jsa"

# Each Spark lives for minutes at most: too short to repay optimised compilation. Java ignores an
# archive of another Java or of other jars, and would say so where a test reads its output.
_USUAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
OPTIONS = f"{_USUAL} -XX:SharedArchiveFile={ARCHIVE}"


def main() -> None:
    """Runs queries, files and a stream in a session whose Java writes the archive when it ends."""
    provide_java()
    with tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
        made = Path(folder) / ARCHIVE.name
        options = f"{_USUAL} -XX:ArchiveClassesAtExit={made}"
        submitted = f'--conf "spark.driver.extraJavaOptions={options}" pyspark-shell'
        os.environ |= {"PYSPARK_SUBMIT_ARGS": submitted, "PYSPARK_PYTHON": sys.executable}
        session = (
            SparkSession.Builder()
            .master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        _use(session, Path(folder))
        gateway = session.sparkContext._gateway
        assert gateway is not None
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        made.replace(ARCHIVE)


def _use(session: SparkSession, folder: Path) -> None:
    rows = session.range(100).selectExpr("id", "id % 7 AS key", "CAST(id AS STRING) AS text")
    counts = rows.groupBy("key").count()
    for form in ("parquet", "json"):
        rows.join(counts, "key").orderBy("id").write.format(form).save(str(folder / form))
        assert session.read.format(form).load(str(folder / form)).count() == 100
    stream = session.readStream.schema(rows.schema).parquet(str(folder / "parquet"))
    windows = stream.groupBy("key").count().writeStream.outputMode("complete").format("memory")
    checkpoint = str(folder / "checkpoint")
    query = windows.queryName("seen").option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()
    assert session.table("seen").count() == 7
    assert len(rows.mapInArrow(lambda batches: batches, rows.schema).toPandas()) == 100


if __name__ == "__main__":
    main()
