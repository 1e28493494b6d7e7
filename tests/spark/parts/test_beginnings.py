"""A stream starts at the position of its options, which are those of a table."""

import json
from datetime import UTC, datetime

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.parts.played import Played
from streamlog.errors import ConfigError
from streamlog.spark.reading.settings import Reading, default_schema
from streamlog.spark.streaming.mark import BEGAN, Mark
from streamlog.spark.streaming.stream import StreamReader

BEGAN_MS = int(datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp() * 1000)
RECORDS = 10
"""The number of records, one for each second."""
AGO = f"{BEGAN_MS + 4_000}"
"""The position of ``-1h`` when a query is new."""
LATE = "2027-01-01T00:00:00Z"
"""A time after all records."""


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
def test_a_stream_begins_where_it_is_configured_to(
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


def publish(client: streamlog.Client, topic: str, numbers: range) -> None:
    """Publishes a record for each number, that many seconds after the beginning."""
    client.admin.create_topic(topic, partitions=1, exist_ok=True)
    with client.producer() as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, timestamp=BEGAN_MS + 1000 * number)


def numbers(first: int, end: int) -> list[bytes]:
    """Returns the values of such records."""
    return [b"%d" % number for number in range(first, end)]


@pytest.fixture
def filled(client: streamlog.Client, topic: str) -> str:
    """A topic with its first records, of which a group has committed six."""
    publish(client, topic, range(RECORDS))
    client.admin.group(f"of-{topic}").commit({(topic, 0): 6})
    return topic


@pytest.mark.parametrize(
    "case",
    [
        ({"startingOffsets": "earliest"}, 0),
        ({"startingOffsets": "latest"}, RECORDS),
        ({"startingOffsets": '{"TOPIC":{"0":-1}}'}, RECORDS),
        ({"startingOffsets": "group:of-TOPIC"}, 6),
        ({"startingTimestamp": AGO}, 4),
        (
            {"startingTimestamp": LATE, "startingOffsetsByTimestampStrategy": "latest"},
            RECORDS,
        ),
    ],
)
@pytest.mark.parametrize("more", [{}, {"maxOffsetsPerTrigger": "3"}, {"minOffsetsPerTrigger": "5"}])
def test_a_repeated_first_trigger_has_the_same_start(
    broker: BrokerProcess,
    client: streamlog.Client,
    filled: str,
    case: tuple[dict[str, str], int],
    more: dict[str, str],
) -> None:
    options, first = case
    given = {name: text.replace("TOPIC", filled) for name, text in options.items()}
    played = Played(broker.address, subscribe=filled, **given, **more)
    try:
        publish(client, filled, range(RECORDS, RECORDS + 3))
        end = played.plan()
        publish(client, filled, range(RECORDS + 3, 2 * RECORDS))
        client.admin.group(f"of-{filled}").commit({(filled, 0): 15})
        # A duration before now denotes a later time by then.
        later = given.get("startingTimestamp", "").replace(AGO, f"{BEGAN_MS + 13_000}")
        played.restart(**({"startingTimestamp": later} if later else {}))
        played.begin()
        assert played.do(end) + played.drain() == numbers(first, 2 * RECORDS)
    finally:
        played.reader.stop()


def test_records_between_two_requests_for_the_start_are_read(
    broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    played = Played(broker.address, subscribe=filled, startingOffsets="latest")
    try:
        publish(client, filled, range(RECORDS, RECORDS + 5))
        end = played.plan()
        # Spark asks once more when it plans the trigger's tasks.
        played.begin()
        assert played.do(end) == numbers(RECORDS, RECORDS + 5)
    finally:
        played.reader.stop()


def test_only_the_mark_of_the_first_trigger_has_its_start(
    broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    played = Played(broker.address, subscribe=filled)
    try:
        first = played.plan()
        assert json.loads(first)[BEGAN] == {filled: {"0": 0}}
        played.do(first)
        assert played.plan() == first
        publish(client, filled, range(RECORDS, RECORDS + 5))
        assert BEGAN not in json.loads(played.plan())
        assert played.drain() == numbers(RECORDS, RECORDS + 5)
    finally:
        played.reader.stop()


def test_a_deleted_start_is_reported_when_the_first_trigger_is_repeated(
    broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    played = Played(broker.address, subscribe=filled)
    try:
        end = played.plan()
        client.admin.delete_records(filled, 0, before=4)
        played.restart()
        played.begin()
        with pytest.raises(
            streamlog.OffsetOutOfRange, match="offset 0 was requested, the log begins"
        ):
            played.do(end)
        played.restart(failOnDataLoss="false")
        played.begin()
        assert played.do(end) == numbers(4, RECORDS)
    finally:
        played.reader.stop()


def prepared(address: str, **options: str) -> StreamReader:
    """A reader that reads the records existing when Spark calls it."""
    given = {"bootstrap": address, **options}
    reader = StreamReader(Reading.of_stream(given, default_schema(given)))
    reader.prepareForTriggerAvailableNow()
    return reader


@pytest.mark.parametrize("fails", ["true", "false"])
@pytest.mark.parametrize("start", ["latest", "group:of-TOPIC"])
def test_a_beginning_at_the_end_of_what_there_is_now_is_no_loss(
    broker: BrokerProcess, client: streamlog.Client, filled: str, fails: str, start: str
) -> None:
    start = start.replace("TOPIC", filled)
    reader = prepared(broker.address, subscribe=filled, startingOffsets=start, failOnDataLoss=fails)
    try:
        publish(client, filled, range(RECORDS, RECORDS + 5))
        client.admin.group(f"of-{filled}").commit({(filled, 0): RECORDS + 5})
        begun = reader.initialOffset()
        end = reader.latestOffset(begun, reader.getDefaultReadLimit())
        assert end[filled] == begun[filled]
        assert reader.partitions(begun, end) == []
        assert reader.latestOffset(end, reader.getDefaultReadLimit()) == end
    finally:
        reader.stop()


def test_a_start_time_without_a_record_is_an_error_only_without_a_checkpoint(
    broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    late = {"subscribe": filled, "startingTimestamp": LATE}
    reader = prepared(broker.address, **late)
    try:
        id = client.admin.topic(filled).id
        checkpoint = Mark({(filled, 0): 4}, {filled: id}).json()
        end = reader.latestOffset(checkpoint, reader.getDefaultReadLimit())
        assert end[filled] == {"0": RECORDS}
        begun = reader.initialOffset()
        with pytest.raises(ConfigError, match="no record of topic"):
            reader.latestOffset(begun, reader.getDefaultReadLimit())
        with pytest.raises(ConfigError, match="no record of topic"):
            reader.partitions(begun, checkpoint)
    finally:
        reader.stop()


def test_a_first_trigger_is_repeated_though_its_start_option_now_matches_no_record(
    broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    played = Played(broker.address, subscribe=filled, startingTimestamp=AGO)
    try:
        end = played.plan()
        played.restart(startingTimestamp=LATE)
        played.begin()
        publish(client, filled, range(RECORDS, RECORDS + 5))
        assert played.do(end) + played.drain() == numbers(4, RECORDS + 5)
    finally:
        played.reader.stop()
