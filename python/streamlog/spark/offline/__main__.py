"""A load from the command line: ``python -m streamlog.spark.offline PATH --subscribe orders``."""

import argparse
import os
import sys

from pyspark.sql import SparkSession

from streamlog.errors import StreamlogError
from streamlog.spark.java import provide_java
from streamlog.spark.offline.loading import Load, load
from streamlog.spark.options import PATIENCE
from streamlog.spark.pipeline.reasons import is_of_spark, raised_of, reason_of


def main() -> int:
    """Runs a load and prints a summary; returns 1 after an error, printed with its reason."""
    arguments = _arguments().parse_args()
    try:
        done = _load(arguments)
    except Exception as error:
        if not isinstance(error, StreamlogError | OSError) and not is_of_spark(error):
            raise
        first, *notes = _described(error)
        print(f"error: {first}", *notes, sep="\n", file=sys.stderr)
        return 1
    for loss in done.losses:
        print(f"lost: {loss}", file=sys.stderr)
    for topic, records in sorted(done.topics.items()):
        print(f"{topic}: {records:,} records")
    print(f"{done.records:,} records in {done.files:,} files, {done.size:,} bytes")
    return 0


def _described(error: Exception) -> list[str]:
    """Returns the message and its notes; for a failed task, the lines of the error raised in it."""
    if not is_of_spark(error):
        return [str(error), *getattr(error, "__notes__", ())]
    # Without a Python stack, the text after the reason is a Java stack or a plan.
    return raised_of(error) or [reason_of(error)]


def _load(arguments: argparse.Namespace) -> Load:
    session = _session(arguments.master, arguments.remote)
    try:
        return load(
            session,
            arguments.path,
            bootstrap=arguments.bootstrap,
            subscribe=arguments.subscribe,
            subscribe_pattern=arguments.subscribe_pattern,
            fail_on_data_loss=arguments.fail_on_data_loss,
            offsets_per_file=arguments.offsets_per_file,
            compression=arguments.compression,
            broker_timeout=arguments.broker_timeout,
        )
    finally:
        session.stop()


def _session(master: str | None, remote: str | None) -> SparkSession:
    spark = SparkSession.Builder().appName("streamlog-load")
    if remote is not None:
        return spark.remote(remote).getOrCreate()
    provide_java()
    if master is None or master.startswith("local"):
        # By default, workers would run the first python3 on the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is not None:
        spark = spark.master(master)
    # The load draws its own progress bar, which counts records.
    return spark.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m streamlog.spark.offline",
        description="Copies the new records of topics into Parquet files, each exactly once.",
    )
    parser.add_argument("path", help="the folder, mounted where Spark's executors run")
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument("--subscribe", metavar="TOPICS", help="names, separated by commas")
    topics.add_argument("--subscribe-pattern", metavar="PATTERN", help="for whole names")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="default: STREAMLOG_BOOTSTRAP")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", help="Spark's master, as local[4]")
    where.add_argument("--remote", help="a Spark Connect address, as sc://HOST")
    parser.add_argument(
        "--fail-on-data-loss", action=argparse.BooleanOptionalAction, default=True,
        help="fail if records were deleted before they were loaded",
    )  # fmt: skip
    parser.add_argument("--offsets-per-file", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--compression", default="zstd")
    parser.add_argument(
        "--broker-timeout", type=float, default=PATIENCE, metavar="SECONDS",
        help="how long to wait for unreachable brokers (%(default)g)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
