"""A topic that metadata lacks for a while is not taken for deleted."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.parts.played import Played, values
from spark.support.clock import HastyClock
from spark.support.loads import load_here, rows_of_files
from streamlog import TopicNotFound
from streamlog._core.admin import Admin
from streamlog.descriptions import TopicDescription
from streamlog.spark import patience
from streamlog.spark.clients import client_of
from streamlog.spark.offline import loading
from streamlog.spark.options import Connection
from streamlog.spark.reading import logs
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.records import RangeReader

PATIENCE = 120.0
"""The default of ``brokerTimeout``."""


class LackingAdmin:
    """Metadata that lacks a topic while `looks` is above 0; each pause of a reader lowers it."""

    def __init__(self, admin: Admin, topic: str, kind: str) -> None:
        """Wraps the client's administration."""
        self._admin, self._topic, self._kind = admin, topic, kind
        self.looks = 0
        self.asked = 0
        """The number of answers without the topic."""
        self.clock = HastyClock(self._pause)

    def _pause(self) -> None:
        self.looks -= 1

    def topics(self) -> list[str]:
        """Returns the names of topics."""
        lacks = self._lacks(self._topic) and self._kind != "no_partitions"
        return [] if lacks else list(self._admin.topics())

    def topic(self, name: str) -> TopicDescription:
        """Describes a topic."""
        if self._lacks(name) and self._kind != "no_partitions":
            raise TopicNotFound(f"there is no topic '{name}'", name)
        return self._admin.topic(name)

    def begin_offsets(self, name: str) -> dict[int, int | None]:
        """Returns the first offsets of a topic."""
        return self._offsets(name, self._admin.begin_offsets)

    def end_offsets(self, name: str) -> dict[int, int | None]:
        """Returns the ends of a topic."""
        return self._offsets(name, self._admin.end_offsets)

    def _offsets(
        self, name: str, ask: Callable[[str], dict[int, int | None]]
    ) -> dict[int, int | None]:
        if not self._lacks(name):
            return ask(name)
        if self._kind == "no_partitions":
            return {}
        raise TopicNotFound(f"there is no topic '{name}'", name)

    def _lacks(self, name: str) -> bool:
        is_lacking = name == self._topic and self.looks > 0
        self.asked += is_lacking
        return is_lacking

    def __getattr__(self, name: str) -> object:
        """Returns anything else."""
        return getattr(self._admin, name)


class Client:
    """A client with this administration."""

    def __init__(self, client: streamlog.Client, admin: LackingAdmin) -> None:
        """Wraps the client."""
        self._client, self.admin = client, admin

    def __getattr__(self, name: str) -> object:
        """Returns anything else."""
        return getattr(self._client, name)


@pytest.fixture(params=["unknown", "no_partitions"])
def admin(
    request: pytest.FixtureRequest,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> LackingAdmin:
    """Metadata that can lack the topic, which has two records; waiting takes no time."""
    client.admin.create_topic(topic, partitions=1)
    publish(client, topic, 0, 2)
    admin = LackingAdmin(client_of(Connection.of(broker.address, {})).admin, topic, request.param)

    def wrapped(connection: Connection) -> Client:
        return Client(client_of(connection), admin)

    for module in (logs, loading):
        monkeypatch.setattr(module, "client_of", wrapped)
    monkeypatch.setattr(RangeReader, "_admin", property(lambda reader: admin))
    monkeypatch.setattr(patience, "time", admin.clock)
    return admin


def publish(client: streamlog.Client, topic: str, first: int, end: int) -> list[bytes]:
    """Publishes a range of numbers, and returns the values."""
    sent = [b"%d" % number for number in range(first, end)]
    with client.producer() as producer:
        producer.send_all(topic, sent)
    return sent


@pytest.fixture(params=["subscribe", "subscribePattern", "assign"])
def played(
    request: pytest.FixtureRequest, admin: LackingAdmin, broker: BrokerProcess, topic: str
) -> Iterator[Played]:
    """A query that has read the two records."""
    options = {
        "subscribe": topic,
        "subscribePattern": f"{topic}|{topic}-new",
        "assign": json.dumps({topic: [0]}),
    }
    played = Played(broker.address, **{request.param: options[request.param]})
    assert played.drain() == [b"0", b"1"]
    yield played
    played.reader.stop()


def test_a_trigger_waits_for_a_topic_that_is_absent(
    played: Played, admin: LackingAdmin, client: streamlog.Client, topic: str
) -> None:
    played.restart()
    more = publish(client, topic, 2, 5)
    admin.looks = 7
    assert played.drain() == more
    assert admin.asked >= 7


@pytest.mark.parametrize("looks", [3, 10], ids=["briefly", "for_long"])
def test_a_query_over_what_there_is_now_waits_too(
    looks: int, played: Played, admin: LackingAdmin, client: streamlog.Client, topic: str
) -> None:
    played.restart()
    more = publish(client, topic, 2, 5)
    admin.looks = looks
    played.reader.prepareForTriggerAvailableNow()
    assert played.drain() == more


def test_a_new_query_waits_briefly(
    admin: LackingAdmin, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    admin.looks = 3
    played = Played(broker.address, subscribePattern=f"{topic}.*", startingOffsets="latest")
    more = publish(client, topic, 2, 5)
    assert played.drain() == more
    played.reader.stop()


def test_a_task_waits_for_a_topic_that_is_absent(
    played: Played, admin: LackingAdmin, topic: str
) -> None:
    admin.looks = 7
    assert values(played.reader.read(OffsetRange(topic, 0, 0, 2))) == [b"0", b"1"]
    assert admin.asked >= 7


def test_a_topic_that_stays_absent_is_a_loss(
    played: Played, admin: LackingAdmin, caplog: pytest.LogCaptureFixture
) -> None:
    played.restart()
    admin.looks = 1000
    with pytest.raises(TopicNotFound, match=r"offset 2 was requested.* deleted or recreated"):
        played.plan()
    assert PATIENCE / 2 < admin.clock.slept <= PATIENCE
    played.restart(failOnDataLoss="false")
    assert json.loads(played.plan()) == {}
    assert "all offsets from 2 to the end of the log (unknown) skipped" in caplog.messages[-1]


def test_a_deleted_topic_is_skipped_up_to_its_last_known_end(
    admin: LackingAdmin,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    played = Played(
        broker.address, subscribe=topic, maxOffsetsPerTrigger="1", failOnDataLoss="false"
    )
    assert played.trigger() == [b"0"]
    client.admin.delete_topic(topic)
    assert played.drain() == []
    told = "offset 1 was requested, and the topic was deleted or recreated; continuing, all "
    told += "offsets from 1 to the end of the log (last seen at 2) skipped; loss 1, 1 offset"
    assert any(told in message for message in caplog.messages)
    played.reader.stop()


def test_a_topic_that_the_options_exclude_is_reported_at_once(
    played: Played, admin: LackingAdmin, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    other = f"{topic}-other"
    client.admin.create_topic(other, partitions=1)
    moved = Played(broker.address, subscribe=other)
    moved.checkpoint = played.checkpoint
    with pytest.raises(TopicNotFound, match="the options do not select it any more"):
        moved.plan()
    assert admin.clock.slept == 0
    moved.reader.stop()


def test_a_load_waits_for_a_topic_that_is_absent(
    admin: LackingAdmin, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    assert load_here(broker.address, tmp_path, [topic]).records == 2
    publish(client, topic, 2, 5)
    admin.looks = 7
    load_here(broker.address, tmp_path, [topic])
    admin.looks = 0
    load_here(broker.address, tmp_path, [topic])
    assert sorted(row[2] for row in rows_of_files(tmp_path).elements()) == list(range(5))
