"""A producer with ``audit`` publishes counts of its delivered records by topic and window."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import streamlog
from py.support.broker import until
from streamlog import aio

AUDIT = "streamlog.audit"


@pytest.fixture
def fresh() -> Iterator[streamlog.Client]:
    """A client of a broker without any counts."""
    with streamlog.Broker() as broker, broker.connect() as client:
        yield client


def told(client: streamlog.Client) -> list[dict[str, Any]]:
    """Returns the published counts, in the order of their numbers."""
    if AUDIT not in client.admin.topics():
        return []
    rows = [json.loads(message.value or b"") for message in client.topic(AUDIT).read()]
    return sorted(rows, key=lambda row: (row["producer"], row["number"]))


def sums(rows: list[dict[str, Any]]) -> Counter[tuple[str, str, int]]:
    """Returns the number of records by tier, topic and start of the window."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for row in rows:
        counts[row["tier"], row["topic"], row["from_ms"]] += row["count"]
    return counts


def test_delivered_records_are_counted_by_topic_and_window(fresh: streamlog.Client) -> None:
    base = 1_700_000_000_000 // 60_000 * 60_000
    with fresh.producer(audit="front", audit_window=60.0) as producer:
        for number in range(1000):
            producer.send(f"topic-{number % 2}", b"x", timestamp=base + number * 120)
        producer.flush()
        first = told(fresh)
        assert sum(row["count"] for row in first) == 1000
        producer.send("topic-0", b"late", timestamp=base)
    rows = told(fresh)
    assert [row["number"] for row in rows] == list(range(len(rows)))
    assert rows[: len(first)] == first
    expected: Counter[tuple[str, str, int]] = Counter({("front", "topic-0", base): 1})
    for number in range(1000):
        start = base + number * 120 // 60_000 * 60_000
        expected["front", f"topic-{number % 2}", start] += 1
    assert sums(rows) == expected
    assert {row["window_ms"] for row in rows} == {60_000}


def test_two_producers_have_names_of_their_own(fresh: streamlog.Client) -> None:
    for _ in range(2):
        with fresh.producer(audit="front") as producer:
            producer.send("orders", b"x")
    rows = told(fresh)
    assert [row["number"] for row in rows] == [0, 0]
    assert len({row["producer"] for row in rows}) == 2


def test_a_producer_without_it_publishes_no_counts(fresh: streamlog.Client) -> None:
    with fresh.producer() as producer:
        producer.send("orders", b"x")
    assert fresh.admin.topics() == ["orders"]


def test_undelivered_records_are_not_counted(fresh: streamlog.Client) -> None:
    fresh.admin.create_topic("small", config={"max.message.bytes": 200})
    producer = fresh.producer(audit="front")
    producer.send("small", bytes(1000))
    producer.send("orders", b"x")
    with pytest.raises(streamlog.DeliveryError):
        producer.close()
    assert [(row["topic"], row["count"]) for row in told(fresh)] == [("orders", 1)]


def test_a_producer_that_nobody_flushes_publishes_counts_after_a_while(
    fresh: streamlog.Client,
) -> None:
    producer = fresh.producer(audit="front")
    producer.send("orders", b"x").result()
    until(lambda: told(fresh), 30)
    assert [row["count"] for row in told(fresh)] == [1]
    producer.close()
    assert len(told(fresh)) == 1


def test_the_log_determines_the_time(fresh: streamlog.Client) -> None:
    fresh.admin.create_topic("stamped", config={"message.timestamp.type": "LogAppendTime"})
    with fresh.producer(audit="front") as producer:
        producer.send("stamped", b"x", timestamp=1_000_000)
    time = next(fresh.topic("stamped").read()).timestamp_ms
    assert [row["from_ms"] for row in told(fresh)] == [time // 600_000 * 600_000]


def test_a_producer_on_an_event_loop_publishes_counts_too() -> None:
    async def main(address: str) -> None:
        async with aio.connect(address) as client, client.producer(audit="loop") as producer:
            await producer.send("orders", b"x")

    with streamlog.Broker() as broker, broker.connect() as client:
        asyncio.run(main(broker.address))
        assert [(row["tier"], row["count"]) for row in told(client)] == [("loop", 1)]


def test_a_name_that_is_too_long_is_refused(fresh: streamlog.Client) -> None:
    with pytest.raises(streamlog.ConfigError, match=r"audit"):
        fresh.producer(audit="x" * 201)
    with pytest.raises(streamlog.ConfigError, match=r"audit"):
        fresh.producer(audit="x", audit_window=0)
