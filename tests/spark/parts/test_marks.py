"""A topic recreated under its old name is detected, whatever its end offset."""

import json
from collections.abc import Iterator

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.parts.played import Played, values
from streamlog import TopicNotFound
from streamlog.spark.streaming.mark import IDS, Mark


def publish(client: streamlog.Client, topic: str, name: str, count: int) -> list[bytes]:
    """Creates the topic if it is missing, and publishes records."""
    client.admin.create_topic(topic, partitions=1, exist_ok=True)
    sent = [b"%s %d" % (name.encode(), number) for number in range(count)]
    with client.producer() as producer:
        producer.send_all(topic, sent)
    return sent


@pytest.fixture
def played(broker: BrokerProcess, client: streamlog.Client, topic: str) -> Iterator[Played]:
    """A stopped query that has read ten records of a topic."""
    old = publish(client, topic, "old", 10)
    played = Played(broker.address, subscribe=topic)
    assert played.drain() == old
    played.restart()
    yield played
    played.reader.stop()


def test_a_recreated_topic_longer_than_the_old_one_is_reported(
    played: Played, client: streamlog.Client, topic: str
) -> None:
    client.admin.delete_topic(topic)
    new = publish(client, topic, "new", 60)
    with pytest.raises(TopicNotFound, match=r"offset 10 was requested.* deleted or recreated"):
        played.plan()
    played.restart(failOnDataLoss="false")
    assert played.drain() == new


def test_a_repeated_trigger_does_not_take_the_records_of_a_later_topic(
    played: Played, client: streamlog.Client, topic: str
) -> None:
    publish(client, topic, "more", 10)
    end = played.plan()
    client.admin.delete_topic(topic)
    new = publish(client, topic, "new", 60)
    played.restart()
    with pytest.raises(TopicNotFound, match="deleted or recreated"):
        values(played.reader.read(played.parts(end)[0]))
    played.restart(failOnDataLoss="false")
    assert values(played.reader.read(played.parts(end)[0])) == []
    played.checkpoint = end
    assert played.drain() == new


@pytest.mark.parametrize("left", [0, 3])
def test_a_repeated_trigger_is_divided_by_bytes_though_its_records_are_gone(
    left: int, played: Played, client: streamlog.Client, topic: str
) -> None:
    publish(client, topic, "more", 10)
    end = played.plan()
    client.admin.delete_topic(topic)
    if left:
        publish(client, topic, "new", left)
    played.restart(maxBytesPerPartition="100", brokerTimeout="2s")
    for part in played.parts(end):
        with pytest.raises(
            TopicNotFound, match=r"offset 1[0-9] was requested.* deleted or recreated"
        ):
            values(played.reader.read(part))
    played.restart(failOnDataLoss="false")
    for part in played.parts(end):
        assert values(played.reader.read(part)) == []


def test_a_topic_whose_first_records_are_deleted_begins_at_the_log_start(
    played: Played, client: streamlog.Client, topic: str
) -> None:
    client.admin.delete_topic(topic)
    new = publish(client, topic, "new", 60)
    client.admin.delete_records(topic, 0, before=40)
    played.restart(failOnDataLoss="false")
    end = played.plan()
    assert played.parts(end) == []
    played.checkpoint = end
    assert played.drain() == new[40:]


def test_a_checkpoint_without_ids_goes_on_and_has_them_from_then_on(
    played: Played, client: streamlog.Client, topic: str
) -> None:
    played.checkpoint = json.dumps({topic: {"0": 4}})
    completed = played.plan()
    assert json.loads(completed) == {
        topic: {"0": 4},
        IDS: {topic: client.admin.topic(topic).id},
    }
    assert played.parts(completed) == []
    assert played.drain() == [b"old %d" % number for number in range(4, 10)]
    client.admin.delete_topic(topic)
    publish(client, topic, "new", 60)
    with pytest.raises(TopicNotFound, match="recreated"):
        played.drain()


def test_at_rest_a_checkpoint_stays_as_it_is_byte_for_byte(played: Played) -> None:
    assert played.plan() == played.checkpoint


def test_the_offsets_reported_for_lag_have_no_ids(played: Played, topic: str) -> None:
    played.plan()
    assert played.reader.reportLatestOffset() == {topic: {"0": 10}}


def test_a_mark_comes_back_from_its_json() -> None:
    mark = Mark({("orders", 0): 5, ("prices", 1): 7}, {"orders": "a", "prices": "b"})
    assert Mark.of(json.loads(json.dumps(mark.json()))) == mark
    assert Mark.of({"orders": {"0": 5}}) == Mark({("orders", 0): 5}, {})
    assert mark.renewed({"orders": "a", "prices": "c", "others": "d"}) == {"prices"}
