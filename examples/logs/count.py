"""Counts the errors of each host and window with Spark, and publishes alerts, until stopped.

python -m logs.count [--master 'local[2]']
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from logs import config
from streamlog.spark import provide_java

_TROUBLE = r"(?i)\b(error|fail(ed|ure)?|fatal|panic|critical|killed)\b"
_LEVEL = r"^<(\d+)>1 "
_STATUS = r'" (\d{3}) \d+'


def events(records: DataFrame, topics: config.Topics) -> DataFrame:
    """Returns for each record whether it is an error of its host, and the load if it has one."""
    text = f.col("value").cast("string")
    topic = f.col("topic")
    return records.select(
        f.col("timestamp"),
        f.col("key").cast("string").alias("host"),
        ((topic == topics.system) & is_error_line(text)).alias("is_log_error"),
        ((topic == topics.pages) & is_failed_page(text)).alias("is_page_error"),
        f.when(topic == topics.metrics, load(text)).alias("load"),
    )


def is_error_line(line: Column) -> Column:
    """True for an error by the severity of the line if it has one (RFC 5424), else by its words."""
    level = f.regexp_extract(line, _LEVEL, 1).try_cast("int")
    return f.when(level.isNotNull(), level % 8 <= 3).otherwise(line.rlike(_TROUBLE))


def is_failed_page(line: Column) -> Column:
    """True for a failure by the status of a line in the combined log format."""
    return f.regexp_extract(line, _STATUS, 1).try_cast("int") >= 500


def load(metric: Column) -> Column:
    """The load in a metric; null if it is not a number."""
    return f.get_json_object(metric, "$.load").try_cast("double")


def alerts(found: DataFrame, wanted: config.Alerts) -> DataFrame:
    """Returns a record for each host and window with too many errors, once the window is closed."""
    window = f.window("timestamp", f"{wanted.window_seconds} seconds")
    counted = (
        found.withWatermark("timestamp", f"{wanted.delay_seconds} seconds")
        .groupBy("host", window)
        .agg(
            f.count_if("is_log_error").alias("log_errors"),
            f.count_if("is_page_error").alias("failed_pages"),
            f.max("load").alias("load"),
        )
        .withColumn("errors", f.col("log_errors") + f.col("failed_pages"))
        .where(f.col("errors") >= wanted.errors)
    )
    value = f.struct(
        "host",
        f.unix_millis("window.start").alias("from_ms"),
        f.unix_millis("window.end").alias("until_ms"),
        "errors",
        "log_errors",
        "failed_pages",
        "load",
    )
    return counted.select(
        f.col("host").cast("binary").alias("key"), f.to_json(value).cast("binary").alias("value")
    )


def start(spark: SparkSession, settings: config.Config) -> StreamingQuery:
    """Starts the query."""
    records = (
        spark.readStream.format("streamlog")
        .option("bootstrap", settings.bootstrap)
        .option("subscribe", ",".join(settings.topics.inputs))
        .option("startingOffsets", "earliest")
        .load()
    )
    return (
        alerts(events(records, settings.topics), settings.alerts)
        .writeStream.format("streamlog")
        .option("bootstrap", settings.bootstrap)
        .option("topic", settings.topics.alerts)
        .option("checkpointLocation", settings.alerts.checkpoint)
        .trigger(processingTime="1 second")
        .start()
    )


def main() -> None:
    """Runs until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description="Counts errors, and publishes alerts.")
    parser.add_argument("--config", type=Path, default=config.FILE)
    parser.add_argument("--master", default="local[2]")
    arguments = parser.parse_args()
    # By default, Spark's workers would run the first `python3` on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    provide_java()
    builder = SparkSession.Builder().master(arguments.master).appName("logs")
    spark = (
        builder.config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    query = start(spark, config.read(arguments.config))
    print("counting", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
