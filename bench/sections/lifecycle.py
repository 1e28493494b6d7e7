"""Start and idle costs of a broker."""

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from figures import Figure, Work, at_most
from servers import Place, Running, broker, running, serving

import streamlog

IDLE_SECONDS = 5.0
PARTITIONS = 1_000
TOUCHED = 10


def rows(rounds: int, place: Place) -> Iterator[Figure]:
    """Yields all rows of the section."""
    yield from idle(place)
    yield from first_start(rounds, place)
    yield from in_process(rounds)
    yield from clean_start(place)


def idle(place: Place) -> Iterator[Figure]:
    """Measures an idle broker: the binary, and through Python."""
    binary = broker(flushed=True)
    entry = (sys.executable, "-m", "streamlog.broker")
    python = replace(binary, command=(*entry, *binary.command[2:]))
    kib: dict[str, float] = {}
    for name, server in (("binary", binary), ("python -m streamlog.broker", python)):
        with running(server, place, flushed=True) as started:
            time.sleep(2)
            before = wake_ups(started.pid)
            time.sleep(IDLE_SECONDS)
            woken = (wake_ups(started.pid) - before) / IDLE_SECONDS
            kib[name] = resident_kib(started.pid)
        is_gated = name == "binary"
        work = Work(client=name)
        memory_gate, wake_gate = (at_most(10), at_most(0)) if is_gated else (None, None)
        yield Figure("idle broker", "resident MiB", kib[name] / 1024, work, memory_gate)
        yield Figure("idle broker", "wake-ups/s", woken, work, wake_gate)
    delta = (kib["python -m streamlog.broker"] - kib["binary"]) / 1024
    yield Figure("idle broker", "resident MiB more by Python", delta)


def first_start(rounds: int, place: Place) -> Iterator[Figure]:
    """Measures from the process start to the first acknowledgement, with the topic's creation."""
    work = Work("flushed", "bench/load", 1, 200, 1)
    times = []
    for _ in range(max(rounds, 5)):
        began = time.perf_counter()
        with running(broker(flushed=True), place, flushed=True) as started:
            started.load("produce", "--records", "1", "--in-flight", "1")
            times.append((time.perf_counter() - began) * 1000)
    best = sorted(times)
    name = "ms, the start of the load included"
    value, low, high = best[len(best) // 2], best[0], best[-1]
    gate = at_most(20, goal=10)
    yield Figure("start, empty directory", name, value, work, gate, low, high)


def in_process(rounds: int) -> Iterator[Figure]:
    """Measures brokers in this process, from the call to the return of `Broker`."""
    for nodes, limit in ((1, 50), (3, 100)):
        times = []
        for _ in range(max(rounds, 5)):
            began = time.perf_counter()
            with streamlog.Broker(nodes=nodes):
                times.append((time.perf_counter() - began) * 1000)
        value, low, high = sorted(times)[len(times) // 2], min(times), max(times)
        row = f"start in a Python program, nodes={nodes}"
        yield Figure(row, "ms to ready", value, Work(client="streamlog"), at_most(limit), low, high)


def clean_start(place: Place) -> Iterator[Figure]:
    """Measures from the start to `ready` with many partitions after a clean stop."""
    server = broker(f"num.partitions={PARTITIONS}")
    row = f"start after a clean stop, {PARTITIONS:,} partitions"
    with tempfile.TemporaryDirectory(dir=place.data) as folder:
        data = Path(folder)
        with serving(server, place, data) as started:
            touch(started, PARTITIONS)
        began = time.perf_counter()
        with serving(server, place, data) as started:
            seconds = time.perf_counter() - began
            yield Figure(row, "s to ready", seconds, gate=at_most(1))
            at_start = open_logs(started)
            yield Figure(row, "logs open when ready", at_start, gate=at_most(0))
            touch(started, TOUCHED)
            opened = open_logs(started) - at_start
            name = f"logs opened by producing to {TOUCHED} partitions"
            yield Figure(row, name, opened, gate=at_most(2 * TOUCHED))


def touch(started: Running, partitions: int) -> None:
    """Produces a record to each partition."""
    count = str(partitions)
    started.load("produce", "--records", count, "--partitions", count, "--in-flight", count)


def open_logs(started: Running) -> int:
    """Returns the number of log files that the process has open."""
    links = Path(f"/proc/{started.pid}/fd").iterdir()
    names = (str(link.readlink()) for link in links)
    return sum(name.startswith(str(started.data)) and name.endswith(".log") for name in names)


def resident_kib(pid: int) -> float:
    """Returns the resident memory of the process in KiB."""
    return status(Path(f"/proc/{pid}/status"), "VmRSS")


def wake_ups(pid: int) -> float:
    """Returns the number of wake-ups of the process's threads: their voluntary context switches."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(status(task / "status", "voluntary_ctxt_switches") for task in tasks)


def status(path: Path, key: str) -> float:
    """Returns a number in a status file."""
    for line in path.read_text().splitlines():
        if line.startswith(f"{key}:"):
            return float(line.split()[1])
    raise KeyError(key)
