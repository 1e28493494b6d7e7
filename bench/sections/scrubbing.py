"""Rows of the scrubber: what it costs producers and the page cache while it reads everything."""

import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, Work, at_least, at_most
from servers import Place, Running, broker, running, touch_memory

OLD_RECORDS = 4_000_000
HOT_RECORDS = 200_000
RECORD_BYTES = 200
LATENCY = ("latency", "--rate", "500", "--records", "6000")


def rows(rounds: int, place: Place) -> Iterator[Figure]:
    """Both, in rounds of a broker that never looks and one that looks all the time."""
    ratios, kept = [], []
    for _ in range(rounds):
        touch_memory()
        quiet, _ = measure(place, "log.scrub.interval.ms=-1")
        # Always due, and at its default rate.
        scrubbed, share = measure(place, "log.scrub.interval.ms=1")
        ratios.append(scrubbed / quiet)
        kept.append(share)
    ratios.sort()
    kept.sort()
    work = Work("flushed", "bench/load", record_bytes=RECORD_BYTES, batch=1)
    value = ("produce p99 ratio", statistics.median(ratios))
    yield Figure("scrubber beside a load", *value, work, at_most(1.05), ratios[0], ratios[-1])
    value = ("share of a hot topic still cached", statistics.median(kept))
    yield Figure("scrubber beside a load", *value, work, at_least(0.99), kept[0], kept[-1])


def measure(place: Place, setting: str) -> tuple[float, float]:
    """The latency of records, and the share of the hot topic's pages that are still cached."""
    with running(broker(setting, flushed=True), place, flushed=True) as started:
        fill(started, "old", OLD_RECORDS)
        fill(started, "hot", HOT_RECORDS)
        read(started, "hot")
        before = cached(started.data, "hot")
        p99 = started.load(*LATENCY)["p99_us"]
        return p99, cached(started.data, "hot") / before


def fill(started: Running, topic: str, records: int) -> None:
    """Produces so many records to a topic."""
    load = ("produce", "--batch", "100", "--record-bytes", str(RECORD_BYTES), "--topic", topic)
    started.load(*load, "--records", str(records))


def read(started: Running, topic: str) -> None:
    """Reads a topic from its start, so that it is cached."""
    started.load("fetch", "--topic", topic, "--records", str(HOT_RECORDS))


def cached(data: Path, topic: str) -> int:
    """Bytes of a topic's segments in the page cache."""
    files = [str(path) for path in data.rglob(f"{topic}-0/*.log")]
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", *files]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sum(int(line) for line in listed.split())
