"""Compares servers with the baseline, in rounds of baseline, A, B, ..., baseline on one machine.

Absolute figures drift with time and with other load on the machine, so a round yields each server's
ratio to the mean of the baselines before and after it. The result of a row is the median of these
ratios with the 90 % confidence interval of the median. A warm-up is discarded. If other programs
use the same cores, `--realtime` excludes their time slices: otherwise a server that sleeps for each
flush waits for the scheduler rather than for the disk.

    python bench/rounds.py --rounds 15 inline queued
"""

import argparse
import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from servers import BUILT, REALTIME, SERVERS, Place, Server, running, touch_memory


@dataclass(frozen=True)
class Row:
    """A kind of work with a durability guarantee."""

    name: str
    flushed: bool
    load: tuple[str, ...]
    prepare: tuple[str, ...] = field(default=("produce", "--records", "20000"))


@dataclass(frozen=True)
class Ratio:
    """The median of the rounds, and its 90 % interval."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Ratio":
        """Computes the median, and its interval by resampling the rounds."""
        draw = random.Random(1)
        drawn = (statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
        medians = sorted(drawn)
        return cls(statistics.median(values), medians[100], medians[1900])

    def __str__(self) -> str:
        """Its form in the table."""
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Comparison:
    """A figure of a row: the baseline's median, and each server's ratio to it."""

    row: Row
    figure: str
    ruler: float
    ratios: dict[str, Ratio]


ROWS = [
    Row("produce 1", False, ("produce", "--records", "400000")),
    Row("produce 1, flushed", True, ("produce", "--records", "200000")),
    Row("produce 50", False, ("produce", "--batch", "50", "--records", "1000000")),
    Row("produce 50, flushed", True, ("produce", "--batch", "50", "--records", "1000000")),
    Row(
        "fetch 1 MB",
        False,
        ("fetch", "--records", "2000000"),
        prepare=("produce", "--batch", "50", "--records", "2000000"),
    ),
    Row("latency", False, ("latency", "--rate", "2000", "--records", "1500")),
    Row("latency, flushed", True, ("latency", "--rate", "300", "--records", "300")),
    Row("one in flight, flushed", True, ("spread", "--partitions", "1", "--records", "4000")),
]


def measure(server: Server, row: Row, place: Place) -> dict[str, float]:
    """Returns the figures of one run."""
    with running(server, place, flushed=row.flushed) as started:
        started.load(*row.prepare)
        before = started.log_bytes()
        figures = started.load(*row.load)
        written = started.log_bytes() - before
    records = figures.pop("records")
    if row.load[0] == "produce":
        figures["disk_bytes"] = written / records
    if row.load[0] == "latency":
        # At a given rate, the time per record includes idle time.
        del figures["cpu_ns"]
    if row.load[0] == "spread":
        # Each record is read before the next one is sent.
        return {"p50_us": figures["produce_p50_us"], "cpu_ns": figures["cpu_ns"]}
    return figures


def compare(row: Row, names: list[str], rounds: int, place: Place) -> Iterator[Comparison]:
    """Compares every figure of the row."""
    ratios: dict[str, dict[str, list[float]]] = {}
    rulers: dict[str, list[float]] = {}
    for _ in range(rounds):
        touch_memory()
        runs = [measure(SERVERS[name], row, place) for name in ("ruler", *names, "ruler")]
        for figure in runs[0]:
            ruler = (runs[0][figure] + runs[-1][figure]) / 2
            rulers.setdefault(figure, []).append(ruler)
            for name, run in zip(names, runs[1:-1], strict=True):
                ratio = run[figure] / ruler
                ratios.setdefault(figure, {}).setdefault(name, []).append(ratio)
    for figure, by_name in ratios.items():
        medians = {name: Ratio.of(values) for name, values in by_name.items()}
        yield Comparison(row, figure, statistics.median(rulers[figure]), medians)


def main() -> None:
    """Prints the table of the requested rows."""
    parser = argparse.ArgumentParser(description="Compare servers with the ruler.")
    parser.add_argument("servers", nargs="+", choices=[name for name in SERVERS if name != "ruler"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--row", action="append", help="a row's name; all when left out")
    parser.add_argument("--data", type=Path, default=BUILT, help="on the disk to be measured")
    parser.add_argument("--realtime", action="store_true", help="before all other processes")
    parser.add_argument("--all-cores", action="store_true", help="for server and load alike")
    options = parser.parse_args()
    priority = REALTIME if options.realtime else ()
    place = Place(options.data, priority, is_pinned=not options.all_cores)
    print(f"| row | figure | ruler | {' | '.join(options.servers)} |")
    print("|---" * (3 + len(options.servers)) + "|")
    for row in ROWS:
        if options.row is None or row.name in options.row:
            for found in compare(row, options.servers, options.rounds, place):
                cells = [row.name, found.figure, f"{found.ruler:,.0f}"]
                cells += [str(found.ratios[name]) for name in options.servers]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
