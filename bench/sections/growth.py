"""Growth: the cost of a record when there is more of everything else.

The work in flight is the same for each connection and each partition, so that a figure shows the
effect of their number alone: many records for one partition share a write, while single records for
many partitions cannot.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from figures import Figure, Work, at_most
from servers import Place, broker, running, touch_memory

RECORDS = 200_000
SMALL_LOG_BYTES = 100 << 20
RECORD_BYTES = 200
BATCH = 50


@dataclass(frozen=True)
class Size:
    """The number of topics, partitions and connections, and the work for them."""

    partitions: int = 1
    connections: int = 1
    log_bytes: int = 0
    batch: int = 1
    in_flight: int = 1000

    def cpu_ns(self, place: Place) -> float:
        """Measures the broker's processor time per record at this size."""
        with running(broker(f"num.partitions={self.partitions}"), place) as started:
            if self.log_bytes:
                records = str(self.log_bytes // RECORD_BYTES)
                started.load("produce", "--batch", str(BATCH), "--records", records)
            load = ["produce", "--partitions", str(self.partitions), "--batch", str(self.batch)]
            load += ["--connections", str(self.connections)]
            load += ["--in-flight", str(self.in_flight * self.connections)]
            count = RECORDS if self.batch == 1 else 10 * RECORDS
            started.load(*load, "--records", str(count // 10))
            return started.load(*load, "--records", str(count))["cpu_ns"]


def rows(rounds: int, log_gib: float, place: Place) -> Iterator[Figure]:
    """Yields all rows, each measured in rounds of small and large."""
    sizes = (Size(batch=BATCH), Size(partitions=1_000, batch=BATCH))
    yield row("1,000 partitions ÷ 1", sizes, 2, rounds, place)
    sizes = (Size(in_flight=10), Size(connections=1_000, in_flight=10))
    yield row("1,000 connections ÷ 1, each alike", sizes, 2, rounds, place)
    sizes = (Size(log_bytes=SMALL_LOG_BYTES), Size(log_bytes=int(log_gib * (1 << 30))))
    # The gate is meant for 20 GiB, which is optional, because not every disk has the space.
    yield row(f"log of {log_gib:g} GiB ÷ 100 MiB", sizes, 1.2, rounds, place)


def row(name: str, sizes: tuple[Size, Size], limit: float, rounds: int, place: Place) -> Figure:
    """Returns the median of the ratios."""
    small, large = sizes
    ratios = []
    for _ in range(rounds):
        touch_memory()
        ratios.append(large.cpu_ns(place) / small.cpu_ns(place))
    ratios.sort()
    work = Work("page cache", "bench/load", small.in_flight, RECORD_BYTES, small.batch)
    figure = ("broker CPU ratio", statistics.median(ratios))
    return Figure(f"growth: {name}", *figure, work, at_most(limit), ratios[0], ratios[-1])
