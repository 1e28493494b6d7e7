"""A stream begins where its options say, at any of the places that a table can begin at."""

from datetime import UTC, datetime

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.parts.played import Played

BEGAN_MS = int(datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp() * 1000)
RECORDS = 10
"""One for each second from then on."""


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"startingOffsets": "earliest"}, 0),
        ({"startingOffsets": "latest"}, RECORDS),
        ({"startingOffsets": '{"TOPIC":{"0":4}}'}, 4),
        ({"startingOffsets": '{"TOPIC":{"0":-2}}'}, 0),
        ({"startingOffsets": "group:of-TOPIC"}, 6),
        ({"startingTimestamp": "2026-11-01T12:00:03Z"}, 3),
        ({"startingTimestamp": f"{BEGAN_MS + 7_500}", "startingOffsets": "earliest"}, 8),
        ({"startingOffsetsByTimestamp": f'{{"TOPIC":{{"0":{BEGAN_MS + 5_000}}}}}'}, 5),
    ],
)
def test_a_stream_begins_where_it_is_told(
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    options: dict[str, str],
    first: int,
) -> None:
    client.admin.create_topic(topic, partitions=1)
    with client.producer() as producer:
        for number in range(RECORDS):
            producer.send(topic, b"%d" % number, timestamp=BEGAN_MS + 1000 * number)
    client.admin.group(f"of-{topic}").commit({(topic, 0): 6})
    given = {name: text.replace("TOPIC", topic) for name, text in options.items()}
    played = Played(broker.address, subscribe=topic, **given)
    try:
        assert played.drain() == [b"%d" % number for number in range(first, RECORDS)]
    finally:
        played.reader.stop()
