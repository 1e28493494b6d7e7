"""The interface of load generators, and the work that they are given."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from study.errors import StudyError
from study.peers.peer import Peer, Running

Figures: TypeAlias = dict[str, float]
START_SECONDS = 180.0
ERROR_CHARACTERS = 800


@dataclass(frozen=True)
class Target:
    """A topic, queue or stream of a running peer, and the longest time of a measurement."""

    peer: Peer
    running: Running
    topic: str
    seconds: float


@dataclass(frozen=True)
class Produce:
    """Records that are sent as fast as the peer accepts them."""

    records: int
    record_bytes: int = 200
    batch: int = 1
    in_flight: int = 1000
    acks: int = 1
    partitions: int = 1
    warm_up: int = 0


@dataclass(frozen=True)
class Consume:
    """Records that are read from the beginning as fast as the peer sends them."""

    records: int
    record_bytes: int = 200
    prefetch_bytes: int = 1 << 20
    prefetch_records: int = 5000
    warm_up: int = 0


@dataclass(frozen=True)
class Latency:
    """Records that are sent at a fixed rate, and timed until a consumer has them."""

    records: int
    rate: float
    record_bytes: int = 200
    warm_up: int = 0


@dataclass(frozen=True)
class Outcome:
    """The figures of a measurement, and the progress meanwhile: (records, seconds)."""

    figures: Figures
    series: list[tuple[int, float]]


class Client(Protocol):
    """A load generator."""

    def describe(self, peer: Peer) -> str:
        """Returns its name as shown in the tables."""

    def produce(self, target: Target, work: Produce) -> Outcome:
        """Sends records."""

    def consume(self, target: Target, work: Consume) -> Outcome:
        """Reads the records of a topic that was filled before."""

    def latency(self, target: Target, work: Latency) -> Outcome:
        """Times single records."""


def run(words: Sequence[str], seconds: float) -> Outcome:
    """Runs a load generator, and returns what its line of JSON says."""
    limit = START_SECONDS + 2 * seconds
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise StudyError(f"the load did not end within {limit:g} s") from error
    if done.returncode != 0:
        raise StudyError(f"the load failed: {done.stderr.strip()[-ERROR_CHARACTERS:]}")
    figures = json.loads(done.stdout.splitlines()[-1])
    series = [(int(records), float(at)) for records, at in figures.pop("series", [])]
    return Outcome({name: float(value) for name, value in figures.items()}, series)
