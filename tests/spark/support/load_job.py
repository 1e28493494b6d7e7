"""A program that loads whenever a line says so: MASTER ADDRESS PATTERN PATH."""

import sys

from pyspark.sql import SparkSession

from streamlog.spark import load


def main(master: str, address: str, pattern: str, path: str) -> None:
    """Loads for each line of standard input, and answers it with a line."""
    builder = SparkSession.Builder().master(master).appName("load")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        # Executors that are killed are started anew, as often as it takes.
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.task.maxFailures": "8",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    # Executors are there before the first load, so that they can be killed during it.
    spark.range(0, 2, 1, 2).count()
    print("ready", flush=True)
    for _ in sys.stdin:
        done = load(spark, path, bootstrap=address, subscribe_pattern=pattern, offsets_per_file=100)
        print(f"loaded {done.records}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
