"""Keeps topics as Parquet files: loads what is new, and again an hour after that.

    python examples/lake.py FOLDER PATTERN [SECONDS]

PATTERN matches the names of the topics; brokers are those of STREAMLOG_BOOTSTRAP. End it as you
like, also by `kill -9`: each record is in the files once, and the next start goes on.
"""

import os
import sys
import time

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from streamlog.errors import ConnectError, RequestTimeout
from streamlog.spark import load, provide_java


def main(folder: str, pattern: str, seconds: float = 3600.0) -> None:
    """Loads on and on, with a pause of so many seconds after each load."""
    # Else workers are whatever python3 is first on the path.
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
