"""Keeps topics as Parquet files: loads new records, and repeats that every hour.

    python examples/lake.py FOLDER PATTERN [SECONDS]

PATTERN matches the names of the topics; brokers are those of STREAMLOG_BOOTSTRAP. End it in any
way, also by `kill -9`: each record is in the files once, and the next start continues.
"""

import os
import sys
import time

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from streamlog.errors import ConnectError, RequestTimeout
from streamlog.spark import load, provide_java


def main(folder: str, pattern: str, seconds: float = 3600.0) -> None:
    """Runs loads without end, with a pause in seconds after each."""
    # By default, workers would run the first python3 on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    provide_java()
    spark = SparkSession.Builder().appName("lake").getOrCreate()
    while True:
        try:
            done = load(spark, folder, subscribe_pattern=pattern)
            print(f"{done.records:,} records in {done.files:,} files", flush=True)
        except (ConnectError, RequestTimeout, PythonException) as error:
            print(f"the next load goes on with the rest: {error}", file=sys.stderr)
        time.sleep(seconds)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:]))
