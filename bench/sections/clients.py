"""Throughput of the engine's users: embedded, through the Rust client, and through Python."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, Work, at_least
from servers import BENCH, BROKER, Place, broker, running, touch_memory

CLIENT = BROKER.parent / "examples" / "client"
INSIDE = BROKER.parent / "examples" / "inside"

EMBEDDED = {
    "appended_per_second": ("appended, records/s", 50),
    "read_per_second": ("read, records/s", 50),
    "flushed_p50": ("append to flushed, p50 µs", 1),
    "flushed_p99": ("append to flushed, p99 µs", 1),
}


# 10 M records/s, while the Rust client reads 16 M.
ARROW_MIN = 10 / 16

ARROW = """
import json, sys, time
import pyarrow, streamlog
address, count = sys.argv[1], int(sys.argv[2])
with streamlog.connect(address) as client:
    began = time.perf_counter()
    with client.consumer("client") as consumer:
        done = sum(map(len, consumer.until_end().arrow()))
        assert done == count, done
        print(json.dumps({"consumed_per_second": done / (time.perf_counter() - began)}))
"""


def rows(rounds: int, records: int, place: Place) -> Iterator[Figure]:
    """Yields all rows of the section."""
    yield from embedded(rounds, records, place)
    yield from rust(rounds, records, place)
    yield from arrow(rounds, records, place)
    yield from python(rounds, records)


def embedded(rounds: int, records: int, place: Place) -> Iterator[Figure]:
    """Measures the engine without a socket; the baseline has a socket, so there is no ratio."""
    runs: list[dict[str, float]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=place.data) as folder:
            command = [*place.priority, str(INSIDE), str(Path(folder) / "data"), str(records)]
            runs.append(measured(command))
    for name, (title, batch) in EMBEDDED.items():
        values = sorted(run[name] for run in runs)
        work = Work("flushed", "embedded", record_bytes=200, batch=batch)
        median = statistics.median(values)
        yield Figure("embedded", title, median, work, low=values[0], high=values[-1])


def rust(rounds: int, records: int, place: Place) -> Iterator[Figure]:
    """Measures the Rust client; it is the bottleneck, so there is no ratio."""
    runs: list[dict[str, float]] = []
    for _ in range(rounds):
        touch_memory()
        with running(broker(shards=2, flushed=True), place, flushed=True) as started:
            runs.append(measured([str(CLIENT), started.address, str(records)]))
    work = Work("flushed", "Rust", record_bytes=200)
    for name in ("produced_per_second", "consumed_per_second"):
        values = sorted(run[name] for run in runs)
        title = name.replace("_per_second", ", records/s")
        median = statistics.median(values)
        yield Figure("Rust client", title, median, work, low=values[0], high=values[-1])


def arrow(rounds: int, records: int, place: Place) -> Iterator[Figure]:
    """Compares record batches with all columns with messages in Rust, on one broker and topic.

    Both connect before, and are timed from the creation of the consumer.
    """
    ratios: list[float] = []
    for _ in range(rounds):
        touch_memory()
        with running(broker(shards=2, flushed=True), place, flushed=True) as started:
            beside = measured([str(CLIENT), started.address, str(records)])["consumed_per_second"]
            # The topic includes the records of the other's warm-up.
            read = [sys.executable, "-c", ARROW, started.address, str(records + records // 10)]
            ratios.append(measured(read)["consumed_per_second"] / beside)
    work = Work("flushed", "Python", record_bytes=200)
    value, low, high = statistics.median(ratios), min(ratios), max(ratios)
    row = "Python arrow(), all columns"
    yield Figure(row, "rate ÷ Rust client", value, work, at_least(ARROW_MIN), low, high)


def measured(command: list[str]) -> dict[str, float]:
    """Returns the line of JSON that a command prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def python(rounds: int, records: int) -> Iterator[Figure]:
    """Runs `make bench-python`, and returns the ratios to third-party clients."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pytest", "--quiet", str(BENCH / "python")]
        command += ["--benchmark-only", f"--benchmark-json={report}"]
        given = {
            "BENCH_RECORDS": str(records),
            "BENCH_ROUNDS": str(rounds),
            "PYTHONPATH": str(BENCH),
        }
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **given})
        found = json.loads(report.read_text())
    medians = {test["name"]: float(test["stats"]["median"]) for test in found["benchmarks"]}
    work = Work("flushed", "Python", record_bytes=200)

    def ratio(kind: str, peer: str, own: str = "streamlog") -> float:
        return medians[f"test_{kind}[{kind}_{peer}]"] / medians[f"test_{kind}[{kind}_{own}]"]

    for row, own in {
        "Python produce with keys, failures raised": "streamlog_keyed",
        "Python produce, an iterable with keys, failures raised": "streamlog_send_all_keyed",
        "Python produce with keys, each ticket asked": "streamlog_keyed_asked",
    }.items():
        rate = ratio("produce", "confluent_keyed", own)
        yield Figure(row, "rate ÷ confluent-kafka", rate, work, at_least(3))
    row = "Python consume, touching .value"
    yield Figure(row, "rate ÷ confluent-kafka", ratio("consume", "confluent"), work, at_least(4))
    yield Figure(row, "rate ÷ kafka-python", ratio("consume", "kafka_python"), work, at_least(15))
    row = "Python consume on an event loop, touching .value"
    rate = ratio("consume", "aiokafka", "streamlog_aio")
    yield Figure(row, "rate ÷ aiokafka", rate, work, at_least(3))
    row = "Python produce"
    yield Figure(row, "rate ÷ confluent-kafka", ratio("produce", "confluent"), work, at_least(3))
    yield Figure(row, "rate ÷ kafka-python", ratio("produce", "kafka_python"), work, at_least(15))
