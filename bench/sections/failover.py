"""The time until another leader acknowledges records, by the end of the one before it.

A killed leader's guard ends its session at once. Without it, or if the leader is only paused, the
session lasts for its time-out, and another broker leads afterwards.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from confluent_kafka import KafkaError, Producer
from figures import Figure, Gate, Work, at_most
from three_brokers import Member, ThreeBrokers, until

KILLS_MIN = 20
STOPS_MIN = 5
LOSSES_MIN = 5
# The default of `zookeeper.session.timeout.ms`.
SESSION_SECONDS = 6.0

Client: TypeAlias = Callable[[ThreeBrokers, str], Callable[[], None]]
"""Returns a function that writes one record to a topic, and returns once it is acknowledged."""

Lose: TypeAlias = Callable[[Member], Callable[[], None]]
"""Takes a broker from the cluster, and returns how to give it back."""


def rows(brokers: ThreeBrokers, topic: str, rounds: int) -> Iterator[Figure]:
    """Yields all rows."""
    yield killed(brokers, topic, max(rounds, KILLS_MIN))
    yield stopped(brokers, topic, max(rounds, STOPS_MIN))
    soon = at_most(1.5 * SESSION_SECONDS)
    times = max(rounds, LOSSES_MIN)
    for row, lose in (("kill -9 of a leader and its guard", kill_both), ("SIGSTOP", pause)):
        title = f"{row}, {times} times"
        seconds = [lost(brokers, topic, lose, streamlog_client) for _ in range(times)]
        yield figure(title, "streamlog", seconds, soon)
        # Its own time limit ends the wait for a paused leader.
        gate = None if lose is pause else soon
        seconds = [lost(brokers, topic, lose, confluent) for _ in range(times)]
        yield figure(title, "confluent-kafka", seconds, gate)


def streamlog_client(brokers: ThreeBrokers, topic: str) -> Callable[[], None]:
    """The client of streamlog."""
    producer = brokers.client.producer()

    def write() -> None:
        producer.send(topic, bytes(200)).result()

    return write


def confluent(brokers: ThreeBrokers, topic: str) -> Callable[[], None]:
    """The client of librdkafka, with its defaults."""
    addresses = ",".join(member.address for member in brokers.members.values())
    producer = Producer({"bootstrap.servers": addresses, "log_level": 0})

    def write() -> None:
        errors: list[KafkaError | None] = []
        producer.produce(topic, bytes(200), on_delivery=lambda error, _: errors.append(error))
        producer.flush()
        assert errors == [None], errors

    return write


class Writer(threading.Thread):
    """Writes one record after another, and notes when each was sent and acknowledged."""

    def __init__(self, write: Callable[[], None]) -> None:
        """Begins to write, and waits for the first acknowledgement."""
        super().__init__(daemon=True)
        self._write = write
        self._is_over = threading.Event()
        # The times of sending and of the acknowledgement.
        self.written: list[tuple[float, float]] = []
        self.start()
        until(lambda: bool(self.written), "nothing is acknowledged")

    def run(self) -> None:
        """Writes."""
        while not self._is_over.is_set():
            sent = time.perf_counter()
            self._write()
            self.written.append((sent, time.perf_counter()))

    def first_since(self, moment: float) -> float:
        """Waits for the acknowledgement of a record that was sent later, and returns its time."""
        until(lambda: self.written[-1][0] > moment, "nothing is acknowledged")
        return next(acknowledged for sent, acknowledged in self.written if sent > moment)

    def longest_since(self, moment: float) -> float:
        """The longest time to an acknowledgement of those that came later."""
        return max(heard - sent for sent, heard in self.written if heard > moment)

    def finish(self) -> None:
        """Ends the writing."""
        self._is_over.set()
        self.join()


def killed(brokers: ThreeBrokers, topic: str, kills: int) -> Figure:
    """Measures from the kill of a leader to the first record that another acknowledges."""
    seconds = [lost(brokers, topic, kill, streamlog_client) for _ in range(kills)]
    # Of so few values, the 99th percentile would be their maximum too.
    return figure(f"kill -9 of a leader, {kills} times", "streamlog", seconds, at_most(1))


def stopped(brokers: ThreeBrokers, topic: str, stops: int) -> Figure:
    """Measures how long a producer waits during a controlled stop of the leader."""
    times = []
    for _ in range(stops):
        with loss(brokers, topic, stop, streamlog_client) as (writer, began):
            writer.first_since(time.perf_counter())
            times.append(writer.longest_since(began) * 1000)
    row = f"controlled stop of a leader, {stops} times"
    name = "ms, the longest acknowledgement"
    return Figure(row, name, max(times), gate=at_most(500), low=min(times), high=max(times))


def stop(leader: Member) -> Callable[[], None]:
    """Ends a broker, which hands over first, and returns how to start it again."""
    leader.end(signal.SIGTERM)
    return leader.start


def kill(leader: Member) -> Callable[[], None]:
    """Kills a broker, and returns how to start it again."""
    leader.end(signal.SIGKILL)
    return leader.start


def kill_both(leader: Member) -> Callable[[], None]:
    """Kills a broker and its guard, and returns how to start it again."""
    children = Path(f"/proc/{leader.pid}/task/{leader.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    return kill(leader)


def pause(leader: Member) -> Callable[[], None]:
    """Stops the process of a broker without ending it, and returns how it goes on."""
    os.kill(leader.pid, signal.SIGSTOP)
    return lambda: os.kill(leader.pid, signal.SIGCONT)


@contextmanager
def loss(
    brokers: ThreeBrokers, topic: str, lose: Lose, client: Client
) -> Iterator[tuple[Writer, float]]:
    """Loses the leader under load, and yields the writer and the time at which the loss began."""
    writer = Writer(client(brokers, topic))
    leader = brokers.members[brokers.leader(topic)]
    began = time.perf_counter()
    give_back = lose(leader)
    yield writer, began
    writer.finish()
    give_back()
    brokers.await_in_sync(topic)


def lost(brokers: ThreeBrokers, topic: str, lose: Lose, client: Client) -> float:
    """Returns the seconds from the loss of a leader to another one's first acknowledgement."""
    with loss(brokers, topic, lose, client) as (writer, began):
        return writer.first_since(began) - began


def figure(row: str, client: str, seconds: list[float], gate: Gate | None) -> Figure:
    """The longest of these times."""
    least, most = min(seconds), max(seconds)
    work = Work("flushed", client, 1, 200, 1)
    return Figure(row, "s to the first acknowledgement, maximum", most, work, gate, least, most)
