"""A trigger never exceeds its limits, and serves every partition with a backlog."""

import random

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows

import streamlog
from py.support.broker import BrokerProcess, until
from spark.parts.played import Played
from streamlog.spark.reading.offsets import Offsets, TopicPartition
from streamlog.spark.reading.settings import Admission
from streamlog.spark.streaming.admission import Gate, shared_out

BUSY, QUIET = ("orders", 0), ("orders", 1)


def places(count: int) -> list[TopicPartition]:
    """Returns the names of partitions."""
    return [("orders", number) for number in range(count)]


def triggers(gate: Gate, ends: Offsets, limit: ReadLimit, count: int) -> list[Offsets]:
    """Returns the offsets that each trigger admits of each partition, from offset 0 on."""
    at, taken = dict.fromkeys(ends, 0), []
    for _ in range(count):
        to = gate.admit(at, ends, limit)
        taken.append({place: to[place] - at[place] for place in ends})
        at = to
    return taken


def gate(each: float = 1.0, **limits: int) -> Gate:
    """Returns a gate for records of this size."""
    return Gate(Admission(**limits), lambda place, start, stop: each)


def test_a_quiet_partition_advances_beside_a_busy_one() -> None:
    ends = {BUSY: 1_000_000, QUIET: 50}
    taken = triggers(gate(max_offsets=1000), ends, ReadMaxRows(1000), 50)
    assert all(sum(part.values()) == 1000 for part in taken)
    assert [part[QUIET] for part in taken] == [1] * 50


def test_a_quiet_partition_advances_beside_a_busy_one_by_bytes_too() -> None:
    ends = {BUSY: 1_000_000, QUIET: 50}
    taken = triggers(gate(10.0, max_bytes=10_000), ends, ReadAllAvailable(), 50)
    # A trigger without limits admits all records at once.
    assert taken[0] == ends
    taken = triggers(gate(10.0, max_bytes=10_000), ends, ReadMaxBytes(10_000), 50)
    assert all(990 <= sum(part.values()) <= 1000 for part in taken)
    assert [part[QUIET] for part in taken] == [1] * 50


def test_more_partitions_than_the_limit_take_turns() -> None:
    ends = dict.fromkeys(places(5), 4)
    taken = triggers(gate(max_offsets=2), ends, ReadMaxRows(2), 10)
    assert [[number for (_, number), count in part.items() if count] for part in taken] == [
        [0, 1], [2, 3], [0, 4], [1, 2], [3, 4], [0, 1], [2, 3], [0, 4], [1, 2], [3, 4],
    ]  # fmt: skip


def test_a_record_larger_than_the_limit_passes_alone_and_partitions_take_turns() -> None:
    ends = dict.fromkeys(places(3), 2)
    taken = triggers(gate(100.0, max_bytes=10), ends, ReadMaxBytes(10), 6)
    found = [next(number for (_, number), count in part.items() if count) for part in taken]
    assert found == [0, 1, 2, 0, 1, 2]
    assert all(sum(part.values()) == 1 for part in taken)


@pytest.mark.parametrize("seed", range(50))
def test_shares_are_what_may_be_taken_and_no_partition_is_omitted(seed: int) -> None:
    chance = random.Random(seed)
    backlogs = {place: chance.choice([0, 1, 50, 10**6]) for place in places(chance.randint(1, 9))}
    most = chance.randint(1, 2000)
    shares = shared_out(backlogs, most)
    waiting = [place for place, count in backlogs.items() if count]
    assert list(shares) == list(backlogs)
    assert all(0 <= shares[place] <= backlogs[place] for place in backlogs)
    assert sum(shares.values()) == min(most, sum(backlogs.values()))
    assert all(shares[place] for place in waiting[:most])


def test_too_little_is_taken_when_it_has_waited_for_long_enough(
    broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    def publish(count: int) -> None:
        with client.producer() as producer:
            producer.send_all(topic, [b"value"] * count)

    client.admin.create_topic(topic, partitions=1)
    limits = {"minOffsetsPerTrigger": "90", "maxTriggerDelay": "1h"}
    played = Played(broker.address, subscribe=topic, **limits)
    publish(60)
    assert played.trigger() == []
    publish(60)
    assert len(played.trigger()) == 120
    publish(60)
    assert played.trigger() == []
    played.restart(maxTriggerDelay="1s")
    until(lambda: len(played.trigger()) == 60, 20)
    played.reader.stop()
