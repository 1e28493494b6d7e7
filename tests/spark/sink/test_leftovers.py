"""A command lists and removes the internal topics of ended queries."""

from collections import Counter
from datetime import timedelta

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.sink.query import Crash, Query, counted, values_of
from streamlog.spark.sink.__main__ import main
from streamlog.spark.sink.exactly import leftovers
from streamlog.spark.sink.exactly.commit_log import commit_topic
from streamlog.spark.sink.exactly.staging import staging_topic


@pytest.fixture
def query(broker: BrokerProcess, client: streamlog.Client, topic: str) -> Query:
    """A query that has published two batches."""
    client.admin.create_topic(topic, partitions=2)
    query = Query(broker.address, f"query-of-{topic}", topic)
    for batch in range(2):
        query.run(batch, values_of(batch, 20))
    return query


def run(broker: BrokerProcess, *words: str) -> int:
    """Runs the command."""
    return main(["--bootstrap", broker.address, *words])


def own_topics(client: streamlog.Client, query: Query) -> list[str]:
    """Returns the internal topics of the query."""
    names = {staging_topic(query.name, query.topic), commit_topic(query.name)}
    return sorted(names & set(client.admin.topics()))


def test_queries_are_listed_with_what_they_have_left(
    query: Query, broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "list") == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["QUERY", "COMMITTED", "BATCH", "PUBLISHED", "STAGED", "TARGETS"]
    (row,) = [row.split() for row in rows if row.startswith(f"{query.name} ")]
    assert row[2:] == ["1", "yes", "20", query.topic]


def test_removing_an_abandoned_query_keeps_its_published_records(
    query: Query,
    broker: BrokerProcess,
    client: streamlog.Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = Query(broker.address, f"{query.name}-other", query.topic)
    other.run(0, values_of(7, 5))
    monkeypatch.setattr(leftovers, "_RECENT", timedelta(0))
    assert run(broker, "remove", query.name) == 0
    assert own_topics(client, query) == []
    assert len(own_topics(client, other)) == 2
    expected = [*values_of(0, 20), *values_of(1, 20), *values_of(7, 5)]
    assert counted(client, query.topic) == Counter(expected)


def test_a_query_that_may_be_running_is_removed_only_by_force(
    query: Query,
    broker: BrokerProcess,
    client: streamlog.Client,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(broker, "remove", query.name) == 1
    assert "less than 10 minutes old" in capsys.readouterr().err
    assert len(own_topics(client, query)) == 2
    assert run(broker, "remove", "--force", query.name) == 0
    assert own_topics(client, query) == []


def test_a_query_with_a_batch_to_finish_is_kept(
    query: Query,
    broker: BrokerProcess,
    client: streamlog.Client,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Crash):
        query.commit(2, query.staged(values_of(2, 20)), crash_at=1)
    monkeypatch.setattr(leftovers, "_RECENT", timedelta(0))
    assert run(broker, "remove", query.name) == 1
    assert "batch 2 is committed, and perhaps not all" in capsys.readouterr().err
    assert len(own_topics(client, query)) == 2


def test_a_missing_query_is_reported_by_name(
    broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "remove", "none-such") == 1
    assert capsys.readouterr().err == "error: query 'none-such' has no topics here\n"
