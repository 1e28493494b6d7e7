"""Streams: latency of results, cost of idle queries, and memory of reads."""

import json
import time
from math import inf
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

import streamlog
from on_spark.reading import Row
from spark.reading.proxies import CountingProxy

__all__ = ["latency_rows", "memory_rows"]

APPENDS = 30
WARM_UPS = 3
TRIGGER_SECONDS = 20.0
"""The timeout of a trigger; later triggers count as missing."""
IDLE_SECONDS = 20.0
OWN = ("walCommit", "queryPlanning")
"""The part of a trigger that Spark spends with any source before reading."""


def latency_rows(
    spark: SparkSession, client: streamlog.Client, proxy: CountingProxy, folder: Path
) -> list[Row]:
    """Measures from the acknowledgement of a record to the end of the trigger that counted it."""
    client.admin.create_topic("news", partitions=4)
    seen: list[float] = []

    def take(frame: DataFrame, _trigger: int) -> None:
        if frame.count():
            seen.append(time.perf_counter())

    reader = spark.readStream.format("streamlog").option("bootstrap", proxy.address)
    # The first record may be sent before the query has determined its start.
    frame = reader.option("subscribe", "news").option("startingOffsets", "earliest").load()
    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(folder))
    query = writer.start()
    try:
        taken: list[float] = []
        own = []
        with client.producer(linger=0.0) as producer:
            for number in range(APPENDS + WARM_UPS):
                count = len(seen)
                time.sleep(0.7)
                began = time.perf_counter()
                producer.send("news", b"news", partition=number % 4).result()
                while len(seen) == count and time.perf_counter() - began < TRIGGER_SECONDS:
                    time.sleep(0.001)
                if len(seen) == count:
                    taken.append(inf)
                    break
                # The first triggers are warm-ups.
                if number >= WARM_UPS:
                    taken.append(seen[-1] - began)
        for progress in query.recentProgress:
            if progress.numInputRows:
                own.append(sum(progress.durationMs.get(name, 0) for name in OWN))
        before = proxy.counted()
        time.sleep(IDLE_SECONDS)
        rate = (proxy.counted() - before).total() / IDLE_SECONDS
    finally:
        query.stop()
    return [
        append_row(taken, own),
        Row("idle query", f"{rate:.2f} requests/s", "<= 3", rate <= 3),
    ]


def append_row(taken: list[float], own: list[int]) -> Row:
    """Returns the median of the seconds; a missing trigger fails the row."""
    name, gate = "append to result, p50", "<= 300 ms"
    if inf in taken:
        figure = f"none within {TRIGGER_SECONDS:.0f} s, {len(taken) - 1} before it"
        return Row(name, figure, gate, is_met=False)
    middle = median(taken) * 1000
    return Row(name, f"{middle:.0f} ms ({median(own):.0f} ms Spark's own)", gate, middle <= 300)


def memory_rows(spark: SparkSession, address: str, rows: int) -> list[Row]:
    """Measures the largest Python worker after reading a quarter of the records, and all."""
    peaks = []
    for part in (rows // 8, rows // 2):
        ending = json.dumps({"records": {"0": part, "1": part}})
        reader = spark.read.format("streamlog").option("bootstrap", address)
        frame = reader.option("subscribe", "records").option("endingOffsets", ending).load()
        frame.write.format("noop").mode("overwrite").save()
        peaks.append(_largest_worker_mib())
    figure = f"{peaks[0]:.0f} -> {peaks[1]:.0f} MiB"
    return [Row("largest worker, 1/4 -> all", figure, "<= 1.2 x", peaks[1] <= 1.2 * peaks[0])]


def _largest_worker_mib() -> float:
    peaks = [0.0]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            command = status.with_name("cmdline").read_bytes()
            lines = status.read_text().splitlines()
        except OSError:
            continue
        if b"pyspark.daemon" in command:
            peaks += [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")]
    return max(peaks)
