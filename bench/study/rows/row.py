"""A row of the study, and the cell in which it is measured for one peer and client."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from study.clients import CLIENTS, Client, Consume, Produce, Target
from study.clients.client import Outcome
from study.errors import StudyError
from study.peers.peer import ClientName, Mode, Peer, Running
from study.peers.streamlog import command
from study.plan import Scale
from study.processes import disk_bytes, written_bytes

SETTLE_SECONDS = 0.3
SETTLED_WITHIN = 15.0


@dataclass(frozen=True)
class Subject:
    """A peer with a client."""

    peer: Peer
    client: ClientName

    @property
    def key(self) -> str:
        """Its name in results."""
        return f"{self.peer.name}/{self.client}"


@dataclass(frozen=True)
class Cell:
    """A subject that a row is measured for."""

    subject: Subject
    mode: Mode
    folder: Path
    """An empty folder on the disk to be measured."""
    scale: Scale
    topic: str
    running: Running | None = None
    """The running peer; None for rows that start it themselves."""

    @property
    def peer(self) -> Peer:
        """The peer."""
        return self.subject.peer

    @property
    def client(self) -> Client:
        """Its load generator."""
        return CLIENTS[self.subject.client]

    @property
    def is_running(self) -> Running:
        """The running peer; fails if a row starts it itself."""
        if self.running is None:
            raise StudyError("the row starts its peer itself")
        return self.running

    @property
    def target(self) -> Target:
        """The topic of this cell, in the running peer."""
        return Target(self.peer, self.is_running, self.topic, self.scale.seconds)

    @contextmanager
    def started(self) -> Iterator[Running]:
        """Starts the peer during the block, for rows that measure the start."""
        with self.peer.running(self.mode, self.folder) as running:
            yield running

    def produce(self, work: Produce) -> Outcome:
        """Produces, and checks that every record is counted unless the time was over."""
        began = time.monotonic()
        outcome = self.client.produce(self.target, work)
        check(outcome, work.records, time.monotonic() - began, self.scale.seconds)
        return outcome

    def consume(self, work: Consume) -> Outcome:
        """Consumes, and checks the number of records in the same way."""
        began = time.monotonic()
        outcome = self.client.consume(self.target, work)
        check(outcome, work.records, time.monotonic() - began, self.scale.seconds)
        return outcome

    def create(self, partitions: int) -> None:
        """Creates the topic with partitions, on a broker of Kafka's protocol."""
        words = [command(), "topic", "create", self.topic, "--partitions", str(partitions)]
        words += ["--bootstrap", self.is_running.address]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise StudyError(f"the topic was not created: {done.stderr.strip()}")

    def settled_bytes(self) -> int:
        """Returns the bytes on disk once they change no more."""
        deadline = time.monotonic() + SETTLED_WITHIN
        before, now = -1, disk_bytes(self.folder)
        while now != before and time.monotonic() < deadline:
            time.sleep(SETTLE_SECONDS)
            before, now = now, disk_bytes(self.folder)
        return now

    def written(self) -> int:
        """Returns the bytes that the peer has caused to be written since its start."""
        return written_bytes(self.is_running.pids)


@dataclass(frozen=True)
class Row:
    """A measurement that is repeated for every subject and round."""

    name: str
    title: str
    family: str
    mode: Mode
    measure: Callable[[Cell], Outcome]
    figure: str = "per_second"
    """The figure by which subjects are compared."""
    fits: Callable[[Subject], bool] = lambda subject: True
    is_acknowledged: bool = True
    starts_peer: bool = False

    @property
    def more_is_better(self) -> bool:
        """True for rates."""
        return self.figure.endswith("per_second")

    def subjects(self, peer: Peer) -> list[Subject]:
        """The subjects of a peer for this row."""
        if self.mode not in peer.promises:
            return []
        clients = peer.clients[:1] if self.starts_peer else peer.clients
        return [subject for client in clients if self.fits(subject := Subject(peer, client))]


def has_batches(subject: Subject) -> bool:
    """True if the client sends batches of a size that it is told."""
    return subject.peer.has_batches


def check(outcome: Outcome, wanted: int, elapsed: float, limit: float) -> None:
    """Fails if records are missing although there was time for them."""
    records = outcome.figures["records"]
    if records == 0:
        raise StudyError(f"no record within {limit:g} s")
    if records < wanted and elapsed < limit:
        raise StudyError(f"{records:g} of {wanted} records after {elapsed:.1f} s")


def sync() -> None:
    """Writes all dirty pages, so that no measurement pays for the one before it."""
    os.sync()
