"""Kafka Streams: words counted in windows, by an application that is killed on the way."""

import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import streamlog
from interop.apache.conftest import FIRST_MS
from interop.apache.running import Program, Tools
from py.support.broker import BrokerProcess, until

WINDOW_MS = 10_000
PATIENCE_SECONDS = 60
PARTITIONS = 2
WORDS = ("log", "topic", "partition", "segment", "offset", "batch", "record")
Counts = Counter[tuple[str, int]]


def produce(client: streamlog.Client, topic: str, first: int, end: int) -> Counts:
    """Writes lines of words, two a second by their timestamps, and returns the counts of these."""
    start = FIRST_MS // WINDOW_MS * WINDOW_MS
    counts: Counts = Counter()
    with client.producer() as producer:
        for number in range(first, end):
            words = [WORDS[number % 7], WORDS[number % 5], WORDS[number * number % 7]]
            timestamp = start + number * 500
            line = " ".join(words).encode()
            producer.send(topic, line, partition=number % PARTITIONS, timestamp=timestamp)
            counts.update((word, timestamp // WINDOW_MS * WINDOW_MS) for word in words)
    return counts


class Counting:
    """The application, its topics, and the state that it keeps beside them."""

    def __init__(self, client: streamlog.Client, name: str, folder: Path, address: str) -> None:
        """Creates its topics; it is not started yet."""
        self.client = client
        self.name, self.lines, self.counts = name, f"{name}-lines", f"{name}-counts"
        client.admin.create_topic(self.lines, partitions=PARTITIONS)
        client.admin.create_topic(self.counts, partitions=1)
        self.state = folder / "state"
        self.log = folder / "streams.log"
        self.arguments = (address, name, str(self.state), self.lines, self.counts)

    def last_counts(self, since: int = 0) -> Counts:
        """The last count of each word and window that it has written."""
        counts: Counts = Counter()
        for message in self.client.topic(self.counts).read(start=since):
            word, start = message.key.decode().split("@")
            counts[word, int(start)] = int.from_bytes(message.value or b"", "big")
        return counts

    def has_counted(self, expected: Counts, since: int = 0) -> bool:
        """Returns true if these counts are written and all input is committed.

        Words that are counted but not committed would be counted again after a kill.
        """
        is_known = self.name in self.client.admin.groups()
        lag = self.client.admin.group(self.name).lag() if is_known else {}
        is_done = self.filled() <= lag.keys() and not any(lag.values())
        return is_done and self.last_counts(since) == expected

    def filled(self) -> set[tuple[str, int]]:
        """The partitions with lines or words that it reads."""
        topics = {self.lines, f"{self.name}-counts-repartition"} & set(self.client.admin.topics())
        ends = {topic: self.client.admin.end_offsets(topic) for topic in topics}
        return {
            (topic, partition) for topic in ends for partition, end in ends[topic].items() if end
        }

    def count_and_be_killed(self, expected: Counts, since: int = 0) -> None:
        """Runs it up to these counts, kills it and takes the state away that it had on disk."""
        with Program(self.log, "Kafka Streams", *self.arguments):
            until(partial(self.has_counted, expected, since), PATIENCE_SECONDS)
        shutil.rmtree(self.state)


@pytest.mark.tool("Kafka Streams", "count")
@pytest.mark.tool("kafka-streams-application-reset", "reset")
def test_windows_are_counted_through_a_kill_and_again_after_a_reset(
    broker: BrokerProcess, tools: Tools, observer: streamlog.Client, name: str, tmp_path: Path
) -> None:
    application = Counting(observer, name, tmp_path, broker.address)
    # The kill comes in the middle of a window: its count so far is in the changelog only.
    counts = produce(observer, application.lines, 0, 410)
    application.count_and_be_killed(counts)
    counts += produce(observer, application.lines, 410, 800)
    application.count_and_be_killed(counts)
    internal = {"counts-changelog": "compact,delete", "counts-repartition": "delete"}
    for topic, policy in internal.items():
        settings = observer.admin.settings(topic=f"{name}-{topic}")
        assert settings["cleanup.policy"].value == policy

    # Members that expire while the tool removes them make it fail.
    until(lambda: not observer.admin.group(name).describe().members, PATIENCE_SECONDS)
    words = ("--application-id", name, "--input-topics", application.lines, "--force")
    assert "Done." in tools.ask("kafka-streams-application-reset", *words)
    assert not {f"{name}-{topic}" for topic in internal} & set(observer.admin.topics())
    end = observer.topic(application.counts).partition(0).end_offset()
    application.count_and_be_killed(counts, since=end)
