"""Compares servers with the ruler, in rounds of ruler, A, B, ..., ruler on the same machine.

Absolute figures drift with the hour and with whoever shares the machine; what is kept of a round is
each server's ratio to the mean of the two rulers around it. The result of a row is the median of
those ratios with the 90 % interval of that median. Every server starts anew for every row, in a
fresh directory, on a core of its own, and a warm-up is thrown away. Where others compute on the
same cores, `--realtime` keeps their time slices out of the figures: a server that sleeps for each
flush otherwise waits for the scheduler rather than for the disk.

    python bench/rounds.py --rounds 15 inline queued
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).parent
BUILT = BENCH / "target" / "release"
SERVER_CORE, LOAD_CORE = ("taskset", "-c", "1"), ("taskset", "-c", "0")
REALTIME = ("chrt", "--fifo", "10")


@dataclass(frozen=True)
class Server:
    """How to start a server; `{data}` is its directory. It prints `ready HOST:PORT`."""

    command: tuple[str, ...]
    flushed: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    load_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One kind of work under one promise."""

    name: str
    flushed: bool
    load: tuple[str, ...]
    prepare: tuple[str, ...] = field(default=("produce", "--records", "20000"))


@dataclass(frozen=True)
class Place:
    """Where and how servers run: a directory on the disk to be measured, and a command before."""

    data: Path
    priority: tuple[str, ...]


SERVERS = {
    "ruler": Server((str(BUILT / "ruler"), "{data}/log"), flushed=("--flush",)),
    "inline": Server((str(BUILT / "spike"), "{data}/log", "inline"), flushed=("--flush",)),
    "queued": Server((str(BUILT / "spike"), "{data}/log", "queued"), flushed=("--flush",)),
    "yielding": Server((str(BUILT / "spike"), "{data}/log", "yielding"), flushed=("--flush",)),
    # The broker of the installed package, with one shard, as the ruler has one thread.
    "streamlog": Server(
        (
            *("streamlog", "broker", "--listen", "127.0.0.1:0", "--data-dir", "{data}/broker"),
            *("--log", "error", "--set", "num.network.threads=1"),
        ),
        cached=("--set", "write.caching=true"),
        load_options=("--create",),
    ),
}

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
]


@contextmanager
def running(server: Server, row: Row, place: Place, data: str) -> Iterator[tuple[str, int]]:
    """The server's address and process id, until the block is left."""
    options = server.flushed if row.flushed else server.cached
    command = [part.replace("{data}", data) for part in (*server.command, *options)]
    process = subprocess.Popen(
        [*SERVER_CORE, *place.priority, *command], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[:1] == ["ready"], f"{command} said {ready}"
        yield ready[1], process.pid
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def measure(server: Server, row: Row, place: Place) -> dict[str, float]:
    """The figures of one run."""
    data = tempfile.mkdtemp(dir=place.data)
    try:
        with running(server, row, place, data) as (address, pid):
            base = (*LOAD_CORE, *place.priority, str(BUILT / "load"), address)
            subprocess.run(
                [*base, *row.prepare, *server.load_options], check=True, capture_output=True
            )
            done = subprocess.run(
                [*base, *row.load, "--pid", str(pid)], check=True, capture_output=True, text=True
            )
    finally:
        shutil.rmtree(data)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def interval(values: list[float]) -> tuple[float, float]:
    """The 90 % interval of the median, by drawing the rounds anew."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return medians[100], medians[1900]


def compare(row: Row, names: list[str], rounds: int, place: Place) -> Iterator[str]:
    """Lines of a table: each figure of the row, the ruler's median, the others' ratios."""
    ratios: dict[str, dict[str, list[float]]] = {}
    rulers: dict[str, list[float]] = {}
    for _ in range(rounds):
        runs = [measure(SERVERS[name], row, place) for name in ("ruler", *names, "ruler")]
        for figure in runs[0].keys() - {"records"}:
            ruler = (runs[0][figure] + runs[-1][figure]) / 2
            rulers.setdefault(figure, []).append(ruler)
            for name, run in zip(names, runs[1:-1], strict=True):
                ratio = run[figure] / ruler
                ratios.setdefault(figure, {}).setdefault(name, []).append(ratio)
    for figure, by_name in sorted(ratios.items()):
        cells = [row.name, figure, f"{statistics.median(rulers[figure]):,.0f}"]
        for name in names:
            low, high = interval(by_name[name])
            cells.append(f"{statistics.median(by_name[name]):.2f} ({low:.2f} to {high:.2f})")
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table of the rows asked for."""
    parser = argparse.ArgumentParser(description="Compare servers with the ruler.")
    parser.add_argument("servers", nargs="+", choices=[name for name in SERVERS if name != "ruler"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--row", action="append", help="a row's name; all when left out")
    parser.add_argument("--data", type=Path, default=BUILT, help="on the disk to be measured")
    parser.add_argument("--realtime", action="store_true", help="before all other processes")
    options = parser.parse_args()
    place = Place(options.data, REALTIME if options.realtime else ())
    print(f"| row | figure | ruler | {' | '.join(options.servers)} |")
    print("|---" * (3 + len(options.servers)) + "|")
    for row in ROWS:
        if options.row is None or row.name in options.row:
            for line in compare(row, options.servers, options.rounds, place):
                print(line, flush=True)


if __name__ == "__main__":
    main()
