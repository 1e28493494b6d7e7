"""A batch larger than its topic allows is split; only a record too large by itself fails."""

import json
import random

import pytest

import streamlog
from py.support.producers import PRODUCERS

COUNT = 3000
LARGE = COUNT // 2
LIMIT = 16 << 10
"""The topic's limit in bytes: a quarter of the default batch size."""


@pytest.fixture
def topic(streamlog_client: streamlog.Client, streamlog_topic: str) -> str:
    """A topic with one partition and small batches."""
    config = {"max.message.bytes": LIMIT}
    streamlog_client.admin.create_topic(streamlog_topic, partitions=1, config=config)
    return streamlog_topic


def values(large: int | None) -> list[bytes]:
    """Incompressible bytes; number ``large`` is larger than the topic allows."""
    numbers = random.Random(7)
    sizes = (LIMIT + 1000 if number == large else 100 for number in range(COUNT))
    return [numbers.randbytes(size) for size in sizes]


def stored(client: streamlog.Client, topic: str) -> list[tuple[int, bytes | None]]:
    """Returns the offsets and values of a topic."""
    return [(message.offset, message.value) for message in client.topic(topic)]


@pytest.mark.parametrize("kind", PRODUCERS)
def test_all_but_the_record_that_is_too_large_alone_are_delivered_in_order(
    streamlog_client: streamlog.Client, topic: str, kind: str
) -> None:
    sent = values(large=LARGE)
    producer = streamlog_client.producer(**PRODUCERS[kind])
    tickets = [producer.send(topic, value) for value in sent]
    with pytest.raises(streamlog.DeliveryError, match="1 records were not delivered") as caught:
        producer.flush()
    ((name, partition, records, error),) = caught.value.failures
    assert (name, partition, records) == (topic, 0, 1)
    assert isinstance(error, streamlog.MessageTooLarge)
    with pytest.raises(streamlog.MessageTooLarge, match=r"max\.message\.bytes") as raised:
        tickets.pop(LARGE).result()
    assert LIMIT + 1000 < raised.value.size < LIMIT + 1200
    del sent[LARGE]
    placed = [ticket.result().offset for ticket in tickets]
    assert placed == list(range(COUNT - 1))
    assert stored(streamlog_client, topic) == list(enumerate(sent))
    producer.close()


def test_without_order_nothing_is_lost_or_duplicated_either(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    sent = values(large=None)
    with streamlog_client.producer(acks=1) as producer:
        tickets = [producer.send(topic, value) for value in sent]
    placed = [(ticket.result().offset, value) for ticket, value in zip(tickets, sent, strict=True)]
    assert stored(streamlog_client, topic) == sorted(placed)


def test_batches_that_were_split_are_counted_as_delivered(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    base = 1_700_000_000_000 // 60_000 * 60_000
    windows = [base, base + 60_000]

    def told() -> dict[int, int]:
        counts = dict.fromkeys(windows, 0)
        for message in streamlog_client.topic("streamlog.audit").read():
            row = json.loads(message.value or b"")
            if row["topic"] == topic:
                counts[row["from_ms"]] += row["count"]
        return counts

    producer = streamlog_client.producer(audit="front", audit_window=60.0)
    for number, value in enumerate(values(large=LARGE)):
        producer.send(topic, value, timestamp=windows[number % 2])
    with pytest.raises(streamlog.DeliveryError):
        producer.close()
    assert told() == {windows[0]: COUNT // 2 - 1, windows[1]: COUNT // 2}


def test_callers_waiting_for_a_split_batch_get_its_outcome(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    streamlog_client.admin.set_settings({"max.message.bytes": 400}, topic=topic)
    with streamlog_client.producer(linger=0.2) as producer:
        tickets = [producer.send(topic, bytes([number]) * 100) for number in range(9)]
        assert [ticket.result(10).offset for ticket in tickets] == list(range(9))
