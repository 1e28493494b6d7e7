"""``python -m streamlog.spark.offline PATH --subscribe orders``: a load, from the command line."""

import argparse
import sys

from pyspark.sql import SparkSession

from streamlog.errors import StreamlogError
from streamlog.spark.offline.loading import load


def main() -> int:
    """Loads once, and says what it did; 1 if it could not."""
    arguments = _arguments().parse_args()
    spark = SparkSession.Builder().appName("streamlog-load")
    if arguments.remote is not None:
        spark = spark.remote(arguments.remote)
    else:
        # There is one bar, and it knows records.
        spark = spark.config("spark.ui.showConsoleProgress", "false")
    if arguments.master is not None:
        spark = spark.master(arguments.master)
    session = spark.getOrCreate()
    try:
        done = load(
            session,
            arguments.path,
            bootstrap=arguments.bootstrap,
            subscribe=arguments.subscribe,
            subscribe_pattern=arguments.subscribe_pattern,
            fail_on_data_loss=arguments.fail_on_data_loss,
            offsets_per_file=arguments.offsets_per_file,
            compression=arguments.compression,
        )
    except StreamlogError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        session.stop()
    for loss in done.losses:
        print(f"lost: {loss}", file=sys.stderr)
    for topic, records in sorted(done.topics.items()):
        print(f"{topic}: {records:,} records")
    print(f"{done.records:,} records in {done.files:,} files, {done.size:,} bytes")
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m streamlog.spark.offline",
        description="Brings what is new in topics into Parquet files, each record exactly once.",
    )
    parser.add_argument("path", help="the folder, mounted where Spark's executors run")
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument("--subscribe", metavar="TOPICS", help="with commas between them")
    topics.add_argument("--subscribe-pattern", metavar="PATTERN", help="of their whole names")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="default: STREAMLOG_BOOTSTRAP")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", help="Spark's master, as local[4]")
    where.add_argument("--remote", help="a Spark Connect address, as sc://HOST")
    parser.add_argument(
        "--fail-on-data-loss", action=argparse.BooleanOptionalAction, default=True,
        help="whether records that were deleted before they were loaded are an error",
    )  # fmt: skip
    parser.add_argument("--offsets-per-file", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--compression", default="zstd")
    return parser


if __name__ == "__main__":
    sys.exit(main())
