"""Instructions that a broker's shard executes for a request, which noise does not change.

The broker runs under callgrind, with one request in flight. A figure is the difference between a
long load and a short one, divided by their difference in requests, so that connecting and whatever
else happens once does not count.
"""

import dataclasses
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, Gate, Work, at_most
from servers import Place, Running, Server, broker, running

RECORD_BYTES = 200
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A kind of request."""

    name: str
    load: tuple[str, ...]
    batch: int
    """The records of a request."""
    requests: int
    """The requests of the short load; the long one has four times as many."""
    gate: Gate

    def records(self, times: int = 1) -> str:
        """The number of records of so many short loads, as an option."""
        return str(self.batch * self.requests * times)


ROWS = [
    Row("produce 1", ("produce", "--batch", "1"), 1, 2_000, at_most(21_000)),
    Row("produce 50", ("produce", "--batch", "50"), 50, 200, at_most(42_000)),
    # A response has room for one batch of fifty records, and not for two.
    Row("fetch 50", ("fetch", "--max-bytes", "12000"), 50, 200, at_most(69_000)),
]


def rows(rounds: int, place: Place) -> Iterator[Figure]:
    """Yields all rows: the lowest of the rounds, each with a broker of its own.

    Other programs only add instructions: the shard then sleeps and wakes more often.
    """
    found = [measure(place) for _ in range(rounds)]
    for row in ROWS:
        counts = sorted(counted[row.name] for counted in found)
        work = Work("page cache", "bench/load", 1, RECORD_BYTES, row.batch)
        name = "instructions/request"
        yield Figure(row.name, name, counts[0], work, row.gate, counts[0], counts[-1])


def measure(place: Place) -> dict[str, float]:
    """Returns the instructions of a request of each kind."""
    with running(counting(broker()), place) as started:
        # At least the records that are fetched, and all code is run once.
        warm_up = ("produce", "--batch", "50", "--records", ROWS[-1].records(times=4))
        started.load(*warm_up, "--in-flight", "1", "--create")
        shard = busiest(dump(started))
        found = {}
        for row in ROWS:
            one_at_once = ("--in-flight", "1") if row.load[0] == "produce" else ()
            counts = []
            for times in (1, 4):
                started.load(*row.load, *one_at_once, "--records", row.records(times))
                counts.append(dump(started)[shard])
            found[row.name] = (counts[1] - counts[0]) / (3 * row.requests)
    return found


def counting(server: Server) -> Server:
    """Returns the same server under callgrind, which counts the threads apart."""
    files = ("--callgrind-out-file={data}/callgrind", "--log-file={data}/valgrind.log")
    counter = ("valgrind", "--tool=callgrind", "--separate-threads=yes", *files)
    command = (*counter, *server.command)
    # The topic is created by the first load alone.
    return dataclasses.replace(server, command=command, load_options=())


def dump(started: Running) -> dict[str, int]:
    """Returns the instructions of each thread since the previous dump."""
    old = set(started.data.glob("callgrind.*"))
    command = ["callgrind_control", "--dump", str(started.pid)]
    subprocess.run(command, check=True, capture_output=True)
    new = set(started.data.glob("callgrind.*")) - old
    assert new, f"callgrind dumped nothing into {started.data}"
    return {path.name.rpartition("-")[2]: total(path) for path in new}


def total(path: Path) -> int:
    """Returns the instructions of one thread."""
    found = _TOTAL.search(path.read_text())
    return int(found[1]) if found else 0


def busiest(counts: dict[str, int]) -> str:
    """Returns the thread that executed the most: the shard."""
    return max(counts, key=lambda thread: counts[thread])
