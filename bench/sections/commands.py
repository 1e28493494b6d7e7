"""Start times of commands, and the memory of a large read."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, Gate, Work, at_most
from servers import BROKER, Place, Running, broker, running

SCRIPT = Path(sys.executable).with_name("streamlog")
ROUNDS_MIN = 15
RECORD_BYTES = 1000
NO_WORK = Work()

IMPORT = """
import time
began = time.perf_counter()
import streamlog
print((time.perf_counter() - began) * 1000)
"""

EMBEDDED = """
import time, streamlog
began = time.perf_counter()
broker = streamlog.Broker()
print((time.perf_counter() - began) * 1000)
broker.close()
"""

# Not by getrusage, whose maximum starts with that of the parent process.
CONSUMER = """
import re, sys, streamlog
from pathlib import Path
with streamlog.connect() as client, client.consumer("big") as consumer:
    read = sum(len(message.value) for message in consumer.until_end())
assert read == int(sys.argv[1]), read
highest = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
print(int(highest[1]) / 1024)
"""


def rows(rounds: int, log_gib: float, place: Place) -> Iterator[Figure]:
    """Yields all rows of the section."""
    rounds = max(rounds, ROUNDS_MIN)
    with running(broker(flushed=True), place, flushed=True) as started:
        environment = {**os.environ, "STREAMLOG_BOOTSTRAP": started.address}
        for client, command in (("script", SCRIPT), ("binary", BROKER)):
            for row, gate in (("--help", at_most(15)), ("topic list", at_most(30))):
                asked = [str(command), *row.split()]
                times = (elapsed(asked, environment) for _ in range(rounds))
                yield middle(f"streamlog {row}", "ms", times, Work(client=client), gate)
    yield middle("import streamlog", "ms", measured(IMPORT, rounds), gate=at_most(20))
    yield middle("streamlog.Broker()", "ms to ready", measured(EMBEDDED, rounds), gate=at_most(50))
    with running(broker(), place) as started:
        yield consumer(started, log_gib)


def consumer(started: Running, log_gib: float) -> Figure:
    """Measures the memory of a program that reads a topic much larger than its memory."""
    records = int(log_gib * (1 << 30)) // RECORD_BYTES
    environment = {**os.environ, "STREAMLOG_BOOTSTRAP": started.address}
    fill = [str(BROKER), "bench", "produce", "big", "-n", str(records), "-s", str(RECORD_BYTES)]
    subprocess.run(fill, check=True, env=environment, stdout=subprocess.DEVNULL)
    read = [sys.executable, "-c", CONSUMER, str(records * RECORD_BYTES)]
    done = subprocess.run(read, check=True, env=environment, capture_output=True, text=True)
    work = Work(client="Python", record_bytes=RECORD_BYTES)
    row = f"consumer of a topic of {log_gib:g} GiB"
    return Figure(row, "resident MiB at most", float(done.stdout), work, at_most(64))


def elapsed(command: list[str], environment: dict[str, str]) -> float:
    """Returns the milliseconds from the start of a process to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def measured(program: str, rounds: int) -> Iterator[float]:
    """Returns the figures that a Python program prints, each time in a new process."""
    for _ in range(rounds):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        yield float(done.stdout)


def middle(
    row: str, name: str, times: Iterator[float], work: Work = NO_WORK, gate: Gate | None = None
) -> Figure:
    """Returns the median of several runs."""
    values = sorted(times)
    median = statistics.median(values)
    return Figure(row, name, median, work, gate, values[0], values[-1])
