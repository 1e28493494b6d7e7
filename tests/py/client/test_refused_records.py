"""If a broker refuses a batch, only the records that it names fail; the others are sent again."""

import json

import pytest

import streamlog
from py.support.producers import PRODUCERS

COUNT = 3000
BAD = {0, 1, 700, 702, 703, 1500, COUNT - 1}
"""Records without a key, several in one batch: a compacted topic refuses them."""


@pytest.fixture
def compacted(streamlog_client: streamlog.Client, streamlog_topic: str) -> str:
    """A topic with one partition that refuses records without a key."""
    config = {"cleanup.policy": "compact"}
    streamlog_client.admin.create_topic(streamlog_topic, partitions=1, config=config)
    return streamlog_topic


def send(producer: streamlog.Producer, topic: str, number: int) -> streamlog.Ticket:
    """Sends a record; bad records have no key."""
    key = None if number in BAD else b"key %d" % number
    return producer.send(topic, b"value %d, " % number + bytes(90), key=key)


@pytest.mark.parametrize("kind", PRODUCERS)
def test_the_records_that_the_broker_names_fail_and_the_others_are_stored_in_order(
    streamlog_client: streamlog.Client, compacted: str, kind: str
) -> None:
    producer = streamlog_client.producer(linger=1.0, **PRODUCERS[kind])
    tickets = [send(producer, compacted, number) for number in range(COUNT)]
    with pytest.raises(streamlog.DeliveryError, match=f"{len(BAD)} records were not") as caught:
        producer.flush()
    assert sum(records for _, _, records, _ in caught.value.failures) == len(BAD)
    for number in BAD:
        with pytest.raises(streamlog.BrokerError, match="INVALID_RECORD") as raised:
            tickets[number].result()
        assert "key" in str(raised.value)
    kept = [number for number in range(COUNT) if number not in BAD]
    assert [tickets[number].result().offset for number in kept] == list(range(len(kept)))
    stored = [(message.offset, message.key) for message in streamlog_client.topic(compacted)]
    assert stored == [(offset, b"key %d" % number) for offset, number in enumerate(kept)]
    producer.close()


def test_records_of_a_batch_of_nothing_but_bad_ones_fail_with_their_own_messages(
    streamlog_client: streamlog.Client, compacted: str
) -> None:
    with streamlog_client.producer(linger=1.0) as producer:
        tickets = [producer.send(compacted, b"x") for _ in range(10)]
        for number, ticket in enumerate(tickets):
            error = ticket.exception()
            assert isinstance(error, streamlog.BrokerError)
            assert f"record {number} of the batch has no key" in str(error)
        assert producer.send(compacted, b"x", key=b"k").result().offset == 0


def test_records_that_are_refused_are_not_counted_as_delivered(
    streamlog_client: streamlog.Client, compacted: str
) -> None:
    producer = streamlog_client.producer(linger=1.0, audit="front", audit_window=60.0)
    for number in range(COUNT):
        send(producer, compacted, number)
    with pytest.raises(streamlog.DeliveryError):
        producer.close()
    rows = [json.loads(row.value or b"") for row in streamlog_client.topic("streamlog.audit")]
    counted = sum(row["count"] for row in rows if row["topic"] == compacted)
    assert counted == COUNT - len(BAD)
