"""Reading topics without a consumer: slices, the last messages, backwards, replays."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest

import streamlog
from streamlog.backwards import newest_first, rewound

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def topic(streamlog_client: streamlog.Client, streamlog_topic: str) -> streamlog.Topic:
    """A topic with three partitions; record n of 300 is of the nth minute, in partition n % 3."""
    streamlog_client.admin.create_topic(streamlog_topic, partitions=3)
    with streamlog_client.producer() as producer:
        for number in range(300):
            producer.send(
                streamlog_topic,
                b"%d" % number,
                partition=number % 3,
                timestamp=BEGIN + timedelta(minutes=number),
            )
    return streamlog_client.topic(streamlog_topic)


def numbers(messages: object) -> list[int]:
    assert hasattr(messages, "__iter__")
    return [int(message.value) for message in messages]


def test_a_partition_is_read_like_a_sequence(topic: streamlog.Topic) -> None:
    partition = topic.partition(1)
    assert (partition.begin_offset(), partition.end_offset()) == (0, 100)
    assert numbers(partition[10:13]) == [31, 34, 37]
    assert numbers(partition.read(start=10, stop=13)) == [31, 34, 37]
    assert numbers(partition[-2:]) == [295, 298]
    assert numbers(partition[:2]) == [1, 4]
    assert numbers(partition[98:1000]) == [295, 298]
    assert numbers(partition[50:50]) == []
    assert partition[5].value == b"16"
    assert partition[-1].value == b"298"
    assert numbers(partition) == list(range(1, 300, 3))
    with pytest.raises(IndexError, match="no message has offset 100 in"):
        partition[100]
    with pytest.raises(streamlog.ConfigError, match=r"expected \[START:STOP\]"):
        partition[::2]


def test_a_partition_is_read_backwards(topic: streamlog.Topic) -> None:
    partition = topic.partition(2)
    forwards = list(range(2, 300, 3))
    assert numbers(partition[::-1]) == forwards[::-1]
    assert numbers(reversed(partition)) == forwards[::-1]
    assert numbers(partition.reversed(limit=3)) == [299, 296, 293]
    assert numbers(partition.reversed(start=98)) == [299, 296]
    assert numbers(partition.reversed(stop=2)) == [5, 2]


def test_the_last_messages_of_a_topic_come_by_time(topic: streamlog.Topic) -> None:
    assert numbers(topic.read(start=-10)) == list(range(290, 300))
    assert numbers(topic.read(start=-10, limit=2)) == [290, 291]
    assert numbers(topic.reversed(limit=5)) == [299, 298, 297, 296, 295]
    assert sorted(numbers(topic)) == list(range(300))
    assert len(numbers(topic.read(limit=7))) == 7


def test_a_time_range_is_read_and_replayed(topic: streamlog.Topic) -> None:
    since, until = BEGIN + timedelta(minutes=100), BEGIN + timedelta(minutes=110)
    assert sorted(numbers(topic.read(since, until))) == list(range(100, 110))
    replayed = topic.replay(since, until, where=lambda message: message.partition == 0)
    assert numbers(replayed) == [102, 105, 108]
    assert sorted(numbers(topic.replay(since)))[0] == 100
    assert numbers(topic.partition(0).read(since, until)) == [102, 105, 108]
    assert numbers(topic.read(start=BEGIN + timedelta(days=1))) == []


@pytest.mark.parametrize("gap", [1, 7, 1000, 123_456])
def test_gaps_in_offsets_are_skipped(
    gap: int, monkeypatch: pytest.MonkeyPatch, streamlog_client: streamlog.Client
) -> None:
    offsets = [number * gap for number in range(100)]
    reads = 0

    def read(
        _client: object, _topic: str, parts: list[tuple[int, int, int]], decoders: object
    ) -> list[object]:
        nonlocal reads
        reads += 1
        ((_, first, stop),) = parts
        return [
            SimpleNamespace(offset=at, raw_key=None, raw_value=b"")
            for at in offsets
            if first <= at < stop
        ]

    monkeypatch.setattr("streamlog.backwards.open_range", read)
    end = offsets[-1] + gap
    found = [message.offset for message in newest_first(streamlog_client, "t", (0, 0, end))]
    assert found == offsets[::-1]
    assert reads < 60
    positions: dict[tuple[str, int], int | None] = {("t", 0): end, ("t", 1): None}
    admin = SimpleNamespace(begin_offsets=lambda _topic: {0: 0, 1: 0})
    client = cast(streamlog.Client, SimpleNamespace(admin=admin))
    assert rewound(client, positions, 25) == {("t", 0): offsets[-25]}


def test_missing_topics_and_invalid_positions_are_reported(
    streamlog_client: streamlog.Client, topic: streamlog.Topic
) -> None:
    with pytest.raises(streamlog.TopicNotFound, match="nowhere"):
        list(streamlog_client.topic("nowhere").read())
    with pytest.raises(streamlog.TopicNotFound, match="no partition 3"):
        topic.partition(3).read()
    with pytest.raises(streamlog.ConfigError, match="time zone"):
        topic.read(start=datetime(2026, 11, 1))
    with pytest.raises(streamlog.ConfigError, match="stop: invalid value -3"):
        topic.read(stop=-3)
