"""Runs all measurements of reading and writing with Spark: ``python -m on_spark``.

The broker of the streams is behind a counting proxy; that of the tables is not.
"""

import argparse
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import streamlog
from on_spark.ceiling import keep
from on_spark.exactly import exactly_rows
from on_spark.reading import Row, Topic, read_rows
from on_spark.session import filled, session
from on_spark.streaming import latency_rows, memory_rows
from on_spark.writing import write_rows
from py.support.broker import BrokerProcess
from spark.reading.counting import CountingProxy


def main() -> int:
    """Prints the rows; returns 1 if a gate was missed."""
    parser = argparse.ArgumentParser(prog="make bench-spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-connector", action="store_true", help="leave Kafka's connector out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as name:
        rows = _measure(Path(name), given)
    print(f"\n{given.rows} records of 200 bytes, medians of {given.rounds} rounds")
    for row in rows:
        print(row)
    return 0 if all(row.is_met for row in rows) else 1


def _measure(folder: Path, given: argparse.Namespace) -> list[Row]:
    spark = session(not given.no_connector)
    found: list[Row] = []
    with BrokerProcess(folder / "tables") as broker, streamlog.connect(broker.address) as client:
        batch = filled(client, "records", given.rows)
        keep(batch, folder / "batch.arrow")
        # Before the reads of all records, because a worker's peak memory is that of its whole life.
        found += memory_rows(spark, broker.address, given.rows)
        topic = Topic(broker.address, folder / "batch.arrow", given.rows)
        found += read_rows(spark, topic, given.rounds, not given.no_connector)
        found += write_rows(spark, client, broker.address, given.rows // 4, given.rounds)
        found += exactly_rows(spark, client, broker.address, given.rows, folder / "exactly")
    with CountingProxy() as proxy:
        found += _measure_streams(spark, proxy, folder)
    spark.stop()
    return found


def _measure_streams(spark: SparkSession, proxy: CountingProxy, folder: Path) -> list[Row]:
    with BrokerProcess(folder / "streams", "--advertise", proxy.address) as broker:
        proxy.target = broker.address
        with streamlog.connect(proxy.address) as client:
            return latency_rows(spark, client, proxy, folder / "checkpoint")


if __name__ == "__main__":
    raise SystemExit(main())
