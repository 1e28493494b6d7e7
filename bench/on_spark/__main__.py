"""Runs all measurements of reading and writing with Spark: ``python -m on_spark``.

The broker of the streams is behind a counting proxy; that of the tables is not.
"""

import argparse
import tempfile
from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession

import streamlog
from on_spark.ceiling import keep
from on_spark.exactly import exactly_rows
from on_spark.reading import Row, Topic, read_rows
from on_spark.session import filled, session
from on_spark.streaming import latency_rows, memory_rows
from on_spark.triggers import trigger_rows
from on_spark.writing import write_rows
from py.support.broker import BrokerProcess
from spark.reading.proxies import CountingProxy

SECTIONS = ("memory", "read", "write", "exactly", "triggers", "latency")


def main() -> int:
    """Prints the rows; returns 1 if a gate was missed."""
    parser = argparse.ArgumentParser(prog="make bench-spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-connector", action="store_true", help="leave Kafka's connector out")
    parser.add_argument("sections", nargs="*", help=f"only these: {', '.join(SECTIONS)}")
    given = parser.parse_args()
    unknown = set(given.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}: there are {', '.join(SECTIONS)}")
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as name:
        rows = _measure(Path(name), given)
    print(f"\n{given.rows} records of 200 bytes, medians of {given.rounds} rounds")
    for row in rows:
        print(row)
    return 0 if all(row.is_met for row in rows) else 1


def _measure(folder: Path, given: argparse.Namespace) -> list[Row]:
    spark = session(not given.no_connector)
    wanted = given.sections or SECTIONS
    found: list[Row] = []
    if set(wanted) != {"latency"}:
        found += _measure_tables(spark, folder, given, wanted)
    if "latency" in wanted:
        with CountingProxy() as proxy:
            found += _measure_streams(spark, proxy, folder)
    spark.stop()
    return found


def _measure_tables(
    spark: SparkSession, folder: Path, given: argparse.Namespace, wanted: Collection[str]
) -> list[Row]:
    found: list[Row] = []
    with BrokerProcess(folder / "tables") as broker, streamlog.connect(broker.address) as client:
        assert broker.process is not None
        batch = filled(client, "records", given.rows)
        keep(batch, folder / "batch.arrow")
        topic = Topic(broker.address, folder / "batch.arrow", given.rows, broker.process.pid)
        with_connector = not given.no_connector
        # Before the reads of all records, because a worker's peak memory is that of its whole life.
        if "memory" in wanted:
            found += memory_rows(spark, broker.address, given.rows)
        if "read" in wanted:
            found += read_rows(spark, topic, given.rounds, with_connector)
        if "write" in wanted:
            found += write_rows(spark, client, broker.address, given.rows // 4, given.rounds)
        if "exactly" in wanted:
            found += exactly_rows(spark, client, broker.address, given.rows, folder / "exactly")
        if "triggers" in wanted and with_connector:
            found += trigger_rows(spark, topic, given.rounds, folder / "triggers")
    return found


def _measure_streams(spark: SparkSession, proxy: CountingProxy, folder: Path) -> list[Row]:
    with BrokerProcess(folder / "streams", "--advertise", proxy.address) as broker:
        proxy.target = broker.address
        with streamlog.connect(proxy.address) as client:
            return latency_rows(spark, client, proxy, folder / "checkpoint")


if __name__ == "__main__":
    raise SystemExit(main())
