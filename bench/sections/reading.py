"""Reads by the state of their bytes: verified, cached but unverified, or on the medium only.

Each row is a ratio within a round: the first read after a start to the second one of the same
broker, a read of verified bytes to the same read without page cache look-ups, and the broker to the
baseline, which sends the kernel's read-ahead without verification. The cold records of a reader
that catches up are in finished segments; a row for the active segment stands beside them.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, Gate, Work, at_least, at_most
from looks import Looks
from servers import SERVERS, Place, Running, Server, broker, serving, touch_memory

RECORDS = 2_000_000
LOOKS = 4
"""The number of reads with look-ups in the page cache, and of reads without, in each round."""
Reads = dict[str, dict[str, float]]
"""The figures of each read."""

SEGMENTED = broker("log.segment.bytes=67108864")
"""A broker on which nearly all records are in finished segments."""

WORK = Work("page cache", "bench/load", record_bytes=200, batch=50)


def rows(rounds: int, place: Place) -> Iterator[Figure]:
    """Yields all rows, measured in rounds of baseline, broker, baseline."""
    warm = ("first", "vouched", "looks", "looks, read", "sent")
    cold = ("cold", "cold CPU", "again", "again CPU", "active", "active CPU")
    ratios: dict[str, list[float]] = {name: [] for name in (*warm, *cold)}
    for _ in range(rounds):
        touch_memory()
        before = reads(SERVERS["ruler"], place)
        segmented = reads(SEGMENTED, place)
        single = reads(SERVERS["streamlog"], place, restart=True)
        after = reads(SERVERS["ruler"], place)
        # A second reader finds nothing in the page cache, so it is cold too.
        again = {"cold": segmented["again"]}
        for name, read in (("cold", segmented), ("again", again), ("active", single)):
            ratios[name].append(against(before, read, after, "cold", "per_second"))
            ratios[f"{name} CPU"].append(against(before, read, after, "cold", "cpu_ns"))
        ratios["vouched"].append(against(before, single, after, "warm", "cpu_ns"))
        ratios["first"].append(single["first"]["cpu_ns"] / single["second"]["cpu_ns"])
        for name, figure in looked(SERVERS["streamlog"], place).items():
            ratios[name].append(figure)
    name = "fetch 1 MB, vouched for"
    yield row(name, "CPU ÷ without looks", ratios["looks"], at_most(1.02))
    yield row(name, "CPU ÷ without looks, once read cold", ratios["looks, read"], at_most(1.02))
    yield row(name, "share by sendfile", ratios["sent"], at_least(0.95))
    yield row(name, "broker CPU ÷ ruler", ratios["vouched"])
    yield row("fetch 1 MB, first after a start", "CPU ÷ vouched", ratios["first"], at_most(1.4))
    yield row("fetch 1 MB, cold", "rate ÷ ruler", ratios["cold"], at_least(0.9))
    yield row("fetch 1 MB, cold", "broker CPU ÷ ruler", ratios["cold CPU"])
    for name, ratio in (("a second reader", "again"), ("active segment", "active")):
        yield row(f"fetch 1 MB, cold, {name}", "rate ÷ ruler", ratios[ratio])
        yield row(f"fetch 1 MB, cold, {name}", "broker CPU ÷ ruler", ratios[f"{ratio} CPU"])


def row(name: str, figure: str, ratios: list[float], gate: Gate | None = None) -> Figure:
    """Returns the median of the ratios."""
    ratios.sort()
    return Figure(name, figure, statistics.median(ratios), WORK, gate, ratios[0], ratios[-1])


def against(before: Reads, broker: Reads, after: Reads, read: str, figure: str) -> float:
    """Returns the broker's figure as a ratio to the mean of the two baselines."""
    return broker[read][figure] / ((before[read][figure] + after[read][figure]) / 2)


def reads(server: Server, place: Place, *, restart: bool = False) -> Reads:
    """Measures a cold read, another, and a warm one, and two more after a restart."""
    with tempfile.TemporaryDirectory(dir=place.data) as folder:
        data = Path(folder)
        with serving(server, place, data) as started:
            started.load("produce", "--batch", "50", "--records", str(RECORDS))
            evict(data)
            figures = {name: fetch(started) for name in ("cold", "again", "warm")}
        if restart:
            with serving(server, place, data) as started:
                figures |= {"first": fetch(started), "second": fetch(started)}
    return figures


def looked(server: Server, place: Place) -> dict[str, float]:
    """The figures of warm reads with and without a look at the page cache.

    Of bytes as they were appended, which lie in large folios, and of the same after a cold read,
    which brings them in page by page.
    """
    with tempfile.TemporaryDirectory(dir=place.data) as folder, Looks(Path(folder)) as looks:
        data = Path(folder)
        with serving(looks.preloaded(server), place, data) as started:
            started.load("produce", "--batch", "50", "--records", str(RECORDS))
            appended = cost_of_looks(started, looks)
            evict(data)
            fetch(started)
            read = cost_of_looks(started, looks)
            share = looks.sent_bytes() / ((4 * LOOKS + 1) * started.log_bytes())
    return {"looks": appended, "looks, read": read, "sent": share}


def cost_of_looks(started: Running, looks: Looks) -> float:
    """The processor time of reads as a ratio to the same without a look at the page cache.

    The broker is one process all the while, so that nothing but the looks differs.
    """
    spent = {is_looking: 0.0 for is_looking in (True, False)}
    for number in range(2 * LOOKS):
        # In turn first and last, as the machine drifts.
        is_looking = number % 4 in (0, 3)
        looks.set(is_looking)
        spent[is_looking] += fetch(started)["cpu_ns"]
    looks.set(True)
    return spent[True] / spent[False]


def fetch(started: Running) -> dict[str, float]:
    """Measures a read from the beginning to the end."""
    return started.load("fetch", "--records", str(RECORDS))


def evict(data: Path) -> None:
    """Drops the logs from the page cache, once they are on disk."""
    for path in data.rglob("*log"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
