"""The rate of a load, compared with writing the same records without a log or Spark.

    python bench/on_spark/offline.py [--records 2000000] [--rounds 3]

The topic has records of 200 bytes that compress to about half. The baseline is a process that
writes prepared batches to a Parquet file with the same settings: the difference is the cost of
reading, planning, flushing and Spark.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pyarrow
from pyarrow import parquet
from pyspark.sql import SparkSession

import streamlog
from streamlog.spark import load, loaded, provide_java

PARTITIONS = 4
VALUE_BYTES = 200
TOPIC = "bench"


def publish(client: streamlog.Client, records: int) -> None:
    """Fills the topic; values are half random and half constant."""
    client.admin.create_topic(TOPIC, partitions=PARTITIONS)
    half = VALUE_BYTES // 2
    noise = [os.urandom(half) + bytes(VALUE_BYTES - half) for _ in range(4096)]
    with client.producer(buffer="32 MiB") as producer:
        for number in range(records):
            producer.send(TOPIC, noise[number % 4096], partition=number % PARTITIONS)


def held(client: streamlog.Client, records: int) -> "pyarrow.Table":
    """Returns the records of the topic that the baseline writes repeatedly."""
    log = client.topic(TOPIC).partition(0)
    batches = log.arrow(0, min(records // PARTITIONS, 100_000))
    return pyarrow.Table.from_batches(list(batches)).drop_columns(["topic"])


def write(table: "pyarrow.Table", times: int, path: Path) -> None:
    """Runs the baseline: writes a table repeatedly."""
    with parquet.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=False) as out:
        for _ in range(times):
            out.write_table(table)


def main() -> None:
    """Measures, and prints a line for each way with the medians of all rounds."""
    parser = argparse.ArgumentParser(description="How fast a load is.")
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="streamlog-bench-"))
    provide_java()
    builder = SparkSession.Builder().master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    rulers, loads = [], []
    try:
        with streamlog.Broker(data_dir=folder / "data") as broker, broker.connect() as client:
            publish(client, arguments.records)
            table = held(client, arguments.records)
            times = arguments.records // table.num_rows
            # A small job first, to start the workers.
            spark.range(2).collect()
            for number in range(arguments.rounds):
                lake = folder / f"lake-{number}"
                began = time.monotonic()
                write(table, times, folder / "ruler.parquet")
                rulers.append(time.monotonic() - began)
                began = time.monotonic()
                load(spark, lake, bootstrap=broker.address, subscribe=TOPIC)
                loads.append(time.monotonic() - began)
                assert loaded(spark, lake).count() == arguments.records
                shutil.rmtree(lake)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    ratio = statistics.median(ruler / took for ruler, took in zip(rulers, loads, strict=True))
    for name, took in (("ruler, one core", rulers), ("load, local[2]", loads)):
        rate = arguments.records / statistics.median(took)
        print(f"{name:16} {rate:12,.0f} records/s {rate * VALUE_BYTES / 1e6:8,.0f} MB/s")
    print(f"a load reaches {ratio:.2f} of the ruler, median of {arguments.rounds} rounds")


if __name__ == "__main__":
    main()
