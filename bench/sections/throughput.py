"""Throughput with the same work and the same durability as the baseline, as a ratio."""

from collections.abc import Iterator

from figures import Figure, Gate, Work, at_least, at_most
from rounds import ROWS, Comparison, Row, compare
from servers import Place

_RATE = "rate ÷ ruler"
_CPU = "broker CPU ÷ ruler"

NAMES = {
    "per_second": _RATE,
    "cpu_ns": _CPU,
    "disk_bytes": "bytes on disk ÷ ruler",
    "p50_us": "p50 ÷ ruler",
    "p99_us": "p99 ÷ ruler",
    "p999_us": "p99.9 ÷ ruler",
}

GATES: dict[tuple[str, str], Gate] = {
    ("produce 1", "per_second"): at_least(0.5, goal=0.7),
    ("produce 1, flushed", "per_second"): at_least(0.6),
    ("produce 50", "per_second"): at_least(0.7),
    ("produce 50", "cpu_ns"): at_most(1.5),
    ("produce 50, flushed", "per_second"): at_least(0.7),
    ("produce 50, flushed", "cpu_ns"): at_most(1.5),
    ("fetch 1 MB", "per_second"): at_least(0.7),
    ("latency", "p50_us"): at_most(1.3),
    ("latency", "p99_us"): at_most(2),
    ("latency, flushed", "p50_us"): at_most(1.3),
    ("latency, flushed", "p99_us"): at_most(2),
    ("one in flight, flushed", "p50_us"): at_most(1.15),
    ("one in flight, flushed", "cpu_ns"): at_most(1.5),
}


def rows(rounds: int, place: Place) -> Iterator[Figure]:
    """Yields all rows of the section."""
    for row in ROWS:
        for found in compare(row, ["streamlog"], rounds, place):
            yield from figures(row, found)


def figures(row: Row, found: Comparison) -> Iterator[Figure]:
    """Yields the ratio; for the time per record and the bytes on disk also the absolute values."""
    ratio = found.ratios["streamlog"]
    gate = GATES.get((row.name, found.figure))
    name = NAMES[found.figure]
    yield Figure(row.name, name, ratio.median, work(row), gate, ratio.low, ratio.high)
    absolute = {"cpu_ns": "broker CPU ns/record", "disk_bytes": "bytes on disk/record"}
    if found.figure in absolute:
        value = ratio.median * found.ruler
        yield Figure(row.name, absolute[found.figure], value, work(row))


def work(row: Row) -> Work:
    """Returns the circumstances of the row's load."""
    kind, *options = row.load
    given = dict(zip(options[::2], options[1::2], strict=True))
    promise = "flushed" if row.flushed else "page cache"
    if kind == "produce":
        return Work(promise, "bench/load", 1000, 200, int(given.get("--batch", "1")))
    return Work(promise, "bench/load", 1, 200, 50 if kind == "fetch" else 1)
