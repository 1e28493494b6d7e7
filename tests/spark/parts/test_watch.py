"""Changes that a query notices by itself, and the requests that it makes for that."""

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.support.clock import Clock
from streamlog.spark.options import Connection
from streamlog.spark.reading.logs import Logs
from streamlog.spark.reading.subscription import Subscription
from streamlog.spark.streaming import watch
from streamlog.spark.streaming.watch import Watch

TOPICS = 5
SOON = 6.0
"""Longer than the interval between requests for matching topics, in seconds."""


def test_a_new_topic_is_seen_soon_however_many_there_are(
    broker: BrokerProcess, client: streamlog.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(watch, "time", clock)
    for number in range(TOPICS):
        client.admin.create_topic(f"{topic}.{number}")
    connection = Connection.of(broker.address, {})
    watched = Watch(connection, Logs(connection, Subscription(pattern=rf"{topic}\..*")))
    try:
        state = watched.look()
        clock.pass_on(SOON)
        assert watched.newer(state, 0) is state, "all was asked again, and nothing is new"
        client.admin.create_topic(f"{topic}.new")
        clock.pass_on(SOON)
        assert watched.newer(state, 0).ids.keys() - state.ids.keys() == {f"{topic}.new"}
    finally:
        watched.close()
