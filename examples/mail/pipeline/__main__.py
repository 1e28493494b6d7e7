"""Aggregates the prices by instrument and window with Spark: a Parquet table, and a chart.

python -m mail.pipeline

It reads the whole topic and rewrites the table, so a mail that was read again counts once.
"""

import os
import sys
import warnings
from pathlib import Path

from pyspark.sql import SparkSession

from mail import config
from mail.pipeline import windows
from mail.pipeline.picture import draw
from streamlog.spark import provide_java


def run(settings: config.Config, spark: SparkSession) -> int:
    """Writes the table and the chart, and returns the number of windows."""
    wanted = settings.pipeline
    address = settings.broker.address or os.environ.get("STREAMLOG_BOOTSTRAP", "127.0.0.1:9092")
    table = spark.read.schema(windows.INSTRUMENTS).option("header", True)
    instruments = table.csv(settings.parser.instruments)
    readings = windows.latest(windows.readings(spark, settings.topics.prices, address))
    made = windows.by_window(windows.prices(readings), wanted.window)
    windows.written(windows.named(made, instruments), wanted.output)
    stored = spark.read.parquet(wanted.output)
    draw(stored, wanted.window, Path(wanted.picture))
    return stored.count()


def session(master: str) -> SparkSession:
    """Creates a session for one run."""
    for name, text in {
        # By default, its workers would run the first `python3` on the path.
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(Path(__file__).with_name("conf")),
    }.items():
        os.environ.setdefault(name, text)
    provide_java()
    builder = SparkSession.Builder().master(master).appName("mail-pipeline")
    for name, value in {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> int:
    """The command."""
    arguments = config.argument_parser("pipeline", "Aggregates prices with Spark").parse_args()
    try:
        settings = config.read(arguments.config)
    except config.ConfigError as error:
        print(f"pipeline  {error}", file=sys.stderr)
        return 1
    # The warning is about a package that is not used here.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    spark = session(settings.pipeline.master)
    try:
        count = run(settings, spark)
    finally:
        spark.stop()
    wanted = settings.pipeline
    print(f"pipeline  {count:,} windows of {wanted.window} in {wanted.output}, {wanted.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
