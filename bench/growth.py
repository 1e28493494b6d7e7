"""Rows of growth: what a record costs the broker when there is more of everything else."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from figures import Figure, Work, at_most
from servers import Place, broker, running

RECORDS = "200000"
SMALL_LOG_BYTES = 100 << 20
RECORD_BYTES = 200
BATCH = 50


@dataclass(frozen=True)
class Size:
    """How much there is, and of what."""

    partitions: int = 1
    connections: int = 1
    log_bytes: int = 0

    def cpu_ns(self, place: Place) -> float:
        """The broker's time per record at this size."""
        server = broker(f"num.partitions={self.partitions}")
        load = ["produce", "--partitions", str(self.partitions)]
        load += ["--connections", str(self.connections)]
        with running(server, place) as started:
            if self.log_bytes:
                fill = str(self.log_bytes // RECORD_BYTES)
                started.load("produce", "--batch", str(BATCH), "--records", fill)
            started.load(*load, "--records", "20000")
            return started.load(*load, "--records", RECORDS)["cpu_ns"]


def rows(rounds: int, log_gib: float, place: Place) -> Iterator[Figure]:
    """All of them, each in rounds of small and large."""
    one = Size()
    yield row("1,000 partitions ÷ 1", (one, Size(partitions=1_000)), 2, rounds, place)
    yield row("1,000 connections ÷ 1", (one, Size(connections=1_000)), 2, rounds, place)
    logs = (Size(log_bytes=SMALL_LOG_BYTES), Size(log_bytes=int(log_gib * (1 << 30))))
    yield row(f"log of {log_gib:g} GiB ÷ 100 MiB", logs, 1.2, rounds, place)


def row(name: str, sizes: tuple[Size, Size], limit: float, rounds: int, place: Place) -> Figure:
    """The median of the ratios."""
    small, large = sizes
    ratios = sorted(large.cpu_ns(place) / small.cpu_ns(place) for _ in range(rounds))
    work = Work("page cache", "bench/load", 1000, RECORD_BYTES, 1)
    median = statistics.median(ratios)
    gate = at_most(limit)
    title = f"growth: {name}"
    return Figure(title, "broker CPU ratio", median, work, gate, ratios[0], ratios[-1])
