"""The scrubber: its cost for producers and for the page cache while it reads everything."""

import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, Gate, Work, at_least, at_most
from servers import Place, Running, broker, running, touch_memory

OLD_RECORDS = 4_000_000
HOT_RECORDS = 200_000
RECORD_BYTES = 200
NEVER = "log.scrub.interval.ms=-1"
DEFAULT = "log.scrub.interval.ms=604800000"
# Due at any time, so that no rate below the highest would do.
ALWAYS = "log.scrub.interval.ms=1"
FIRST_READ_SECONDS = 90
"""The longest time until the scrubber begins: it waits a minute after the start of a broker."""
LATENCY = ("latency", "--rate", "500", "--records", "6000")


@dataclass(frozen=True)
class Measured:
    """The figures of a run of the load."""

    p99_us: float
    kept: float
    """The cached share of the hot topic's pages."""
    scrubbed_mib: float
    """The broker's disk reads in MiB a second, all of them by the scrubber."""


def rows(rounds: int, place: Place) -> Iterator[Figure]:
    """Yields all rows, measured in rounds without a scrubber, by default, and at its full rate."""
    runs: list[tuple[Measured, Measured, Measured]] = []
    for _ in range(rounds):
        touch_memory()
        runs.append((measure(place, NEVER), measure(place, DEFAULT), measure(place, ALWAYS)))
    spread = [(by_default, quiet) for quiet, by_default, _ in runs]
    full = [(at_full_rate, quiet) for quiet, _, at_full_rate in runs]
    yield from beside("by default", spread, at_most(1.05), at_least(0.99))
    yield from beside("at its highest rate", full)


def beside(
    pace: str,
    pairs: list[tuple[Measured, Measured]],
    p99: Gate | None = None,
    kept: Gate | None = None,
) -> Iterator[Figure]:
    """Yields the rows of one pace of the scrubber, beside runs without it."""
    name = f"scrubber beside a load, {pace}"
    ratios = [scrubbed.p99_us / quiet.p99_us for scrubbed, quiet in pairs]
    yield row(name, "produce p99 ÷ without scrubber", ratios, p99)
    # Some kernels reclaim cached pages on their own, so the share alone says nothing.
    shares = [scrubbed.kept / quiet.kept for scrubbed, quiet in pairs]
    yield row(name, "hot topic still cached ÷ without scrubber", shares, kept)
    yield row(name, "MiB/s read by the scrubber", [it.scrubbed_mib for it, _ in pairs])


def row(name: str, figure: str, values: list[float], gate: Gate | None = None) -> Figure:
    """Returns the median of the values."""
    work = Work("flushed", "bench/load", record_bytes=RECORD_BYTES, batch=1)
    median, low, high = statistics.median(values), min(values), max(values)
    return Figure(name, figure, median, work, gate, low, high)


def measure(place: Place, setting: str) -> Measured:
    """Measures a broker with this setting."""
    with running(broker(setting, flushed=True), place, flushed=True) as started:
        fill(started, "old", OLD_RECORDS)
        fill(started, "hot", HOT_RECORDS)
        read(started, "hot")
        if setting != NEVER:
            await_scrubber(started.pid)
        cached_before, read_before = cached(started.data, "hot"), read_bytes(started.pid)
        began = time.perf_counter()
        p99_us = started.load(*LATENCY)["p99_us"]
        seconds = time.perf_counter() - began
        scrubbed_mib = (read_bytes(started.pid) - read_before) / seconds / (1 << 20)
        assert setting == NEVER or scrubbed_mib > 1, f"the scrubber has read {scrubbed_mib} MiB/s"
        return Measured(p99_us, cached(started.data, "hot") / cached_before, scrubbed_mib)


def await_scrubber(pid: int) -> None:
    """Waits until a broker reads from its disk, which only the scrubber makes it do."""
    before, deadline = read_bytes(pid), time.monotonic() + FIRST_READ_SECONDS
    while read_bytes(pid) == before:
        assert time.monotonic() < deadline, "the scrubber has not begun"
        time.sleep(0.1)


def fill(started: Running, topic: str, records: int) -> None:
    """Produces records to a topic."""
    load = ("produce", "--batch", "100", "--record-bytes", str(RECORD_BYTES), "--topic", topic)
    started.load(*load, "--records", str(records))


def read(started: Running, topic: str) -> None:
    """Reads a topic from its start, so that it is cached."""
    started.load("fetch", "--topic", topic, "--records", str(HOT_RECORDS))


def read_bytes(pid: int) -> int:
    """Returns the bytes that a process has read from disks."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def cached(data: Path, topic: str) -> int:
    """Returns the bytes of a topic's segments in the page cache."""
    files = [str(path) for path in data.rglob(f"{topic}-0/*.log")]
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", *files]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sum(int(line) for line in listed.split())
